/** The order of rows, and how it is written. Ties are broken by the key, so that pages never overlap. */

import type { Dialect } from '../engines/contract/dialect.js'
import { name, raw, slot, sql, type Sql, join } from '../engines/contract/sql-text.js'
import type { Column, KeyedTable } from '../engines/contract/table.js'
import { noRows, type Condition, type SearchCondition } from './condition.js'
import { coversAllRows, type SqlTable } from './table.js'
import type { Ranking } from '../engines/contract/dialect.js'
import { ref } from './write-context.js'

/**
 * Reads a list in the order of a nullable column as two lists: first the rows with a value, then those with null. An
 * index serves each of them, but none serves the order, or the place behind a cursor, of both together. The second list
 * is not read if the first one is enough.
 */

interface NullPiece {
  readonly condition: Condition
  readonly terms: readonly OrderTerm[]
  /** Its rows need pass no test but the null one: none is looked at in vain. */
  readonly isPlain?: boolean
}

/**
 * @returns the pieces in order, without empty ones; `undefined` if an index serves the whole list, or none serves a
 * piece
 */
export function splitAtNulls(
  table: SqlTable,
  { terms: [first, ...rest] }: Order,
  condition: Condition | undefined,
  dialect: Dialect,
): readonly NullPiece[] | undefined {
  if (first?.column.nullable !== true) return undefined
  const { column, nullsFirst } = first
  const leading = table.indexes.filter(
    (index) => index.columns[0] === column && coversAllRows(index),
  )
  if (leading.length === 0) return undefined
  const isServed =
    !dialect.indexes.nulls ||
    leading.some(({ form }) => {
      const { descending = false, nullsFirst: before = false } = form?.orders[0] ?? {}
      return (descending === first.descending) === (before === nullsFirst)
    })
  if (isServed && !isEitherOrNull(condition, column)) return undefined
  // A column that is never null is sorted without `nulls last`, as an index is.
  const valued = { ...first, column: { ...column, nullable: false } }
  const pieces = [toNullPiece(condition, column, false, [valued, ...rest])]
  pieces[nullsFirst ? 'unshift' : 'push'](toNullPiece(condition, column, true, rest))
  const found = pieces.filter((piece) => piece !== undefined)
  return table.deletedAt === undefined
    ? found
    : found.map((piece) => ({ ...piece, isPlain: false }))
}

function toNullPiece(
  condition: Condition | undefined,
  column: Column,
  isNull: boolean,
  terms: readonly OrderTerm[],
): NullPiece | undefined {
  const test: Condition = { kind: 'null', column, isNull }
  const other = condition === undefined || assume(condition, column, isNull)
  if (other === false) return undefined
  if (other === true) return { condition: test, terms, isPlain: true }
  if (!isNull && excludesNull(other, column)) return { condition: other, terms }
  return { condition: { kind: 'all', parts: [test, other] }, terms }
}

/** No row that it holds of is null there. */
function excludesNull(condition: Condition, column: Column): boolean {
  if (condition.kind === 'all') return condition.parts.some((part) => excludesNull(part, column))
  return (
    condition.kind === 'compare' &&
    condition.column === column &&
    condition.path === undefined &&
    rangeOperators.has(condition.operator)
  )
}

const rangeOperators: ReadonlySet<string> = new Set(['lt', 'lte', 'gt', 'gte'])

/** The rows of a list, to stand behind `from`. */
export function writeNullPieces(
  pieces: readonly NullPiece[],
  { alias, rows, order, limit, offset, isLocal }: NullPieceParts,
): Sql {
  const count = (place: number): Sql =>
    isLocal ? sql`${slot(place)} + 0` : sql`cast(${slot(place)} as bigint)`
  const limitPlusOffset =
    offset === undefined ? count(limit) : sql`${count(limit)} + ${count(offset)}`
  const write = ({ condition, terms }: NullPiece, limitSql: Sql, more?: Sql): Sql =>
    sql`select ${name(alias)}.* from ${rows(condition)}${more}${order(terms)} limit ${limitSql}`
  const [first = { condition: noRows, terms: [] }, second] = pieces
  if (second === undefined) return sql`(${write(first, limitPlusOffset)}) as ${name(alias)}`
  // SQLite writes a table for what it reads twice, and merges lists that it could sort together unless they have a limit.
  if (isLocal && second.isPlain === true)
    return sql`(select * from (${write(first, limitPlusOffset)}) union all select * from (${write(second, limitPlusOffset)}) limit -1) as ${name(alias)}`
  const before = name('filigree_first')
  const found = sql`(select count(*) from ${before})`
  // SQLite would evaluate a condition for every row; PostgreSQL makes better plans for a limit that it knows.
  const secondPiece = isLocal
    ? write(second, sql`${limitPlusOffset} - ${found}`)
    : write(second, limitPlusOffset, sql` and ${found} < ${limitPlusOffset}`)
  return sql`(with ${before} as (${write(first, limitPlusOffset)}) select * from ${before} union all select * from (${secondPiece}) as filigree_second${raw(isLocal ? ' limit -1' : '')}) as ${name(alias)}`
}

interface NullPieceParts {
  /** The alias of the table in each piece, and of the joined pieces. */
  readonly alias: string
  /** The table under the alias, with `where`: the given condition and all others. */
  readonly rows: (condition: Condition) => Sql
  /** ` order by …` of the rows under the alias. */
  readonly order: (terms: readonly OrderTerm[]) => Sql | undefined
  /** The slots of limit and offset. */
  readonly limit: number
  readonly offset: number | undefined
  /** The dialect's `isLocal`. */
  readonly isLocal: boolean
}

/** True if the cursor's condition is either "behind this value" or "null". */
function isEitherOrNull(condition: Condition | undefined, column: Column): boolean {
  if (condition === undefined) return false
  if (condition.kind === 'all') return condition.parts.some((part) => isEitherOrNull(part, column))
  return condition.kind === 'any' && condition.parts.some((part) => isNullTest(part, column))
}

function isNullTest(condition: Condition, column: Column): boolean {
  return (
    condition.kind === 'null' &&
    condition.column === column &&
    condition.path === undefined &&
    condition.isNull
  )
}

/** Simplifies a condition for rows in which a column is null, or is not null. */
function assume(condition: Condition, column: Column, isNull: boolean): Condition | boolean {
  switch (condition.kind) {
    case 'all':
    case 'any':
      return assumeGroup(condition, column, isNull)
    case 'not': {
      const part = assume(condition.part, column, isNull)
      return typeof part === 'boolean' ? !part : { kind: 'not', part }
    }
    case 'related':
    case 'search':
      return condition
    default:
      break
  }
  if (condition.column !== column) return condition
  if (condition.kind === 'list') {
    if (isNull) return condition.orNull
    return { ...condition, orNull: false }
  }
  if (condition.path !== undefined) return condition
  if (condition.kind === 'null') return condition.isNull === isNull
  // Null differs from every value; all other comparisons with it are false.
  return isNull ? condition.operator === 'ne' : condition
}

function assumeGroup(
  { kind, parts }: Extract<Condition, { kind: 'all' | 'any' }>,
  column: Column,
  isNull: boolean,
): Condition | boolean {
  const isAll = kind === 'all'
  const remainingParts: Condition[] = []
  for (const part of parts) {
    const simplified = assume(part, column, isNull)
    if (typeof simplified !== 'boolean') remainingParts.push(simplified)
    else if (simplified !== isAll) return simplified
  }
  const [only] = remainingParts
  if (only === undefined) return isAll
  return remainingParts.length === 1 ? only : { kind, parts: remainingParts }
}

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
  readonly maxRanked?: number | undefined
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
    writeDirection(valueOf(alias, column), descending, column.nullable ? nullsFirst : undefined),
  )
  return sql` order by ${ranking?.by}${join(written)}`
}

/** @param nullsFirst `undefined` where there is no null: so an index is sorted too */
export function writeDirection(
  value: Sql,
  descending: boolean,
  nullsFirst: boolean | undefined,
): Sql {
  const nulls = nullsFirst === undefined ? '' : nullsFirst ? ' nulls first' : ' nulls last'
  return sql`${value}${raw(`${descending ? ' desc' : ' asc'}${nulls}`)}`
}
