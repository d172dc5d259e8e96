/**
 * Exact decimal numbers, written as text with their full scale: `9.5` of scale 2 is `9.50`. No exponent, no blanks, no
 * commas. Source: decisions, Validation and fields.
 */
import type { Kind, KindRules } from './kind.js'

const maxDigits = 1000
const defaultPrecision = 18
const defaultScale = 2

export const decimal: Kind = toKind(defaultPrecision, defaultScale)

/** A field that says only one of both has the other's default, as far as it fits. */
function refine({ precision, scale }: KindRules): Kind {
  if (precision === undefined && scale === undefined) return decimal
  const digits = typeof precision === 'number' ? precision : defaultPrecision
  return toKind(digits, typeof scale === 'number' ? scale : Math.min(defaultScale, digits))
}

function toKind(precision: number, scale: number): Kind {
  const integer = precision - scale
  const fits = (value: unknown): boolean => {
    const parts = typeof value === 'string' ? partsOf(value) : undefined
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
    toOutput: (value) => toOutput(value, scale),
    fromText: (text) => (fits(text) ? text : undefined),
    comparable: (value) => BigInt(write(value).replace('.', '')),
    spellings,
    rules: ['min', 'max', 'oneOf'],
    refine,
  }
}

/** A number has its digits rounded to the scale, since `0.1 + 0.2` has more of them. */
function toOutput(value: unknown, scale: number): unknown {
  if (typeof value === 'bigint') return toDecimal(String(value), scale)
  if (Number.isFinite(value)) return toDecimal(toDigits(value as number, scale), scale)
  return typeof value === 'string' && partsOf(value) !== undefined ? toDecimal(value, scale) : value
}

/** `toFixed` writes an exponent from 1e21 on, where there are no fractions, and takes 100 digits at most. */
function toDigits(value: number, scale: number): string {
  return Math.abs(value) < 1e21 ? value.toFixed(Math.min(scale, 100)) : String(BigInt(value))
}

/** `1.5` → `0*1\\.50*`. */
function spellings(text: string): string {
  const {
    sign,
    integer: integer,
    fraction,
  } = partsOf(text) ?? { sign: '', integer: '', fraction: '' }
  const fractionPattern = fraction === '' ? '(?:\\.0+)?' : `\\.${fraction}0*`
  if (integer !== '' || fraction !== '') return `${sign}0*${integer}${fractionPattern}`
  return '-?(?:0+(?:\\.0+)?|\\.0+)'
}

interface Parts {
  readonly sign: string
  /** Without noughts before. */
  readonly integer: string
  /** Without noughts behind. */
  readonly fraction: string
}

function partsOf(text: string): Parts | undefined {
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
  const {
    sign,
    integer: integer,
    fraction,
  } = partsOf(text) ?? { sign: '', integer: '', fraction: '' }
  const digits = fraction.padEnd(scale, '0')
  const isZero = integer === '' && fraction === ''
  return `${isZero ? '' : sign}${integer === '' ? '0' : integer}${digits === '' ? '' : `.${digits}`}`
}

function digitCount(digits: number): string {
  return `${digits} digit${digits === 1 ? '' : 's'}`
}
