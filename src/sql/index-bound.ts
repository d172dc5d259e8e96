/**
 * Upper bounds of the number of rows that a query examines, and the bound of one table: rows found by a unique key, or a page
 * that ends within the range of an index, because the index serves the complete filter and order.
 * Source: SQLite, The Query Optimizer Overview; Row Values.
 */
import type { RowsOf } from '../engines/contract/statement.js'
import { hasKey, storedColumnsOf, type Column, type TableIndex } from '../engines/contract/table.js'
import { coversAllRows, type SqlTable, uniqueIndexesOf } from './table.js'
import type { Condition } from './condition.js'
import { selectsRange } from './operators.js'
import type { OrderTerm } from './order.js'
import type { Limit, Rows } from './tree.js'

/** An upper bound of examined rows, and the indexes that it relies on. */
export interface RowBound {
  readonly rows: (values: readonly unknown[], rowsOf: RowsOf) => number
  /** The names of the indexes that the bound relies on, except for primary keys. */
  readonly indexes: readonly string[]
}

type RowCounter = RowBound['rows']

export const unbounded: RowBound = { rows: () => Infinity, indexes: [] }
export const oneRow: RowBound = { rows: () => 1, indexes: [] }
export const noRows: RowBound = { rows: () => 0, indexes: [] }

export function entireTable(name: string): RowBound {
  return { rows: (_values, rowsOf) => rowsOf(name), indexes: [] }
}

/** Both statements run. */
export function sum(...all: readonly RowBound[]): RowBound {
  return {
    rows: (values, rowsOf) => all.reduce((sum, { rows }) => sum + rows(values, rowsOf), 0),
    indexes: [...new Set(all.flatMap(({ indexes }) => indexes))],
  }
}

/** The second runs for each row of the first. */
export function product(one: RowBound, other: RowBound): RowBound {
  if (other === oneRow) return one
  return {
    rows: (values, rowsOf) => one.rows(values, rowsOf) * other.rows(values, rowsOf),
    indexes: [...new Set([...one.indexes, ...other.indexes])],
  }
}

/** Up to this bound, the size of the table is not read. */
const alwaysFew = 200

/** The bound by an index, or the size of the table if it is smaller. */
export function smaller(one: RowBound, tableBound: RowBound): RowBound {
  const rows: RowBound['rows'] = (values, rowsOf) => {
    const boundedRows = one.rows(values, rowsOf)
    return boundedRows <= alwaysFew
      ? boundedRows
      : Math.min(boundedRows, tableBound.rows(values, rowsOf))
  }
  return { rows, indexes: one.indexes }
}

/** Counts the values of lists. @param positions of the lists among the values of the statement */
export function listLengthAt(positions: readonly number[]): RowCounter {
  return (values) => positions.reduce((sum, position) => sum + lengthOf(values[position]), 0)
}

/** The maximum number of values of a list, which is an array or JSON. */
function lengthOf(packed: unknown): number {
  if (Array.isArray(packed)) return packed.length
  if (typeof packed === 'string' && packed.startsWith('[[')) return packed.split('],[').length
  // `[1,2]` has at least two characters for each value.
  return typeof packed === 'string' ? Math.ceil(packed.length / 2) : 1
}

/** Rows of one table. `fixedColumns` have the same value in all of them, because they link to one parent row. */
export type BoundedRows = Rows & { readonly fixedColumns?: readonly Column[] }

/** The position of a slot's value among the values of the statement. */
export type PositionOf = (slot: number) => number

/** The bound by a key or an index. `undefined` if there is none. */
export function indexBoundOf(
  selection: BoundedRows,
  parts: readonly ConditionPart[],
  positionOf: PositionOf,
): RowBound | undefined {
  return uniqueBoundOf(selection, parts, positionOf) ?? orderBoundOf(selection, parts, positionOf)
}

/** One row, or one for each key of a list, by a unique key. */
function uniqueBoundOf(
  { table, withDeleted }: BoundedRows,
  parts: readonly ConditionPart[],
  positionOf: PositionOf,
): RowBound | undefined {
  const fixed = fixedColumnsOf(parts)
  for (const { columns, indexes } of uniqueKeysOf(table, withDeleted === true)) {
    const open = columns.filter((column) => !fixed.has(column))
    if (open.length === 0) return indexes.length === 0 ? oneRow : { rows: () => 1, indexes }
    const list = parts.find(
      ({ role, column }) => role === 'list' && column !== undefined && areColumnsOf(column, open),
    )?.condition
    if (list?.kind !== 'list') continue
    return { rows: listLengthAt(list.slots.map(positionOf)), indexes }
  }
  return undefined
}

function areColumnsOf(column: Column, columns: readonly Column[]): boolean {
  const stored = storedColumnsOf(column)
  return stored.length === columns.length && stored.every((one) => columns.includes(one))
}

/** The limit, if an index serves every condition and the order, so that no examined row is skipped. */
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
  const indexes = servingIndexes(table, order.terms, parts)
  return indexes.length === 0 ? undefined : { rows, indexes }
}

/** The names of the indexes that serve all conditions and the order, so that no examined row is skipped. */
export function servingIndexes(
  table: SqlTable,
  terms: readonly OrderTerm[],
  parts: readonly IndexedCondition[],
): string[] {
  return table.indexes
    .filter((index) => coversAllRows(index) && servesOrder(stepsOf(index, table), terms, parts))
    .map(({ name }) => name)
}

function countOf(limit: Limit, positionOf: PositionOf): RowCounter {
  if (typeof limit !== 'number') return () => limit.fixed
  const position = positionOf(limit)
  return (values) => Number(values[position])
}

/** How an index can use a condition. */
export interface IndexedCondition {
  readonly column?: Column | undefined
  /** `same`: one value. `list`: one of several values. `range`: above or below a value. `test`: each row must be examined. */
  readonly role: 'same' | 'list' | 'range' | 'test'
}

/** One of the conditions that must all hold. */
export interface ConditionPart extends IndexedCondition {
  readonly condition: Condition
}

/** All conditions on a row: the filter, the fixed columns and soft deletion. */
export function partsOf({
  table,
  where,
  withDeleted,
  fixedColumns = [],
}: BoundedRows): ConditionPart[] {
  const parts = where === undefined ? [] : flatten(where).flatMap(toParts)
  for (const column of fixedColumns.flatMap(storedColumnsOf))
    parts.push({ condition: nothing, column, role: 'same' })
  const { deletedAt } = table
  if (deletedAt !== undefined && withDeleted !== true)
    parts.push({ condition: nothing, column: deletedAt, role: 'same' })
  return parts
}

/** A condition that examines nothing. */
const nothing: Condition = { kind: 'all', parts: [] }

function flatten(condition: Condition): Condition[] {
  return condition.kind === 'all' ? condition.parts.flatMap(flatten) : [condition]
}

/** A key of several columns is a condition on each of them. */
function toParts(condition: Condition): readonly ConditionPart[] {
  const part = toPart(condition)
  const columns = part.column?.parts
  if (columns === undefined || part.role === 'list') return [part]
  if (part.role !== 'same' || condition.kind === 'null') return [{ condition, role: 'test' }]
  return columns.map((column, index) => ({
    condition: index === 0 ? condition : nothing,
    column,
    role: 'same',
  }))
}

function toPart(condition: Condition): ConditionPart {
  const { kind } = condition
  if (kind === 'list' && !condition.orNull)
    return { condition, column: condition.column, role: 'list' }
  if ((kind !== 'compare' && kind !== 'null') || condition.path !== undefined)
    return { condition, role: 'test' }
  const { column } = condition
  if (kind === 'null') return { condition, column, role: condition.isNull ? 'same' : 'range' }
  if (condition.operator === 'eq') return { condition, column, role: 'same' }
  return { condition, column, role: selectsRange(condition.operator) ? 'range' : 'test' }
}

function fixedColumnsOf(parts: readonly ConditionPart[]): Set<Column | undefined> {
  return new Set(parts.filter(({ role }) => role === 'same').map(({ column }) => column))
}

interface UniqueKey {
  readonly columns: readonly Column[]
  readonly indexes: readonly string[]
}

function uniqueKeysOf(table: SqlTable, withDeleted: boolean): UniqueKey[] {
  const { key, shard, deletedAt } = table
  const keyColumns = storedColumnsOf(key)
  const keys = { columns: shard === undefined ? keyColumns : [shard, ...keyColumns], indexes: [] }
  const ownKeys = hasKey(table) ? [keys] : []
  // Other rows may have the same values as soft-deleted rows.
  if (withDeleted && deletedAt !== undefined) return ownKeys
  const others = uniqueIndexesOf(table)
  return [...ownKeys, ...others.map(({ name, columns }) => ({ columns, indexes: [name] }))]
}

interface IndexStep {
  readonly column: Column
  readonly descending: boolean
}

function keySteps({ key, shard }: SqlTable): IndexStep[] {
  const keyColumns = storedColumnsOf(key)
  const columns = shard === undefined ? keyColumns : [shard, ...keyColumns]
  return columns.map((column) => ({ column, descending: false }))
}

/** The columns of an index, then the key if it is the rowid, by which equal entries are sorted. */
function stepsOf(
  { columns, unique, form }: TableIndex,
  { key, shard, deletedAt }: SqlTable,
): IndexStep[] {
  const steps = columns.map((column, position) => ({
    column,
    descending: form?.orders[position]?.descending === true,
  }))
  // A unique index contains only rows that are not soft-deleted.
  if (unique && deletedAt !== undefined) steps.unshift({ column: deletedAt, descending: false })
  const isNumber = !key.isUuid && key.parts === undefined && shard === undefined
  if (isNumber && !columns.includes(key)) steps.push({ column: key, descending: false })
  return steps
}

function servesOrder(
  steps: readonly IndexStep[],
  terms: readonly OrderTerm[],
  parts: readonly IndexedCondition[],
): boolean {
  const fixed = new Set(parts.filter(({ role }) => role === 'same').map(({ column }) => column))
  let position = 0
  while (position < steps.length && fixed.delete((steps[position] as IndexStep).column)) position++
  // Conditions on other columns are tested row by row.
  if (fixed.size > 0) return false
  const first = steps[position]?.column
  if (parts.some(({ role, column }) => role === 'range' && column !== first)) return false
  return continuesOrder(steps.slice(position), terms, parts)
}

function continuesOrder(
  steps: readonly IndexStep[],
  terms: readonly OrderTerm[],
  parts: readonly IndexedCondition[],
): boolean {
  const fixed = new Set(
    parts.filter(({ role }) => role === 'same').map(({ column }) => column?.name),
  )
  // Compare names: a list that is split at null has a copy of the column in each piece.
  const remainingTerms = terms.filter(({ column }) => !fixed.has(column.name))
  const [first] = remainingTerms
  const isReversed = first !== undefined && first.descending !== (steps[0]?.descending ?? false)
  return remainingTerms.every(({ column, descending, nullsFirst }, position) => {
    const step = steps[position]
    // Indexes sort null first. Only the first column can be read with null last.
    const isNatural = !column.nullable || nullsFirst === !descending || position === 0
    return (
      step?.column.name === column.name &&
      isNatural &&
      descending === (step.descending !== isReversed)
    )
  })
}
