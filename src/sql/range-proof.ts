/**
 * Proves how many rows of one table a list looks at: those of a unique key, and those of an index's range that ends with the
 * page, because the index serves the whole filter and the whole order.
 * Source: SQLite, The Query Optimizer Overview; Row Values.
 */
import type { Column, TableIndex } from '../engines/contract/table.js'
import type { Condition } from './condition.js'
import { keysAt, oneRow, type Counting, type Looks } from './looks.js'
import type { OrderTerm } from './order.js'
import { holdsAll, type SqlTable } from './table.js'
import type { Limit, Rows } from './tree.js'

/** Rows of one table, and columns that are the same for all, because they are tied to the row outside. */
export type Asked = Rows & { readonly tied?: readonly Column[] }

/** Where the value of a slot stands among those that a statement gets. */
export type PlaceOf = (slot: number) => number

/** The rows that a key or an index bounds; `undefined` where none does. */
export function byIndex(asked: Asked, parts: readonly Part[], placeOf: PlaceOf): Looks | undefined {
  return byUnique(asked, parts, placeOf) ?? byOrder(asked, parts, placeOf)
}

/** One row, or one for each key of a list. */
function byUnique(
  { table, withDeleted }: Asked,
  parts: readonly Part[],
  placeOf: PlaceOf,
): Looks | undefined {
  const same = sameOf(parts)
  for (const { columns, by } of uniques(table, withDeleted === true)) {
    const open = columns.filter((column) => !same.has(column))
    if (open.length === 0) return by.length === 0 ? oneRow : { rows: () => 1, by }
    const list = parts.find(({ as, column }) => as === 'list' && column === open[0])?.condition
    if (open.length > 1 || list?.kind !== 'list') continue
    return { rows: keysAt(list.slots.map(placeOf)), by }
  }
  return undefined
}

/** A page that ends within the range of an index, because that serves every part and the order. */
function byOrder(
  { table, order, limit, offset }: Asked,
  parts: readonly Part[],
  placeOf: PlaceOf,
): Looks | undefined {
  if (order === undefined || order.rank !== undefined || limit === undefined) return undefined
  if (parts.some(({ as }) => as === 'test' || as === 'list')) return undefined
  const most = countOf(limit, placeOf)
  const passed = offset === undefined ? undefined : countOf(offset, placeOf)
  const rows: Counting = (values, rowsOf) =>
    most(values, rowsOf) + (passed === undefined ? 0 : passed(values, rowsOf))
  if (isServed(keySteps(table), order.terms, parts)) return { rows, by: [] }
  const by = table.indexes
    .filter((index) => holdsAll(index) && isServed(stepsOf(index, table), order.terms, parts))
    .map(({ name }) => name)
  return by.length === 0 ? undefined : { rows, by }
}

function countOf(given: Limit, placeOf: PlaceOf): Counting {
  if (typeof given !== 'number') return () => given.fixed
  const place = placeOf(given)
  return (values) => Number(values[place])
}

/** One of the conditions that must all hold, by what an index can make of it. */
export interface Part {
  readonly condition: Condition
  readonly column?: Column | undefined
  /** `same`: one value; `list`: one of some values; `range`: beyond a value; otherwise each row must be looked at. */
  readonly as: 'same' | 'list' | 'range' | 'test'
}

/** What must all hold of a row, said by the filter or not. */
export function partsOf({ table, where, withDeleted, tied = [] }: Asked): Part[] {
  const parts = where === undefined ? [] : flat(where).map(toPart)
  for (const column of tied) parts.push({ condition: nothing, column, as: 'same' })
  const { deletedAt } = table
  if (deletedAt !== undefined && withDeleted !== true)
    parts.push({ condition: nothing, column: deletedAt, as: 'same' })
  return parts
}

/** Looks at nothing by itself. */
const nothing: Condition = { kind: 'all', parts: [] }

function flat(condition: Condition): Condition[] {
  return condition.kind === 'all' ? condition.parts.flatMap(flat) : [condition]
}

const ranges: ReadonlySet<string> = new Set(['lt', 'lte', 'gt', 'gte'])

function toPart(condition: Condition): Part {
  const { kind } = condition
  if (kind === 'list' && !condition.orNull)
    return { condition, column: condition.column, as: 'list' }
  if ((kind !== 'compare' && kind !== 'null') || condition.at !== undefined)
    return { condition, as: 'test' }
  const { column } = condition
  if (kind === 'null') return { condition, column, as: condition.isNull ? 'same' : 'range' }
  if (condition.operator === 'eq') return { condition, column, as: 'same' }
  return { condition, column, as: ranges.has(condition.operator) ? 'range' : 'test' }
}

function sameOf(parts: readonly Part[]): Set<Column | undefined> {
  return new Set(parts.filter(({ as }) => as === 'same').map(({ column }) => column))
}

interface Unique {
  readonly columns: readonly Column[]
  readonly by: readonly string[]
}

function uniques(table: SqlTable, withDeleted: boolean): Unique[] {
  const { key, shard, indexes, deletedAt } = table
  const keys = { columns: shard === undefined ? [key] : [shard, key], by: [] }
  // Values of rows that were softly deleted may come again.
  if (withDeleted && deletedAt !== undefined) return [keys]
  const found = indexes.filter(({ unique, form }) => unique && form?.where === undefined)
  return [keys, ...found.map(({ name, columns }) => ({ columns, by: [name] }))]
}

interface IndexStep {
  readonly column: Column
  readonly descending: boolean
}

function keySteps({ key, shard }: SqlTable): IndexStep[] {
  const columns = shard === undefined ? [key] : [shard, key]
  return columns.map((column) => ({ column, descending: false }))
}

/** An index's columns, then the key by which entries that are equal are sorted where it is the rows' number. */
function stepsOf(
  { columns, unique, form }: TableIndex,
  { key, shard, deletedAt }: SqlTable,
): IndexStep[] {
  const steps = columns.map((column, place) => ({
    column,
    descending: form?.orders[place]?.descending === true,
  }))
  // A unique index holds the rows alone that are not softly deleted.
  if (unique && deletedAt !== undefined) steps.unshift({ column: deletedAt, descending: false })
  const isNumber = !key.isUuid && shard === undefined
  if (isNumber && !columns.includes(key)) steps.push({ column: key, descending: false })
  return steps
}

function isServed(
  steps: readonly IndexStep[],
  terms: readonly OrderTerm[],
  parts: readonly Part[],
): boolean {
  const same = new Set(parts.filter(({ as }) => as === 'same').map(({ column }) => column))
  let place = 0
  while (place < steps.length && same.delete((steps[place] as IndexStep).column)) place++
  // What the index does not begin with is tested row by row.
  if (same.size > 0) return false
  const first = steps[place]?.column
  if (parts.some(({ as, column }) => as === 'range' && column !== first)) return false
  return follows(steps.slice(place), terms, parts)
}

function follows(
  steps: readonly IndexStep[],
  terms: readonly OrderTerm[],
  parts: readonly Part[],
): boolean {
  const fixed = new Set(parts.filter(({ as }) => as === 'same').map(({ column }) => column?.name))
  // A list in two parts has a column of its own for each.
  const wanted = terms.filter(({ column }) => !fixed.has(column.name))
  const [first] = wanted
  const isReversed = first !== undefined && first.descending !== (steps[0]?.descending ?? false)
  return wanted.every(({ column, descending, nullsFirst }, place) => {
    const step = steps[place]
    // Nulls are the smallest values; the other way round one column can be read, the first.
    const isNatural = !column.nullable || nullsFirst === !descending || place === 0
    return (
      step?.column.name === column.name &&
      isNatural &&
      descending === (step.descending !== isReversed)
    )
  })
}
