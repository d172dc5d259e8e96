/** The kinds `integer`, `numeric`, `bigint` and `decimal`. Source: decisions, Validation and fields. */
import type { Kind, KindRules } from './kind.js'

const maxDigits = 1000
const defaultPrecision = 18
const defaultScale = 2

/**
 * Exact decimal numbers, written as text with their full scale: `9.5` of scale 2 is `9.50`. No exponent, no blanks, no
 * commas.
 */
export const decimal: Kind = createDecimalKind(defaultPrecision, defaultScale)

/** A field that says only one of both has the other's default, as far as it fits. */
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
    label: `a decimal number as text, with at most ${digitCount(integer)} before the point and ${digitCount(scale)} behind it`,
    test: fits,
    read: write,
    encode: write,
    toOutput: (value) => decimalToOutput(value, scale),
    fromText: (text) => (fits(text) ? text : undefined),
    comparable: (value) => BigInt(write(value).replace('.', '')),
    spellings: decimalSpellings,
    rules: ['min', 'max', 'oneOf'],
    refine: refineDecimal,
  }
}

/** A number has its digits rounded to the scale, since `0.1 + 0.2` has more of them. */
function decimalToOutput(value: unknown, scale: number): unknown {
  if (typeof value === 'bigint') return toDecimal(String(value), scale)
  if (Number.isFinite(value)) return toDecimal(toFixedDigits(value as number, scale), scale)
  return typeof value === 'string' && parseDecimal(value) !== undefined
    ? toDecimal(value, scale)
    : value
}

/** `toFixed` writes an exponent from 1e21 on, where there are no fractions, and takes 100 digits at most. */
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

/** Not a regular expression, which would start again at every zero of a long text. */
function withoutTrailingZeros(text: string): string {
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === 48) end--
  return text.slice(0, end)
}

/**
 * The one way to write a number: `-.5` of scale 2 is `-0.50`, and `-0` is `0.00`.
 *
 * @param text a decimal number of that scale at most; more places, which only a database's own column has, stay
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

/** Whole numbers of 64 bits, beyond what JSON's numbers hold exactly: text outside. */
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

/** Without leading zeros; minus zero is zero. */
function toBigintText(value: unknown): string {
  return String(BigInt(value as string))
}

/** Finite numbers, whole or not. Source: decisions, Validation and fields. */
export const numeric: Kind = {
  storage: 'real',
  compares: 'order',
  graphql: { type: 'Float', filter: 'Float' },
  schema: { type: 'number' },
  label: 'a number',
  test: 'Number.isFinite(v)',
  // Turns -0 into 0.
  read: 'v + 0',
  // Minus zero becomes zero, so that all databases agree.
  encode: (value) => (value as number) + 0,
  toOutput: toSafeNumber,
  outputOnly: 'bigint',
  fromText: toNumber,
  rules: ['min', 'max', 'oneOf'],
}

/** @returns `undefined` unless the text is `-?` digits with an optional fraction, or `.5`: no exponent, no `5.`, finite */
function toNumber(text: string): number | undefined {
  if (text.length > 400 || !/^-?(?:\d+(?:\.\d+)?|\.\d+)$/.test(text)) return undefined
  const value = Number(text) + 0
  return Number.isFinite(value) ? value : undefined
}

/** Whole numbers that survive JSON: the safe integers. */
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

/** @returns `undefined` unless the text is `-?` digits and a safe integer; `-0` is 0 */
function toInteger(text: string): number | undefined {
  if (!/^-?\d{1,30}$/.test(text)) return undefined
  const value = Number(text) + 0
  return Number.isSafeInteger(value) ? value : undefined
}

/** @returns a number beyond the safe integers as it is: JSON cannot hold it exactly, so it is not sent */
export function toSafeNumber(value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
