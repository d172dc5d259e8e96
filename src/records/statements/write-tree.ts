/** A row to write, with its nested rows and links: its form, and how it is read from input of REST, GraphQL or a program. */

import type { Id } from '../filters/list-options.js'
import type { Unmarked } from '../model/generated.js'
import type { Demanded } from '../model/record-types.js'
import type { Changes } from './additions.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { HttpError } from '../../errors/http-error.js'
import { clip } from '../../core/text.js'
import { invalid } from '../filters/query-errors.js'
import type { Relation, Table } from '../model/table.js'
import { concealErrors } from '../rights/secured-responses.js'
import { idsName } from '../model/generated-names.js'

export type Instance = Record<string, unknown>

export interface WriteTree {
  readonly table: Table
  /** The path in the client's input: `input.products.0`; empty for the input itself. */
  readonly path: string
  /** By property, not yet checked. Keys that follow from the nesting are added. */
  readonly values: Instance
  /** The properties of `values` that follow from the nesting and were not sent by the client. */
  readonly derivedFields: Set<string>
  /** Changes of the rows to which it belongs. */
  readonly toOne: readonly ToOne[]
  /** Changes of the rows that belong to it, or are linked to it. */
  readonly toMany: readonly ToMany[]
  /** Many-to-many: the complete new set of links. */
  readonly links: readonly LinkSet[]
  /** The path of a nested row without an operation, which is allowed for new rows only. */
  readonly withoutOperation: string | undefined
  /** Converts an error about this row into the client's terms. */
  readonly toClientError: (error: unknown) => unknown
}

/** `category: { connect: 7 }`: one operation. */
export type ToOne = { readonly relation: Relation; readonly path: string } & (
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
export function setDerivedKey(
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
export function refuseOwner({ toOne, path }: WriteTree, foreign: string): void {
  if (toOne.some(({ relation }) => relation.local.property === foreign))
    throw invalid(path, 'readOnly', 'is the record that it is nested in')
}

/**
 * Nested rows without an operation are only allowed when their parent is created. @throws {HttpError} 400 `VALIDATION`
 */
export function refuseWithoutOperation({ withoutOperation }: WriteTree): void {
  if (withoutOperation !== undefined)
    throw invalid(
      withoutOperation,
      'readOnly',
      'is only allowed when its parent is created: write { create: … }',
    )
}

/** The same tree with other values of its row. */
export function withValues(tree: WriteTree, values: Instance): WriteTree {
  return values === tree.values ? tree : { ...tree, values }
}

/** True if more than the row itself is written. */
export function hasNestedWrites({ toOne, toMany, links }: WriteTree): boolean {
  return toOne.length + toMany.length + links.length > 0
}

/** The records whose rows are written with the tree: the record of the row, and the records of nested rows. */
export function* tablesOf({ table, toOne, toMany }: WriteTree): Generator<Table> {
  yield table
  for (const one of toOne) {
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
export function countNested({ toOne, toMany, links }: WriteTree): number {
  let count = toOne.length
  for (const { ids } of links) count += ids.length
  for (const one of toOne) if ('tree' in one) count += countNested(one.tree)
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
  return String(id).toLowerCase()
}

/** Converts a key to the type of the record: a number, or a UUID. GraphQL sends both as text. */
export function toTypedKey({ key }: Table, id: Id): Id {
  return key.isUuid || typeof id !== 'string' ? id : Number(id)
}

/**
 * Reads the nested rows of an input: `{ create, update, connect, disconnect, delete }`. The format is the same for
 * REST, GraphQL and programs. Source: decisions, Records: writes.
 */

/** Changes of the rows of a `@HasMany` or `@ManyToMany`, all or nothing. */
export interface NestedList<R extends object> {
  /** New rows, which get the key of this row or a link to it. */
  create?: readonly NestedRow<R>[]
  /** Changes of its rows, each with a key. */
  update?: readonly NestedChanges<R>[]
  /** Rows to link to this row, even if they belong to another row. */
  connect?: readonly Id[]
  /** Rows to unlink without deleting them. */
  disconnect?: readonly Id[]
  /** Linked rows to delete. */
  delete?: readonly Id[]
}

/** A change of the row of a `@BelongsTo`: one of these. */
export interface NestedOne<R extends object> {
  create?: NestedRow<R>
  update?: NestedChanges<R>
  connect?: Id
  disconnect?: true
  delete?: true
}

type NestedIn<M, V = Unmarked<NonNullable<M>>> = V extends readonly (infer R)[]
  ? R extends object
    ? NestedList<R>
    : never
  : V extends object
    ? NestedOne<V>
    : never

/** The values of a new row: the required ones, and optional ones. */
export type NewRow<T> = Pick<T, Demanded<T>> & Partial<T>

/** The values of a new row and of rows nested in it; with `category: { … }` it need not name `categoryId`. */
export type NewValues<T> =
  | Values<T, Demanded<T>>
  | {
      [K in Referring<T>]: Values<T, Exclude<Demanded<T>, `${Referring<T>}Id`>> & {
        [P in K]: NestedIn<T[P]>
      }
    }[Referring<T>]

/** A row that is created with another one, which sets the key that refers to it. */
type NestedRow<T> = Values<T, Exclude<Demanded<T>, `${string}Id`>>

type Values<T, Needed extends keyof T> = { [K in Needed]: T[K] | NestedIn<T[K]> } & {
  [K in keyof T]?: T[K] | NestedIn<T[K]>
}

type Referring<T> = {
  [K in keyof T & string]: `${K}Id` extends keyof T ? K : never
}[keyof T & string]

/** The changes of a row and of rows nested in it. */
export type NestedChanges<T> = Changes<T> | { [K in keyof T]?: Changes<T>[K] | NestedIn<T[K]> }

export const nestedOperations = ['create', 'update', 'connect', 'disconnect', 'delete'] as const

export type NestedOperation = (typeof nestedOperations)[number]

/** Reads the rows of a relation in the form of one interface, such as REST or GraphQL. */
export interface NestedReader {
  /** The name of their key in the interface. */
  readonly keyName: string
  /** Converts the key from the interface's form. An invalid value becomes a key that no row has. */
  readonly key: (id: unknown) => Id
  /** @throws {HttpError} 400 `VALIDATION` */
  read(value: unknown, path: string): WriteTree
}

/** @throws {HttpError} 400 `VALIDATION` */
export function readToMany(
  relation: Relation,
  value: unknown,
  path: string,
  reader: NestedReader,
): ToMany {
  refuseShards(relation, path)
  const operations = readOperations(value, path)
  const list = (name: string): unknown[] => readList(operations[name], pathOf(path, name))
  const ids = (name: string): Id[] => list(name).map(reader.key)
  return {
    relation,
    path,
    create: list('create').map((one, index) => reader.read(one, `${path}.create.${index}`)),
    update: list('update').map((one, index) => readKeyed(one, `${path}.update.${index}`, reader)),
    connect: ids('connect'),
    disconnect: ids('disconnect'),
    delete: ids('delete'),
  }
}

/** Nested rows in a plain list, which are created with their parent. */
export function newRowsToMany(
  relation: Relation,
  path: string,
  create: readonly WriteTree[],
): ToMany {
  refuseShards(relation, path)
  return { relation, path, create, update: [], connect: [], disconnect: [], delete: [] }
}

/** @throws {HttpError} 400 `VALIDATION` */
export function readToOne(
  relation: Relation,
  value: unknown,
  path: string,
  reader: NestedReader,
): ToOne | undefined {
  const operations = readOperations(value, path)
  const names = nestedOperations.filter((name) => !isNullish(operations[name]))
  const [operation] = names
  if (operation === undefined) return undefined
  if (names.length > 1) throw invalid(path, 'maxItems', `must be one of: ${names.join(', ')}`)
  const at = pathOf(path, operation)
  const operand = operations[operation]
  const ends = { relation, path: at }
  switch (operation) {
    case 'create':
      return { ...ends, operation, tree: reader.read(operand, at) }
    case 'update':
      return { ...ends, operation, tree: readChanged(operand, at, reader) }
    case 'connect':
      return { ...ends, operation, id: reader.key(operand) }
    default:
      if (operand !== true) throw invalid(at, 'type', 'must be true')
      return { ...ends, operation }
  }
}

/** A row without a shard cannot have nested rows in a shard, because the shard would be unknown. */
function refuseShards({ target, shards }: Relation, path: string): void {
  if (target.shard === undefined || shards !== undefined) return
  throw invalid(path, 'nested', `must be written by itself: ${target.type.name} is sharded`)
}

/**
 * Reads a row with its nested rows, by the record's names: from a program, or from a checked body.
 *
 * @param path its path in the input: `products.0`
 * @param row its number, if it is one of the rows of a call. Then the path begins with the number
 */
export function readTree(table: Table, input: object, path = '', row?: number): WriteTree {
  const values: Instance = {}
  const toOne: ToOne[] = []
  const toMany: ToMany[] = []
  const links: LinkSet[] = []
  const names = table.relations.size === 0 ? undefined : linkNames(table)
  const toClientError = errorNaming(path, row)
  for (const [name, value] of Object.entries(input)) {
    const at = pathOf(path, name)
    const relation = table.relations.get(name)
    const linkedRelation = names?.get(name)
    if (linkedRelation !== undefined && value !== undefined) {
      links.push({ relation: linkedRelation, ids: value as Id[], toClientError })
    } else if (relation === undefined || value === null) values[name] = value
    else if (value !== undefined) {
      const reader = readerOf(relation.target, row)
      if (relation.kind !== 'belongsTo') toMany.push(readToMany(relation, value, at, reader))
      else
        toOne.push(...[readToOne(relation, value, at, reader)].filter((one) => one !== undefined))
    }
  }
  return {
    table,
    path,
    values,
    derivedFields: new Set(),
    toOne,
    toMany,
    links,
    withoutOperation: undefined,
    toClientError,
  }
}

/** Reads one of the rows that a program writes with one call. */
export function readRowTree(table: Table, input: object, row: number): WriteTree {
  const path = String(row)
  if (namesRelations(table, input)) return readTree(table, input, path, row)
  return {
    table,
    path,
    values: input as Instance,
    derivedFields: new Set(),
    toOne: [],
    toMany: [],
    links: [],
    withoutOperation: undefined,
    toClientError: errorNaming(path, row),
  }
}

/** Reads a change of a program, which has the row's key under its own name. @throws {HttpError} 400 if it has none */
export function readKeyedTree(table: Table, input: object, row: number): KeyedTree {
  const { [table.key.property]: id, ...values } = input as Instance
  if (isNullish(id))
    throw invalid(pathOf(String(row), table.key.property), 'required', 'must be given')
  return { id: id as Id, tree: readRowTree(table, values, row) }
}

/** True if a program's values contain relations, or keys of them. */
export function namesRelations(table: Table, values: unknown): values is object {
  if (table.relations.size === 0 || !isObject(values)) return false
  for (const name of table.relations.keys()) if (!isNullish(values[name])) return true
  for (const name of linkNames(table).keys()) if (!isNullish(values[name])) return true
  return false
}

function readerOf(table: Table, row: number | undefined): NestedReader {
  return {
    keyName: table.key.property,
    key: (id) => id as Id,
    read: (value, path) => {
      if (!isObject(value)) throw invalid(path, 'type', 'must be an object')
      return readTree(table, value, path, row)
    },
  }
}

function readKeyed(value: unknown, path: string, reader: NestedReader): KeyedTree {
  const { [reader.keyName]: id, ...values } = isObject(value) ? value : {}
  if (isNullish(id)) throw invalid(pathOf(path, reader.keyName), 'required', 'must be given')
  return { id: reader.key(id), tree: readChanged(values, path, reader) }
}

function readChanged(value: unknown, path: string, reader: NestedReader): WriteTree {
  const tree = reader.read(value, path)
  refuseWithoutOperation(tree)
  return tree
}

function readOperations(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (!isObject(value) || Array.isArray(value))
    throw invalid(path, 'type', `must be an object with some of: ${nestedOperations.join(', ')}`)
  for (const name of Object.keys(value)) {
    if ((nestedOperations as readonly string[]).includes(name)) continue
    const suggestion = didYouMean(clip(name), nestedOperations)
    throw invalid(pathOf(path, clip(name)), 'unknown', `is unknown. ${suggestion}`.trim())
  }
  return value
}

function readList(value: unknown, path: string): unknown[] {
  if (isNullish(value)) return []
  if (!Array.isArray(value)) throw invalid(path, 'type', 'must be a list')
  return value as unknown[]
}

/** Checked bodies are instances of classes, so the prototype does not matter. */
function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Moves errors of a row below its path. The messages of errors of a call's rows begin with the number of the row. */
function errorNaming(path: string, row: number | undefined): WriteTree['toClientError'] {
  if (path === '') return (error) => error
  return (error) => withPaths(error, (at) => (at === '' ? path : `${path}.${at}`), row)
}

/** Adds the number of a call's row to an error: `12.price must be a number`. */
export function atRow(error: unknown, row: number): unknown {
  return errorNaming(String(row), row)(error)
}

/** Moves errors about a key to the path of the key. */
export function atKey(error: unknown, table: Table, path: string): unknown {
  return withPaths(concealErrors(error, table), () => path)
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
