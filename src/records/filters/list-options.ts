/**
 * The options of a repository's `find`, `list` and `count`, and how `distinct` and `counts` are read. Source: public
 * API, Records; decisions, Records: queries.
 */
import type { Row as RowWithoutRelations } from '../model/loaded-rows.js'
import {
  declareOptions,
  type DeclaredOptions,
  type OptionsOf,
} from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import type { Column } from '../../engines/contract/table.js'
import {
  invalid,
  readProgramQuery,
  suggestedFields,
  isHidden,
  suggestedRelations,
} from './query-errors.js'
import type { ColumnName, ManyRelationName, RelationPath } from '../model/query-names.js'
import type { OrderBy, Where } from '../model/record-types.js'
import { undefinedOption, type Skip, checkNamed } from '../model/skip.js'
import type { Condition, Relation, Table } from '../model/table.js'
import type { Derived } from '../../sql/derived.js'
import type { Order } from '../../sql/order.js'
import type { Selection } from '../../sql/tree.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { relationCountName } from '../../fields/shape.js'

/** A record's key: a number or a UUID. A number may also be given as text. */
export type Id = number | string

/** A row's key. For a record with `key: ['orderId', 'line']`: an object of these fields, such as the row itself. */
export type KeyOf<T> = Id | Partial<RowWithoutRelations<T>>

const findOptions = declareOptions({ with: option.any<unknown>() })

export interface FindOptions<T> extends OptionsOf<typeof findOptions> {
  /**
   * Relations to load as well, by dotted path: `['category', 'reviews.author']`. One statement for each level. Default
   * none.
   */
  with?: readonly RelationPath<T>[]
}

const lockOptions = declareOptions({
  /**
   * Locks the row until the transaction ends: other transactions that change or lock it wait. Only inside a transaction.
   * Default false.
   */
  lock: option.flag(),
})

/** Options for one row, found by its key. */
export interface FindOneOptions<T> extends FindOptions<T>, OptionsOf<typeof lockOptions> {}

const findOneOptions = declareOptions({ ...findOptions.all, ...lockOptions.all })

const rowsOptions = declareOptions({
  where: option.any<unknown>(),
  /** Rows whose texts, named by `@Record({ search })`, contain all these words; same as `{ search }` in `where`. */
  search: option.any<string | Skip>(),
  distinct: option.any<unknown>(),
  orderBy: option.any<unknown>(),
  counts: option.any<unknown>(),
  /** The maximum number of rows. Default all. */
  limit: option.any<number>(),
  /** The number of rows to skip. Default 0. */
  offset: option.any<number>(),
  /**
   * Only rows after this cursor: the result of `cursorOf` for the last row of a page, with the same `orderBy`. Searches
   * without `orderBy`, and lists with `distinct`, have no cursors; they use `offset`.
   */
  after: option.any<string>(),
  /** Includes soft-deleted rows. Default false. */
  withDeleted: option.flag(),
  /**
   * The client's view, which limits the visible rows and the filters. Default: the program's own, which sees
   * everything.
   */
  view: option.any<RowsView>().unlisted(),
  /** Related rows to read with the same statement, for a client. */
  related: option.any<RelatedRows>().unlisted(),
  /** The number of all rows, to read with the same statement. */
  total: option.any<ListTotal>().unlisted(),
})

export interface ListOptions<T> extends FindOptions<T>, OptionsOf<typeof rowsOptions> {
  where?: Where<T>
  /** Default: by the key; with a search in `where`, the best matches first. */
  orderBy?: OrderBy<T>
  /** Returns only the first of the rows that are equal in all of these fields. Default: every row. */
  distinct?: readonly ColumnName<T>[]
  /**
   * Relations to many rows whose rows are counted: `['reviews']` sets `reviewsCount` on each row, in the same
   * statement. Default none.
   */
  counts?: readonly ManyRelationName<T>[]
}

/** Options for one row, the first of a list. */
export type FirstOptions<T> = Pick<
  ListOptions<T>,
  'where' | 'search' | 'orderBy' | 'with' | 'counts' | 'withDeleted'
>

const { where, search, orderBy, counts, distinct, withDeleted, view } = rowsOptions.all
const listOptions = declareOptions({ ...rowsOptions.all, ...findOptions.all })
const firstOptions = declareOptions({
  ...findOptions.all,
  where,
  search,
  orderBy,
  counts,
  withDeleted,
})
const countOptions = declareOptions({ search, distinct, withDeleted, view })
const rowCountOptions = declareOptions({ where, withDeleted, view })

export type CountOptions<T> = Pick<ListOptions<T>, 'search' | 'distinct' | 'withDeleted' | 'view'>

/**
 * @throws {TypeError} for an unknown option: a misspelt filter would otherwise find every row
 * @throws {DeclarationError} for a filter that is undefined
 */
export function checkListOptions(options: object): void {
  listOptions.check('list', options)
  checkFilterOptions(options)
}

/** @throws {TypeError} for an unknown option */
export function checkFirstOptions(options: object): void {
  firstOptions.check('first', options)
}

/** The options that filter rows, each with the value that selects all rows. */
const filterOptions = [
  ['where', '{} for all rows'],
  ['search', "'' for no search"],
  ['having', '{} for all groups'],
] as const

/** @throws {DeclarationError} for a filter or search that is present but undefined */
export function checkFilterOptions(options: object): void {
  const values = options as Readonly<Record<string, unknown>>
  for (const [name, replacement] of filterOptions)
    if (values[name] === undefined && name in values) throw undefinedOption(name, replacement)
}

/** @throws {TypeError} for an unknown option */
export function checkFindOptions(options: object | undefined, shard?: Column): void {
  withShard(findOneOptions, shard).check('find', options)
}

const shardedOptions = new Map<DeclaredOptions, Map<string, DeclaredOptions>>()

/** The same options with the field of the shard: `find(id, { tenantId })`. */
export function withShard(declared: DeclaredOptions, shard: Column | undefined): DeclaredOptions {
  if (shard === undefined) return declared
  const byField = shardedOptions.get(declared) ?? new Map<string, DeclaredOptions>()
  const { property } = shard
  const sharded =
    byField.get(property) ?? declareOptions({ ...declared.all, [property]: option.any() })
  shardedOptions.set(declared, byField.set(property, sharded))
  return sharded
}

/** @throws as `checkListOptions` */
export function checkCountOptions(options: object): void {
  countOptions.check('count', options)
  checkFilterOptions(options)
}

/** @throws as `checkListOptions` */
export function checkRowCountOptions(options: object): void {
  rowCountOptions.check('counts', options)
  checkFilterOptions(options)
}

/** @throws {HttpError} 400 for anything but an integer from 0 */
export function readCount(name: string, value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw invalid(name, 'type', 'must be an integer from 0')
}

/**
 * The values of a statement that is being written, and a key that is the same for statements that differ in values
 * only.
 */
export interface Slots {
  readonly values: unknown[]
  key: string
}

/** The view of a client, which limits its queries to what it may see. Hidden fields do not exist in it. */
export interface RowsView {
  /** The condition for rows that the client may find, joined with its own; `undefined` for all. */
  bind(table: Table, condition: Condition | undefined, slots: Slots): Condition | undefined
  /**
   * The order with conditions for the related rows that it reads: a row that the client may not see counts as missing.
   *
   * @throws {HttpError} 401 or 403 for fields and relations that the client may not read
   */
  order(table: Table, order: Order, slots: Slots): Order
  /** Refuses a column that the client may not read. */
  checkColumn(table: Table, column: Column): void
  /** As `order`, for a value from other tables. */
  derived(derived: Derived<Relation>, slots: Slots): Derived<Relation>
}

/** Each relation, with the nested relations to load. */
export type RelationTree = ReadonlyMap<Relation, RelationTree>

/** Related rows to read with a list, for a client. */
export interface RelatedRows {
  readonly relations: RelationTree
  /** The maximum number of rows of one relation, with their own related rows; `undefined` if there cannot be many. */
  readonly maxRows?: number | undefined
  /** Reads some of the relations and their conditions. Their values follow the values in the slots. */
  read(relations: RelationTree, slots: Slots): Selection<Relation>
  /** Receives every related row. */
  readonly found: (table: Table, record: Record<string, unknown>) => void
}

/** The number of all rows of a list, whatever its page. */
export interface ListTotal {
  /** Rows are counted up to this number and one more. `undefined`: all. */
  readonly max: number | undefined
  /** Receives the number. Not called if the page has no rows. */
  readonly found: (count: number) => void
}

const maxDistinctFields = 50

/**
 * Reads the fields in which the rows of a list must differ.
 *
 * @param view the client's view; fields that it may not read are refused
 * @throws {HttpError} 400 `VALIDATION`
 * @throws {DeclarationError} for `undefined` in the list
 */
export function readDistinct(
  table: Table,
  fieldNames: unknown,
  view: RowsView | undefined,
): readonly Column[] {
  if (view === undefined)
    return readProgramQuery(table, () =>
      readDistinctColumns(fieldNames, table.columns, suggestedFields(table, false)),
    )
  const visibleColumns = table.columns.filter(({ field }) => !field.hidden)
  const distinct = readDistinctColumns(fieldNames, visibleColumns, suggestedFields(table, true))
  for (const column of distinct) view.checkColumn(table, column)
  return distinct
}

function readDistinctColumns(
  fieldNames: unknown,
  visibleColumns: readonly Column[],
  suggested: readonly string[],
): readonly Column[] {
  if (!Array.isArray(fieldNames) || fieldNames.length === 0)
    throw invalid('distinct', 'type', 'must be a list of fields')
  if (fieldNames.length > maxDistinctFields)
    throw invalid('distinct', 'maxItems', `has more than ${maxDistinctFields} fields`)
  checkNamed('distinct', fieldNames)
  const columns = fieldNames.map((name: unknown, index) => {
    const path = `distinct.${index}`
    const column = visibleColumns.find(({ property }) => property === name)
    if (column === undefined) {
      const suggestion = didYouMean(clip(String(name)), suggested)
      throw invalid(path, 'unknown', `is not a field. ${suggestion}`.trim())
    }
    if (column.compares !== 'list' && column.compares !== 'json') return column
    const kind = column.field.list ? 'list' : column.field.kind
    throw invalid(path, 'type', `cannot be compared: it is of kind "${kind}"`)
  })
  return [...new Set(columns)]
}

const maxCounts = 20

export interface RelationCount {
  readonly relation: Relation
  /** The property of a row that has the number, `reviewsCount`. */
  readonly name: string
}

/**
 * The relations to many rows that can be counted: no field of the record is called `reviewsCount`.
 *
 * @param isClient whether hidden relations are left out
 */
export function countableRelations(table: Table, isClient: boolean): RelationCount[] {
  const { shape } = table
  return [...table.relations.values()].flatMap((relation) => {
    const field = shape.byName.get(relation.name)
    const name = field && relationCountName(shape, field)
    return name === undefined || (isClient && isHidden(relation)) ? [] : [{ relation, name }]
  })
}

/**
 * Reads which related rows are counted with a list: `['reviews']` gives each row `reviewsCount`.
 *
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readCounts(
  table: Table,
  names: readonly unknown[],
  isClient: boolean,
): RelationCount[] {
  if (!Array.isArray(names)) throw invalid('counts', 'type', 'must be a list of relations')
  const all = countableRelations(table, isClient)
  const counts = new Set<RelationCount>()
  for (const name of names as readonly unknown[]) {
    const count = all.find(({ relation }) => relation.name === name)
    if (count === undefined) throw invalidCount(table, String(name), isClient)
    counts.add(count)
  }
  if (counts.size > maxCounts)
    throw invalid('counts', 'maxItems', `names more than ${maxCounts} relations`)
  return [...counts]
}

/** The number of related rows of each row, not yet limited to the rows that a client may see. */
export function toRelationCount(relation: Relation): Derived<Relation> {
  return { path: [{ relation: relation, where: undefined }], column: undefined }
}

function invalidCount(table: Table, name: string, isClient: boolean): Error {
  const relation = table.relations.get(name)
  if (relation === undefined || (isClient && isHidden(relation))) {
    const suggestion = didYouMean(clip(name), suggestedRelations(table, isClient))
    const text = `names "${clip(name)}", which is not a relation of ${table.type.name}. ${suggestion}`
    return invalid('counts', 'unknown', text.trim())
  }
  const why =
    relation.kind === 'belongsTo'
      ? 'leads to one row'
      : `cannot be counted: ${table.type.name} has its own "${name}Count"`
  return invalid('counts', 'type', `names "${clip(name)}", which ${why}`)
}
