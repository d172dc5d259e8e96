/** A row to write, with its nested rows and links, and how its errors are named. Source: decisions, Records: writes. */
import type { Id } from '../filters/list-options.js'
import { HttpError } from '../../errors/http-error.js'
import { invalid } from '../filters/query-errors.js'
import type { Instance, Relation, Table } from '../model/table.js'
import { concealErrors } from '../rights/secured-responses.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { idsName } from '../model/generated-names.js'
import { partsOfKey } from '../model/record-key.js'

export interface WriteTree {
  readonly table: Table
  /** The path in the client's input: `input.products.0`; empty for the input itself. */
  readonly path: string
  /** By property, not yet checked. Keys that follow from the nesting are added. */
  readonly values: Instance
  /** The properties of `values` that follow from the nesting and were not sent by the client. */
  readonly derivedFields: Set<string>
  /** Changes of the rows to which it belongs. */
  readonly belongsTo: readonly BelongsToWrite[]
  /** Changes of the rows that belong to it, or are linked to it. */
  readonly toMany: readonly ToMany[]
  /** Many-to-many: the complete new set of links. */
  readonly links: readonly LinkSet[]
  /** The path of a nested row without an operation, which is allowed for new rows only. */
  readonly pathWithoutOperation: string | undefined
  /** Converts an error about this row into the client's terms. */
  readonly toClientError: (error: unknown) => unknown
}

/** `category: { connect: 7 }`: one operation. */
export type BelongsToWrite = { readonly relation: Relation; readonly path: string } & (
  | { readonly operation: 'create' | 'update'; readonly tree: WriteTree }
  | { readonly operation: 'connect'; readonly id: Id }
  | { readonly operation: 'disconnect' | 'delete' }
)

/** `products: { create: [...], update: [{ id, … }], connect: [ids], disconnect: [ids], delete: [ids] }` */
export interface ToMany {
  readonly relation: Relation
  readonly path: string
  readonly create: readonly WriteTree[]
  readonly update: readonly KeyedTree[]
  readonly connect: readonly Id[]
  readonly disconnect: readonly Id[]
  readonly delete: readonly Id[]
}

/** A changed row and its key. */
export interface KeyedTree {
  readonly id: Id
  readonly tree: WriteTree
}

export interface LinkSet {
  readonly relation: Relation
  readonly ids: readonly Id[]
  /** Converts an error about the relation into the client's terms. */
  readonly toClientError: (error: unknown) => unknown
}

const cachedLinkNames = new WeakMap<Table, ReadonlyMap<string, Relation>>()

/** The input names for the keys of many-to-many relations. A field with that name takes precedence. */
export function linkNames(table: Table): ReadonlyMap<string, Relation> {
  const cachedNames = cachedLinkNames.get(table)
  if (cachedNames !== undefined) return cachedNames
  const { relations, byProperty, shape } = table
  const names = new Map<string, Relation>()
  cachedLinkNames.set(table, names)
  for (const relation of relations.values()) {
    const name = idsName(relation.name)
    const isHidden = shape.byName.get(relation.name)?.hidden === true
    if (relation.kind === 'manyToMany' && !isHidden && !byProperty.has(name))
      names.set(name, relation)
  }
  return names
}

/**
 * Sets a key that follows from the nesting, and that the input must not set differently.
 *
 * @throws {HttpError} 400 `VALIDATION` if it names another row
 */
export function setDerivedKey(tree: WriteTree, column: Column, key: unknown): void {
  const isComposite = column.parts !== undefined
  const values = isComposite && !isNullish(key) ? partsOfKey(column, key as Id) : undefined
  for (const { property } of storedColumnsOf(column))
    setDerivedValue(tree, property, isComposite ? (values?.[property] ?? null) : key)
}

function setDerivedValue(
  { values, derivedFields, path }: WriteTree,
  property: string,
  value: unknown,
): void {
  const named = values[property]
  // When a transaction runs again, the key is set again.
  if (named !== undefined && !derivedFields.has(property) && toKeyText(named) !== toKeyText(value))
    throw invalid(
      pathOf(path, property),
      'readOnly',
      'is determined by the record that it is nested in',
    )
  values[property] = value
  derivedFields.add(property)
}

/** A nested row cannot change the row that contains it. @throws {HttpError} 400 `VALIDATION` */
export function checkParentKey({ belongsTo, path }: WriteTree, foreign: string): void {
  if (belongsTo.some(({ relation }) => relation.local.property === foreign))
    throw invalid(path, 'readOnly', 'is the record that it is nested in')
}

/**
 * Nested rows without an operation are only allowed when their parent is created. @throws {HttpError} 400 `VALIDATION`
 */
export function checkOperations({ pathWithoutOperation }: WriteTree): void {
  if (pathWithoutOperation !== undefined)
    throw invalid(
      pathWithoutOperation,
      'readOnly',
      'is only allowed when its parent is created: write { create: … }',
    )
}

/** The same tree with other values of its row. */
export function withValues(tree: WriteTree, values: Instance): WriteTree {
  return values === tree.values ? tree : { ...tree, values }
}

/** True if more than the row itself is written. */
export function hasNestedWrites({ belongsTo, toMany, links }: WriteTree): boolean {
  return belongsTo.length + toMany.length + links.length > 0
}

/** The records whose rows are written with the tree: the record of the row, and the records of nested rows. */
export function* tablesOf({ table, belongsTo, toMany }: WriteTree): Generator<Table> {
  yield table
  for (const one of belongsTo) {
    yield one.relation.target
    if ('tree' in one) yield* tablesOf(one.tree)
  }
  for (const { relation, create, update } of toMany) {
    yield relation.target
    for (const tree of create) yield* tablesOf(tree)
    for (const { tree } of update) yield* tablesOf(tree)
  }
}

/** The number of rows and keys nested in it, at any depth. */
export function countNested({ belongsTo, toMany, links }: WriteTree): number {
  let count = belongsTo.length
  for (const { ids } of links) count += ids.length
  for (const one of belongsTo) if ('tree' in one) count += countNested(one.tree)
  for (const many of toMany) {
    count += many.connect.length + many.disconnect.length + many.delete.length
    for (const tree of many.create) count += 1 + countNested(tree)
    for (const { tree } of many.update) count += 1 + countNested(tree)
  }
  return count
}

export function pathOf(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`
}

export function isNullish(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

/** A text that is the same for each form in which clients send a key: as a number or text, in upper or lower case. */
export function toKeyText(id: unknown): string {
  const text = String(id)
  // A key of several columns has one form already, and its texts may differ in case.
  return text.startsWith('[') ? text : text.toLowerCase()
}

/** Converts a key to the type of the record: a number, or a UUID. GraphQL sends both as text. */
export function toTypedKey({ key }: Table, id: Id): Id {
  return key.isUuid || key.parts !== undefined || typeof id !== 'string' ? id : Number(id)
}

/** Moves errors of a row below its path. The messages of errors of a call's rows begin with the number of the row. */
export function errorNaming(path: string, row: number | undefined): WriteTree['toClientError'] {
  if (path === '') return (error) => error
  return (error) => withPaths(error, (at) => (at === '' ? path : `${path}.${at}`), row)
}

/** Adds the number of a call's row to an error: `12.price must be a number`. */
export function atRow(error: unknown, row: number): unknown {
  return errorNaming(String(row), row)(error)
}

/** Moves errors about a key to the path of the key. */
export function atKey(error: unknown, table: Table, path: string): unknown {
  const moved = withPaths(concealErrors(error, table), () => path)
  if (!(moved instanceof HttpError) || moved.errors === undefined) return moved
  // Every part of a key has the same error.
  const errors = moved.errors.filter(
    ({ message }, index, all) => all.findIndex((one) => one.message === message) === index,
  )
  return errors.length < moved.errors.length ? moved.with({ errors }) : moved
}

function withPaths(error: unknown, toPath: (path: string) => string, row?: number): unknown {
  if (!(error instanceof HttpError)) return error
  const toMessage = (message: string): string => (row === undefined ? message : `${row}.${message}`)
  return error.mapFields(({ path, code, message }) => ({
    path: toPath(path),
    code,
    message: toMessage(message),
  }))
}
