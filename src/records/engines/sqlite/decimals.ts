/**
 * Exact numbers in SQLite, which has none: counted in their smallest unit as an integer where 64 bits hold them, and else
 * as text that sorts like the numbers.
 *
 * ```
 * 12.50 of 12 digits, 2 behind the point     1250
 * -1.5 of 20 digits, 1 behind the point      0999…984     (the complement of every digit, behind a 0)
 * 1.5                                        1000…015
 * ```
 */
import type { Digits } from '../../../fields/kinds/kind.js'
import { toDecimal } from '../../../fields/kinds/decimal.js'

/** As many digits fit into an integer, and into a number of JavaScript's. */
const integerDigits = 18
const numberDigits = 15

export function decimalType({ precision }: Digits): string {
  return precision <= integerDigits ? 'integer' : 'text'
}

/** Whether the driver would hand the integer on as a number that has lost digits. */
export function isBeyondNumbers({ precision }: Digits): boolean {
  return precision > numberDigits && precision <= integerDigits
}

/** @returns from a decimal with its full scale to what is kept */
export function decimalEncoder({ precision }: Digits): (value: unknown) => unknown {
  const toUnits = (value: unknown): string => (value as string).replace('.', '')
  if (precision <= numberDigits) return (value) => Number(toUnits(value)) + 0
  if (precision <= integerDigits) return (value) => BigInt(toUnits(value))
  return (value) => toSortable(toUnits(value), precision)
}

/** The function `filigree_decimal`, of the scale and what is kept: `2 1250` is `12.50`. */
export function showDecimal(value: unknown): unknown {
  if (typeof value !== 'string') return null
  const [scale = '', kept = ''] = value.split(' ')
  return toDecimalText(kept, Number(scale))
}

/** @returns what is kept as a decimal with its full scale */
export function toDecimalText(kept: unknown, places: number): string {
  const text = String(kept)
  // Nothing else has more digits than an integer of 64 bits.
  const units = text.length > 20 ? fromSortable(text) : text
  if (places === 0) return toDecimal(units, 0)
  const sign = units.startsWith('-') ? '-' : ''
  const digits = units.slice(sign.length).padStart(places + 1, '0')
  return toDecimal(`${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`, places)
}

/** At least 21 characters, since there are at least 19 digits and one is more for the sign. */
export function toSortable(units: string, precision: number): string {
  const width = Math.max(precision, 20)
  if (!units.startsWith('-')) return `1${units.padStart(width, '0')}`
  return `0${complement(units.slice(1).padStart(width, '0'))}`
}

function fromSortable(text: string): string {
  const digits = text.slice(1)
  return text.startsWith('1') ? digits : `-${complement(digits)}`
}

function complement(digits: string): string {
  return digits.replace(/\d/g, (digit) => String(9 - Number(digit)))
}
