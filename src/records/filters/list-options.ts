/** What `find` and `list` of a repository may be asked. Source: public face, Records. */
import { refuseUnknownOptions } from '../statements/refuse-options.js'
import type { Column } from '../model/table.js'
import { invalid } from './invalid.js'
import type { OrderBy, Where } from './filter-types.js'
import type { RelatedRows } from '../statements/related-json.js'
import type { RowsView } from '../statements/rows-view.js'

/** A record's key: a number, or a UUID. A number may come as its text. */
export type Id = number | string

export interface FindOptions {
  /** Relations to load too, by dotted path: `['category', 'reviews.author']`. One statement a level. Default none. */
  with?: readonly string[]
}

/** Of one row, by its key. */
export interface FindOneOptions extends FindOptions {
  /**
   * Holds the row until the transaction ends: whoever else would change it, or hold it, waits. Only inside a transaction.
   * Default false.
   */
  lock?: boolean
}

export interface ListOptions<T> extends FindOptions {
  where?: Where<T>
  /** All these words are in the texts that `@Record({ search })` names, as `{ search }` in `where` says too. */
  search?: string
  /** Default: by the key; with a search in `where`, the rows that fit it best first. */
  orderBy?: OrderBy<T>
  /** Of rows that are alike in all of these fields only the first one. Default: every row. */
  distinct?: readonly (keyof T & string)[]
  /** Most rows. Default all. */
  limit?: number
  /** Rows to leave out first. Default 0. */
  offset?: number
  /**
   * Only rows behind this one in the order: what `cursorOf` gave for the last row of a page, with the same `orderBy`. Rows
   * of a search without `orderBy`, and of `distinct`, have no such place, and go by `offset`.
   */
  after?: string
  /** Rows that were softly deleted too. Default false. */
  withDeleted?: boolean
  /** On whose behalf: what they may see and ask by. Default: the program's own, which sees everything. */
  view?: RowsView
  /** Related rows by the same statement, on behalf of a client. */
  related?: RelatedRows
}

const listOptions: ReadonlySet<string> = new Set([
  'where',
  'search',
  'distinct',
  'orderBy',
  'limit',
  'offset',
  'after',
  'with',
  'withDeleted',
  'view',
  'related',
])

/** @throws {TypeError} a misspelt option: a filter that nobody reads would find every row */
export function checkListOptions(options: object): void {
  refuseUnknownOptions('list', options, listOptions)
}

/** @throws {TypeError} an option that is none */
export function checkFindOptions(options: object | undefined, shard?: Column): void {
  refuseUnknownOptions(
    'find',
    options,
    shard === undefined ? findOptions : new Set([...findOptions, shard.property]),
  )
}

/** @throws {TypeError} an option that is none */
export function checkCountOptions(options: object): void {
  refuseUnknownOptions('count', options, countOptions)
}

const findOptions: ReadonlySet<string> = new Set(['with', 'lock'])
const countOptions: ReadonlySet<string> = new Set(['search', 'distinct', 'withDeleted', 'view'])

/** @throws {HttpError} 400 for what is no whole number */
export function readCount(name: string, value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw invalid(name, 'type', 'must be an integer from 0')
}
