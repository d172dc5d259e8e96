/** What `aggregate` of a repository may be asked, and what it answers, typed by the record. */
import type { Direction, Where } from '../filters/filter-types.js'
import type { RowsView } from '../statements/rows-view.js'

/** What many values of a field are made one by. */
export type AggregateFunction = 'sum' | 'avg' | 'min' | 'max'

export const aggregateFunctions: readonly AggregateFunction[] = ['sum', 'avg', 'min', 'max']

/**
 * ```ts
 * { where: { active: true }, groupBy: ['categoryId'], count: true, sum: ['price'], orderBy: { sumPrice: 'desc' }, limit: 10 }
 * // [{ categoryId: 1, count: 12, sumPrice: '118.50' }]
 * ```
 */
export interface AggregateOptions<T> {
  /** Which rows. Default all living ones. */
  where?: Where<T> | undefined
  /** A row for each combination of their values, null among them. Default: one row for all. */
  groupBy?: readonly (keyof T & string)[] | undefined
  /** The number of rows, as `count`. Default: where nothing else is asked. */
  count?: boolean | undefined
  /** Fields of numbers, as `sumPrice`: exact for whole numbers and decimals. Null of none. */
  sum?: readonly (keyof T & string)[] | undefined
  /** Fields of numbers, as `avgPrice`. A decimal's is rounded to its scale. */
  avg?: readonly (keyof T & string)[] | undefined
  /** The smallest value, as `minPrice`. */
  min?: readonly (keyof T & string)[] | undefined
  /** The largest value, as `maxPrice`. */
  max?: readonly (keyof T & string)[] | undefined
  /** Only groups of which this holds: `{ count: { gte: 2 }, sumPrice: { lt: '100.00' } }`. */
  having?: Having<T> | undefined
  /** `{ sumPrice: 'desc' }`, or a list of such. Nulls come last unless `{ nulls: 'first' }`. Ties, and default: by the groups. */
  orderBy?: AggregateOrder<T> | readonly AggregateOrder<T>[] | undefined
  /** Most groups. Default all. */
  limit?: number | undefined
  /** On whose behalf. Default: the program's own, which sees everything. */
  view?: RowsView | undefined
}

type Name<T, F extends string> = `${F}${Capitalize<keyof T & string>}`

export type AggregateName<T> = 'count' | Name<T, AggregateFunction>

export type Having<T> = { [K in AggregateName<T>]?: HavingTest | number | string | null }

export interface HavingTest {
  eq?: unknown
  ne?: unknown
  gt?: unknown
  gte?: unknown
  lt?: unknown
  lte?: unknown
  isNull?: boolean
}

export type AggregateOrder<T> = {
  [K in AggregateName<T> | (keyof T & string)]?:
    Direction | { direction?: Direction; nulls?: 'first' | 'last' }
}

/** Groups under their own names; what was asked under `count`, `sumPrice` and so on. */
export type AggregateRow<T> = { [K in keyof T]?: T[K] | null } & { count?: number } & {
  [K in Name<T, 'sum' | 'avg'>]?: number | string | null
} & { [K in keyof T & string as `${'min' | 'max'}${Capitalize<K>}`]?: T[K] | null }
