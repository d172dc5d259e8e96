/** The SQL dialect of SQLite. Sources: SQLite, Datatypes; JSON Functions; The LIKE operator. */

import { foldCase } from '../../core/text.js'
import { quote } from '../contract/quote.js'
import { quoteSqliteTable, toSqliteName } from './table-name.js'
import { type SqlWrapper } from '../contract/sql-text.js'
import {
  toKeyList,
  utcOffset,
  type Dialect,
  type ScanSql,
  type TimeGroup,
} from '../contract/dialect.js'
import type { Column } from '../contract/table.js'
import {
  decimalEncoder,
  decimalTest,
  decimalType,
  exceedsNumberPrecision,
  isStoredAsText,
  sqliteTotal,
} from './decimals.js'
import { sqliteSearch } from './search.js'
import { frameworkQuery, frameworkScript } from '../contract/statement.js'
import type { Runner } from '../contract/engine.js'
import { keyLimitName } from './errors.js'
import { decimals, sqlFunctions } from './functions.js'
import { sqliteExchange } from './exchange.js'
import { canStoreIn, sqliteClassOf } from './conversions.js'
import { writeRebuild, writeRestore } from './rebuild.js'
import { exactDouble, SqliteJson } from './json.js'
import { readStoredTimestamp, storedTimestamp } from './timestamps.js'

/** Reads SQLite's query plans. Source: SQLite, EXPLAIN QUERY PLAN. */
export const sqliteScans: ScanSql = {
  explain: async (engine, sql) => {
    // Some drivers require a value for each placeholder.
    const values = Array.from({ length: sql.split('?').length - 1 }, () => null)
    const { rows } = await engine.run(frameworkQuery(`explain query plan ${sql}`), values, 'all')
    return rows
  },
  read: (rows) => {
    const details = rows.map((row) => String(row[3]))
    // A scan of an intermediate result is listed too. It may have the name of its table.
    const parts = new Set(
      details.flatMap((detail) => /^(?:CO-ROUTINE|MATERIALIZE) (\w+)$/.exec(detail)?.[1] ?? []),
    )
    // A scan in the order of an index or of the key does not count: it stops when enough rows are found.
    const scanned = details.flatMap((detail) => /^SCAN (\w+)$/.exec(detail)?.[1] ?? [])
    return omitParts(scanned, parts)
  },
}

/** Removes the last scan of each intermediate result. Inside of it, a table of the same name may be scanned. */
function omitParts(scanned: readonly string[], parts: ReadonlySet<string>): string[] {
  const remainingParts = new Set(parts)
  return scanned
    .toReversed()
    .filter((name) => !remainingParts.delete(name))
    .toReversed()
}

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  product: { title: 'SQLite', kysely: 'Sqlite' },
  can: {
    lateral: false,
    writesInWith: false,
    previousValues: false,
    batchedCalls: false,
    oneTimeConditions: false,
    nullOrderInIndexes: false,
    trigramIndexes: false,
    concurrentWrites: false,
    changePiecemeal: false,
    readOnlyTransactions: false,
    nestedComments: false,
    outages: false,
    isolatesShards: true,
    subqueriesInShards: true,
    triggersOnShards: true,
  },
  types: {
    columnType: ({ storage, isBoolean, isUuid, field: { entry } }) => {
      if (isBoolean) return 'integer_boolean'
      if (isUuid) return 'text_uuid'
      return storage === 'decimal' && entry.digits
        ? decimalType(entry.digits)
        : columnTypes[storage]
    },
    // `autoincrement` never reuses the id of a deleted row.
    incrementColumn: (name) =>
      `${name} integer primary key autoincrement constraint ${keyLimitName} check (${name} <= ${Number.MAX_SAFE_INTEGER})`,
    now: ({ storage }) => currentTimes[storage],
    classOf: sqliteClassOf,
    canStore: canStoreIn,
    formTest: ({ storage, field: { entry } }) =>
      storage === 'decimal' && entry.digits ? decimalTest(entry.digits) : undefined,
  },
  values: {
    encoder: ({ isBoolean, storage, field: { entry } }) => {
      if (isBoolean) return (value) => (value === true ? 1 : 0)
      if (storage === 'wide') return (value) => BigInt(value as string)
      return storage === 'decimal' && entry.digits ? decimalEncoder(entry.digits) : undefined
    },
    decoder: ({ isBoolean, storage, field: { entry } }) => {
      if (isBoolean) return 'v === 1'
      const scale = entry.digits?.scale ?? 0
      if (storage === 'decimal') return (value) => decimals.toText(value, scale)
      if (storage === 'timestamp') return readStoredTimestamp
      // Some drivers return Uint8Arrays.
      return storage === 'bytes' ? 'Buffer.isBuffer(v) ? v : Buffer.from(v)' : undefined
    },
    toDriver,
    // Values carry their own types.
    typed: () => '',
    returned,
    textOf: ({ storage, field: { entry } }) => {
      if (storage === 'wide') return asText
      if (storage !== 'decimal') return undefined
      return [`filigree_decimal('${entry.digits?.scale ?? 0} ' || `, ')']
    },
    comparable: ({ storage }) => (storage === 'timestamp' ? storedTimestamp : undefined),
    malformedRow: (table, key, { name, storage, field: { entry } }) => {
      if (storage !== 'decimal' || entry.digits === undefined) return undefined
      const test = decimalTest(entry.digits).replaceAll('{c}', () => quote(name))
      return `select ${quote(key.name)} from ${quoteSqliteTable(table)} where not (${test}) limit 1`
    },
    // `length` counts the characters of text and the bytes of a blob.
    lengthOf: () => 'length({c})',
    canAdd: ({ storage, field: { entry } }) =>
      storage !== 'decimal' || (entry.digits !== undefined && !isStoredAsText(entry.digits)),
    total: sqliteTotal,
  },
  text: {
    fold: ['filigree_fold(', ')'],
    foldValue: foldCase,
    // Not LIKE: it backtracks for each position where the pattern may match, and cannot be interrupted.
    has: {
      contains: 'instr({c}, {v}) > 0',
      endsWith: "({v} = '' or substr({c}, -length({v})) = {v})",
    },
    search: sqliteSearch,
  },
  lists: {
    texts: () => 'select value from json_each(?)',
    items: () => 'select value from json_each(?)',
    // Fractions would be converted twice, and JSON has no bytes.
    encode: ({ storage, parts }: Column, values) => {
      if (parts !== undefined) return toKeyList(values)
      return unlistedStorages.has(storage) ? undefined : JSON.stringify(values)
    },
    test: ['in (select value from json_each(', '))'],
    has: () => "exists (select 1 from json_each({c}) where value = json_extract({v}, '$'))",
    itemOf: (json) => json,
  },
  json: {
    keys: { json: ['', ''], entries: ['json_each(', ')'] },
    createWriter: (dialect) => new SqliteJson(dialect),
    row: {
      list: 'json_array',
      all: ['json_group_array(', ')'],
      value: (column) =>
        column.storage === 'bytes' ? ['filigree_base64(', ')'] : returned(column),
    },
    // From SQLite 3.54 on, the outer query sees the JSON of a subquery as text. `json` converts it on every version.
    ofSubquery: ['json(', ')'],
    // Searching the JSON for this text is cheaper than testing every value.
    infinity: 'e+999',
    notANumber: undefined,
    paths: (names) => {
      const write = (one: (name: string) => string): string => `$${names.map(one).join('')}`
      const keys = write((name) => `."${name}"`)
      const paths = write((name) => (/^\d+$/.test(name) ? `[${name}]` : `."${name}"`))
      return keys === paths ? [keys] : [keys, paths]
    },
    at: {
      number:
        "case when json_type({c}, {p}) in ('integer', 'real') then json_extract({c}, {p}) end",
      exact: 'filigree_sortable(json_extract({c}, {p}))',
      text: "case when json_type({c}, {p}) = 'text' then json_extract({c}, {p}) end",
      boolean: "case when json_type({c}, {p}) in ('true', 'false') then json_extract({c}, {p}) end",
      list: "case when json_type({c}, {p}) = 'array' then json_extract({c}, {p}) end",
      any: "nullif(json_type({c}, {p}), 'null')",
    },
    operand: (value, isExact) => {
      if (isExact === true) return sqlFunctions.filigree_sortable(value)
      return typeof value === 'boolean' ? Number(value) : value
    },
  },
  time: {
    clock: "(julianday('now') - 2440587.5) * 86400000",
    now: (ms) => `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('%+.3f seconds', (${ms}) / 1000.0))`,
    millis: (timestamp) => `cast(round(unixepoch(${timestamp}, 'subsec') * 1000) as integer)`,
    indexed: (column) => storedTimestamp.replaceAll('{c}', () => column),
    group: sqliteTimeGroup,
    // The offset from UTC may have seconds, which `datetime` accepts as a modifier only.
    timestampOfHour: [
      "(select datetime(substr(h, 1, 19), iif(substr(h, 20, 1) = '-', '+', '-') || substr(h, 21)) from (select ",
      ' as h))',
    ],
  },
  bulk: {
    exchange: sqliteExchange,
    // Some rows in one statement cost half as much as single ones. More rows do not cost less.
    rows: { maxRows: 16, maxValues: 256, writesRestSingly: true, chunkSize: 1000 },
  },
  tables: {
    nameOf: toSqliteName,
    changes: { kind: 'anew', rebuild: writeRebuild, restore: writeRestore, empty: emptyTables },
    announce: undefined,
    replay: { url: 'sqlite::memory:', dump: dumpTables },
    named: "select 1 from sqlite_schema where type = 'table' and name = ?",
    uniqueIndexes: (table) =>
      `select name, (select group_concat(name, ',') from (select name from pragma_index_info(l.name) order by seqno))
    from pragma_index_list('${toSqliteName(table).replaceAll("'", "''")}') l where "unique"`,
    // SQLite runs each cascade as a trigger inside the one before it, and stops at SQLITE_MAX_TRIGGER_DEPTH: 1000.
    maxCascadeDepth: 900,
    scans: sqliteScans,
  },
  statements: {
    placeholder: () => '?',
    // SQLite would plan each run anew for the value of a bare placeholder. It requires a limit before an offset.
    limit: { suffix: ' + 0', none: ' limit -1', sum: ['', ' + 0'] },
    lock: '',
    lockFree: '',
    // A join is up to 10 % faster than a subquery. SQLite joins at most 64 tables.
    belongsTo: { maxTables: 30, join: 'left' },
    listsKeys: true,
    prefersSingleKeys: true,
    countsMatches: 'first',
  },
}

/** SQL of the current time, by storage class. */
const currentTimes: Readonly<Partial<Record<Column['storage'], string>>> = {
  timestamp: "(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
  date: "(strftime('%Y-%m-%d', 'now'))",
  time: "(strftime('%H:%M:%S', 'now'))",
}

export interface SqliteTraits {
  /** JSON from a subquery is JSON in the outer query, so `json(…)` is not needed. */
  readonly keepsSubqueryJson: boolean
  /** Doubles in JSON are written with all their digits. */
  readonly writesExactDoubles: boolean
}

/** The dialect for the version of SQLite that is in use. */
export function createSqliteDialect({
  keepsSubqueryJson,
  writesExactDoubles: writesDoubles,
}: SqliteTraits): Dialect {
  const { json } = sqliteDialect
  return {
    ...sqliteDialect,
    json: {
      ...json,
      ...(keepsSubqueryJson && { ofSubquery: ['', ''] as const }),
      ...(!writesDoubles && {
        ofDouble: exactDouble,
        row: {
          ...json.row,
          value: (column) => (column.storage === 'real' ? exactDouble : json.row.value(column)),
        },
      }),
    },
  }
}

function returned({ storage, field: { entry } }: Column): SqlWrapper | undefined {
  const isLong = entry.digits !== undefined && exceedsNumberPrecision(entry.digits)
  return storage === 'wide' || (storage === 'decimal' && isLong) ? asText : undefined
}

const asText = ['cast(', ' as text)'] as const

/** Storage classes whose values JSON would change. */
const unlistedStorages: ReadonlySet<string> = new Set(['real', 'bytes', 'wide', 'decimal'])

/** Converts values of types that SQLite does not have. */
function toDriver(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof Date) return value.toISOString()
  return value === undefined ? null : value
}

/** Also resets the counters of `autoincrement`. Their table exists once a key was generated. */
async function emptyTables(runner: Runner, tables: readonly string[]): Promise<void> {
  for (const table of tables)
    await runner.run(frameworkScript(`delete from ${quote(table)}`), [], 'nothing')
  const counts = `select 1 from sqlite_master where name = 'sqlite_sequence'`
  if ((await runner.run(frameworkQuery(counts), [], 'first')) === undefined) return
  await runner.run(frameworkScript('delete from sqlite_sequence'), [], 'nothing')
}

async function dumpTables(runner: Runner): Promise<string> {
  const sql = `select sql from sqlite_schema
    where sql is not null and tbl_name not glob 'sqlite_*'
      and (tbl_name not glob 'filigree_*' or tbl_name glob 'filigree_search_*_keys' or (type = 'table' and rootpage = 0))
    order by rowid`
  const { rows } = await runner.run(frameworkQuery(sql), [], 'all')
  return rows.map(([text]) => `${String(text)};\n`).join('\n')
}

/**
 * SQLite has few types. A name with the kind distinguishes columns with the same one, so that a changed kind is noticed
 * and values are converted. The affinity follows from the first part of the name.
 */
const columnTypes: Readonly<Record<Column['storage'], string>> = {
  integer: 'integer',
  wide: 'integer',
  real: 'real',
  decimal: 'integer',
  text: 'text',
  timestamp: 'text_timestamp',
  date: 'text_date',
  time: 'text_time',
  bytes: 'blob',
  json: 'text_json',
}

/** Groups by local time. SQLite's date functions have no time zones, only offsets. Source: SQLite, Date And Time Functions. */
function sqliteTimeGroup({ unit, column, offset }: TimeGroup): string {
  const local = offset === utcOffset ? column : `${column}, ${offset}`
  switch (unit) {
    case 'hour':
      return `(select strftime('%Y-%m-%dT%H:00:00', ${column}, o) || o from (select ${offset} as o))`
    case 'day':
      return `date(${local})`
    case 'week':
      return `date(${local}, '-6 days', 'weekday 1')`
    case 'month':
      return `strftime('%Y-%m-01', ${local})`
    case 'quarter':
      return `(select substr(m, 1, 5) || substr('010101040404070707101010', 2 * substr(m, 6) - 1, 2) || '-01' from (select strftime('%Y-%m', ${local}) as m))`
    case 'year':
      return `strftime('%Y-01-01', ${local})`
  }
}
