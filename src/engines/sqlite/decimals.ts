/**
 * Exact decimals, their sums and averages. SQLite has no type for them, so they are stored as integers in their
 * smallest unit if 64 bits suffice, otherwise as text that sorts like the numbers.
 *
 * ```
 * value   precision, scale   stored      column type
 * 12.50   12, 2              1250        integer_scale_2
 * -1.5    20, 1              0999…984    text_decimal_20_1 (0, then the complement of every digit)
 * 1.5     20, 1              1000…015    text_decimal_20_1
 * ```
 */
import { type ValueSql, toIntegerValue, type Total } from '../contract/dialect.js'
import { decimals } from './functions.js'
import type { Digits } from '../../fields/kinds/kind.js'

/** Digits that fit into a 64-bit integer. */
const integerDigits = 18
/** Digits that fit into a JavaScript number. */
const numberDigits = 15

/**
 * The declared type contains the scale. Otherwise a changed scale would go unnoticed and multiply every stored value.
 * SQLite stores integers in columns whose type contains INT, and text in columns whose type contains TEXT.
 */
export function decimalType({ precision, scale }: Digits): string {
  if (isStoredAsText({ precision, scale })) return `text_decimal_${precision}_${scale}`
  return `integer_scale_${scale}`
}

/** @returns the digits of a type that stores decimals in their smallest unit; `undefined` for other types */
export function readDecimalType(type: string): Digits | undefined {
  const [, scale] = /^integer_scale_(\d+)$/.exec(type) ?? []
  if (scale !== undefined) return { precision: integerDigits, scale: Number(scale) }
  const [, digits, textScale] = /^text_decimal_(\d+)_(\d+)$/.exec(type) ?? []
  return digits === undefined ? undefined : { precision: Number(digits), scale: Number(textScale) }
}

/**
 * A test of the column `{c}` that is false for values that no decimal is stored as. SQL by hand would write `15.5` where
 * `1550` is stored. Like the type, it contains only the digits that change the stored form.
 */
export function decimalTest(digits: Digits): string {
  if (!isStoredAsText(digits)) {
    const largest = '9'.repeat(integerDigits)
    return `typeof({c}) in ('integer', 'null') and {c} between -${largest} and ${largest}`
  }
  const encode = decimalEncoder(digits)
  const largest = '9'.repeat(digits.precision)
  const [lowest, highest] = [encode(`-${largest}`), encode(largest)].map(String)
  return `length({c}) = ${highest?.length} and {c} not glob '*[^0-9]*' and {c} between '${lowest}' and '${highest}'`
}

/** Whether the digits do not fit into a 64-bit integer. */
export function isStoredAsText({ precision }: Digits): boolean {
  return precision > integerDigits
}

/** Whether the driver would return the integer as a JavaScript number that has lost digits. */
export function exceedsNumberPrecision({ precision }: Digits): boolean {
  return precision > numberDigits && precision <= integerDigits
}

/** @returns a function from a decimal with its full scale to the stored value */
export function decimalEncoder({ precision }: Digits): (value: unknown) => unknown {
  const unitsOf = (value: unknown): string => (value as string).replace('.', '')
  if (precision <= numberDigits) return (value) => Number(unitsOf(value)) + 0
  if (precision <= integerDigits) return (value) => BigInt(unitsOf(value))
  return (value) => decimals.toSortable(unitsOf(value), precision)
}

/** With at most 12 digits, the sum of nine million of the largest decimals fits into an integer. */
const plainDigits = 12
const chunkDigits = 9
const chunk = 10n ** BigInt(chunkDigits)
/** Digits of the largest sum: 38 of a value, and 22 for the number of rows. */
const maxSumDigits = 60

/**
 * SQL for sums and averages. Decimals are added exactly: if the sum may exceed an integer, groups of nine digits are
 * added up separately and combined to text that sorts like the numbers.
 */
export const sqliteTotal: ValueSql['total'] = (operation, column, isLarge = false) => {
  const {
    storage,
    field: { entry },
  } = column
  if (storage === 'decimal' && entry.digits !== undefined) {
    const { precision, scale } = entry.digits
    const isText = isStoredAsText(entry.digits)
    const width = Math.max(precision, 20)
    return exactTotal(operation, {
      scale,
      chunks: isText ? textChunks(width) : precision <= plainDigits ? ['sum({c})'] : integerChunks,
    })
  }
  if (storage === 'wide' && operation === 'sum')
    return exactTotal(operation, { scale: 0, chunks: integerChunks })
  if (storage === 'integer' && operation === 'sum') return integerSum(isLarge)
  const sql = storage === 'real' ? doubleSql[operation] : `${operation}({c})`
  return { sql, isText: false, isExact: false, decode: Number, encode: (operand) => operand }
}

const largestDouble = '1.7976931348623157e308'
const scaledSum = 'sum({c} / 1e20)'
/** JSON has no infinity, so a sum that overflows becomes the largest double. The average is computed from scaled values. */
const doubleSql = {
  sum: `case when abs(sum({c})) <= ${largestDouble} then sum({c}) else max(min(${scaledSum} * 1e20, ${largestDouble}), -${largestDouble}) end`,
  avg: `case when abs(sum({c})) <= ${largestDouble} then avg({c}) else ${scaledSum} / count({c}) * 1e20 end`,
}

function integerSum(isLarge: boolean): Total {
  if (!isLarge) {
    const encode = (operand: unknown): unknown => operand
    return { sql: 'sum({c})', isText: true, isExact: false, decode: toIntegerValue, encode }
  }
  const { sql, isText } = exactTotal('sum', { scale: 0, chunks: integerChunks })
  const decode = (value: unknown): unknown => toIntegerValue(decimals.toText(value, 0))
  return {
    sql,
    isText,
    isExact: false,
    decode,
    encode: (operand) => toSortableOperand(operand as number),
  }
}

/** Text that sorts among sums like the number. A fraction sorts after the integer below it. */
function toSortableOperand(operand: number): string {
  const integerPart = BigInt(Math.floor(Math.max(-1e59, Math.min(1e59, operand))))
  const isBetween = Number.isFinite(operand) && !Number.isInteger(operand)
  return `${decimals.toSortable(integerPart.toString(), maxSumDigits)}${isBetween ? '+' : ''}`
}

interface ExactTotalOptions {
  readonly scale: number
  /** SQL of the sums of digit groups, the most significant first. */
  readonly chunks: readonly string[]
}

function exactTotal(operation: 'sum' | 'avg', { scale, chunks }: ExactTotalOptions): Total {
  const [first = ''] = chunks
  if (operation === 'sum' && chunks.length === 1) {
    return {
      sql: first,
      isText: true,
      isExact: true,
      decode: (value) => decimals.toText(value, scale),
      encode: (operand) => {
        const units = BigInt(toUnits(operand))
        return Number.isSafeInteger(Number(units)) ? Number(units) : clampTo64Bits(units)
      },
    }
  }
  const joined = chunks.join(" || ' ' || ")
  return {
    sql:
      operation === 'sum'
        ? `filigree_sum(${joined})`
        : `filigree_mean(count({c}) || ' ' || ${joined})`,
    isText: false,
    isExact: true,
    decode: (value) => decimals.toText(value, scale),
    encode: (operand) => decimals.toSortable(toUnits(operand), maxSumDigits),
  }
}

const integerChunks = [`sum({c} / ${chunk})`, `sum({c} % ${chunk})`]

/** Negative numbers are stored as the complement of every digit. */
function textChunks(width: number): string[] {
  const chunks: string[] = []
  // Other texts have no such digits. The mark makes the function that combines the sums fail.
  const mark = `|| case when min(length({c})) < ${width + 1} or max(length({c})) > ${width + 1} then '!' else '' end`
  for (let end = width; end > 0; end -= chunkDigits) {
    const length = Math.min(chunkDigits, end)
    const digits = `cast(substr({c}, ${end - length + 2}, ${length}) as integer)`
    const largest = '9'.repeat(length)
    chunks.unshift(`sum(${digits} - case when substr({c}, 1, 1) = '0' then ${largest} else 0 end)`)
  }
  return [...chunks.slice(0, -1), `${chunks.at(-1) ?? ''} ${mark}`]
}

function toUnits(operand: unknown): string {
  return (operand as string).replace('.', '')
}

/** No sum exceeds 64 bits, so a larger operand compares like the largest integer. */
function clampTo64Bits(units: bigint): bigint {
  const largest = 2n ** 63n - 1n
  if (units > largest) return largest
  return units < -largest ? -largest : units
}
