/** SQLite's SQL and values. Sources: SQLite, Datatypes; JSON Functions; The LIKE operator. */
import type { Dialect } from '../engine.js'
import type { Column } from '../../model/table.js'

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  columnType: ({ storage }) => columnTypes[storage],
  // Never gives the id of a deleted row again.
  incrementType: 'integer primary key autoincrement',
  encoder: ({ isBoolean }) => (isBoolean ? (value) => (value === true ? 1 : 0) : undefined),
  decoder: ({ isBoolean, storage }) => {
    if (isBoolean) return 'v === 1'
    // Some drivers give plain bytes.
    return storage === 'bytes' ? 'Buffer.isBuffer(v) ? v : Buffer.from(v)' : undefined
  },
  fold: ['filigree_fold(', ')'],
  foldValue: (text) => text.toLowerCase(),
  // Numbers with fractions would have to survive two conversions, and bytes have no JSON.
  encodeList: ({ storage }: Column, values) =>
    storage === 'real' || storage === 'bytes' ? undefined : JSON.stringify(values),
  listTest: ['in (select value from json_each(', '))'],
  // From 3.54 on it is a text for what stands around the subquery; `json` makes JSON of it on every version.
  jsonOfSubquery: ['json(', ')'],
}

/** Of the SQLite that is there: where it leaves JSON as it is, reading it once more would be lost time. */
export function createSqliteDialect(leavesJson: boolean): Dialect {
  return leavesJson ? { ...sqliteDialect, jsonOfSubquery: ['', ''] } : sqliteDialect
}

const columnTypes: Readonly<Record<Column['storage'], string>> = {
  integer: 'integer',
  real: 'real',
  text: 'text',
  moment: 'text',
  bytes: 'blob',
  json: 'text',
}

/** The function `filigree_fold`: SQLite's own `lower` knows the letters of ASCII only. */
export function foldText(text: unknown): unknown {
  return typeof text === 'string' ? text.toLowerCase() : text
}

/** The function `filigree_base64`: bytes and text as base64, which SQLite itself has no word for. */
export function toBase64(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value).toString('base64')
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : null
}
