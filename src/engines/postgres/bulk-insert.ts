/**
 * Writes many rows with `copy … from stdin`: the server reads each value by its column's type, without plans and casts.
 * Sources: PostgreSQL, COPY, Text Format; Frontend/Backend Protocol, COPY Operations.
 */

import type { InsertLists, InsertCopy } from '../contract/dialect.js'
import type { Wire } from './driver.js'

/**
 * Writes many rows with one statement: one list for each column, with the column's actual type in the database.
 * Sources: PostgreSQL, Array Functions; Array Input and Output Syntax.
 */
export const postgresLists: InsertLists = {
  types: `select attname, format_type(atttypid, null) from pg_attribute
    where attrelid = cast($1 as regclass) and attnum > 0 and not attisdropped`,
  rows: ['unnest(', ')'],
  lockClause: 'for no key update',
  // A list of arrays with different lengths cannot be an array, so they are sent as text.
  list: (type) => ['cast(', ` as ${isArrayType(type) ? 'text' : type}[])`],
  item: (type) => (isArrayType(type) ? ['cast(', ` as ${type})`] : undefined),
  write: (rows, position) => {
    let text = '{'
    let separator = ''
    for (const row of rows) {
      text += separator + toArrayItem(row[position])
      separator = ','
    }
    return `${text}}`
  },
}

function isArrayType(type: string): boolean {
  return type.endsWith('[]')
}

function toArrayItem(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value === 'string') return `"${escapeItem(value)}"`
  if (value instanceof Uint8Array) {
    const { buffer, byteOffset, byteLength } = value
    return `"\\\\x${Buffer.from(buffer, byteOffset, byteLength).toString('hex')}"`
  }
  return `${value as number | bigint | boolean}`
}

function escapeItem(text: string): string {
  return specialInItem.test(text) ? text.replaceAll(everySpecialInItem, '\\$&') : text
}

const specialInItem = /[\\"]/
const everySpecialInItem = /[\\"]/g

/**
 * COPY ignores rules, rejects tables with row policies and views, and foreign tables are on other servers. There, rows
 * are inserted.
 *
 * @param table SQL of the table's quoted name
 */
export function acceptsCopySql(table: string): string {
  return `select relkind in ('r', 'p') and not relhasrules and not row_security_active(oid)
  from pg_class where oid = cast(${table} as regclass)`
}

export const postgresCopy: InsertCopy = {
  isAllowed: acceptsCopySql('$1'),
  into: (table, columns) => `copy ${table} (${columns.join(', ')}) from stdin`,
  write: (rows) => {
    let text = ''
    for (const row of rows) {
      let separator = ''
      for (const value of row) {
        text += separator + toCopyValue(value)
        separator = '\t'
      }
      text += '\n'
    }
    return text
  },
}

function toCopyValue(value: unknown): string {
  if (typeof value === 'string')
    return special.test(value) ? value.replaceAll(everySpecial, escape) : value
  if (value === null || value === undefined) return '\\N'
  if (value instanceof Uint8Array) {
    const { buffer, byteOffset, byteLength } = value
    return `\\\\x${Buffer.from(buffer, byteOffset, byteLength).toString('hex')}`
  }
  return `${value as number | bigint | boolean}`
}

const special = /[\\\n\r\t]/
const everySpecial = /[\\\n\r\t]/g
const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escape(character: string): string {
  return escapes[character] ?? '\\\\'
}

/** The server works on one chunk while the next is being sent. */
const chunkSize = 262_144
const dataType = 100
const done = Buffer.from('6300000004', 'hex')

/** Sends rows to a server that waits for them, and the end of the data. */
export function sendRows({ stream }: Wire, rows: string): void {
  const bytes = Buffer.from(rows)
  stream.cork()
  for (let start = 0; start < bytes.length; start += chunkSize) {
    const chunk = bytes.subarray(start, start + chunkSize)
    const head = Buffer.allocUnsafe(5)
    head[0] = dataType
    head.writeInt32BE(chunk.length + 4, 1)
    stream.write(head)
    stream.write(chunk)
  }
  stream.write(done)
  stream.uncork()
}
