/** The order of rows, and how it is written. Ties are broken by the key, so that pages never overlap. */
import type { Ranking } from '../engines/contract/dialect.js'
import { join, raw, sql, type Sql } from '../engines/contract/sql-text.js'
import type { Column, KeyedTable } from '../engines/contract/table.js'
import type { SearchCondition } from './condition.js'
import { ref } from './writing.js'

export interface OrderTerm {
  readonly column: Column
  readonly descending: boolean
  readonly nullsFirst: boolean
}

export interface Order {
  readonly terms: readonly OrderTerm[]
  /** The same for equal orders. */
  readonly key: string
  /** If set, rows are first ordered by how well they match this search. */
  readonly rank?: SearchCondition
  /** How many of its matches are ranked at most. Default all. */
  readonly ranked?: number | undefined
}

export function ascending(column: Column): OrderTerm {
  return { column, descending: false, nullsFirst: false }
}

/** The order in which nothing else is asked for. */
export function byKey({ key }: KeyedTable): Order {
  return { terms: [ascending(key)], key: '' }
}

export function reversed(terms: readonly OrderTerm[]): OrderTerm[] {
  return terms.map(({ column, descending, nullsFirst }) => ({
    column,
    descending: !descending,
    nullsFirst: !nullsFirst,
  }))
}

/**
 * ` order by …`; nothing where no order is asked for.
 *
 * @param valueOf writes a column of the alias's row. Default: by its name, also where it is derived
 */
export function writeOrder(
  terms: readonly OrderTerm[],
  alias: string,
  ranking?: Pick<Ranking, 'by'>,
  valueOf: (alias: string, column: Column) => Sql = ref,
): Sql | undefined {
  if (terms.length === 0) return undefined
  const written = terms.map(({ column, descending, nullsFirst }) =>
    directed(valueOf(alias, column), descending, column.nullable ? nullsFirst : undefined),
  )
  return sql` order by ${ranking?.by}${join(written)}`
}

/** @param nullsFirst `undefined` where there is no null: so an index is sorted too */
export function directed(value: Sql, descending: boolean, nullsFirst: boolean | undefined): Sql {
  const nulls = nullsFirst === undefined ? '' : nullsFirst ? ' nulls first' : ' nulls last'
  return sql`${value}${raw(`${descending ? ' desc' : ' asc'}${nulls}`)}`
}
