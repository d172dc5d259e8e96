/**
 * `{ stock: { add: -1 } }`: changes a number relative to its stored value, exactly for every kind. Source: public face,
 * Records, continued.
 */
import { toDecimal } from '../../fields/kinds/decimal.js'
import { isOfKind } from '../../fields/kinds/table.js'
import { isPlainObject } from '../../core/json.js'
import { invalid } from '../filters/invalid.js'
import { hideFaultsOfValues } from '../model/hidden-names.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import type { Unmarked } from '../model/written-types.js'

/** A number to add; a negative one is subtracted. */
export interface Addition<V> {
  add: V
}

/** The values of an update: new values, or numbers to add. */
export type Changes<T> = {
  [K in keyof T]?:
    | T[K]
    | (Extract<Unmarked<T[K]>, number | string> extends never
        ? never
        : Addition<Extract<Unmarked<T[K]>, number | string>>)
}

type Values = Readonly<Record<string, unknown>>

export function hasAddition(table: Table, values: object): boolean {
  for (const name of Object.keys(values)) {
    const value = (values as Values)[name]
    if (typeof value !== 'object') continue
    const column = table.byProperty.get(name)
    if (column !== undefined && isAddition(column, value)) return true
  }
  return false
}

/** @returns `undefined` for other values */
export function additionOf(
  table: Table,
  name: string,
  value: unknown,
): { readonly column: Column; readonly addition: Values } | undefined {
  const column = table.byProperty.get(name)
  if (column === undefined || !isAddition(column, value)) return undefined
  return { column, addition: value as unknown as Values }
}

/**
 * Replaces every addition by the sum.
 *
 * @param row the stored row
 * @throws {HttpError} 400 `VALIDATION`: the addend is not a number of the kind, or the stored value is null
 */
export function withSums(table: Table, row: Values, values: object): Record<string, unknown> {
  const all: Record<string, unknown> = { ...values }
  for (const name of Object.keys(all)) {
    const column = table.byProperty.get(name)
    const value = all[name]
    if (column !== undefined && isAddition(column, value))
      all[name] = sumOf(table, column, row, value)
  }
  return all
}

function sumOf(table: Table, column: Column, row: Values, given: Addition<unknown>): unknown {
  try {
    return sum(column, row[column.property], given)
  } catch (error) {
    throw hideFaultsOfValues(table, error)
  }
}

const numbers: ReadonlySet<string> = new Set(['integer', 'real', 'decimal', 'wide'])

function isAddition(column: Column, value: unknown): value is Addition<unknown> {
  if (!isPlainObject(value) || !('add' in value)) return false
  return numbers.has(column.storage) && !column.isBoolean && !column.isKey
}

function sum(
  { property, field, storage }: Column,
  current: unknown,
  given: Addition<unknown>,
): unknown {
  const [unknown] = Object.keys(given).filter((name) => name !== 'add')
  if (unknown !== undefined) throw invalid(`${property}.${unknown}`, 'unknown', 'is unknown')
  const by = given.add
  const { entry } = field
  if (by === undefined || by === null || !isOfKind(by, entry))
    throw invalid(`${property}.add`, 'type', `must be ${entry.noun}`)
  if (current === undefined || current === null)
    throw invalid(property, 'add', 'has no value to add to')
  if (storage === 'wide') return String(BigInt(current as string) + BigInt(by as string))
  if (storage === 'decimal') return sumOfDecimals(current, by, entry.digits?.scale ?? 0)
  return (current as number) + (by as number)
}

function sumOfDecimals(one: unknown, other: unknown, scale: number): string {
  const units = (value: unknown): bigint =>
    BigInt(toDecimal(value as string, scale).replace('.', ''))
  const total = units(one) + units(other)
  const digits = String(total < 0n ? -total : total).padStart(scale + 1, '0')
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return total < 0n ? `-${text}` : text
}
