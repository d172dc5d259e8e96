/**
 * Exact decimals in SQLite, which has no type for them: stored as integers in their smallest unit if 64 bits suffice,
 * else as text that sorts like the numbers.
 *
 * ```
 * 12.50 of 12 digits, 2 behind the point     1250         (in a column of type integer_scale_2)
 * -1.5 of 20 digits, 1 behind the point      0999…984     (the complement of every digit, behind a 0)
 * 1.5                                        1000…015     (text_decimal_20_1)
 * ```
 */
import type { Digits } from '../../fields/kinds/kind.js'
import { decimals } from './functions.js'

/** So many digits fit into a 64-bit integer. */
const integerDigits = 18
const numberDigits = 15

/**
 * The declared type names the unit, for else a change of the scale would pass unseen and move the point of every value
 * that is there. SQLite keeps integers in columns whose type has INT in it, and text in those with TEXT.
 */
export function decimalType({ precision, scale }: Digits): string {
  if (isKeptAsText({ precision, scale })) return `text_decimal_${precision}_${scale}`
  return scale === 0 ? 'integer' : `integer_scale_${scale}`
}

/**
 * What a column holds, for a column of another type: rows are copied by it where a table is made anew.
 *
 * @param sql the column as it was
 */
export function convertDecimal(sql: string, from: string, to: string): string {
  const wanted = unitOf(to)
  if (from === to || (wanted === undefined && unitOf(from) === undefined)) return sql
  const kept = unitOf(from)
  const text =
    kept === undefined ? `cast(${sql} as text)` : `filigree_decimal('${kept.scale} ' || ${sql})`
  if (wanted !== undefined) {
    return `filigree_units('${wanted.precision} ${wanted.scale} ' || ${text})`
  }
  if (to === 'integer') return `filigree_units('${integerDigits} 0 ' || ${text})`
  return to === 'real' ? `cast(${text} as real)` : text
}

/** Undefined for types that hold values as they are. */
function unitOf(type: string): Digits | undefined {
  const [, scale] = /^integer_scale_(\d+)$/.exec(type) ?? []
  if (scale !== undefined) return { precision: integerDigits, scale: Number(scale) }
  const [, digits, places] = /^text_decimal_(\d+)_(\d+)$/.exec(type) ?? []
  return digits === undefined ? undefined : { precision: Number(digits), scale: Number(places) }
}

/** Whether the units are more than an integer holds. */
export function isKeptAsText({ precision }: Digits): boolean {
  return precision > integerDigits
}

/** Whether the driver would return the integer as a number that has lost digits. */
export function isBeyondNumbers({ precision }: Digits): boolean {
  return precision > numberDigits && precision <= integerDigits
}

/** @returns a function from a decimal with its full scale to the stored value */
export function decimalEncoder({ precision }: Digits): (value: unknown) => unknown {
  const unitsOf = (value: unknown): string => (value as string).replace('.', '')
  if (precision <= numberDigits) return (value) => Number(unitsOf(value)) + 0
  if (precision <= integerDigits) return (value) => BigInt(unitsOf(value))
  return (value) => decimals.toSortable(unitsOf(value), precision)
}
