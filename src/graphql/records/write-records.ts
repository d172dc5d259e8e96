/**
 * Creates, updates and deletes records for clients. Reads an `XInput` (the record's own values, nested records and links),
 * and writes through the record's policy. Source: decisions, GraphQL.
 */
import type { Instance } from '../../records/model/table.js'
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { Database } from '../../records/database.js'
import type { Caller } from '../../records/rights/caller.js'
import { clientWriter } from '../../records/clients/client-writer.js'
import type { CallerWriter } from '../../records/policy/caller-writer.js'
import { noSuchRow } from '../../records/statements/client-errors.js'
import {
  type WriteTree,
  type LinkSet,
  type ToMany,
  type BelongsToWrite,
  checkOperations,
} from '../../records/statements/write-tree.js'
import {
  newRowsToMany,
  nestedOperations,
  readToMany,
  readBelongsTo,
  type NestedOperation,
  type NestedReader,
} from '../../records/statements/read-tree.js'
import { policyOf } from '../../records/rights/record-policy.js'
import { resultGuardKey, type ResultGuard } from '../declarations.js'
import {
  type RecordModel,
  hasInput,
  type FieldModel,
  type NestedModel,
  type RelationModel,
} from './model.js'
import { HttpError } from '../../errors/http-error.js'
import { isPlainObject, parseJson } from '../../core/json.js'
import { invalid } from '../../records/filters/query-errors.js'
import type { Id } from '../../records/filters/list-options.js'
import { toKeyValue } from './query-reader.js'
import { hasKeyParts, keyNames, readInputKey, type NamedRow } from './row-keys.js'

/**
 * The extensions of mutations that a caller may run without the right to read the record.
 *
 * @param operations what the mutation may do
 */
export function resultExtensions(
  model: RecordModel,
  ...operations: readonly ('create' | 'update')[]
): Readonly<Record<string, unknown>> {
  const { read, blindWrites } = policyOf(model.table)
  if (read === undefined || !operations.some((operation) => blindWrites[operation])) return {}
  const keys = keyNames(model)
  const message = `You may not read ${model.name}. Select only ${keys.join(' and ')}.`
  const guard: ResultGuard = { rule: read, keys, message }
  return { [resultGuardKey]: guard }
}

/** Writes of one mutation. */
export class RecordWriter {
  readonly caller: Caller
  readonly #writer: CallerWriter

  constructor(database: Database, caller: Caller) {
    this.caller = caller
    this.#writer = clientWriter(database, caller)
  }

  /** @throws {HttpError} 400 `VALIDATION` and 409 `CONFLICT` with paths below `input`; 403 `FORBIDDEN` outside the caller's rows */
  create(model: RecordModel, input: unknown): MaybePromise<Instance> {
    return this.#writer.create(readInput(model, input, 'input'))
  }

  /**
   * Reads the input of a creation.
   *
   * @param toResult converts the written record
   * @returns `undefined` if it needs more than one statement
   * @throws {HttpError} as `create`
   */
  prepareCreate<R>(
    model: RecordModel,
    input: unknown,
    toResult: (record: Instance) => R,
  ): (() => MaybePromise<R>) | undefined {
    const tree = readInput(model, input, 'input')
    if (!this.#writer.isOneStatement(tree)) return undefined
    return () => after(this.#writer.create(tree), toResult)
  }

  /** @throws {HttpError} as `create`; 404 `NOT_FOUND` if the row does not exist or the caller may not see it */
  update(
    model: RecordModel,
    row: NamedRow,
    input: unknown,
    expectedVersion?: unknown,
  ): MaybePromise<Instance> {
    const { key, tree } = readChange(model, row, input)
    const expected = toExpected(expectedVersion)
    return after(this.#writer.update(key, tree, { expected }), (changed) =>
      checkFound(changed, model, row),
    )
  }

  /** As `prepareCreate`. */
  prepareUpdate<R>(
    model: RecordModel,
    row: NamedRow,
    input: unknown,
    toResult: (record: Instance) => R,
  ): (() => MaybePromise<R>) | undefined {
    const { key, tree } = readChange(model, row, input)
    if (!this.#writer.isOneStatement(tree)) return undefined
    return () =>
      after(this.#writer.update(key, tree), (changed) => toResult(checkFound(changed, model, row)))
  }

  /** @returns false if the record does not exist or the caller may not see it */
  delete(model: RecordModel, { key }: NamedRow, expectedVersion?: unknown): MaybePromise<boolean> {
    if (key === undefined) return false
    return this.#writer.delete(model.table, key, toExpected(expectedVersion))
  }
}

/** @throws {HttpError} 404 `NOT_FOUND` if no row was updated */
function checkFound(changed: Instance | null, model: RecordModel, { text }: NamedRow): Instance {
  if (changed === null) throw noSuchRow(model.name, text)
  return changed
}

function readChange(
  model: RecordModel,
  { key, text }: NamedRow,
  input: unknown,
): { readonly key: Id; readonly tree: WriteTree } {
  const tree = readInput(model, input, 'input')
  checkOperations(tree)
  if (key === undefined) throw noSuchRow(model.name, text)
  return { key, tree }
}

/** Null means no expected version, like a missing argument. */
function toExpected(version: unknown): readonly number[] | undefined {
  return typeof version === 'number' ? [version] : undefined
}

/**
 * Reads an input with its nested inputs. Does not check whether the caller may write them.
 *
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readInput(model: RecordModel, input: unknown, path: string): WriteTree {
  const belongsTo: BelongsToWrite[] = []
  const toMany: ToMany[] = []
  const links: LinkSet[] = []
  let pathWithoutOperation: string | undefined
  const values: Record<string, unknown> = {}
  const fields = isPlainObject(input) ? input : {}
  for (const name of Object.keys(fields)) {
    const at = `${path}.${name}`
    const value = fields[name]
    const field = model.fields.get(name)
    if (field !== undefined) {
      values[field.column.property] = toProperty(field, value, at)
      continue
    }
    const relation = relationNamed(model, name)
    if (relation === undefined) throw invalid(at, 'unknown', 'is unknown')
    if (value === null || value === undefined) throw invalid(at, 'type', 'must not be null')
    if (relation.idsName === name) links.push(readLinks(relation, value, at))
    else {
      const nested = relation.isList
        ? readToManyInput(relation, value, at)
        : readBelongsToInput(relation, value, at)
      if (!nested.namesOperation) pathWithoutOperation ??= at
      if ('toMany' in nested) toMany.push(nested.toMany)
      else if (nested.belongsTo !== undefined) belongsTo.push(nested.belongsTo)
    }
  }
  const mapError = (error: unknown): unknown => withArgumentPath(error, model, path)
  return {
    table: model.table,
    path,
    values,
    derivedFields: new Set(),
    belongsTo,
    toMany,
    links,
    pathWithoutOperation,
    toClientError: mapError,
  }
}

function readLinks({ relation, target }: RelationModel, value: unknown, at: string): LinkSet {
  const mapError = (error: unknown): unknown => withClientPath(error, relation.name, at)
  const ids = (value as Id[]).map((id, index) => toLinkedKey(target, id, `${at}.${index}`))
  return { relation, ids, toClientError: mapError }
}

/** Reads a list of rows to create with their parent, or one object of operations. */
function readToManyInput(
  { relation, target }: RelationModel,
  value: unknown,
  at: string,
): { toMany: ToMany; namesOperation: boolean } {
  const items = value as unknown[]
  const [first] = items
  if (items.length === 1 && isOperationObject(target, first))
    return { toMany: readToMany(relation, first, at, readerOf(target)), namesOperation: true }
  const trees = items.map((one, index) => {
    if (isOperationObject(target, one))
      throw invalid(
        `${at}.${index}`,
        'type',
        'must be the only element, because it contains operations',
      )
    return readInput(target, one, `${at}.${index}`)
  })
  return { toMany: newRowsToMany(relation, at, trees), namesOperation: false }
}

function readBelongsToInput(
  { relation, target }: RelationModel,
  value: unknown,
  at: string,
): { belongsTo: BelongsToWrite | undefined; namesOperation: boolean } {
  if (isOperationObject(target, value))
    return { belongsTo: readBelongsTo(relation, value, at, readerOf(target)), namesOperation: true }
  const tree = readInput(target, value, at)
  return { belongsTo: { relation, path: at, operation: 'create', tree }, namesOperation: false }
}

function readerOf(model: RecordModel): NestedReader {
  return {
    keyNames: keyNames(model),
    read: (value, path) => readInput(model, value, path),
    // An id of another type matches no row.
    key: (id) => readInputKey(model, id) ?? '',
  }
}

/**
 * The operations of an input for nested rows: operations that the policy permits, and whose names are not names of
 * fields.
 *
 * @param isLinkable whether some client may connect and disconnect the rows
 */
export function operationsOn(model: RecordModel, isLinkable = true): readonly NestedOperation[] {
  return nestedOperations.filter((name) => {
    if (model.fields.has(name) || relationNamed(model, name) !== undefined) return false
    const { create, update, delete: remove } = model.writes
    if (name === 'create') return create !== false && hasInput(model)
    if (name === 'update') return update !== false && hasInput(model)
    if (name === 'delete') return remove !== false
    return isLinkable
  })
}

function isOperationObject(model: RecordModel, value: unknown): boolean {
  if (!isPlainObject(value)) return false
  return operationsOn(model).some((name) => name in value)
}

function relationNamed(model: RecordModel, name: string): RelationModel | undefined {
  const relation = model.relations.get(name)
  if (relation !== undefined) return relation
  for (const relation of model.relations.values()) if (relation.idsName === name) return relation
  return undefined
}

/** Converts the id of a linked row. An invalid key is reported when the row is looked up. */
function toLinkedKey(model: RecordModel, id: Id, path: string): Id {
  const { ids, table } = model
  if (hasKeyParts(model)) return readInputKey(model, id) ?? ''
  return ids.type === undefined ? id : (toKeyValue(table.key, ids, String(id), path) as Id)
}

/** Converts JSON text to values, and ids of other records to keys. */
function toProperty(field: FieldModel, value: unknown, path: string): unknown {
  const { form, ids, column, nested } = field
  if (nested !== undefined) return toNestedValue(nested, value, path)
  const isId = ids !== undefined && (ids.type !== undefined || !column.isUuid)
  if (isId && typeof value === 'string') return toKeyValue(column, ids, value, path)
  if (form !== 'json' || typeof value !== 'string') return value
  try {
    return parseJson(value)
  } catch {
    throw invalid(path, 'type', 'must be JSON text')
  }
}

/** Converts an object of a nested class, or a list of them. */
function toNestedValue(model: NestedModel, value: unknown, path: string): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => toNestedValue(model, item, `${path}.${index}`))
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      const field = model.fields.get(name)
      if (field === undefined) return [name, part]
      return [field.column.property, toProperty(field, part, `${path}.${name}`)]
    }),
  )
}

/** Replaces the paths of validation errors by the paths of the arguments, with the names that clients use. */
function withArgumentPath(error: unknown, model: RecordModel, path: string): unknown {
  if (!(error instanceof HttpError)) return error
  return error.mapFields((fieldError) => ({
    ...fieldError,
    path: toClientPath(fieldError.path, model, path),
  }))
}

function toClientPath(recordPath: string, model: RecordModel, path: string): string {
  if (recordPath === '') return path
  let fields: RecordModel['fields'] | undefined = model.fields
  const names = recordPath.split('.').map((name) => {
    const isPosition = fields !== model.fields && /^\d+$/.test(name)
    if (fields === undefined || isPosition) return name
    const field = [...fields.values()].find(({ column }) => column.property === name)
    fields = field?.nested?.fields
    return field?.name ?? name
  })
  return [path, ...names].join('.')
}

/** Replaces the relation's name in the paths of validation errors by the path of its ids. */
function withClientPath(error: unknown, relation: string, path: string): unknown {
  if (!(error instanceof HttpError)) return error
  return error.mapFields((fieldError) => ({
    ...fieldError,
    path: fieldError.path.startsWith(relation)
      ? path + fieldError.path.slice(relation.length)
      : path,
  }))
}
