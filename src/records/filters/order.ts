/**
 * Reads the order of rows (by fields and fields of related rows, nulls last, equal rows by key, so that pages never
 * overlap), and the cursors of its pages.
 */

import type { Condition, Table, Relation } from '../model/table.js'
import type { Slots } from './list-options.js'
import {
  invalid,
  isHidden,
  suggestedFields,
  suggestedRelations,
  readProgramQuery,
} from './query-errors.js'
import type { ColumnCodec, TableCodec } from '../model/codec.js'
import {
  noRows,
  derivedColumnsOf,
  isDerived,
  type DerivedColumn,
  derivedColumn,
} from '../../sql/table.js'
import { type Operator, isOrdered } from '../../sql/operators.js'
import { type Order, type OrderTerm, ascending, byKey } from '../../sql/order.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { isPlainObject, tryParseJson } from '../../core/json.js'
import type { Column } from '../../engines/contract/table.js'
import { skip, skipAt, undefinedAt } from '../model/skip.js'

const maxTerms = 16
/** The maximum number of relations that lead to a field. */
const maxRelations = 4

/**
 * @param orderBy `{ price: 'desc' }`, or a list of such objects; undefined for the key's order
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readOrder(table: Table, orderBy: unknown, isClient: boolean): Order {
  if (orderBy === undefined) return byKey(table)
  if (isClient) return readTerms(table, orderBy, true)
  return readProgramQuery(table, () => readTerms(table, orderBy, false))
}

function readTerms(table: Table, orderBy: unknown, isClient: boolean): Order {
  const reading: Reading = { table, isClient, terms: [], names: [], key: '' }
  const lists: readonly unknown[] = Array.isArray(orderBy) ? orderBy : [orderBy]
  for (const list of lists) {
    if (list === undefined || list === skip) throw invalidTerm(list, lists.indexOf(list))
    if (!isPlainObject(list)) throw invalid('orderBy', 'type', 'must be an object')
    readObject(reading, list, noRelations)
  }
  const { terms, key } = reading
  if (terms.length > maxTerms) throw invalid('orderBy', 'maxItems', 'has too many fields')
  if (!terms.some(({ column }) => column === table.key)) terms.push(ascending(table.key))
  return { terms, key }
}

interface Reading {
  /** The table whose rows are ordered. */
  readonly table: Table
  readonly isClient: boolean
  readonly terms: OrderTerm[]
  /** The names of the terms' fields, such as `org.name`. */
  readonly names: string[]
  /** Equal for equal orders. */
  key: string
}

const noRelations: readonly Relation[] = []

/** @param relations the relations that lead from the ordered table to the object's names */
function readObject(
  reading: Reading,
  object: Readonly<Record<string, unknown>>,
  relations: readonly Relation[],
): void {
  const { table: root, isClient } = reading
  const table = relations.at(-1)?.target ?? root
  for (const name of Object.keys(object)) {
    const column = table.byProperty.get(name)
    if (column !== undefined && !(isClient && column.field.hidden)) {
      readTerm(reading, column, object[name], relations)
      continue
    }
    const relation = table.relations.get(name)
    if (relation === undefined || (isClient && isHidden(relation))) {
      const knownNames = [
        ...suggestedFields(table, isClient),
        ...suggestedRelations(table, isClient),
      ]
      const path = pathOf(relations, name)
      throw invalid(path, 'unknown', `is unknown. ${didYouMean(clip(name), knownNames)}`.trim())
    }
    readRelation(reading, relation, object[name], relations)
  }
}

function readRelation(
  reading: Reading,
  relation: Relation,
  value: unknown,
  relations: readonly Relation[],
): void {
  const path = pathOf(relations, relation.name)
  if (value === undefined) throw undefinedAt(path)
  if (value === skip) return
  if (relation.kind !== 'belongsTo')
    throw invalid(path, 'type', 'cannot be sorted by: it leads to many rows')
  if (!isPlainObject(value)) throw invalid(path, 'type', 'is a relation: name one of its fields')
  if (relations.length === maxRelations)
    throw invalid(path, 'depth', `is deeper than ${maxRelations} levels`)
  readObject(reading, value, [...relations, relation])
}

function readTerm(
  reading: Reading,
  leafColumn: Column,
  value: unknown,
  relations: readonly Relation[],
): void {
  const { terms, names } = reading
  const path = pathOf(relations, leafColumn.property)
  if (!isOrdered(leafColumn))
    throw invalid(path, 'type', `cannot be sorted by: it is of kind "${leafColumn.field.kind}"`)
  const direction = readDirection(value, path)
  const name = path.slice('orderBy.'.length)
  if (direction === undefined || names.includes(name)) return
  const isOwn = relations.length === 0
  const column = isOwn ? leafColumn : derivedColumn(leafColumn, relations, name, terms.length)
  names.push(name)
  terms.push({ column, ...direction })
  const { descending, nullsFirst } = direction
  reading.key += `${isOwn ? leafColumn.name : name}${descending ? '-' : '+'}${nullsFirst ? '!' : ''}`
}

function pathOf(relations: readonly Relation[], name: string): string {
  return `orderBy.${[...relations.map((relation) => relation.name), name].join('.')}`
}

/**
 * `'desc'`, or `{ direction: 'desc', nulls: 'first' }`; each part may be left out.
 *
 * @returns `undefined` for `skip`
 * @throws {DeclarationError} for `undefined`
 */
export function readDirection(
  value: unknown,
  path: string,
): Pick<OrderTerm, 'descending' | 'nullsFirst'> | undefined {
  if (value === undefined) throw undefinedAt(path)
  if (value === skip) return undefined
  const term = isPlainObject(value) ? value : { direction: value }
  const unknown = Object.keys(term).find((name) => name !== 'direction' && name !== 'nulls')
  if (unknown !== undefined) {
    const suggestion = didYouMean(clip(unknown), ['direction', 'nulls'])
    throw invalid(`${path}.${unknown}`, 'unknown', `is unknown. ${suggestion}`.trim())
  }
  for (const name of Object.keys(term))
    if (term[name] === undefined) throw undefinedAt(`${path}.${name}`)
  const { direction = 'asc', nulls = 'last' } = term
  const isDescending = direction === 'desc'
  if (!isDescending && direction !== 'asc' && direction !== skip)
    throw invalid(path, 'oneOf', 'must be "asc" or "desc"')
  if (nulls !== 'first' && nulls !== 'last' && nulls !== skip)
    throw invalid(`${path}.nulls`, 'oneOf', 'must be "first" or "last"')
  return { descending: isDescending, nullsFirst: nulls === 'first' }
}

/** @param index the position of the term in the list */
export function invalidTerm(term: unknown, index: number): Error {
  const path = `orderBy.${index}`
  return term === undefined ? undefinedAt(path) : skipAt(path)
}

/**
 * Cursors of pages: the values by which a row is sorted, its key last, as base64 of a JSON list. A page starts after
 * these values even if the row was deleted. Source: GraphQL Cursor Connections Specification, §4 and §5.
 */

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
