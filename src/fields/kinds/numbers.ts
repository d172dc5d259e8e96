/** The kinds `integer`, `numeric`, `bigint` and `decimal`. Source: decisions, Validation and fields. */
import type { Kind, KindRules } from './kind.js'

const maxDigits = 1000
const defaultPrecision = 18
const defaultScale = 2

/**
 * Exact decimal numbers, as text with the full scale: `9.5` with scale 2 is `9.50`. Exponents, spaces and commas are not
 * allowed.
 */
export const decimal: Kind = createDecimalKind(defaultPrecision, defaultScale)

/** If a field has only one of the two rules, the other one has its default, or less if that does not fit. */
function refineDecimal({ precision, scale }: KindRules): Kind {
  if (precision === undefined && scale === undefined) return decimal
  const digits = typeof precision === 'number' ? precision : defaultPrecision
  return createDecimalKind(
    digits,
    typeof scale === 'number' ? scale : Math.min(defaultScale, digits),
  )
}

function createDecimalKind(precision: number, scale: number): Kind {
  const integer = precision - scale
  const fits = (value: unknown): boolean => {
    const parts = typeof value === 'string' ? parseDecimal(value) : undefined
    return parts !== undefined && parts.integer.length <= integer && parts.fraction.length <= scale
  }
  const write = (value: unknown): string => toDecimal(value as string, scale)
  const fraction = scale === 0 ? '0+' : `\\d{1,${scale}}0*`
  return {
    storage: 'decimal',
    digits: { precision, scale },
    compares: 'order',
    graphql: { type: 'String', filter: 'Decimal' },
    schema: {
      type: 'string',
      format: 'decimal',
      pattern: `^-?(?=\\.?\\d)0*\\d{0,${integer}}(?:\\.${fraction})?$`,
    },
    label: `a decimal number as text, with at most ${digitCount(integer)} before the point and ${digitCount(scale)} after it`,
    test: fits,
    read: write,
    encode: write,
    toOutput: (value) => decimalToOutput(value, scale),
    fromText: (text) => (fits(text) ? text : undefined),
    comparable: (value) => BigInt(write(value).replace('.', '')),
    spellings: decimalSpellings,
    rules: ['min', 'max', 'oneOf'],
    refine: refineDecimal,
    presentation: { control: 'decimal' },
  }
}

/** Numbers are rounded to the scale, because `0.1 + 0.2` has more digits. */
function decimalToOutput(value: unknown, scale: number): unknown {
  if (typeof value === 'bigint') return toDecimal(String(value), scale)
  if (Number.isFinite(value)) return toDecimal(toFixedDigits(value as number, scale), scale)
  return typeof value === 'string' && parseDecimal(value) !== undefined
    ? toDecimal(value, scale)
    : value
}

/** `toFixed` writes an exponent from 1e21 on, where numbers have no fractions, and accepts at most 100 digits. */
function toFixedDigits(value: number, scale: number): string {
  return Math.abs(value) < 1e21 ? value.toFixed(Math.min(scale, 100)) : String(BigInt(value))
}

/** `1.5` → `0*1\\.50*`. */
function decimalSpellings(text: string): string {
  const { sign, integer, fraction } = parseDecimal(text) ?? { sign: '', integer: '', fraction: '' }
  const fractionPattern = fraction === '' ? '(?:\\.0+)?' : `\\.${fraction}0*`
  if (integer !== '' || fraction !== '') return `${sign}0*${integer}${fractionPattern}`
  return '-?(?:0+(?:\\.0+)?|\\.0+)'
}

interface DecimalParts {
  readonly sign: string
  /** Without leading zeros. */
  readonly integer: string
  /** Without trailing zeros. */
  readonly fraction: string
}

function parseDecimal(text: string): DecimalParts | undefined {
  const match = text.length > maxDigits + 2 ? null : decimalPattern.exec(text)
  if (match === null) return undefined
  const [, sign = '', integer = '', fraction = ''] = match
  return { sign, integer: integer.replace(/^0+/, ''), fraction: withoutTrailingZeros(fraction) }
}

const decimalPattern = /^(-?)(?=\.?\d)(\d*)(?:\.(\d+))?$/

/** Not a regular expression, because its time would be quadratic for a long text of zeros. */
function withoutTrailingZeros(text: string): string {
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === 48) end--
  return text.slice(0, end)
}

/**
 * The canonical form of a number: `-.5` with scale 2 is `-0.50`, and `-0` is `0.00`.
 *
 * @param text a decimal number. Digits beyond the scale, which only a column of another program has, stay
 */
export function toDecimal(text: string, scale: number): string {
  const { sign, integer, fraction } = parseDecimal(text) ?? { sign: '', integer: '', fraction: '' }
  const digits = fraction.padEnd(scale, '0')
  const isZero = integer === '' && fraction === ''
  return `${isZero ? '' : sign}${integer === '' ? '0' : integer}${digits === '' ? '' : `.${digits}`}`
}

function digitCount(digits: number): string {
  return `${digits} digit${digits === 1 ? '' : 's'}`
}

/** Integers of 64 bits. They are text in JSON, whose numbers cannot represent them exactly. */
export const bigint: Kind = {
  storage: 'wide',
  compares: 'order',
  graphql: { type: 'String', filter: 'BigInt' },
  schema: { type: 'string', format: 'int64', pattern: '^-?\\d{1,30}$' },
  label: 'a whole number of 64 bits as text',
  test: isBigint,
  read: toBigintText,
  encode: toBigintText,
  toOutput: bigintToOutput,
  fromText: (text) => (isBigint(text) ? text : undefined),
  comparable: (value) => BigInt(value as string),
  spellings: bigintSpellings,
  rules: ['min', 'max', 'oneOf'],
  presentation: { control: 'integer' },
}

function isBigint(value: unknown): boolean {
  if (typeof value !== 'string' || !/^-?\d{1,30}$/.test(value)) return false
  const number = BigInt(value)
  return number === BigInt.asIntN(64, number)
}

function bigintSpellings(text: string): string {
  const plain = toBigintText(text)
  return plain === '0' ? '-?0{1,30}' : plain.replace(/\d/, '0{0,29}$&')
}

function bigintToOutput(value: unknown): unknown {
  const isNumber = typeof value === 'bigint' || Number.isSafeInteger(value)
  if (isNumber) return String(value)
  return isCanonicalBigint(value) || !isBigint(value) ? value : toBigintText(value)
}

function isCanonicalBigint(value: unknown): boolean {
  return typeof value === 'string' && value.charCodeAt(0) > 0x30
}

/** Removes leading zeros and the sign of minus zero. */
function toBigintText(value: unknown): string {
  return String(BigInt(value as string))
}

/** Finite numbers. Source: decisions, Validation and fields. */
export const numeric: Kind = {
  storage: 'real',
  compares: 'order',
  graphql: { type: 'Float', filter: 'Float' },
  schema: { type: 'number' },
  label: 'a number',
  test: 'Number.isFinite(v)',
  // Turns -0 into 0.
  read: 'v + 0',
  // Turns -0 into 0, so that all databases store the same.
  encode: (value) => (value as number) + 0,
  toOutput: toSafeNumber,
  outputOnly: 'bigint',
  fromText: toNumber,
  rules: ['min', 'max', 'oneOf'],
}

/** @returns `undefined` unless the text is digits with an optional sign and fraction, or `.5`. Exponents and `5.` are invalid */
function toNumber(text: string): number | undefined {
  if (text.length > 400 || !/^-?(?:\d+(?:\.\d+)?|\.\d+)$/.test(text)) return undefined
  const value = Number(text) + 0
  return Number.isFinite(value) ? value : undefined
}

/** The safe integers, which JSON numbers represent exactly. */
export const integer: Kind = {
  storage: 'integer',
  compares: 'order',
  graphql: { type: 'Int', filter: 'Int' },
  schema: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  label: 'an integer',
  test: 'Number.isSafeInteger(v)',
  // Turns -0 into 0.
  read: 'v + 0',
  toOutput: toSafeNumber,
  outputOnly: 'bigint',
  fromText: toInteger,
  rules: ['min', 'max', 'oneOf'],
}

/** @returns `undefined` unless the text is a safe integer; `-0` is 0 */
function toInteger(text: string): number | undefined {
  if (!/^-?\d{1,30}$/.test(text)) return undefined
  const value = Number(text) + 0
  return Number.isSafeInteger(value) ? value : undefined
}

/** Converts a bigint to a number. @returns a bigint beyond the safe integers unchanged, which JSON cannot represent */
export function toSafeNumber(value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
