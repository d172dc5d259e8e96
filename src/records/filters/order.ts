/** Reads the order of rows: by fields, nulls last, ties by the key, so that pages never overlap. */
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../errors/clip.js'
import { isPlainObject } from '../../core/is-map.js'
import { invalid } from './invalid.js'
import { isOrdered } from '../../sql/operators.js'
import { ascending, byKey, type Order, type OrderTerm } from '../../sql/order.js'
import { skip, skipAt, undefinedAt } from '../model/skip.js'
import { suggestedFields } from './known-names.js'
import { readOwn } from '../model/hidden-names.js'
import type { Table } from '../model/table.js'

const mostTerms = 16

/**
 * @param orderBy `{ price: 'desc' }`, or a list of such; undefined for the key's order
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readOrder(table: Table, orderBy: unknown, isClient: boolean): Order {
  if (orderBy === undefined) return byKey(table)
  if (isClient) return readTerms(table, orderBy, true)
  return readOwn(table, () => readTerms(table, orderBy, false))
}

function readTerms(table: Table, orderBy: unknown, isClient: boolean): Order {
  const terms: OrderTerm[] = []
  let key = ''
  const lists: readonly unknown[] = Array.isArray(orderBy) ? orderBy : [orderBy]
  for (const list of lists) {
    if (list === undefined || list === skip) throw refusedTerm(list, lists.indexOf(list))
    if (!isPlainObject(list)) throw invalid('orderBy', 'type', 'must be an object')
    for (const name of Object.keys(list)) {
      const term = readTerm(table, name, list[name], isClient)
      if (term === undefined) continue
      if (terms.some(({ column }) => column === term.column)) continue
      terms.push(term)
      key += `${term.column.name}${term.descending ? '-' : '+'}${term.nullsFirst ? '!' : ''}`
    }
  }
  if (terms.length > mostTerms) throw invalid('orderBy', 'maxItems', 'has too many fields')
  if (!terms.some(({ column }) => column === table.key)) terms.push(ascending(table.key))
  return { terms, key }
}

/** @returns `undefined` for `skip` */
function readTerm(
  table: Table,
  name: string,
  given: unknown,
  isClient: boolean,
): OrderTerm | undefined {
  const path = `orderBy.${name}`
  const column = table.byProperty.get(name)
  if (column === undefined || (isClient && column.field.hidden)) {
    const names = suggestedFields(table, isClient)
    throw invalid(path, 'unknown', `is unknown. ${didYouMean(clip(name), names)}`.trim())
  }
  if (!isOrdered(column))
    throw invalid(path, 'type', `cannot be sorted by: it is of kind "${column.field.kind}"`)
  const direction = readDirection(given, path)
  return direction && { column, ...direction }
}

/**
 * `'desc'`, or `{ direction: 'desc', nulls: 'first' }`; each part may be left out.
 *
 * @returns `undefined` for `skip`
 * @throws {DeclarationError} for `undefined`
 */
export function readDirection(
  given: unknown,
  path: string,
): Pick<OrderTerm, 'descending' | 'nullsFirst'> | undefined {
  if (given === undefined) throw undefinedAt(path)
  if (given === skip) return undefined
  const term = isPlainObject(given) ? given : { direction: given }
  const unknown = Object.keys(term).find((name) => name !== 'direction' && name !== 'nulls')
  if (unknown !== undefined) {
    const meant = didYouMean(clip(unknown), ['direction', 'nulls'])
    throw invalid(`${path}.${unknown}`, 'unknown', `is unknown. ${meant}`.trim())
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

/** @param index of the term in the list */
export function refusedTerm(term: unknown, index: number): Error {
  const path = `orderBy.${index}`
  return term === undefined ? undefinedAt(path) : skipAt(path)
}
