/** Reads and writes copied rows. SQLite converts values to the type of their column, so most texts are written as they are. */
import { toTimestamp } from '../../fields/kinds/dates.js'
import {
  toDoubleText,
  withMicroseconds,
  type ExchangeReader,
  type ExchangeSql,
} from '../contract/exchange.js'
import { frameworkChange, frameworkQuery } from '../contract/statement.js'
import type { ValueClass } from '../contract/conversions.js'
import { sqliteClassOf } from './conversions.js'
import { readDecimalType } from './decimals.js'
import { decimals } from './functions.js'

/** The digits that texts of other programs may have. */
const timestampDigits = 6

export const sqliteExchange: ExchangeSql = {
  reader: ({ column: { type }, digits }) => {
    const valueClass = sqliteClassOf(type)
    const scale = readDecimalType(type)?.scale ?? 0
    const reader = readers[valueClass ?? 'text']
    return reader(scale, digits)
  },
  writer: ({ column: { type } }) => {
    switch (sqliteClassOf(type)) {
      case 'boolean':
        return (text) => (text === 'true' ? 1 : text === 'false' ? 0 : text)
      case 'real':
        // The driver's numbers are exact. SQLite's conversion of texts is not.
        return (text) => (Number.isNaN(Number(text)) ? text : Number(text))
      case 'bytes':
        return (text) => Buffer.from(text.slice(2), 'hex')
      case 'decimal':
        return decimalWriter(type)
      default:
        return undefined
    }
  },
  typed: () => ['', ''],
  digitsOf: ({ type }) => (sqliteClassOf(type) === 'timestamp' ? timestampDigits : undefined),
  formatsJson: () => false,
  sizeOf: ({ type }) => {
    const valueClass = sqliteClassOf(type)
    const isLarge = valueClass === undefined || largeClasses.has(valueClass)
    return isLarge ? 'coalesce(octet_length({c}), 0)' : undefined
  },
  holdsNul: true,
  rowOrder: 'rowid',
  rowPlace: { name: 'rowid', type: 'integer', nullable: false, optional: false },
  readCounter: async (runner, table) => {
    const row = await runner.run(counterQuery, [table], 'first')
    return row === undefined ? undefined : String(row[0])
  },
  writeCounter: async (runner, table, _, last) => {
    if ((await runner.run(counterQuery, [table], 'first')) === undefined)
      await runner.run(addCounter, [table], 'count')
    await runner.run(setCounter, [last, table], 'count')
  },
  analyze: (table) => `analyze ${table}`,
}

const counterQuery = frameworkQuery('select cast(seq as text) from sqlite_sequence where name = ?')
const addCounter = frameworkChange(
  'insert',
  'insert into sqlite_sequence (name, seq) values (?, 0)',
)
const setCounter = frameworkChange(
  'update',
  'update sqlite_sequence set seq = max(seq, cast(? as integer)) where name = ?',
)

const largeClasses: ReadonlySet<ValueClass> = new Set(['text', 'bytes', 'json'])

type CreateReader = (scale: number, digits: number) => ExchangeReader

const plain: CreateReader = () => ({ sql: undefined, toText: toOther })
// As numbers, integers beyond 53 bits would lose digits.
const asText = ['cast(', ' as text)'] as const

const readers: Readonly<Record<ValueClass, CreateReader>> = {
  integer: () => ({ sql: asText, toText: undefined }),
  boolean: () => ({
    sql: undefined,
    toText: (value) => (value === 1 ? 'true' : value === 0 ? 'false' : toOther(value)),
  }),
  real: plain,
  decimal: (scale) => ({ sql: asText, toText: (value) => decimals.toText(value, scale) }),
  text: plain,
  uuid: () => ({ sql: undefined, toText: (value) => toOther(value).toLowerCase() }),
  timestamp: (_, digits) => ({ sql: undefined, toText: (value) => readTimestamp(value, digits) }),
  date: plain,
  time: plain,
  bytes: plain,
  json: plain,
}

/** A column can hold values of every type. */
function toOther(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return toDoubleText(value)
  if (value instanceof Uint8Array) {
    const { buffer, byteOffset, byteLength } = value
    return `\\x${Buffer.from(buffer, byteOffset, byteLength).toString('hex')}`
  }
  return String(value)
}

function readTimestamp(value: unknown, digits: number): string {
  const text = toOther(value)
  if (text.length === 24 && text[10] === 'T' && text[19] === '.' && text[23] === 'Z') return text
  const iso = toTimestamp(text)
  return iso === undefined ? text : withMicroseconds(iso, text, digits)
}

function decimalWriter(type: string): (text: string) => unknown {
  const { precision = 18, scale = 0 } = readDecimalType(type) ?? {}
  const isText = type.startsWith('text')
  return (text) => {
    const [whole = '', fraction = ''] = text.split('.')
    const units = `${whole}${fraction.padEnd(scale, '0')}`
    return isText ? decimals.toSortable(BigInt(units).toString(), precision) : units
  }
}
