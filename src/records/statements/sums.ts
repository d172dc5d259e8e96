/**
 * Additions that a statement makes itself: `set stock = stock + $1`. The statement changes a row only if the sum fits the rules,
 * which is tested on the stored value, so that nothing can overflow: `stock >= min - add and stock <= max - add`. Where it
 * changes nothing, the row is read and checked as for any other change (change-row.ts), which finds the error.
 */
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Column } from '../../engines/contract/table.js'
import { isOfKind } from '../../fields/kinds/table.js'
import { toDecimal } from '../../fields/kinds/decimal.js'
import type { Condition } from '../filters/condition.js'
import type { TableCodec } from '../model/codec.js'
import type { Table } from '../model/table.js'
import { additionOf } from './additions.js'

/** One addition. Values are in the driver's form. */
export interface Sum {
  readonly column: Column
  readonly addend: unknown
  /** Of the stored values to which it can be added. */
  readonly before: Bounds
  /** Of the sums. */
  readonly after: Bounds
}

/** Both included. */
export interface Bounds {
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
  given: object,
): SumsAndValues | undefined {
  const sums: Sum[] = []
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
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

/** The condition for rows whose sums fit. @param values to which the bounds are added */
export function fitsSums(sums: readonly Sum[], values: unknown[]): Condition[] {
  return sums.flatMap(({ column, before: { low, high } }): Condition[] => [
    { kind: 'compare', column, operator: 'gte', slot: values.push(low) - 1 },
    { kind: 'compare', column, operator: 'lte', slot: values.push(high) - 1 },
  ])
}

/** The same for statements that differ in values only. */
export function keyOfSums(sums: readonly Sum[]): string {
  return sums.length === 0 ? '' : `+${sums.map(({ column }) => column.name).join(',')}`
}

function readSum(
  column: Column,
  given: Readonly<Record<string, unknown>>,
  codec: TableCodec,
  dialect: Dialect,
): Sum | undefined {
  const { field, storage, property } = column
  const { add } = given
  if (Object.keys(given).length !== 1 || add === undefined || add === null) return undefined
  if (!isOfKind(add, field.entry) || field.declared === undefined) return undefined
  if (field.constraints.length > 0 || field.rules.oneOf !== undefined) return undefined
  if (dialect.canAdd?.(column) === false) return undefined
  const limits =
    storage === 'real' ? limitsOfReal(column, add as number) : limitsOfUnits(column, add)
  const encode = codec.byProperty.get(property)?.encode
  if (limits === undefined || encode === undefined) return undefined
  const encoded = ({ low, high }: Bounds): Bounds => ({ low: encode(low), high: encode(high) })
  return {
    column,
    addend: encode(add),
    before: encoded(limits.before),
    after: encoded(limits.after),
  }
}

type Limits = Pick<Sum, 'before' | 'after'>

/** A sum of doubles is rounded, so bounds of the rules are left to the check of the row. */
function limitsOfReal({ field: { rules } }: Column, add: number): Limits | undefined {
  const half = Number.MAX_VALUE / 2
  const isBound = rules.min !== undefined || rules.max !== undefined
  const bounds = { low: -half, high: half }
  return isBound || Math.abs(add) > half ? undefined : { before: bounds, after: bounds }
}

/** Exactly, in the smallest unit. */
function limitsOfUnits({ storage, field }: Column, add: unknown): Limits | undefined {
  const { rules, entry } = field
  const digits = storage === 'decimal' ? entry.digits : undefined
  const scale = digits?.scale ?? 0
  const units = (value: unknown): bigint =>
    BigInt(
      digits === undefined ? (value as string) : toDecimal(String(value), scale).replace('.', ''),
    )
  const most =
    digits !== undefined
      ? 10n ** BigInt(digits.precision) - 1n
      : storage === 'wide'
        ? 2n ** 63n - 1n
        : BigInt(Number.MAX_SAFE_INTEGER)
  const least = storage === 'wide' ? -most - 1n : -most
  const clamp = (value: bigint): bigint => (value < least ? least : value > most ? most : value)
  const by = units(add)
  const low = rules.min === undefined ? least : clamp(units(rules.min))
  const high = rules.max === undefined ? most : clamp(units(rules.max))
  if (high - by < least || low - by > most) return undefined
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
