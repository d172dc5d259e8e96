/** The order of rows and its SQL. Rows that are equal in the order are sorted by key, so that pages never overlap. */
import type { Dialect } from '../engines/contract/dialect.js'
import { name, raw, slot, sql, type Sql, join, wrap } from '../engines/contract/sql-text.js'
import { storedColumnsOf, type Column, type KeyedTable } from '../engines/contract/table.js'
import { coversAllRows, type SqlTable } from './table.js'
import { noRows, type Condition, type SearchCondition } from './condition.js'
import { selectsRange } from './operators.js'
import type { Ranking } from '../engines/contract/search-sql.js'

/** The rows of an ordered list that have a value in the first column, or the rows with null. */
interface NullPiece {
  readonly condition: Condition
  readonly terms: readonly OrderTerm[]
  /** The null test is the only condition, so no examined row is skipped. */
  readonly isPlain?: boolean
}

/**
 * Splits a list in the order of a nullable column into two: the rows with a value and the rows with null. An index serves each
 * of them, but no index serves both together or a cursor in both. The second list is not read if the first is long enough.
 *
 * @returns the pieces in order, without empty ones. `undefined` if an index serves the complete list, or none serves a piece
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
    !dialect.can.nullOrderInIndexes ||
    leading.some(({ form }) => {
      const { descending = false, nullsFirst: before = false } = form?.orders[0] ?? {}
      return (descending === first.descending) === (before === nullsFirst)
    })
  if (isServed && !isEitherOrNull(condition, column)) return undefined
  // Without nulls, the order has no `nulls last`, like the index.
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

/** Whether no matching row has null in the column. */
function excludesNull(condition: Condition, column: Column): boolean {
  if (condition.kind === 'all') return condition.parts.some((part) => excludesNull(part, column))
  return (
    condition.kind === 'compare' &&
    condition.column === column &&
    condition.path === undefined &&
    selectsRange(condition.operator)
  )
}

/** Writes the pieces as one table for `from`. */
export function writeNullPieces(
  pieces: readonly NullPiece[],
  { alias, rows, order, limit, offset, dialect }: NullPieceParts,
): Sql {
  const { oneTimeConditions } = dialect.can
  const count = (slotIndex: number): Sql => wrap(dialect.statements.limit.sum, slot(slotIndex))
  const limitPlusOffset =
    offset === undefined ? count(limit) : sql`${count(limit)} + ${count(offset)}`
  const write = ({ condition, terms }: NullPiece, limitSql: Sql, more?: Sql): Sql =>
    sql`select ${name(alias)}.* from ${rows(condition)}${more}${order(terms)} limit ${limitSql}`
  const [first = { condition: noRows, terms: [] }, second] = pieces
  if (second === undefined) return sql`(${write(first, limitPlusOffset)}) as ${name(alias)}`
  // SQLite would store a common table expression that is read twice. The limit keeps it from sorting both lists together.
  if (!oneTimeConditions && second.isPlain === true)
    return sql`(select * from (${write(first, limitPlusOffset)}) union all select * from (${write(second, limitPlusOffset)}) limit -1) as ${name(alias)}`
  const before = name('filigree_first')
  const found = sql`(select count(*) from ${before})`
  // SQLite would evaluate the condition for every row. PostgreSQL makes better plans for a limit without a subquery.
  const secondPiece = oneTimeConditions
    ? write(second, limitPlusOffset, sql` and ${found} < ${limitPlusOffset}`)
    : write(second, sql`${limitPlusOffset} - ${found}`)
  return sql`(with ${before} as (${write(first, limitPlusOffset)}) select * from ${before} union all select * from (${secondPiece}) as filigree_second${raw(dialect.statements.limit.none)}) as ${name(alias)}`
}

interface NullPieceParts {
  /** The alias of the table in each piece and of the result. */
  readonly alias: string
  /** Writes the table with its alias and `where`: this condition and all other conditions of the rows. */
  readonly rows: (condition: Condition) => Sql
  /** Writes ` order by …` for the alias. */
  readonly order: (terms: readonly OrderTerm[]) => Sql | undefined
  /** The slot of the limit. */
  readonly limit: number
  /** The slot of the offset. */
  readonly offset: number | undefined
  readonly dialect: Dialect
}

/** Whether one of the conditions is "after this value, or null", as cursors write it. */
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

/** Simplifies a condition for the rows that have, or do not have, null in a column. */
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
  // Null differs from every value. All other comparisons with null are false.
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
  /** Identifies the order: equal orders have the same key. */
  readonly key: string
  /** If set, rows are first ordered by how well they match this search. */
  readonly rank?: SearchCondition
  /** Maximum number of matches that are ranked. Default: all. */
  readonly maxRanked?: number | undefined
}

export function ascending(column: Column): OrderTerm {
  return { column, descending: false, nullsFirst: false }
}

/** The default order. */
export function byKey({ key }: KeyedTable): Order {
  return { terms: storedColumnsOf(key).map(ascending), key: '' }
}

export function reversed(terms: readonly OrderTerm[]): OrderTerm[] {
  return terms.map(({ column, descending, nullsFirst }) => ({
    column,
    descending: !descending,
    nullsFirst: !nullsFirst,
  }))
}

/**
 * Writes ` order by …`, or nothing without terms.
 *
 * @param valueOf writes a column of the alias as it is compared
 */
export function writeOrder(
  terms: readonly OrderTerm[],
  alias: string,
  ranking: Pick<Ranking, 'by'> | undefined,
  valueOf: (alias: string, column: Column) => Sql,
): Sql | undefined {
  if (terms.length === 0) return undefined
  const written = terms.map(({ column, descending, nullsFirst }) =>
    writeDirection(valueOf(alias, column), descending, column.nullable ? nullsFirst : undefined),
  )
  return sql` order by ${ranking?.by}${join(written)}`
}

/** @param nullsFirst `undefined` if no value is null, so that an index can serve the order */
export function writeDirection(
  value: Sql,
  descending: boolean,
  nullsFirst: boolean | undefined,
): Sql {
  const nulls = nullsFirst === undefined ? '' : nullsFirst ? ' nulls first' : ' nulls last'
  return sql`${value}${raw(`${descending ? ' desc' : ' asc'}${nulls}`)}`
}
