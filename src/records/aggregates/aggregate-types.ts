/** The options and rows of a repository's `aggregate`, typed by the record. */
import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import type { TimeUnit } from '../../engines/contract/dialect.js'
import type {
  ColumnName,
  ExactNumber,
  NumberName,
  OrderedName,
  RelatedColumnName,
  RelatedColumnValue,
} from '../model/query-names.js'
import type { Unmarked } from '../model/generated.js'
import type { Operators, OrderTerm, Where } from '../model/record-types.js'
import type { Skip } from '../model/skip.js'
import type { RowsView } from '../filters/list-options.js'

/** The functions that compute one value of all values of a field. */
export type AggregateFunction = 'sum' | 'avg' | 'min' | 'max'

export const aggregateFunctions: readonly AggregateFunction[] = ['sum', 'avg', 'min', 'max']

export const aggregateOptions = declareOptions({
  where: option.any<unknown>(),
  groupBy: option.any<unknown>(),
  /** Returns the number of rows, as `count`. Default: true if no other value is requested. False with `groupBy` alone: the groups. */
  count: option.any<boolean>(),
  sum: option.any<unknown>(),
  avg: option.any<unknown>(),
  min: option.any<unknown>(),
  max: option.any<unknown>(),
  having: option.any<unknown>(),
  orderBy: option.any<unknown>(),
  /** The maximum number of groups. Default all. */
  limit: option.any<number>(),
  /** The view of the client. Default: the program's own, which sees everything. */
  view: option.any<RowsView>().unlisted(),
})

/**
 * ```ts
 * { where: { active: true }, groupBy: ['categoryId'], count: true, sum: ['price'], orderBy: { sumPrice: 'desc' }, limit: 10 }
 * // [{ categoryId: 1, count: 12, sumPrice: '118.50' }]
 * ```
 */
export interface AggregateOptions<T> extends OptionsOf<typeof aggregateOptions> {
  /** Filters the rows. Default: all rows that are not deleted. */
  where?: Where<T>
  /**
   * One row for each combination of these fields' values; null counts as a value. Default: one row for all. Timestamps
   * and dates may be grouped by their local time: `{ field: 'createdAt', by: 'week', zone: 'Europe/Berlin' }`. Fields of
   * records that the rows belong to have dotted names: `sample.project.name`.
   */
  groupBy?: readonly (ColumnName<T> | RelatedColumnName<T> | TimeGrouping<T>)[] | undefined
  /** Numeric fields, returned as `sumPrice`, exact for integers and decimals. Null if there are no values. */
  sum?: readonly NumberName<T>[] | undefined
  /** Numeric fields, returned as `avgPrice`. For a decimal it is rounded to the field's scale. */
  avg?: readonly NumberName<T>[] | undefined
  /** The smallest value, as `minPrice`. */
  min?: readonly OrderedName<T>[] | undefined
  /** The largest value, as `maxPrice`. */
  max?: readonly OrderedName<T>[] | undefined
  /** Only groups that match: `{ count: { gte: 2 }, sumPrice: { lt: '100.00' } }`. */
  having?: Having<T>
  /**
   * `{ sumPrice: 'desc' }`, or a list of such terms. Nulls come last unless `{ nulls: 'first' }`. Equal rows, and by
   * default all rows, are ordered by the grouping fields.
   */
  orderBy?: AggregateOrder<T> | readonly AggregateOrder<T>[]
}

/** Groups a timestamp or date by its local time. */
export interface TimeGrouping<T> {
  field: OrderedName<T> | RelatedColumnName<T>
  /**
   * A week begins on Monday. The group's value is its first local day, `2026-11-16`; for hours the local hour with its
   * distance from UTC, `2026-11-16T10:00:00+01:00`.
   */
  by: TimeUnit
  /** A zone of the IANA, `Europe/Berlin`. Default UTC. Dates have none. */
  zone?: string
}

/** The results `sumPrice` and `avgPrice`. */
type NumberResult<T> = `${'sum' | 'avg'}${Capitalize<NumberName<T>>}`

/** The results `minPrice` and `maxPrice`. */
type OrderedResult<Name extends string> = `${'min' | 'max'}${Capitalize<Name>}`

export type AggregateName<T> = 'count' | NumberResult<T> | OrderedResult<OrderedName<T>>

/** Conditions on the results of groups. Patterns are for the smallest and the largest text: `minName`, `maxName`. */
export type Having<T> = {
  [K in 'count' | NumberResult<T>]?: Operators<number | ExactNumber> | number | string | null | Skip
} & {
  [K in OrderedName<T> as OrderedResult<K>]?: HavingTest<Unmarked<NonNullable<T[K]>>>
}

type HavingTest<V> = Operators<V> | V | null | Skip

export type AggregateOrder<T> = {
  [K in AggregateName<T> | ColumnName<T> | RelatedColumnName<T>]?: OrderTerm
}

/** Grouping fields under their own names; aggregates as `count`, `sumPrice` and so on. */
export type AggregateRow<T> = { [K in keyof T]?: T[K] | null } & { count?: number } & {
  [K in NumberResult<T>]?: number | string | null
} & { [K in OrderedName<T> as OrderedResult<K>]?: T[K] | null } & {
  [K in RelatedColumnName<T>]?: RelatedColumnValue<T, K> | null
}
