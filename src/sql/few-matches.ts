/**
 * Lists of large tables whose planner does not know how many rows match, or where in the order they are. The statement finds a
 * limited number of matches. If these are all, it sorts them. Otherwise it reads the rows in their order and stops at the limit,
 * so that many thousand matches are neither read nor sorted.
 * Sources: SQLite, The Query Optimizer Overview; PostgreSQL, Row Estimation Examples; Common Table Expressions.
 *
 * SQLite knows nothing about values, so it counts first:
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
 *
 * PostgreSQL has statistics of each column alone. It expects the matches evenly in the order, and scans an index through most of
 * the table if they are at its end, or if there are none. Here its scan has an end, after which all matches are sorted:
 *
 * ```sql
 * -- { status: 'open', priority: 3 }, ordered by due
 * (with filigree_start as (the matches among the first 10,000 tickets by due limit …)
 *   select * from filigree_start -- if they are enough
 *   union all
 *   select * from (select "t0".* from "ticket" as "t0" where … offset 0) as "t0" order by … limit …) as "t0"
 * ```
 *
 * Testing a row for words is slow, and an index finds few of them at once. So a search tests few rows, counts its matches up to a
 * limit (`filigree_few`), and tests more rows (`filigree_near`) before it sorts all matches.
 */
import type { Dialect } from '../engines/contract/dialect.js'
import { join, name, raw, slot, sql, wrap, type Sql } from '../engines/contract/sql-text.js'
import { hasKey, storedColumnsOf, type Column } from '../engines/contract/table.js'
import { isIndexed, type SqlTable } from './table.js'
import { leavesOf, type Condition } from './condition.js'
import { indexBoundOf, partsOf, type ConditionPart } from './index-bound.js'
import { definedParts } from './condition-writer.js'
import type { Order } from './order.js'
import type { Reading, Rows } from './tree.js'

/** Up to `maxSorted` matches are sorted. If more rows match, `tested` rows at the beginning of the order are tested. */
const counting = { maxSorted: 5000, tested: 2000 }
/** Rows at the beginning of the order that are tested for values. */
const testedForValues = 10_000
/** `first` rows are tested before the matches of a search are counted. The others are as in `counting`. */
const searching = { first: 200, maxSorted: 2000, tested: 5000 }
/** Values that at least this share of the rows has are expected among the rows that are tested. */
const minShare = 1 / 200
/** An order with up to this many values has many equal rows. */
const maxCoarse = 100

type RowsInOrder = Pick<Rows, 'table' | 'where' | 'withDeleted'> & { readonly order: Order }

/** What the database knows about a column. */
export interface Statistics {
  readonly counts: Dialect['statements']['countsMatches']
  /** The number of different values of a column that has few. `undefined` if unknown, or if most rows have their own. */
  readonly valuesOf: (column: Column) => number | undefined
}

/**
 * How to read a list. `undefined` if its plan does not depend on the number of its matches: no index serves its order, or one
 * serves its filter in this order, or the planner knows enough.
 *
 * @param selected the rows, without the condition of a cursor
 */
export function readingOf(selected: RowsInOrder, statistics: Statistics): Reading | undefined {
  const { table, where, order } = selected
  const [first] = order.terms
  if (where === undefined || first === undefined || order.rank !== undefined) return undefined
  if (table.shard !== undefined || !hasKey(table)) return undefined
  if (!isIndexed(first.column, table)) return undefined
  const rows = { ...selected, limit: { fixed: 1 } }
  const parts = partsOf({ ...rows, withDeleted: true })
  if (parts.every(({ column }) => column === first.column)) return undefined
  const found = foundParts(parts, table, first.column)
  // Without an index for the filter, all rows would be read for a few matches.
  if (found.length === 0) return undefined
  if (indexBoundOf(rows, partsOf(rows), (position) => position) !== undefined) return undefined
  const isSearch = found.some(({ condition }) => condition.kind === 'search')
  if (statistics.counts === 'first')
    return isSearch || first.column !== table.key ? 'counted' : undefined
  // Rows that are equal in the order are sorted by key, all of them even for a short scan.
  const isCoarse = (statistics.valuesOf(first.column) ?? Infinity) <= maxCoarse
  if (isSearch) return isCoarse ? 'counted' : 'scanned'
  // The rows of one value are usually found soon by key.
  if (isCoarse || (first.column === table.key && found.length === 1)) return undefined
  return isExpectedSoon(found, statistics.valuesOf) ? 'scanned' : undefined
}

/** Whether so many rows are expected to match that the planner scans the order's index. */
function isExpectedSoon(
  found: readonly ConditionPart[],
  valuesOf: Statistics['valuesOf'],
): boolean {
  const ofValues = found.filter(
    ({ role, condition }) => role === 'list' || (role === 'same' && condition.kind !== 'null'),
  )
  const share = ofValues.reduce(
    (product, { column }) => product / ((column && valuesOf(column)) ?? Infinity),
    1,
  )
  return ofValues.length > 0 && share >= minShare
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
  const first = order?.terms[0]?.column
  const found = first && foundColumn(parts, table, first)
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
  first: Column,
): Column | 'search' | undefined {
  const found = foundParts(parts, table, first)
  return found.some(({ condition }) => condition.kind === 'search') ? 'search' : found[0]?.column
}

/** The conditions whose matches an index finds, other than the order's. */
function foundParts(
  parts: readonly ConditionPart[],
  table: SqlTable,
  first: Column,
): ConditionPart[] {
  return parts.filter(({ condition, column, role }) => {
    if (condition.kind === 'search') return true
    if (column === undefined || column === first || column === table.key) return false
    const isPrefix = condition.kind === 'compare' && condition.operator === 'startsWith'
    return (role !== 'test' || isPrefix) && isIndexed(column, table)
  })
}

interface ListParts {
  /** The alias of the table in all lists, and of the result. */
  readonly alias: string
  /** Writes the matches among the first rows of the order, of which there are at most this many. */
  readonly near: (maxRows: Sql, oneTime?: Sql) => Sql
  /** The slot of the limit. */
  readonly limit: number
  /** The slot of the offset. */
  readonly offset: number | undefined
  readonly dialect: Dialect
}

export interface CountedParts extends ListParts {
  readonly table: SqlTable
  /** Selects the keys of all matches. */
  readonly keys: Sql
  /** Writes the rows with these keys, in their order: `from … where … order by …`. */
  readonly sorted: (keys: Sql) => Sql
  /** The rows in their order. */
  readonly scanned: Sql
}

/** Writes the three lists as one table for `from`. Two of them have the limit 0, so they are not read. */
export function writeByCount(parts: CountedParts): Sql {
  const { alias, table, keys, sorted, near, scanned, dialect } = parts
  const few = name('filigree_few')
  const size = sizeOf(parts)
  const found = name('filigree_near')
  const all = rowsOf(alias)
  const isMany = sql`(select count(*) from ${few}) > ${raw(String(counting.maxSorted))}`
  const isNear = sql`(select count(*) from ${found}) >= ${size}`
  const tested = near(sql`iif(${isMany}, ${raw(String(counting.tested))}, 0)`)
  const keyNames = join(storedColumnsOf(table.key).map((column) => name(column.name)))
  const lists = [
    sql`${all} ${sorted(sql`select ${keyNames} from ${few}`)} limit iif(${isMany}, 0, ${size})`,
    sql`select * from ${found} limit iif(${isNear}, ${size}, 0)`,
    sql`${all} ${scanned} limit iif(${isMany} and not ${isNear}, ${size}, 0)`,
  ].map((list) => sql`select * from (${list})`)
  const begin = sql`with ${few} as (${keys} limit ${raw(String(counting.maxSorted + 1))}), ${found} as (${all} ${tested} limit ${size})`
  const none = raw(dialect.statements.limit.none)
  return sql`(${begin} ${join(lists, ' union all ')}${none}) as ${name(alias)}`
}

/** Writes all matches, if the condition is true: `from … where …`. */
type WriteMatches = (oneTime?: Sql) => Sql

export interface ScannedParts extends ListParts {
  readonly matches: WriteMatches
  /** Writes ` order by …`. */
  readonly by: Sql | undefined
  /** A part of the condition is a search. */
  readonly isSearch: boolean
  /** The first rows of the order are tested before matches are counted. */
  readonly isScanned: boolean
}

/** Writes the lists as one table for `from`. Conditions that are tested once keep all but one of them from being read. */
export function writeByScan(parts: ScannedParts): Sql {
  const { alias, matches, isSearch, isScanned } = parts
  const start = isScanned ? scanOf(parts, isSearch ? searching.first : testedForValues) : undefined
  const counted = isSearch ? countedLists(parts, start?.isShort) : undefined
  const isFar = counted?.isFar ?? start?.isShort
  // The offset keeps the planner from reading the matches in their order.
  const all = sql`(${rowsOf(alias)} ${matches(isFar)} offset 0) as ${name(alias)}`
  const tables = definedParts(start?.table, ...(counted?.tables ?? []))
  const lists = definedParts(start?.list, ...(counted?.lists ?? []), sortedList(parts, all))
  return sql`(with ${join(tables)} ${join(lists, ' union all ')}) as ${name(alias)}`
}

interface Scan {
  /** A common table expression. */
  readonly table: Sql
  /** Its rows, if they are enough. */
  readonly list: Sql
  /** A condition: they are not enough. */
  readonly isShort: Sql
}

/** Tests the first rows of the order. */
function scanOf(
  parts: ScannedParts,
  maxRows: number,
  found = 'filigree_start',
  oneTime?: Sql,
): Scan {
  const { alias, near } = parts
  const [table, size] = [name(found), sizeOf(parts)]
  const isShort = sql`(select count(*) from ${table}) < ${size}`
  return {
    table: sql`${table} as materialized (${rowsOf(alias)} ${near(raw(String(maxRows)), oneTime)} limit ${size})`,
    list: sql`(select * from ${table} where not ${isShort})`,
    isShort,
  }
}

/** Counts the matches of a search, and sorts few, or tests more rows. @param condition of all lists */
function countedLists(
  parts: ScannedParts,
  condition: Sql | undefined,
): { readonly tables: Sql[]; readonly lists: Sql[]; readonly isFar: Sql } {
  const { alias, matches } = parts
  const { maxSorted, tested } = searching
  const few = name('filigree_few')
  const isMany = sql`(select count(*) from ${few}) > ${raw(String(maxSorted))}`
  const isFew = join(definedParts(condition, sql`not ${isMany}`), ' and ')
  const counted = sql`${few} as materialized (${rowsOf(alias)} ${matches(condition)} limit ${raw(String(maxSorted + 1))})`
  const near = scanOf(parts, tested, 'filigree_near', isMany)
  return {
    tables: [counted, near.table],
    lists: [sortedList(parts, sql`${few} as ${name(alias)} where ${isFew}`), near.list],
    isFar: sql`${isMany} and ${near.isShort}`,
  }
}

function sortedList(parts: ScannedParts, from: Sql): Sql {
  return sql`(${rowsOf(parts.alias)} ${from}${parts.by} limit ${sizeOf(parts)})`
}

function rowsOf(alias: string): Sql {
  return sql`select ${name(alias)}.* from`
}

/** The number of rows to read: limit and offset. */
export function sizeOf({
  limit,
  offset,
  dialect,
}: Pick<ListParts, 'limit' | 'offset' | 'dialect'>): Sql {
  const count = (slotIndex: number): Sql => wrap(dialect.statements.limit.sum, slot(slotIndex))
  return offset === undefined ? count(limit) : sql`${count(limit)} + ${count(offset)}`
}
