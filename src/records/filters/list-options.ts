/** The options of a repository's `find` and `list`. Source: public API, Records. */
import { refuseUnknownOptions } from '../../errors/unknown-options.js'
import type { Column } from '../../engines/contract/table.js'
import { invalid } from './invalid.js'
import type { OrderBy, Where } from '../model/filter-types.js'
import type { RelatedRows, RowsView } from './rows-view.js'
import { undefinedOption, type Skip } from '../model/skip.js'

/** A record's key: a number or a UUID. A number may also be given as text. */
export type Id = number | string

export interface FindOptions {
  /**
   * Relations to load as well, by dotted path: `['category', 'reviews.author']`. One statement for each level. Default
   * none.
   */
  with?: readonly string[]
}

/** Options for one row, found by its key. */
export interface FindOneOptions extends FindOptions {
  /**
   * Locks the row until the transaction ends: others who want to change or lock it wait. Only inside a transaction.
   * Default false.
   */
  lock?: boolean
}

export interface ListOptions<T> extends FindOptions {
  where?: Where<T>
  /** Rows whose texts, named by `@Record({ search })`, contain all these words; same as `{ search }` in `where`. */
  search?: string | Skip
  /** Default: by the key; with a search in `where`, the best matches first. */
  orderBy?: OrderBy<T>
  /** Of rows that are equal in all of these fields, only the first one. Default: every row. */
  distinct?: readonly (keyof T & string)[]
  /**
   * Relations to many rows whose rows are counted: `['reviews']` sets `reviewsCount` on each row, in the same
   * statement. Default none.
   */
  counts?: readonly (keyof T & string)[]
  /** The maximum number of rows. Default all. */
  limit?: number
  /** The number of rows to skip. Default 0. */
  offset?: number
  /**
   * Only rows behind this place in the order: what `cursorOf` returned for the last row of a page, with the same
   * `orderBy`. Searches without `orderBy`, and lists with `distinct`, have no such places; they use `offset`.
   */
  after?: string
  /** Includes soft-deleted rows. Default false. */
  withDeleted?: boolean
  /**
   * The client's view, which limits the visible rows and the filters. Default: the program's own, which sees
   * everything.
   */
  view?: RowsView
  /** Related rows to read with the same statement, for a client. */
  related?: RelatedRows
}

/** A row of a list, with the counts that the options name. */
export type WithCounts<T, O> = O extends { readonly counts: readonly (infer Name extends string)[] }
  ? T & { [Relation in Name as `${Relation}Count`]: number }
  : T

export type CountOptions<T> = Pick<ListOptions<T>, 'search' | 'distinct' | 'withDeleted' | 'view'>

const listOptions: ReadonlySet<string> = new Set([
  'where',
  'search',
  'distinct',
  'orderBy',
  'counts',
  'limit',
  'offset',
  'after',
  'with',
  'withDeleted',
  'view',
  'related',
])

/**
 * @throws {TypeError} for an unknown option: a misspelt filter would otherwise find every row
 * @throws {DeclarationError} for a filter that is undefined
 */
export function checkListOptions(options: object): void {
  refuseUnknownOptions('list', options, listOptions)
  rejectUndefined(options)
}

/** What says which rows are meant, with what means all of them. */
const filterOptions = [
  ['where', '{} for all rows'],
  ['search', "'' for no search"],
  ['having', '{} for all groups'],
] as const

/**
 * @throws {DeclarationError} for a filter or search that is there, but undefined
 * @throws {TypeError} for a flag that is neither true nor false
 */
export function rejectUndefined(options: object): void {
  const values = options as Readonly<Record<string, unknown>>
  for (const [name, replacement] of filterOptions)
    if (values[name] === undefined && name in values) throw undefinedOption(name, replacement)
  checkFlags(values)
}

/** @throws {TypeError} for `withDeleted: 'false'`, which would read as true, and `lock: 'true'`, which would lock nothing */
function checkFlags({ withDeleted, lock }: { readonly [name: string]: unknown }): void {
  checkFlag('withDeleted', withDeleted)
  checkFlag('lock', lock)
}

function checkFlag(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean')
    throw new TypeError(`${name} must be true or false.`)
}

/** @throws {TypeError} for an unknown option */
export function checkFindOptions(options: object | undefined, shard?: Column): void {
  refuseUnknownOptions(
    'find',
    options,
    shard === undefined ? findOptions : new Set([...findOptions, shard.property]),
  )
  if (options !== undefined) checkFlags(options as { readonly [name: string]: unknown })
}

/** @throws as `checkListOptions` */
export function checkCountOptions(options: object): void {
  refuseUnknownOptions('count', options, countOptions)
  rejectUndefined(options)
}

/** @throws as `checkListOptions` */
export function checkCountedOptions(options: object): void {
  refuseUnknownOptions('counts', options, countedOptions)
  rejectUndefined(options)
}

const findOptions: ReadonlySet<string> = new Set(['with', 'lock'])
const countedOptions: ReadonlySet<string> = new Set(['where', 'withDeleted', 'view'])
const countOptions: ReadonlySet<string> = new Set(['search', 'distinct', 'withDeleted', 'view'])

/** @throws {HttpError} 400 for anything but an integer from 0 */
export function readCount(name: string, value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw invalid(name, 'type', 'must be an integer from 0')
}
