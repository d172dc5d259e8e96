/** PostgreSQL's SQL and values. Sources: PostgreSQL, Data Types; Collation Support; Array Functions. */

import { postgresExchange } from './exchange.js'
import { foldCase } from '../../core/text.js'
import { quote, quoteTable } from '../contract/quote.js'
import { type SqlWrapper } from '../contract/sql-text.js'
import {
  toIntegerValue,
  toKeyList,
  type Dialect,
  type InsertCopy,
  type JsonDialect,
  type TableChanges,
  type TimeGroup,
  utcOffset,
  type TimeSql,
  type ValueSql,
} from '../contract/dialect.js'
import type { RowJson } from '../contract/json-sql.js'
import type { Column } from '../contract/table.js'
import { toDecimal } from '../../fields/kinds/numbers.js'
import {
  arrayJson,
  findTypeProblem,
  isBuiltIn,
  isSameType,
  itemTypeOf,
  toArrayText,
  toCatalogueName,
  traitsOf,
} from './declared-types.js'
import { announceSql } from './announce-writes.js'
import { changePostgresType, postgresClassOf } from './conversions.js'
import { citusJointCommit, citusSql } from './distribution.js'
import { postgresPartitions } from './partitions.js'
import { postgresScans } from './planner.js'
import type { Code } from '../../fields/kinds/kind.js'
import { isUuid } from '../../fields/kinds/table.js'
import { postgresLists } from './bulk-insert.js'
import { PostgresJson } from './json.js'
import { createPostgresSearch } from './search.js'
import { readTimestamp } from './timestamps.js'
import { frameworkScript } from '../contract/statement.js'

/** Local time, in the time zone of the query instead of the session's. A day by a cast costs less than by `date_trunc`. */
function timeGroupSql({ unit, column, isDate, offset }: TimeGroup): string {
  const utc = `cast(${column} as timestamptz) at time zone 'UTC'`
  if (unit === 'hour')
    return `(select to_char(${utc} + cast(o as interval), 'YYYY-MM-DD"T"HH24":00:00"') || o from (select ${offset} as o) as zone)`
  const local = isDate
    ? column
    : `${utc}${offset === utcOffset ? '' : ` + cast(${offset} as interval)`}`
  if (unit === 'day') return `cast(${local} as date)`
  return `cast(date_trunc('${unit}', cast(${local} as timestamp)) as date)`
}

/** Sums and averages. Sums of integers are `numeric` and cannot overflow. Source: PostgreSQL, Aggregate Functions. */
const totalSql: ValueSql['total'] = (aggregate, { storage, field: { entry } }) => {
  const scale = entry.digits?.scale ?? 0
  const encode = (operand: unknown): unknown => operand
  if (storage === 'decimal') {
    return {
      // A table of another program may contain doubles.
      sql:
        aggregate === 'sum'
          ? 'sum(cast({c} as numeric))'
          : `round(avg(cast({c} as numeric)), ${scale})`,
      isText: false,
      isExact: true,
      decode: (value) => readDecimal(String(value), scale),
      encode,
    }
  }
  if (storage === 'real')
    return { sql: ofDoubles[aggregate], isText: false, isExact: false, decode: Number, encode }
  const isExact = storage === 'wide' && aggregate === 'sum'
  return {
    sql: aggregate === 'sum' ? 'sum({c})' : 'cast(avg({c}) as double precision)',
    isText: false,
    isExact,
    decode: isExact
      ? String
      : storage === 'integer' && aggregate === 'sum'
        ? toIntegerValue
        : Number,
    encode,
  }
}

/**
 * Sums and averages of doubles. The server fails if the sum, or a square in an average, exceeds the range of doubles.
 * Columns with such values are summed as exact numbers instead, and the result is the nearest double.
 */
function totalOfDoubles(aggregate: 'sum' | 'avg', bound: string): string {
  const isOdd = `abs({c}) >= ${bound}`
  const usual = `${aggregate}({c}) filter (where not ${isOdd})`
  const odd = `sum(cast({c} as numeric)) filter (where ${isOdd})`
  const sum = `(${odd} + coalesce(cast(sum({c}) filter (where not ${isOdd}) as numeric), 0))`
  const exact = aggregate === 'sum' ? sum : `${sum} / count({c})`
  // A number below the smallest double becomes zero.
  const double = `cast(round(greatest(least(${exact}, ${largestDouble}), -${largestDouble}), 300) as double precision)`
  return `case when bool_or(${isOdd}) then ${double} else cast(${usual} as double precision) end`
}

const largestDouble = '1.7976931348623157e308'
/** Bounds of the values for which a sum, or the squares of an average, cannot exceed the range of doubles. */
const ofDoubles = {
  sum: totalOfDoubles('sum', '1e290'),
  avg: totalOfDoubles('avg', '1e140'),
}

/**
 * @param hasIcu whether the server knows the letters of all languages; without it only ASCII letters become lower case
 * @param hasTrigrams whether the extension pg_trgm exists or may be created
 * @param copy how the driver copies rows; absent if it cannot
 * @param isDistributed whether other servers hold shards, each of which isolates only the transactions on its own rows
 */
export function createPostgresDialect(
  hasIcu: boolean,
  hasTrigrams = true,
  copy?: InsertCopy,
  isDistributed = false,
): Dialect {
  const collation = hasIcu ? ' collate "und-x-icu"' : ''
  const fold = ['translate(lower(', `${collation}), 'ς', 'σ')`] as const
  return {
    name: 'postgres',
    product: {
      title: 'PostgreSQL',
      system: 'postgresql',
      kysely: 'Postgres',
      backup: 'pg_dump --format=custom --file=backup.dump "$DATABASE_URL"',
    },
    can: {
      lateral: true,
      writesInWith: true,
      previousValues: true,
      batchedCalls: true,
      oneTimeConditions: true,
      nullOrderInIndexes: true,
      trigramIndexes: hasTrigrams,
      concurrentWrites: true,
      changePiecemeal: true,
      readOnlyTransactions: true,
      nestedComments: true,
      outages: true,
      isolatesShards: !isDistributed,
      subqueriesInShards: !isDistributed,
      triggersOnShards: !isDistributed,
    },
    types: {
      columnType,
      incrementColumn: (name, isKey) =>
        `${name} bigint generated by default as identity (maxvalue ${Number.MAX_SAFE_INTEGER})${isKey ? ' primary key' : ''}`,
      now: (column) =>
        traitsOf(column).isLocal ? "(now() at time zone 'UTC')" : currentTimes[column.storage],
      classOf: postgresClassOf,
      declared: {
        findProblem: findTypeProblem,
        nameOf: toCatalogueName,
        itemTypeOf,
        isSame: isSameType,
        isBuiltIn,
      },
    },
    values,
    text: { fold, foldValue: foldCase, search: createPostgresSearch(fold, hasIcu, uuidText) },
    lists: {
      texts: (position) => `select json_array_elements_text($${position})`,
      items: (position) => `select value from json_array_elements($${position})`,
      // A value that is not a UUID is equal to no row.
      encode: (column, list) =>
        column.parts !== undefined ? toKeyList(list) : column.isUuid ? list.filter(isUuid) : list,
      test: ['= any(', ')'],
      has: (isArray) => (isArray ? '{c} @> {v}' : 'cast({c} as jsonb) @> cast({v} as jsonb)'),
      itemOf: (json, isArray) => (isArray ? toArrayText(`[${json}]`) : json),
    },
    json: {
      keys: { json: ['cast(', ' as json)'], entries: ['json_array_elements(cast(', ' as json))'] },
      createWriter: (dialect) => new PostgresJson(dialect),
      row: rowJson,
      ofSubquery: ['', ''],
      infinity: undefined,
      notANumber: '"NaN"',
      paths: (names) => [names],
      at: jsonAt,
      operand: (value) => value,
    },
    time,
    // PostgreSQL counts placeholders with 16 bits.
    bulk: {
      exchange: postgresExchange,
      lists: postgresLists,
      copy,
      rows: { maxRows: 1000, maxValues: 65_535, writesRestSingly: false, chunkSize: 5000 },
      passKeys,
    },
    tables: {
      nameOf: (table) => table,
      changes,
      distribution: citusSql,
      announce: announceSql,
      replay: undefined,
      named: `select 1 from pg_class where relname = cast($1 as text) and relkind in ('r', 'p')
      and relnamespace = (select oid from pg_namespace where nspname = current_schema())`,
      partitionIndexes: (table) =>
        `select part.relname, own.relname from pg_index i join pg_class own on own.oid = i.indexrelid,
      pg_partition_tree(i.indexrelid) tree join pg_class part on part.oid = tree.relid
    where i.indrelid = to_regclass('${quoteTable(table).replaceAll("'", "''")}') and tree.level > 0`,
      scans: postgresScans,
      partitions: postgresPartitions,
      jointCommit: isDistributed ? citusJointCommit : undefined,
    },
    statements: {
      placeholder: (position) => `$${position}`,
      limit: { suffix: '', none: '', sum: ['cast(', ' as bigint)'] },
      lock: ' for update',
      lockFree: ' for update skip locked',
      // A join finds a row of `belongsTo` in half the time of a subquery; PostgreSQL plans up to 8 tables well.
      belongsTo: { maxTables: 7, join: 'lateral' },
      // PostgreSQL plans both forms equally.
      listsKeys: false,
      prefersSingleKeys: false,
      countsMatches: 'after a scan',
    },
  }
}

function columnType({
  storage,
  isBoolean,
  isUuid: isUuidColumn,
  field: { entry },
  type,
}: Pick<Column, 'storage' | 'isBoolean' | 'isUuid' | 'field' | 'type'>): string {
  if (type !== undefined) return type
  if (isBoolean) return 'boolean'
  if (isUuidColumn) return 'uuid'
  const { digits } = entry
  if (storage !== 'decimal' || digits === undefined) return columnTypes[storage]
  return `numeric(${digits.precision},${digits.scale})`
}

/** As text if JSON would change the value. */
const rowJson: RowJson = {
  list: 'json_build_array',
  all: ['coalesce(json_agg(', "), '[]')"],
  value: (column) => {
    const { storage, isBoolean, isArray } = column
    if (isArray) {
      const [before, after] = arrayJson(column)
      return [`cast(${before}`, `${after} as text)`]
    }
    if (storage === 'text' && column.type !== undefined)
      return traitsOf(column).isCast ? asText : undefined
    if (storage === 'bytes') return ['encode(', ", 'base64')"]
    return isBoolean || asJson.has(storage) ? undefined : asText
  },
}

/** SQL of the current time, by storage class. */
const currentTimes: Readonly<Partial<Record<Column['storage'], string>>> = {
  timestamp: 'now()',
  date: "((now() at time zone 'UTC')::date)",
  time: "((now() at time zone 'UTC')::time(0))",
}

const asText = ['cast(', ' as text)'] as const

/** UUIDs support neither patterns nor minima. As text they sort equally. */
const uuidText = ['cast(', ' as text) collate "C"'] as const

const asJson: ReadonlySet<Column['storage']> = new Set(['integer', 'real', 'text'])

const changes: TableChanges = {
  kind: 'in place',
  empty: async (runner, tables) => {
    if (tables.length === 0) return
    await runner.run(
      frameworkScript(`truncate table ${tables.map(quoteTable).join(', ')} restart identity`),
      [],
      'nothing',
    )
  },
  changeType: changePostgresType,
  changeNull: (table, column, nullable) =>
    `alter table ${quoteTable(table)} alter column ${quote(column)} ${nullable ? 'drop' : 'set'} not null`,
}

/**
 * A sequence ignores explicit keys, so that the next row would get a used key. A small gap is skipped with `nextval`,
 * because `setval` could reset what another session has counted meanwhile. A large gap is jumped with `setval`. Without
 * the privilege nothing is done, because rows could be written without it before.
 */
function passKeys(table: string, key: string): string {
  const name = `'${table.replaceAll("'", "''")}'`
  const column = `'${key.slice(1, -1).replaceAll('""', '"').replaceAll("'", "''")}'`
  return `select max(case when gap > 1000 then setval(counter, largest)
      else (select max(next) from (select nextval(counter) as next from generate_series(1, gap)) n) end)
    from (
      select counter, largest, largest - coalesce(pg_sequence_last_value(counter), 0) as gap
      from (select max(${key}) as largest from stored) k,
        (select pg_get_serial_sequence(${name}, ${column})::regclass as counter) s
      where has_sequence_privilege(counter, 'update')
    ) g where gap > 0`
}

const whenType = (type: string, value: string): string =>
  `case when jsonb_typeof(cast({c} as jsonb) #> cast({p} as text[])) = '${type}' then ${value} end`
const found = '(cast({c} as jsonb) #>> cast({p} as text[]))'

const jsonAt: JsonDialect['at'] = {
  number: whenType('number', `cast(${found} as numeric)`),
  exact: `case when ${found} ~ '^-?[0-9]+([.][0-9]+)?$' then cast(${found} as numeric) end`,
  text: `${whenType('string', found)} collate "C"`,
  boolean: whenType('boolean', `cast(${found} as boolean)`),
  list: whenType('array', 'cast({c} as jsonb) #> cast({p} as text[])'),
  any: "nullif(jsonb_typeof(cast({c} as jsonb) #> cast({p} as text[])), 'null')",
}

type Decoder = (column: Column) => Code<unknown>

/** @throws {RangeError} for `NaN` and the infinities, which columns of decimals can hold */
function readDecimal(text: string, scale: number): string {
  if (isWord.test(text)) throw new RangeError(`malformed decimal: ${text}`)
  return toDecimal(text, scale)
}

const isWord = /^-?[a-z]/i

const decoders: Readonly<Partial<Record<Column['storage'], Decoder>>> = {
  integer: () => 'Number(v)',
  // A table of another program may contain exact numbers where a record has doubles, and the reverse.
  real: () => 'Number(v)',
  wide: () => 'String(v)',
  decimal: ({ field: { entry } }) => {
    const scale = entry.digits?.scale ?? 0
    return (value) => readDecimal(String(value), scale)
  },
  timestamp: () => readTimestamp,
  date: () => 'v.slice(0, 10)',
  time: () => 'v.slice(0, 8)',
}

/**
 * Casts for columns that other programs created with another type, and for timestamps that are still stored as text.
 */
const texts: Readonly<Partial<Record<Column['storage'], SqlWrapper>>> = {
  wide: ['cast(', ' as text)'],
  timestamp: [
    'to_char(cast(',
    ` as timestamptz) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  ],
  date: ['to_char(cast(', ` as date), 'YYYY-MM-DD')`],
  time: ['cast(cast(', ' as time(0)) as text)'],
}

/**
 * With the collation C, text is sorted by code point, whatever the database's collation. `json` keeps the text of a
 * value, `jsonb` would not.
 */
const columnTypes: Readonly<Record<Column['storage'], string>> = {
  integer: 'bigint',
  wide: 'bigint',
  real: 'double precision',
  decimal: 'numeric',
  text: 'text collate "C"',
  timestamp: 'timestamptz(3)',
  date: 'date',
  time: 'time(0)',
  bytes: 'bytea',
  json: 'json',
}

const values: ValueSql = {
  encoder: ({ isArray }) => (isArray ? (json) => toArrayText(json as string) : undefined),
  decoder: (column) => (column.isBoolean ? undefined : decoders[column.storage]?.(column)),
  toDriver: (value) => value,
  // A value without a type would be text.
  typed: (column) => `::${columnType(column)}`,
  returned: (column) => {
    if (column.isArray) return arrayJson(column)
    const { isCast, isLocal } = traitsOf(column)
    return isCast || isLocal ? asText : undefined
  },
  comparable: (column) => (traitsOf(column).isIncomparable ? 'cast({c} as text)' : undefined),
  needsTextForPatterns: (column) => traitsOf(column).isOther,
  extremes: (column) => (column.isUuid || !traitsOf(column).hasExtremes ? uuidText : undefined),
  textOf: (column) => {
    const { storage, field } = column
    const { isCast, isLocal } = traitsOf(column)
    if (isCast) return asText
    if (isLocal) return [`to_char(`, `, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`]
    const { digits } = field.entry
    if (storage !== 'decimal' || digits === undefined) return texts[storage]
    return ['cast(cast(', ` as numeric(${digits.precision},${digits.scale})) as text)`]
  },
  uuidText,
  malformedRow: (table, key, { name, storage }) =>
    storage === 'decimal'
      ? `select ${quote(key.name)} from ${quoteTable(table)} where cast(${quote(name)} as text) in ('NaN', 'Infinity', '-Infinity') limit 1`
      : undefined,
  lengthOf: (column) => {
    const { storage, isUuid: isUuidColumn } = column
    if (isUuidColumn || traitsOf(column).isOther) return `char_length(${uuidText.join('{c}')})`
    return storage === 'bytes' ? 'octet_length({c})' : 'char_length({c})'
  },
  total: totalSql,
}

const time: TimeSql = {
  clock: '(extract(epoch from clock_timestamp()) * 1000)::float8',
  // `now()` would not advance within the transaction, and `clock_timestamp()` alone is not stable, so that indexes could
  // not be used.
  now: (ms) =>
    `(statement_timestamp() + cast(${ms} as double precision) * interval '1 millisecond')`,
  millis: (timestamp) => `cast(extract(epoch from ${timestamp}) * 1000 as double precision)`,
  indexed: (column) => column,
  group: timeGroupSql,
  instant: (column) => (traitsOf(column).isLocal ? "({c} at time zone 'UTC')" : undefined),
  timestampOfHour: ['cast(', ' as timestamptz)'],
}
