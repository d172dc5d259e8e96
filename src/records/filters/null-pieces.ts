/**
 * Reads a list in the order of a nullable column as two lists: first the rows with a value, then those with null. An
 * index serves each of them, but none serves the order, or the place behind a cursor, of both together. The second list
 * is not read if the first one is enough.
 */
import { Slot, type RawBuilder } from '../statements/builder.js'
import type { Dialect } from '../../engines/contract/engine.js'
import { holdsAll } from '../model/read-indexes.js'
import type { ColumnCodec, TableCodec } from '../model/codec.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import type { Condition } from './condition.js'
import type { FilterWriter } from './filter-sql.js'
import { writeOrder, type Order, type OrderTerm } from './order.js'

type Fragment = RawBuilder<unknown>

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
  { table, codec }: { readonly table: Table; readonly codec: TableCodec },
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
  const kept = codec.byProperty.get(column.property) as ColumnCodec
  const pieces = [toPiece(condition, kept, false, [valued, ...others])]
  pieces[nullsFirst ? 'unshift' : 'push'](toPiece(condition, kept, true, others))
  const found = pieces.filter((piece) => piece !== undefined)
  return table.deletedAt === undefined
    ? found
    : found.map((piece) => ({ ...piece, isPlain: false }))
}

function toPiece(
  condition: Condition | undefined,
  codec: ColumnCodec,
  isNull: boolean,
  terms: readonly OrderTerm[],
): Piece | undefined {
  const test: Condition = { kind: 'null', codec, isNull }
  const other = condition === undefined || assume(condition, codec.column, isNull)
  if (other === false) return undefined
  if (other === true) return { condition: test, terms, isPlain: true }
  if (!isNull && comparesWith(other, codec.column)) return { condition: other, terms }
  return { condition: { kind: 'all', parts: [test, other] }, terms }
}

/** No row that it holds of is null there. */
function comparesWith(condition: Condition, column: Column): boolean {
  if (condition.kind === 'all') return condition.parts.some((part) => comparesWith(part, column))
  return (
    condition.kind === 'compare' &&
    condition.codec.column === column &&
    condition.at === undefined &&
    bounds.has(condition.operator)
  )
}

const bounds: ReadonlySet<string> = new Set(['lt', 'lte', 'gt', 'gte'])

/** The rows of a list, to stand behind `from`. */
export function writePieces(
  pieces: readonly Piece[],
  { alias, writer, rows, limit, offset, isLocal }: PieceParts,
): Fragment {
  const { sql } = writer
  const slot = (place: number): Fragment =>
    isLocal ? sql`${new Slot(place)} + 0` : sql`cast(${new Slot(place)} as bigint)`
  const most = offset === undefined ? slot(limit) : sql`${slot(limit)} + ${slot(offset)}`
  const write = ({ condition, terms }: Piece, more: Fragment, few: Fragment): Fragment => {
    const by = terms.length === 0 ? sql`` : sql` order by ${writeOrder(terms, writer, alias)}`
    return sql`select ${sql.id(alias)}.* from ${rows(condition)}${more}${by} limit ${few}`
  }
  const [first, second] = pieces
  if (first === undefined) {
    const none: Piece = { condition: { kind: 'any', parts: [] }, terms: [] }
    return sql`(${write(none, sql``, most)}) as ${sql.id(alias)}`
  }
  if (second === undefined) return sql`(${write(first, sql``, most)}) as ${sql.id(alias)}`
  // SQLite writes a table for what it reads twice, and merges lists that it could sort together unless they have a limit.
  if (isLocal && second.isPlain === true)
    return sql`(select * from (${write(first, sql``, most)}) union all select * from (${write(second, sql``, most)}) limit -1) as ${sql.id(alias)}`
  const name = sql.id('filigree_first')
  const found = sql`(select count(*) from ${name})`
  // SQLite would evaluate a condition for every row; PostgreSQL makes better plans for a limit that it knows.
  const behind = isLocal
    ? write(second, sql``, sql`${most} - ${found}`)
    : write(second, sql` and ${found} < ${most}`, most)
  return sql`(with ${name} as (${write(first, sql``, most)}) select * from ${name} union all select * from (${behind}) as filigree_second${sql.raw(isLocal ? ' limit -1' : '')}) as ${sql.id(alias)}`
}

interface PieceParts {
  /** The alias of the table in each piece, and of the joined pieces. */
  readonly alias: string
  readonly writer: FilterWriter
  /** The table under the alias, with `where`: the given condition and all others. */
  readonly rows: (condition: Condition) => Fragment
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
    condition.codec.column === column &&
    condition.at === undefined &&
    condition.isNull
  )
}

/** Simplifies a condition for rows in which a column is null, or is not null. */
export function assume(condition: Condition, column: Column, isNull: boolean): Condition | boolean {
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
  if (condition.codec.column !== column) return condition
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
