/**
 * Writes many rows with one statement: a list for each column, with the column's type in the database, which another
 * program may have created. Sources: PostgreSQL, Array Functions; Array Input and Output Syntax.
 */
import type { InsertLists } from '../contract/engine.js'

export const postgresLists: InsertLists = {
  types: `select attname, format_type(atttypid, null) from pg_attribute
    where attrelid = cast($1 as regclass) and attnum > 0 and not attisdropped`,
  rows: ['unnest(', ')'],
  held: 'for no key update',
  list: (type) => ['cast(', ` as ${type}[])`],
  write: (rows, place) => {
    let text = '{'
    let separator = ''
    for (const row of rows) {
      text += separator + toItem(row[place])
      separator = ','
    }
    return `${text}}`
  },
}

function toItem(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value === 'string') return `"${escape(value)}"`
  if (value instanceof Uint8Array) {
    const { buffer, byteOffset, byteLength } = value
    return `"\\\\x${Buffer.from(buffer, byteOffset, byteLength).toString('hex')}"`
  }
  return `${value as number | bigint | boolean}`
}

function escape(text: string): string {
  return special.test(text) ? text.replaceAll(everySpecial, '\\$&') : text
}

const special = /[\\"]/
const everySpecial = /[\\"]/g
