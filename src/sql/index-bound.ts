/**
 * Proves how many rows of one table a list looks at: those of a unique key, and those of an index's range that ends with the
 * page, because the index serves the whole filter and the whole order.
 * Source: SQLite, The Query Optimizer Overview; Row Values.
 */

import type { RowsOf } from '../engines/contract/statement.js'
import type { Column, TableIndex } from '../engines/contract/table.js'
import type { Condition } from './condition.js'
import type { OrderTerm } from './order.js'
import { coversAllRows, type SqlTable } from './table.js'
import type { Limit, Rows } from './tree.js'

/** Bounds of rows as values, and how they add up: both of two, or the second for each row of the first. */

/** Rows that are looked at, and by which indexes. */
export interface RowBound {
  readonly rows: (values: readonly unknown[], rowsOf: RowsOf) => number
  /** The names of those that it may go by, besides keys. */
  readonly indexes: readonly string[]
}

type RowCounter = RowBound['rows']

export const unbounded: RowBound = { rows: () => Infinity, indexes: [] }
export const oneRow: RowBound = { rows: () => 1, indexes: [] }
export const noRows: RowBound = { rows: () => 0, indexes: [] }

export function entireTable(name: string): RowBound {
  return { rows: (_values, rowsOf) => rowsOf(name), indexes: [] }
}

/** Both. */
export function sum(...all: readonly RowBound[]): RowBound {
  return {
    rows: (values, rowsOf) => all.reduce((sum, { rows }) => sum + rows(values, rowsOf), 0),
    indexes: [...new Set(all.flatMap(({ indexes }) => indexes))],
  }
}

/** The second for each row of the first. */
export function product(one: RowBound, other: RowBound): RowBound {
  if (other === oneRow) return one
  return {
    rows: (values, rowsOf) => one.rows(values, rowsOf) * other.rows(values, rowsOf),
    indexes: [...new Set([...one.indexes, ...other.indexes])],
  }
}

/** So few rows that the size of the table need not be asked. */
const alwaysFew = 200

/** What a page with an index looks at, or the whole table where that is less. */
export function smaller(one: RowBound, tableBound: RowBound): RowBound {
  const rows: RowBound['rows'] = (values, rowsOf) => {
    const boundedRows = one.rows(values, rowsOf)
    return boundedRows <= alwaysFew
      ? boundedRows
      : Math.min(boundedRows, tableBound.rows(values, rowsOf))
  }
  return { rows, indexes: one.indexes }
}

/** One for each value of lists, by where they stand. */
export function listLengthAt(places: readonly number[]): RowCounter {
  return (values) => places.reduce((sum, position) => sum + lengthOf(values[position]), 0)
}

/** How many values a list has at most, in whatever form it travels. */
function lengthOf(packed: unknown): number {
  if (Array.isArray(packed)) return packed.length
  // `[1,2]`: two signs for each value at least.
  return typeof packed === 'string' ? Math.ceil(packed.length / 2) : 1
}

/** Rows of one table, and columns that are the same for all, because they are tied to the row outside. */
export type BoundedRows = Rows & { readonly fixedColumns?: readonly Column[] }

/** Where the value of a slot stands among those that a statement gets. */
export type PositionOf = (slot: number) => number

/** The rows that a key or an index bounds; `undefined` where none does. */
export function indexBoundOf(
  asked: BoundedRows,
  parts: readonly ConditionPart[],
  positionOf: PositionOf,
): RowBound | undefined {
  return uniqueBoundOf(asked, parts, positionOf) ?? orderBoundOf(asked, parts, positionOf)
}

/** One row, or one for each key of a list. */
function uniqueBoundOf(
  { table, withDeleted }: BoundedRows,
  parts: readonly ConditionPart[],
  positionOf: PositionOf,
): RowBound | undefined {
  const fixed = fixedColumnsOf(parts)
  for (const { columns, indexes } of uniqueKeysOf(table, withDeleted === true)) {
    const open = columns.filter((column) => !fixed.has(column))
    if (open.length === 0) return indexes.length === 0 ? oneRow : { rows: () => 1, indexes }
    const list = parts.find(({ role, column }) => role === 'list' && column === open[0])?.condition
    if (open.length > 1 || list?.kind !== 'list') continue
    return { rows: listLengthAt(list.slots.map(positionOf)), indexes }
  }
  return undefined
}

/** A page that ends within the range of an index, because that serves every part and the order. */
function orderBoundOf(
  { table, order, limit, offset }: BoundedRows,
  parts: readonly ConditionPart[],
  positionOf: PositionOf,
): RowBound | undefined {
  if (order === undefined || order.rank !== undefined || limit === undefined) return undefined
  if (parts.some(({ role }) => role === 'test' || role === 'list')) return undefined
  const limitOf = countOf(limit, positionOf)
  const offsetOf = offset === undefined ? undefined : countOf(offset, positionOf)
  const rows: RowCounter = (values, rowsOf) =>
    limitOf(values, rowsOf) + (offsetOf === undefined ? 0 : offsetOf(values, rowsOf))
  if (servesOrder(keySteps(table), order.terms, parts)) return { rows, indexes: [] }
  const indexes = table.indexes
    .filter(
      (index) => coversAllRows(index) && servesOrder(stepsOf(index, table), order.terms, parts),
    )
    .map(({ name }) => name)
  return indexes.length === 0 ? undefined : { rows, indexes }
}

function countOf(limit: Limit, positionOf: PositionOf): RowCounter {
  if (typeof limit !== 'number') return () => limit.fixed
  const position = positionOf(limit)
  return (values) => Number(values[position])
}

/** One of the conditions that must all hold, by what an index can make of it. */
export interface ConditionPart {
  readonly condition: Condition
  readonly column?: Column | undefined
  /** `same`: one value; `list`: one of some values; `range`: beyond a value; otherwise each row must be looked at. */
  readonly role: 'same' | 'list' | 'range' | 'test'
}

/** What must all hold of a row, said by the filter or not. */
export function partsOf({
  table,
  where,
  withDeleted,
  fixedColumns = [],
}: BoundedRows): ConditionPart[] {
  const parts = where === undefined ? [] : flatten(where).map(toPart)
  for (const column of fixedColumns) parts.push({ condition: nothing, column, role: 'same' })
  const { deletedAt } = table
  if (deletedAt !== undefined && withDeleted !== true)
    parts.push({ condition: nothing, column: deletedAt, role: 'same' })
  return parts
}

/** Looks at nothing by itself. */
const nothing: Condition = { kind: 'all', parts: [] }

function flatten(condition: Condition): Condition[] {
  return condition.kind === 'all' ? condition.parts.flatMap(flatten) : [condition]
}

const ranges: ReadonlySet<string> = new Set(['lt', 'lte', 'gt', 'gte'])

function toPart(condition: Condition): ConditionPart {
  const { kind } = condition
  if (kind === 'list' && !condition.orNull)
    return { condition, column: condition.column, role: 'list' }
  if ((kind !== 'compare' && kind !== 'null') || condition.path !== undefined)
    return { condition, role: 'test' }
  const { column } = condition
  if (kind === 'null') return { condition, column, role: condition.isNull ? 'same' : 'range' }
  if (condition.operator === 'eq') return { condition, column, role: 'same' }
  return { condition, column, role: ranges.has(condition.operator) ? 'range' : 'test' }
}

function fixedColumnsOf(parts: readonly ConditionPart[]): Set<Column | undefined> {
  return new Set(parts.filter(({ role }) => role === 'same').map(({ column }) => column))
}

interface UniqueKey {
  readonly columns: readonly Column[]
  readonly indexes: readonly string[]
}

function uniqueKeysOf(table: SqlTable, withDeleted: boolean): UniqueKey[] {
  const { key, shard, indexes, deletedAt } = table
  const keys = { columns: shard === undefined ? [key] : [shard, key], indexes: [] }
  // Values of rows that were softly deleted may come again.
  if (withDeleted && deletedAt !== undefined) return [keys]
  const found = indexes.filter(({ unique, form }) => unique && form?.where === undefined)
  return [keys, ...found.map(({ name, columns }) => ({ columns, indexes: [name] }))]
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
  const steps = columns.map((column, position) => ({
    column,
    descending: form?.orders[position]?.descending === true,
  }))
  // A unique index holds the rows alone that are not softly deleted.
  if (unique && deletedAt !== undefined) steps.unshift({ column: deletedAt, descending: false })
  const isNumber = !key.isUuid && shard === undefined
  if (isNumber && !columns.includes(key)) steps.push({ column: key, descending: false })
  return steps
}

function servesOrder(
  steps: readonly IndexStep[],
  terms: readonly OrderTerm[],
  parts: readonly ConditionPart[],
): boolean {
  const fixed = new Set(parts.filter(({ role }) => role === 'same').map(({ column }) => column))
  let position = 0
  while (position < steps.length && fixed.delete((steps[position] as IndexStep).column)) position++
  // What the index does not begin with is tested row by row.
  if (fixed.size > 0) return false
  const first = steps[position]?.column
  if (parts.some(({ role, column }) => role === 'range' && column !== first)) return false
  return continuesOrder(steps.slice(position), terms, parts)
}

function continuesOrder(
  steps: readonly IndexStep[],
  terms: readonly OrderTerm[],
  parts: readonly ConditionPart[],
): boolean {
  const fixed = new Set(
    parts.filter(({ role }) => role === 'same').map(({ column }) => column?.name),
  )
  // A list in two parts has a column of its own for each.
  const remainingTerms = terms.filter(({ column }) => !fixed.has(column.name))
  const [first] = remainingTerms
  const isReversed = first !== undefined && first.descending !== (steps[0]?.descending ?? false)
  return remainingTerms.every(({ column, descending, nullsFirst }, position) => {
    const step = steps[position]
    // Nulls are the smallest values; the other way round one column can be read, the first.
    const isNatural = !column.nullable || nullsFirst === !descending || position === 0
    return (
      step?.column.name === column.name &&
      isNatural &&
      descending === (step.descending !== isReversed)
    )
  })
}
