/** Reads and writes copied rows. The server converts every value from and to text. Sources: PostgreSQL, COPY; SET. */
import { toDoubleText, withMicroseconds, type ExchangeSql } from '../contract/exchange.js'
import { quote, quoteTable } from '../contract/quote.js'
import { frameworkQuery } from '../contract/statement.js'
import { postgresClassOf } from './conversions.js'
import { arrayJson, toArrayText } from './declared-types.js'
import { readTimestamp } from './timestamps.js'

const asText = ['cast(', ' as text)'] as const
const isTimestamp = /^timestamp(?!.*\[\])/

function isArray(type: string): boolean {
  return type.endsWith('[]')
}

export const postgresExchange: ExchangeSql = {
  reader: ({ column: { type }, digits, list }) => {
    if (list !== undefined && isArray(type)) {
      const [before, after] = arrayJson(list)
      return { sql: [`cast(${before}`, `${after} as text)`], toText: undefined }
    }
    const sql = type === 'text' ? undefined : asText
    if (isTimestamp.test(type)) {
      const toText = (value: unknown): string =>
        withMicroseconds(String(readTimestamp(value)), value as string, digits)
      return { sql, toText }
    }
    const isDouble = postgresClassOf(type) === 'real'
    return { sql, toText: isDouble ? (value) => toDoubleText(Number(value)) : undefined }
  },
  writer: ({ column: { type }, list }) =>
    list !== undefined && isArray(type) ? toArrayText : undefined,
  typed: ({ type }) => ['cast(', ` as ${type})`],
  digitsOf: ({ type, sql: declared = type }) =>
    isTimestamp.test(type) ? Number(/\((\d)\)/.exec(declared)?.[1] ?? 6) : undefined,
  formatsJson: ({ type }) => type === 'jsonb' || isArray(type),
  sizeOf: ({ type }) => {
    const valueClass = postgresClassOf(type)
    if (valueClass === 'bytes') return 'coalesce(octet_length({c}), 0)'
    const isLarge = valueClass === undefined || valueClass === 'text' || valueClass === 'json'
    return isLarge ? 'coalesce(octet_length(cast({c} as text)), 0)' : undefined
  },
  holdsNul: false,
  rowOrder: undefined,
  rowPlace: { name: 'ctid', type: 'tid', nullable: false, optional: false },
  readCounter: async (runner, table, column) => {
    const row = await runner.run(counterQuery, [quoteTable(table), column], 'first')
    return typeof row?.[0] === 'string' ? row[0] : undefined
  },
  writeCounter: async (runner, table, column, last) => {
    const set = `select setval(counter, greatest(cast($1 as bigint), coalesce((select max(${quote(column)}) from ${quoteTable(table)}), 1)))
      from (select pg_get_serial_sequence(cast($2 as text), cast($3 as text)) as counter) c where counter is not null`
    await runner.run(
      frameworkQuery(set, { isFresh: true }),
      [last, quoteTable(table), column],
      'first',
    )
  },
  analyze: (table) => `analyze ${table}`,
}

const counterQuery = frameworkQuery(
  `select cast(pg_sequence_last_value(cast(pg_get_serial_sequence(cast($1 as text), cast($2 as text)) as regclass)) as text)`,
  { isFresh: true },
)

/**
 * Settings of a transaction that copies rows: values in the form that `readers` expect, and no limits of time.
 * `set_config` accepts only settings that the server has.
 */
export const copySettings = `set local timezone to 'UTC';
  set local datestyle to 'ISO';
  set local bytea_output to 'hex';
  set local extra_float_digits to 1;
  select set_config(name, '0', true) from pg_settings where name in
    ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`

/** Switches off triggers and checks of references, which superusers may do, and users with the privilege. */
export const withoutTriggers = `set local session_replication_role to replica`
