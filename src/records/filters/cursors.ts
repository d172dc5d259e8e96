/**
 * Cursors of pages: the values by which a row is sorted, its key last, as base64 of a JSON list. A page starts after
 * these values even if the row was deleted. Source: GraphQL Cursor Connections Specification, §4 and §5.
 */
import { tryParseJson } from '../../core/json.js'
import type { Operator } from '../../sql/operators.js'
import type { Order, OrderTerm } from '../../sql/order.js'
import { type DerivedColumn, derivedColumnsOf, isDerived } from '../../sql/derived.js'
import { noRows } from '../../sql/condition.js'
import type { ColumnCodec, TableCodec } from '../model/codec.js'
import type { Condition, Table } from '../model/table.js'
import type { Slots } from './list-options.js'
import { invalid } from './query-errors.js'

/** The first item of a cursor. It identifies the order for which the cursor was made. */
function cursorSignature(order: Order): string {
  return order.key
}

export function writeCursor(order: Order, record: Readonly<Record<string, unknown>>): string {
  const values = order.terms.map(({ column }) => {
    const value = isDerived(column) ? derivedOf(record, column) : record[column.property]
    const { write, sqlText } = column.field.entry
    if (value === undefined || value === null) return null
    return write !== undefined && sqlText !== undefined ? write(value) : value
  })
  return Buffer.from(JSON.stringify([cursorSignature(order), ...values])).toString('base64')
}

/** By row: the values from other tables that a list has read with it. */
const derivedValues = new WeakMap<object, ReadonlyMap<string, unknown>>()

/** Remembers the values of an order that a row has from other tables, for its cursor. */
export function rememberDerived(
  record: object,
  order: Order,
  values: readonly unknown[],
  codecOf: (table: Table) => TableCodec,
): void {
  const columns = derivedColumnsOf(order)
  const found = columns.map((column, index): [string, unknown] => {
    const value = values[index]
    const isMissing = value === null || value === undefined
    return [column.property, isMissing ? null : codecOfDerived(column, codecOf).decode(value)]
  })
  derivedValues.set(record, new Map([...(derivedValues.get(record) ?? []), ...found]))
}

function derivedOf(record: object, { property }: DerivedColumn): unknown {
  const values = derivedValues.get(record)
  if (values?.has(property) === true) return values.get(property)
  throw new TypeError(
    `cursorOf: ${property} is a field of another record. Pass a row that list returned in this order.`,
  )
}

function codecOfDerived(
  { derived: { path, column: of } }: DerivedColumn,
  codecOf: (table: Table) => TableCodec,
): ColumnCodec {
  const table = path.at(-1)?.relation.target as Table
  return codecOf(table).byProperty.get(of?.property ?? '') as ColumnCodec
}

/**
 * The condition for the rows after a cursor.
 *
 * @param name the argument that contains the cursor
 * @throws {HttpError} 400 `VALIDATION` for anything but a cursor of this order
 */
export function afterCursor(
  cursor: string,
  table: Table,
  order: Order,
  codecOf: (table: Table) => TableCodec,
  slots: Slots,
  name: 'after' | 'before' = 'after',
): Condition {
  const values = readCursor(cursor, order)
  const codecOfTerm = ({ column }: OrderTerm): ColumnCodec =>
    isDerived(column)
      ? codecOfDerived(column, codecOf)
      : (codecOf(table).byProperty.get(column.property) as ColumnCodec)
  const steps =
    values && order.terms.map((term, index) => toStep(term, values[index], slots, codecOfTerm))
  if (steps === undefined || !steps.every((step) => step !== undefined)) {
    throw invalid(name, 'type', 'is not a cursor of this list in this order')
  }
  slots.key += `a${steps.map(({ isNull }) => (isNull ? 'n' : 'v')).join('')};`
  return afterSteps(steps)
}

/**
 * The rows after a cursor: the first column is after its value, or it is equal and the remaining columns are after
 * theirs. The bound excludes rows before the value, so that equality need not be tested again.
 */
function afterSteps([first, ...rest]: readonly CursorStep[]): Condition {
  if (first === undefined) return noRows
  const { bound, same, after: afterCondition } = first
  if (rest.length === 0) return afterCondition ?? noRows
  const next = afterSteps(rest)
  if (afterCondition === undefined) return { kind: 'all', parts: [same, next] }
  return bound === undefined
    ? { kind: 'any', parts: [afterCondition, { kind: 'all', parts: [same, next] }] }
    : { kind: 'all', parts: [bound, { kind: 'any', parts: [afterCondition, next] }] }
}

interface CursorStep {
  /** A condition that all rows after the cursor meet. An index uses it to skip the rows before the page. */
  readonly bound: Condition | undefined
  readonly same: Condition
  /** `undefined` if no rows come after it. */
  readonly after: Condition | undefined
  readonly isNull: boolean
}

/** @returns `undefined` for a value that the column cannot hold */
function toStep(
  term: OrderTerm,
  value: unknown,
  slots: Slots,
  codecOf: (term: OrderTerm) => ColumnCodec,
): CursorStep | undefined {
  const { column } = term
  const codec = codecOf(term)
  if (value === null) {
    if (!column.nullable) return undefined
    const some: Condition = { kind: 'null', column, isNull: false }
    const same: Condition = { kind: 'null', column, isNull: true }
    return term.nullsFirst
      ? { bound: undefined, same, after: some, isNull: true }
      : { bound: same, same, after: undefined, isNull: true }
  }
  if (!codec.accepts(value)) return undefined
  const encoded = codec.encode(value)
  const slot = slots.values.push(encoded) - 1
  const isText = !codec.canStore(encoded)
  if (isText) slots.key += `t${codec.index};`
  const compare = (operator: Operator): Condition => ({
    kind: 'compare',
    column,
    operator,
    slot,
    ...(isText && { isText }),
  })
  const beyond = compare(term.descending ? 'lt' : 'gt')
  const nullsAfter = column.nullable && !term.nullsFirst
  const orNull = (condition: Condition): Condition =>
    nullsAfter
      ? { kind: 'any', parts: [condition, { kind: 'null', column, isNull: true }] }
      : condition
  return {
    bound: orNull(compare(term.descending ? 'lte' : 'gte')),
    same: compare('eq'),
    after: orNull(beyond),
    isNull: false,
  }
}

/** The values of a cursor; `undefined` for anything but a cursor of this order. */
function readCursor(cursor: string, order: Order): readonly unknown[] | undefined {
  const read = tryParseJson(Buffer.from(cursor, 'base64').toString())
  if (!Array.isArray(read) || read.length !== order.terms.length + 1) return undefined
  const [signature, ...values] = read as unknown[]
  return signature === cursorSignature(order) ? values : undefined
}
