/**
 * Lists of large tables on engines whose planner does not know how many rows have a value. The statement first finds a limited
 * number of matches. If these are all, it sorts them. Otherwise it reads the rows in their order and stops at the limit, so that
 * many thousand matches are neither read nor sorted. Source: SQLite, The Query Optimizer Overview; Common Table Expressions.
 *
 * ```sql
 * -- { status: 'open' }, ordered by priority
 * (with filigree_few as (select "t1"."id" from "ticket" as "t1" where "t1"."status" = ? limit 5001),
 *   filigree_near as (select "t0".* from (the first 2000 tickets by priority) as "t0" where "t0"."status" = ? limit ?)
 *   -- few matches: sorted
 *   select "t0".* from "ticket" as "t0" where "t0"."id" in (select "id" from filigree_few) order by … limit …
 *   -- many matches: those at the beginning of the order, if they are enough
 *   union all select * from filigree_near limit …
 *   -- otherwise all tickets in their order, each tested by a list of keys
 *   union all select "t0".* from "ticket" as "t0" where +"t0"."id" in (select "t2"."id" from …) order by … limit …) as "t0"
 * ```
 */
import type { Dialect } from '../engines/contract/dialect.js'
import { join, name, raw, slot, sql, wrap, type Sql } from '../engines/contract/sql-text.js'
import { storedColumnsOf, type Column } from '../engines/contract/table.js'
import { isIndexed, type SqlTable } from './table.js'
import { leavesOf, type Condition } from './condition.js'
import { indexBoundOf, partsOf, type ConditionPart } from './index-bound.js'
import type { Order } from './order.js'
import type { Rows } from './tree.js'

/** Up to this many matches are sorted. */
const maxSorted = 5000
/** If more rows match, this many rows at the beginning of the order are tested first. Usually they contain a page. */
const testedFirst = 2000

/**
 * Whether the fastest way to read the list depends on the number of matches: an index serves its order, but not its filter in
 * this order.
 *
 * @param where the filter without the condition of a cursor
 */
export function dependsOnMatches(
  table: SqlTable,
  where: Condition | undefined,
  order: Order,
  withDeleted: boolean,
): boolean {
  const [first] = order.terms
  if (where === undefined || first === undefined || order.rank !== undefined) return false
  if (table.shard !== undefined || !isIndexed(first.column, table)) return false
  const rows = { table, where, order, withDeleted, limit: { fixed: 1 } }
  const parts = partsOf({ ...rows, withDeleted: true })
  if (parts.every(({ column }) => column === first.column)) return false
  const found = foundColumn(parts, table, order)
  // Without an index for the filter, all rows would be read for a few matches.
  if (found === undefined || (first.column === table.key && found !== 'search')) return false
  return indexBoundOf(rows, partsOf(rows), (position) => position) === undefined
}

/** The conditions of a list that is read in its order. */
export interface ScanConditions {
  /** Limits the range of the order's index. */
  readonly range: Condition | undefined
  /** An index finds its matches. Their keys are listed once. */
  readonly found: Condition | undefined
  /** Is tested for each row. */
  readonly rest: Condition | undefined
}

export function scanConditionsOf({ table, where, order }: Rows): ScanConditions {
  const parts = partsOf({ table, where, withDeleted: true })
  const found = order && foundColumn(parts, table, order)
  const first = order?.terms[0]?.column
  const isInRange = (condition: Condition): boolean =>
    leavesOf(condition).some(
      (leaf) => leaf.kind !== 'related' && leaf.kind !== 'search' && leaf.column === first,
    )
  const search = parts.find(({ condition }) => condition.kind === 'search')
  const isFound = (part: ConditionPart): boolean =>
    found === 'search' ? part === search : found !== undefined && part.column === found
  const others = parts.filter((part) => !isFound(part)).map(({ condition }) => condition)
  return {
    range: joined(others.filter(isInRange)),
    found: joined(parts.filter(isFound).map(({ condition }) => condition)),
    rest: joined(others.filter((one) => !isInRange(one))),
  }
}

function joined(parts: readonly Condition[]): Condition | undefined {
  return parts.length <= 1 ? parts[0] : { kind: 'all', parts }
}

/** A search, or a column apart from the order whose index serves a condition. */
function foundColumn(
  parts: readonly ConditionPart[],
  table: SqlTable,
  { terms: [first] }: Order,
): Column | 'search' | undefined {
  const isFound = ({ condition, column, role }: ConditionPart): boolean =>
    column !== undefined &&
    column !== first?.column &&
    column !== table.key &&
    (role !== 'test' || (condition.kind === 'compare' && condition.operator === 'startsWith')) &&
    isIndexed(column, table)
  return parts.some(({ condition }) => condition.kind === 'search')
    ? 'search'
    : parts.find(isFound)?.column
}

export interface CountedParts {
  /** The alias of the table in both lists, and of the result. */
  readonly alias: string
  readonly table: SqlTable
  /** Selects the keys of all matches. */
  readonly keys: Sql
  /** Writes the rows with these keys, in their order: `from … where … order by …`. */
  readonly sorted: (keys: Sql) => Sql
  /** Writes the matches among the first rows of the order, of which there are at most this many. */
  readonly near: (maxRows: Sql) => Sql
  /** The rows in their order. */
  readonly scanned: Sql
  /** The slot of the limit. */
  readonly limit: number
  /** The slot of the offset. */
  readonly offset: number | undefined
  readonly dialect: Dialect
}

/** Writes the three lists as one table for `from`. Two of them have the limit 0, so they are not read. */
export function writeByCount(parts: CountedParts): Sql {
  const { alias, table, keys, sorted, near, scanned, limit, offset, dialect } = parts
  const few = name('filigree_few')
  const count = (slotIndex: number): Sql => wrap(dialect.statements.limit.sum, slot(slotIndex))
  const size = offset === undefined ? count(limit) : sql`${count(limit)} + ${count(offset)}`
  const found = name('filigree_near')
  const all = sql`select ${name(alias)}.* from`
  const isMany = sql`(select count(*) from ${few}) > ${raw(String(maxSorted))}`
  const isNear = sql`(select count(*) from ${found}) >= ${size}`
  const tested = near(sql`iif(${isMany}, ${raw(String(testedFirst))}, 0)`)
  const keyNames = join(storedColumnsOf(table.key).map((column) => name(column.name)))
  const lists = [
    sql`${all} ${sorted(sql`select ${keyNames} from ${few}`)} limit iif(${isMany}, 0, ${size})`,
    sql`select * from ${found} limit iif(${isNear}, ${size}, 0)`,
    sql`${all} ${scanned} limit iif(${isMany} and not ${isNear}, ${size}, 0)`,
  ].map((list) => sql`select * from (${list})`)
  const begin = sql`with ${few} as (${keys} limit ${raw(String(maxSorted + 1))}), ${found} as (${all} ${tested} limit ${size})`
  const none = raw(dialect.statements.limit.none)
  return sql`(${begin} ${join(lists, ' union all ')}${none}) as ${name(alias)}`
}
