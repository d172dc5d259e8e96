/**
 * Reads a list in the order of a nullable column as two lists: first the rows with a value, then those with null. An
 * index serves each of them, but none serves the order, or the place behind a cursor, of both together. The second list
 * is not read if the first one is enough.
 */
import type { Dialect } from '../engines/contract/dialect.js'
import { name, raw, slot, sql, type Sql } from '../engines/contract/sql-text.js'
import type { Column } from '../engines/contract/table.js'
import { nothing, type Condition } from './condition.js'
import type { Order, OrderTerm } from './order.js'
import { holdsAll, type SqlTable } from './table.js'

interface Piece {
  readonly condition: Condition
  readonly terms: readonly OrderTerm[]
  /** Its rows need pass no test but the null one: none is looked at in vain. */
  readonly isPlain?: boolean
}

/**
 * @returns the pieces in order, without empty ones; `undefined` if an index serves the whole list, or none serves a
 * piece
 */
export function toNullPieces(
  table: SqlTable,
  { terms: [first, ...others] }: Order,
  condition: Condition | undefined,
  dialect: Dialect,
): readonly Piece[] | undefined {
  if (first?.column.nullable !== true) return undefined
  const { column, nullsFirst } = first
  const leading = table.indexes.filter((index) => index.columns[0] === column && holdsAll(index))
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
  const pieces = [toPiece(condition, column, false, [valued, ...others])]
  pieces[nullsFirst ? 'unshift' : 'push'](toPiece(condition, column, true, others))
  const found = pieces.filter((piece) => piece !== undefined)
  return table.deletedAt === undefined
    ? found
    : found.map((piece) => ({ ...piece, isPlain: false }))
}

function toPiece(
  condition: Condition | undefined,
  column: Column,
  isNull: boolean,
  terms: readonly OrderTerm[],
): Piece | undefined {
  const test: Condition = { kind: 'null', column, isNull }
  const other = condition === undefined || assume(condition, column, isNull)
  if (other === false) return undefined
  if (other === true) return { condition: test, terms, isPlain: true }
  if (!isNull && comparesWith(other, column)) return { condition: other, terms }
  return { condition: { kind: 'all', parts: [test, other] }, terms }
}

/** No row that it holds of is null there. */
function comparesWith(condition: Condition, column: Column): boolean {
  if (condition.kind === 'all') return condition.parts.some((part) => comparesWith(part, column))
  return (
    condition.kind === 'compare' &&
    condition.column === column &&
    condition.at === undefined &&
    bounds.has(condition.operator)
  )
}

const bounds: ReadonlySet<string> = new Set(['lt', 'lte', 'gt', 'gte'])

/** The rows of a list, to stand behind `from`. */
export function writePieces(
  pieces: readonly Piece[],
  { alias, rows, order, limit, offset, isLocal }: PieceParts,
): Sql {
  const count = (place: number): Sql =>
    isLocal ? sql`${slot(place)} + 0` : sql`cast(${slot(place)} as bigint)`
  const most = offset === undefined ? count(limit) : sql`${count(limit)} + ${count(offset)}`
  const write = ({ condition, terms }: Piece, few: Sql, more?: Sql): Sql =>
    sql`select ${name(alias)}.* from ${rows(condition)}${more}${order(terms)} limit ${few}`
  const [first = { condition: nothing, terms: [] }, second] = pieces
  if (second === undefined) return sql`(${write(first, most)}) as ${name(alias)}`
  // SQLite writes a table for what it reads twice, and merges lists that it could sort together unless they have a limit.
  if (isLocal && second.isPlain === true)
    return sql`(select * from (${write(first, most)}) union all select * from (${write(second, most)}) limit -1) as ${name(alias)}`
  const before = name('filigree_first')
  const found = sql`(select count(*) from ${before})`
  // SQLite would evaluate a condition for every row; PostgreSQL makes better plans for a limit that it knows.
  const behind = isLocal
    ? write(second, sql`${most} - ${found}`)
    : write(second, most, sql` and ${found} < ${most}`)
  return sql`(with ${before} as (${write(first, most)}) select * from ${before} union all select * from (${behind}) as filigree_second${raw(isLocal ? ' limit -1' : '')}) as ${name(alias)}`
}

interface PieceParts {
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
    condition.at === undefined &&
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
  if (condition.at !== undefined) return condition
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
  const left: Condition[] = []
  for (const part of parts) {
    const known = assume(part, column, isNull)
    if (typeof known !== 'boolean') left.push(known)
    else if (known !== isAll) return known
  }
  const [only] = left
  if (only === undefined) return isAll
  return left.length === 1 ? only : { kind, parts: left }
}
