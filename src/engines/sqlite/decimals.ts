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
import type { Dialect } from '../contract/dialect.js'
import { toWhole, type Total } from '../contract/total.js'
import { decimals } from './functions.js'
import type { Digits } from '../../fields/kinds/kind.js'

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

/**
 * Sums and averages on SQLite, exact for decimals, which are stored as 64-bit integers or as text. If a sum could be
 * too large for an integer, groups of nine digits are added up separately, and combined to text that sorts like the
 * numbers.
 */

/** With so many digits, nine million of the largest decimals fit into an integer. */
const plainDigits = 12
const chunkDigits = 9
const chunk = 10n ** BigInt(chunkDigits)
/** The digits of a sum: 38, and those of more rows than there can be. */
const widest = 60

export const sqliteTotal: Dialect['total'] = (called, column, isLarge = false) => {
  const {
    storage,
    field: { entry },
  } = column
  if (storage === 'decimal' && entry.digits !== undefined) {
    const { precision, scale } = entry.digits
    const isText = isKeptAsText(entry.digits)
    const width = Math.max(precision, 20)
    return exactTotal(called, {
      scale,
      chunks: isText ? textChunks(width) : precision <= plainDigits ? ['sum({c})'] : integerChunks,
    })
  }
  if (storage === 'wide' && called === 'sum')
    return exactTotal(called, { scale: 0, chunks: integerChunks })
  if (storage === 'integer' && called === 'sum') return integerSum(isLarge)
  const sql = storage === 'real' ? ofDoubles[called] : `${called}({c})`
  return { sql, isText: false, isExact: false, decode: Number, encode: (operand) => operand }
}

const largestDouble = '1.7976931348623157e308'
const small = 'sum({c} / 1e20)'
/** What no double holds is the nearest one: infinite is no JSON. Doubles whose sum is none are added up smaller. */
const ofDoubles = {
  sum: `case when abs(sum({c})) <= ${largestDouble} then sum({c}) else max(min(${small} * 1e20, ${largestDouble}), -${largestDouble}) end`,
  avg: `case when abs(sum({c})) <= ${largestDouble} then avg({c}) else ${small} / count({c}) * 1e20 end`,
}

function integerSum(isLarge: boolean): Total {
  if (!isLarge) {
    const encode = (operand: unknown): unknown => operand
    return { sql: 'sum({c})', isText: true, isExact: false, decode: toWhole, encode }
  }
  const { sql, isText } = exactTotal('sum', { scale: 0, chunks: integerChunks })
  const decode = (value: unknown): unknown => toWhole(decimals.toText(value, 0))
  return { sql, isText, isExact: false, decode, encode: (operand) => toPlace(operand as number) }
}

/** Text that sorts among sums as the number does; a fraction sorts after the integer below it. */
function toPlace(operand: number): string {
  const whole = BigInt(Math.floor(Math.max(-1e59, Math.min(1e59, operand))))
  const isBetween = Number.isFinite(operand) && !Number.isInteger(operand)
  return `${decimals.toSortable(whole.toString(), widest)}${isBetween ? '+' : ''}`
}

interface Exact {
  readonly scale: number
  /** SQL of the sums of digit groups, the highest first. */
  readonly chunks: readonly string[]
}

function exactTotal(called: 'sum' | 'avg', { scale, chunks }: Exact): Total {
  const [first = ''] = chunks
  if (called === 'sum' && chunks.length === 1) {
    return {
      sql: first,
      isText: true,
      isExact: true,
      decode: (value) => decimals.toText(value, scale),
      encode: (operand) => {
        const units = BigInt(toUnits(operand))
        return Number.isSafeInteger(Number(units)) ? Number(units) : clamped(units)
      },
    }
  }
  const joined = chunks.join(" || ' ' || ")
  return {
    sql:
      called === 'sum'
        ? `filigree_sum(${joined})`
        : `filigree_mean(count({c}) || ' ' || ${joined})`,
    isText: false,
    isExact: true,
    decode: (value) => decimals.toText(value, scale),
    encode: (operand) => decimals.toSortable(toUnits(operand), widest),
  }
}

const integerChunks = [`sum({c} / ${chunk})`, `sum({c} % ${chunk})`]

/** Negative numbers are stored as the complement of every digit. */
function textChunks(width: number): string[] {
  const chunks: string[] = []
  for (let end = width; end > 0; end -= chunkDigits) {
    const length = Math.min(chunkDigits, end)
    const digits = `cast(substr({c}, ${end - length + 2}, ${length}) as integer)`
    const largest = '9'.repeat(length)
    chunks.unshift(`sum(${digits} - case when substr({c}, 1, 1) = '0' then ${largest} else 0 end)`)
  }
  return chunks
}

function toUnits(operand: unknown): string {
  return (operand as string).replace('.', '')
}

/** Limits an operand to 64 bits: no sum is larger. */
function clamped(units: bigint): bigint {
  const largest = 2n ** 63n - 1n
  if (units > largest) return largest
  return units < -largest ? -largest : units
}
