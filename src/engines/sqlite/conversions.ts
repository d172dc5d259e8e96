/** Converts stored values to another column type when a table is rebuilt. Source: SQLite, Datatypes, section 3.1. */
import type { ValueClass } from '../contract/conversions.js'
import { readDecimalType } from './decimals.js'

/** Types that only this framework declares. Their names lead to the affinity of their values. */
const ownTypes: ReadonlyMap<string, ValueClass> = new Map([
  ['integer_boolean', 'boolean'],
  ['text_uuid', 'uuid'],
  ['text_timestamp', 'timestamp'],
  ['text_date', 'date'],
  ['text_time', 'time'],
  ['text_json', 'json'],
])

const affinities: readonly (readonly [RegExp, ValueClass])[] = [
  [/int/i, 'integer'],
  [/char|clob|text/i, 'text'],
  [/blob/i, 'bytes'],
  [/real|floa|doub/i, 'real'],
]

/** @returns `undefined` for other types, whose columns may hold anything */
export function sqliteClassOf(type: string): ValueClass | undefined {
  if (readDecimalType(type) !== undefined) return 'decimal'
  return ownTypes.get(type) ?? affinities.find(([pattern]) => pattern.test(type))?.[1]
}

/** Columns of these types convert texts of digits to numbers. Source: SQLite, Datatypes, section 3.1. */
const numberTypes =
  /^(?:(?:tiny|small|medium|big|unsigned big )?int(?:eger|\d)?|real|float|double.*)\b/i
const textTypes = /char|clob|text/i

/**
 * Whether a column of another program stores values of a type of ours. Any column stores any value, but columns of numbers
 * and of texts convert some. A decimal of ours is an integer, and other programs store fractions.
 */
export function canStoreIn(type: string, declared: string): boolean {
  const ours = sqliteClassOf(type)
  if (ours === undefined || ours === 'decimal') return false
  if (ours === 'bytes') return !numberTypes.test(declared) && !textTypes.test(declared)
  const isNumber = ours === 'integer' || ours === 'real' || ours === 'boolean'
  return isNumber ? !textTypes.test(declared) : !numberTypes.test(declared)
}

/**
 * SQL of a column's value as a column of another type stores it. It fails for a value that cannot be converted.
 *
 * @param column quoted
 * @param origin the field for messages: `Product.price`
 */
export function convertColumn(column: string, from: string, to: string, origin: string): string {
  const [source, target] = [sqliteClassOf(from), sqliteClassOf(to)]
  if (from === to || target === undefined || target === 'bytes' || target === 'json') return column
  if (source === target && source !== 'decimal') return column
  const text = toText(column, from, source, target)
  if (target === 'text') return source === undefined ? column : text
  return `filigree_convert('${to} ${origin} ' || ${text})`
}

/** SQL of the value as text, as the kind writes it. */
function toText(
  column: string,
  from: string,
  source: ValueClass | undefined,
  target: ValueClass,
): string {
  const isDate = source === 'timestamp' && target === 'date'
  // A timestamp of another program may have an offset.
  if (isDate) return `coalesce(date(${column}), ${column})`
  if (source === 'decimal')
    return `filigree_decimal('${readDecimalType(from)?.scale ?? 0} ' || ${column})`
  if (source === 'real') return `filigree_double(${column})`
  if (source === 'boolean' && target === 'text')
    return `case ${column} when 0 then 'false' when 1 then 'true' else ${column} end`
  return source === 'text' ? column : `cast(${column} as text)`
}
