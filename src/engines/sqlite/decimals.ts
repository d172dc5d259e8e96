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
import { toDecimal } from '../../fields/kinds/decimal.js'

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

/** The function `filigree_units`, of precision, scale and a number: `12 2 9.5` is kept as `950`. */
export function keepDecimal(value: unknown): unknown {
  if (typeof value !== 'string') return null
  const [digits = '', places = '', number = ''] = value.split(' ')
  const precision = Number(digits)
  const units = toUnits(number, Number(places))
  if (units === undefined || units.replace('-', '').length > precision) {
    throw new RangeError(
      `${number} is no number of at most ${digits} digits, ${places} behind the point`,
    )
  }
  return precision <= integerDigits ? units : toSortable(units, precision)
}

/** Half a unit is rounded away from nought. */
function toUnits(number: string, scale: number): string | undefined {
  const plain = /e/i.test(number) ? Number(number).toFixed(Math.min(scale + 1, 100)) : number
  const [, sign, whole = '', fraction = ''] = /^(-?)(?=\.?\d)(\d*)\.?(\d*)$/.exec(plain) ?? []
  if (sign === undefined) return undefined
  const more = Number(fraction[scale] ?? 0) >= 5 ? 1n : 0n
  const units = BigInt(`${whole}${fraction.slice(0, scale).padEnd(scale, '0')}` || '0') + more
  return units === 0n ? '0' : `${sign}${units}`
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
  return (value) => toSortable(unitsOf(value), precision)
}

/** The SQL function `filigree_decimal`: its argument is the scale and the stored value; `2 1250` is `12.50`. */
export function showDecimal(value: unknown): unknown {
  if (typeof value !== 'string') return null
  const [scale = '', kept = ''] = value.split(' ')
  return toDecimalText(kept, Number(scale))
}

/** @returns a stored value as a decimal with its full scale */
export function toDecimalText(kept: unknown, places: number): string {
  const text = String(kept)
  // Integers of 64 bits have at most 20 characters; longer texts are the sortable form.
  const units = text.length > 20 ? fromSortable(text) : text
  if (places === 0) return toDecimal(units, 0)
  const sign = units.startsWith('-') ? '-' : ''
  const digits = units.slice(sign.length).padStart(places + 1, '0')
  return toDecimal(`${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`, places)
}

/** The text has at least 21 characters: at least 20 digits and one character for the sign. */
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
