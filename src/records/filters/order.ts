/**
 * Reads the order of rows (by fields and fields of related rows, nulls last, equal rows by key, so that pages never
 * overlap), and the cursors of its pages.
 */

import type { Table, Relation } from '../model/table.js'
import {
  invalid,
  isHidden,
  suggestedFields,
  suggestedRelations,
  readProgramQuery,
} from './query-errors.js'
import { derivedColumn } from '../../sql/derived.js'
import { isOrdered } from '../../sql/operators.js'
import { type Order, type OrderTerm, ascending, byKey } from '../../sql/order.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { isPlainObject } from '../../core/json.js'
import { hasKey, storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { nest, type Nested } from './nested-names.js'
import type { Direction } from '../model/record-types.js'
import { skip, skipAt, undefinedAt } from '../model/skip.js'

const maxTerms = 16
/** The maximum number of relations that lead to a field. */
const maxRelations = 4

/**
 * @param orderBy `{ price: 'desc' }` or `'-price'`, or a list of these; undefined for the key's order
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readOrder(table: Table, orderBy: unknown, isClient: boolean): Order {
  if (orderBy === undefined) return byKey(table)
  if (isClient) return readTerms(table, orderBy, true)
  return readProgramQuery(table, () => readTerms(table, orderBy, false))
}

/** The order by key, as `orderBy` writes it. */
export function keyOrder({ key }: Pick<Table, 'key'>): Record<string, 'asc'>[] {
  return storedColumnsOf(key).map(({ property }) => ({ [property]: 'asc' }))
}

/**
 * The order in which all rows are read in pages: as `orderBy` says, or by key. Rows without a key are ordered by their other
 * fields too. In an order that is not unique, some rows would be in two pages, and others in none.
 *
 * @param orderBy may be empty
 */
export function pageOrder(
  table: Pick<Table, 'key' | 'columns'>,
  orderBy: readonly FieldOrder[],
): readonly FieldOrder[] {
  if (hasKey(table)) return orderBy.length === 0 ? keyOrder(table) : orderBy
  const names = new Set(orderBy.flatMap((one) => Object.keys(one)))
  const others = table.columns.filter((one) => !names.has(one.property) && isOrdered(one))
  const orders = others.map(({ property }): FieldOrder => ({ [property]: 'asc' }))
  return [...orderBy, ...orders].slice(0, maxTerms)
}

function readTerms(table: Table, orderBy: unknown, isClient: boolean): Order {
  const reading: OrderReading = { table, isClient, terms: [], names: [], key: '' }
  const lists: readonly unknown[] = Array.isArray(orderBy) ? orderBy : [orderBy]
  for (const item of lists) {
    if (item === undefined || item === skip) throw invalidTerm(item, lists.indexOf(item))
    const list = typeof item === 'string' ? readOrderText(item) : item
    if (!isPlainObject(list)) throw invalid('orderBy', 'type', 'must be an object')
    readObject(reading, list, noRelations)
  }
  const { terms, key } = reading
  if (terms.length > maxTerms) throw invalid('orderBy', 'maxItems', 'has too many fields')
  for (const part of storedColumnsOf(table.key))
    if (!terms.some(({ column }) => column === part)) terms.push(ascending(part))
  return { terms, key }
}

/** An order by one field, `{ org: { name: 'desc' } }`. */
export type FieldOrder = Nested<Direction>

/** @param text `-org.name` */
export function readOrderText(text: string): FieldOrder {
  return text.startsWith('-')
    ? nest(text.slice(1).split('.'), 'desc')
    : nest(text.split('.'), 'asc')
}

interface OrderReading {
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
  reading: OrderReading,
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
  reading: OrderReading,
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
  reading: OrderReading,
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
