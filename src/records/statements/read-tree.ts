/**
 * Reads the rows of a write with their nested rows: `{ create, update, connect, disconnect, delete }`. The format is the same
 * for REST, GraphQL and programs. Source: decisions, Records: writes.
 */
import type { Id, KeyOf } from '../filters/list-options.js'
import type { IsRelation, Unmarked } from '../model/generated.js'
import type { Demanded } from '../model/record-types.js'
import type { Changes } from './additions.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { storedColumnsOf } from '../../engines/contract/table.js'
import { readId } from '../model/record-key.js'
import { invalid } from '../filters/query-errors.js'
import type { Relation, Table, Instance } from '../model/table.js'
import {
  type WriteTree,
  type BelongsToWrite,
  type ToMany,
  type KeyedTree,
  type LinkSet,
  linkNames,
  checkOperations,
  pathOf,
  isNullish,
  errorNaming,
} from './write-tree.js'

/** Changes of the rows of a `@HasMany` or `@ManyToMany`, all or nothing. */
export interface NestedList<R extends object> {
  /** New rows, which get the key of this row or a link to it. */
  create?: readonly NestedRow<R>[]
  /** Changes of its rows, each with a key. */
  update?: readonly NestedChanges<R>[]
  /** Rows to link to this row, even if they belong to another row. */
  connect?: readonly KeyOf<R>[]
  /** Rows to unlink without deleting them. */
  disconnect?: readonly KeyOf<R>[]
  /** Linked rows to delete. */
  delete?: readonly KeyOf<R>[]
}

/** A change of the row of a `@BelongsTo`: one of these. */
export interface NestedOne<R extends object> {
  create?: NestedRow<R>
  update?: NestedChanges<R>
  connect?: KeyOf<R>
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
  | NestableValues<T, Demanded<T>>
  | {
      [K in Referring<T>]: NestableValues<T, Exclude<Demanded<T>, ForeignKeyField<T>>> & {
        [P in K]: NestedIn<T[P]>
      }
    }[Referring<T>]

/** A row that is created with another one, which sets the key that refers to it. */
type NestedRow<T> = NestableValues<T, Exclude<Demanded<T>, `${string}Id` | ForeignKeyField<T>>>

type NestableValues<T, Needed extends keyof T> = { [K in Needed]: T[K] | NestedIn<T[K]> } & {
  [K in keyof T]?: T[K] | NestedIn<T[K]>
}

type Referring<T> = {
  [K in keyof T & string]: `${K}Id` extends keyof T
    ? K
    : [NameOfPart<T[K]>] extends [never]
      ? never
      : K
}[keyof T & string]

/** The names that fields of foreign keys may have. */
type ForeignKeyField<T> = {
  [K in Referring<T>]: `${K}Id` | NameOfPart<T[K]> | `${K}${Capitalize<NameOfPart<T[K]>>}`
}[Referring<T>]

/** The fields of a related row without `id`, among which are those of its key. */
type NameOfPart<M> =
  IsRelation<M> extends true
    ? Unmarked<NonNullable<M>> extends readonly unknown[] | { id: unknown }
      ? never
      : keyof Unmarked<NonNullable<M>> & string
    : never

/** The changes of a row and of rows nested in it. */
export type NestedChanges<T> = Changes<T> | { [K in keyof T]?: Changes<T>[K] | NestedIn<T[K]> }

export const nestedOperations = ['create', 'update', 'connect', 'disconnect', 'delete'] as const

export type NestedOperation = (typeof nestedOperations)[number]

/** Reads the rows of a relation in the form of one interface, such as REST or GraphQL. */
export interface NestedReader {
  /** The names of the fields of their key in the interface. */
  readonly keyNames: readonly string[]
  /**
   * Converts the key from the interface's form: a value, or an object of the fields of a key of several. An invalid value
   * becomes a key that no row has.
   */
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
  checkShards(relation, path)
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
  checkShards(relation, path)
  return { relation, path, create, update: [], connect: [], disconnect: [], delete: [] }
}

/** @throws {HttpError} 400 `VALIDATION` */
export function readBelongsTo(
  relation: Relation,
  value: unknown,
  path: string,
  reader: NestedReader,
): BelongsToWrite | undefined {
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
function checkShards({ target, shards }: Relation, path: string): void {
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
  const belongsTo: BelongsToWrite[] = []
  const toMany: ToMany[] = []
  const links: LinkSet[] = []
  const names = table.relations.size === 0 ? undefined : linkNames(table)
  const toClientError = errorNaming(path, row)
  for (const [name, value] of Object.entries(input)) {
    const at = pathOf(path, name)
    const relation = table.relations.get(name)
    const linkedRelation = names?.get(name)
    if (linkedRelation !== undefined && value !== undefined) {
      links.push({
        relation: linkedRelation,
        ids: readLinkIds(linkedRelation, value),
        toClientError,
      })
    } else if (relation === undefined || value === null) values[name] = value
    else if (value !== undefined) {
      const reader = readerOf(relation.target, row)
      if (relation.kind === 'belongsTo') {
        const write = readBelongsTo(relation, value, at, reader)
        if (write !== undefined) belongsTo.push(write)
      } else toMany.push(readToMany(relation, value, at, reader))
    }
  }
  return {
    table,
    path,
    values,
    derivedFields: new Set(),
    belongsTo,
    toMany,
    links,
    pathWithoutOperation: undefined,
    toClientError,
  }
}

/** Values that are not a list are refused later. */
function readLinkIds({ target }: Relation, value: unknown): Id[] {
  if (target.key.parts === undefined || !Array.isArray(value)) return value as Id[]
  return value.map((id) => readId(target, id))
}

/** Reads one of the rows that a program writes with one call. */
export function readRowTree(table: Table, input: object, row: number): WriteTree {
  const path = String(row)
  if (namesRelations(table, input)) return readTree(table, input, path, row)
  return {
    table,
    path,
    values: input,
    derivedFields: new Set(),
    belongsTo: [],
    toMany: [],
    links: [],
    pathWithoutOperation: undefined,
    toClientError: errorNaming(path, row),
  }
}

/** Reads a change of a program, which has the row's key under its own name. @throws {HttpError} 400 if it has none */
export function readKeyedTree(table: Table, input: object, row: number): KeyedTree {
  const { id, values } = takeKey(input as Instance, readerOf(table, row), String(row))
  return { id, tree: readRowTree(table, values, row) }
}

/** Separates the key of a row from its other values. @throws {HttpError} 400 `VALIDATION` without a key */
function takeKey(
  input: Instance,
  { keyNames, key }: NestedReader,
  path: string,
): { readonly id: Id; readonly values: Instance } {
  const values = { ...input }
  for (const name of keyNames) {
    if (isNullish(values[name])) throw invalid(pathOf(path, name), 'required', 'must be given')
    Reflect.deleteProperty(values, name)
  }
  const [name = ''] = keyNames
  return { id: key(keyNames.length === 1 ? input[name] : input), values }
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
    keyNames: storedColumnsOf(table.key).map(({ property }) => property),
    key: (id) => readId(table, id),
    read: (value, path) => {
      if (!isObject(value)) throw invalid(path, 'type', 'must be an object')
      return readTree(table, value, path, row)
    },
  }
}

function readKeyed(value: unknown, path: string, reader: NestedReader): KeyedTree {
  const { id, values } = takeKey(isObject(value) ? value : {}, reader, path)
  return { id, tree: readChanged(values, path, reader) }
}

function readChanged(value: unknown, path: string, reader: NestedReader): WriteTree {
  const tree = reader.read(value, path)
  checkOperations(tree)
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
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
