/**
 * `{ stock: { add: -1 } }`: changes a number relative to its stored value, exactly for every kind. Source: public API,
 * Records, continued.
 */

import type { Dialect } from '../../engines/contract/dialect.js'
import type { Column } from '../../engines/contract/table.js'
import { isOfKind } from '../../fields/kinds/table.js'
import { toDecimal } from '../../fields/kinds/numbers.js'
import type { Condition, Table } from '../model/table.js'
import type { TableCodec } from '../model/codec.js'
import { isPlainObject } from '../../core/json.js'
import { invalid, hideErrorsOfValues } from '../filters/query-errors.js'
import type { Unmarked } from '../model/generated.js'

/**
 * One addition, which the statement makes itself: `set stock = stock + $1`. The statement changes a row only if the sum
 * obeys the rules. They are tested on the stored value, so that nothing can overflow: `stock >= min - add and stock <=
 * max - add`. If it changes nothing, the row is read and checked as for any other change, which finds the error. Values
 * are in the driver's form.
 */
export interface Sum {
  readonly column: Column
  readonly addend: unknown
  /** The bounds of stored values to which it can be added. */
  readonly before: ValueRange
  /** The bounds of the sums. */
  readonly after: ValueRange
}

/** Both included. */
interface ValueRange {
  readonly low: unknown
  readonly high: unknown
}

export interface SumsAndValues {
  readonly sums: readonly Sum[]
  /** The other values. */
  readonly values: object
}

/** @returns `undefined` if an addition needs the stored value: it is invalid, or the field has other rules than bounds */
export function readSums(
  table: Table,
  codec: TableCodec,
  dialect: Dialect,
  input: object,
): SumsAndValues | undefined {
  const sums: Sum[] = []
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input)) {
    const addition = additionOf(table, name, value)
    if (addition === undefined) {
      // As a value it would become the prototype.
      if (name === '__proto__') return undefined
      values[name] = value
      continue
    }
    const sum = readSum(addition.column, addition.addition, codec, dialect)
    if (sum === undefined) return undefined
    sums.push(sum)
  }
  return { sums, values }
}

/** The condition for rows whose sums fit. @param values receives the bounds */
export function fitsSums(sums: readonly Sum[], values: unknown[]): Condition[] {
  return sums.flatMap(({ column, before: { low, high } }): Condition[] => [
    { kind: 'compare', column, operator: 'gte', slot: values.push(low) - 1 },
    { kind: 'compare', column, operator: 'lte', slot: values.push(high) - 1 },
  ])
}

/** A key that is equal for statements that differ in values only. */
export function keyOfSums(sums: readonly Sum[]): string {
  return sums.length === 0 ? '' : `+${sums.map(({ column }) => column.name).join(',')}`
}

function readSum(
  column: Column,
  input: Readonly<Record<string, unknown>>,
  codec: TableCodec,
  dialect: Dialect,
): Sum | undefined {
  const { field, storage, property } = column
  const { add } = input
  if (Object.keys(input).length !== 1 || add === undefined || add === null) return undefined
  if (!isOfKind(add, field.entry) || field.declared === undefined) return undefined
  if (field.constraints.length > 0 || field.rules.oneOf !== undefined) return undefined
  if (dialect.values.canAdd?.(column) === false) return undefined
  const limits =
    storage === 'real' ? limitsOfReal(column, add as number) : limitsOfUnits(column, add)
  const encode = codec.byProperty.get(property)?.encode
  if (limits === undefined || encode === undefined) return undefined
  const encoded = ({ low, high }: ValueRange): ValueRange => ({
    low: encode(low),
    high: encode(high),
  })
  return {
    column,
    addend: encode(add),
    before: encoded(limits.before),
    after: encoded(limits.after),
  }
}

type SumLimits = Pick<Sum, 'before' | 'after'>

/** A sum of doubles is rounded, so the check of the row tests the bounds of the rules. */
function limitsOfReal({ field: { rules } }: Column, add: number): SumLimits | undefined {
  const half = Number.MAX_VALUE / 2
  const isBound = rules.min !== undefined || rules.max !== undefined
  const bounds = { low: -half, high: half }
  return isBound || Math.abs(add) > half ? undefined : { before: bounds, after: bounds }
}

/** The limits are computed exactly, in units of the last digit. */
function limitsOfUnits({ storage, field }: Column, add: unknown): SumLimits | undefined {
  const { rules, entry } = field
  const digits = storage === 'decimal' ? entry.digits : undefined
  const scale = digits?.scale ?? 0
  const units = (value: unknown): bigint =>
    BigInt(
      digits === undefined ? (value as string) : toDecimal(String(value), scale).replace('.', ''),
    )
  const max =
    digits !== undefined
      ? 10n ** BigInt(digits.precision) - 1n
      : storage === 'wide'
        ? 2n ** 63n - 1n
        : BigInt(Number.MAX_SAFE_INTEGER)
  const min = storage === 'wide' ? -max - 1n : -max
  const clamp = (value: bigint): bigint => (value < min ? min : value > max ? max : value)
  const by = units(add)
  const low = rules.min === undefined ? min : clamp(units(rules.min))
  const high = rules.max === undefined ? max : clamp(units(rules.max))
  if (high - by < min || low - by > max) return undefined
  const text = (value: bigint): unknown =>
    storage === 'integer'
      ? Number(value)
      : digits === undefined
        ? String(value)
        : ofUnits(value, scale)
  return {
    before: { low: text(clamp(low - by)), high: text(clamp(high - by)) },
    after: { low: text(low), high: text(high) },
  }
}

function ofUnits(value: bigint, scale: number): string {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return value < 0n ? `-${text}` : text
}

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

type NamedValues = Readonly<Record<string, unknown>>

export function hasAddition(table: Table, values: object): boolean {
  for (const name of Object.keys(values)) {
    const value = (values as NamedValues)[name]
    if (typeof value !== 'object') continue
    const column = table.byProperty.get(name)
    if (column !== undefined && isAddition(column, value)) return true
  }
  return false
}

/** @returns `undefined` for other values */
function additionOf(
  table: Table,
  name: string,
  value: unknown,
): { readonly column: Column; readonly addition: NamedValues } | undefined {
  const column = table.byProperty.get(name)
  if (column === undefined || !isAddition(column, value)) return undefined
  return { column, addition: value }
}

/**
 * Replaces every addition by the sum.
 *
 * @param row the stored row
 * @throws {HttpError} 400 `VALIDATION`: the addend is not a number of the kind, or the stored value is null
 */
export function withSums(table: Table, row: NamedValues, values: object): Record<string, unknown> {
  const all: Record<string, unknown> = { ...values }
  for (const name of Object.keys(all)) {
    const column = table.byProperty.get(name)
    const value = all[name]
    if (column !== undefined && isAddition(column, value))
      all[name] = sumOf(table, column, row, value)
  }
  return all
}

function sumOf(table: Table, column: Column, row: NamedValues, input: Addition<unknown>): unknown {
  try {
    return sum(column, row[column.property], input)
  } catch (error) {
    throw hideErrorsOfValues(table, error)
  }
}

const numbers: ReadonlySet<string> = new Set(['integer', 'real', 'decimal', 'wide'])

function isAddition(column: Column, value: unknown): value is Addition<unknown> & NamedValues {
  if (!isPlainObject(value) || !('add' in value)) return false
  return numbers.has(column.storage) && !column.isBoolean && !column.isKey
}

function sum(
  { property, field, storage }: Column,
  current: unknown,
  input: Addition<unknown>,
): unknown {
  const [unknown] = Object.keys(input).filter((name) => name !== 'add')
  if (unknown !== undefined) throw invalid(`${property}.${unknown}`, 'unknown', 'is unknown')
  const by = input.add
  const { entry } = field
  if (by === undefined || by === null || !isOfKind(by, entry))
    throw invalid(`${property}.add`, 'type', `must be ${entry.label}`)
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
