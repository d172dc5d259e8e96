/** PostgreSQL's SQL and values. Sources: PostgreSQL, Data Types; Collation Support; Array Functions. */

import { foldCase, unicodeForms } from '../../core/text.js'
import { quote } from '../contract/ddl.js'
import {
  type SearchParts,
  type SearchSql,
  type TimeGroup,
  type Dialect,
  toIntegerValue,
  type TableChanges,
} from '../contract/dialect.js'
import type { Column } from '../contract/table.js'
import { raw, sql, wrap, type Sql } from '../contract/sql-text.js'
import { toDecimal } from '../../fields/kinds/numbers.js'
import { changePostgresType, postgresClassOf } from './conversions.js'
import { postgresScans } from './planner.js'
import type { Code } from '../../fields/kinds/kind.js'
import { isUuid } from '../../fields/kinds/table.js'
import type { SqlWrapper, InsertCopy } from '../contract/engine.js'
import { postgresLists } from './bulk-insert.js'
import { PostgresJson } from './json.js'
import { frameworkScript } from '../contract/statement.js'

/**
 * Converts a timestamp of PostgreSQL, which is in the session's time zone and in ISO form. Its year may have five
 * digits or be before Christ although the year in UTC is not, and local mean time has seconds. Source: PostgreSQL,
 * Date/Time Types, 8.5.2.
 *
 * @param value `2026-11-20 11:00:00.5+01`, `0001-12-31 20:29:08-03:30:52 BC`, a Date from some drivers, or the value of
 * a text column
 * @returns `2026-11-20T10:00:00.500Z`
 */
export function readTimestamp(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (typeof value !== 'string') return value
  if (value.charCodeAt(10) !== blank || !value.endsWith('+00')) return toUtc(value)
  const fraction = value.slice(20, -3)
  return `${value.slice(0, 10)}T${value.slice(11, 19)}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
}

const blank = 32

const parts =
  /^(\d{4,5})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([+-])(\d\d)(?::?(\d\d))?(?::(\d\d))?)?( BC)?$/

function toUtc(value: string): string {
  const found = parts.exec(value)
  if (found === null) return value
  const [, year, month, day, hour, minute, second, fraction = '', sign] = found
  const [, , , , , , , , , zoneHour = 0, zoneMinute = 0, zoneSecond = 0, isBefore] = found
  const offset = Number(zoneHour) * 3600 + Number(zoneMinute) * 60 + Number(zoneSecond)
  const date = new Date(0)
  // The year before 1 is 1 BC.
  date.setUTCFullYear(isBefore ? 1 - Number(year) : Number(year), Number(month) - 1, Number(day))
  const seconds = Number(second) - (sign === '-' ? -offset : offset)
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'))
  date.setUTCHours(Number(hour), Number(minute), seconds, milliseconds)
  return date.toISOString()
}

/** Local time by `date_trunc`, in the time zone of the query instead of the session's. */
function timeGroupSql({ unit, column, isDate, offset }: TimeGroup): string {
  const utc = `cast(${column} as timestamptz) at time zone 'UTC'`
  if (unit === 'hour')
    return `(select to_char(${utc} + cast(o as interval), 'YYYY-MM-DD"T"HH24":00:00"') || o from (select ${offset} as o) as zone)`
  const local = isDate ? `cast(${column} as timestamp)` : `${utc} + cast(${offset} as interval)`
  return `to_char(date_trunc('${unit}', ${local}), 'YYYY-MM-DD')`
}

/** Sums and averages. Sums of integers are `numeric` and cannot overflow. Source: PostgreSQL, Aggregate Functions. */
const totalSql: Dialect['total'] = (aggregate, { storage, field: { entry } }) => {
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
      decode: (value) => toDecimal(String(value), scale),
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
 */
export function createPostgresDialect(
  hasIcu: boolean,
  hasTrigrams = true,
  copy?: InsertCopy,
): Dialect {
  const collation = hasIcu ? ' collate "und-x-icu"' : ''
  const fold = ['translate(lower(', `${collation}), 'ς', 'σ')`] as const
  return {
    name: 'postgres',
    system: 'postgresql',
    title: 'PostgreSQL',
    nestsComments: true,
    backup: 'pg_dump --format=custom --file=backup.dump "$DATABASE_URL"',
    kysely: 'Postgres',
    isLocal: false,
    lists: postgresLists,
    copy,
    toDriver: (value) => value,
    placeholder: (position) => `$${position}`,
    textsOf: (position) => `select json_array_elements_text($${position})`,
    itemsOf: (position) => `select value from json_array_elements($${position})`,
    // A value without a type would be text.
    typed: (column) => `::${columnType(column)}`,
    limit: { suffix: '', none: '' },
    // A join finds an owner in half the time of a subquery; PostgreSQL plans up to 8 tables well.
    owners: { maxTables: 7, join: 'lateral' },
    hasLateral: true,
    // PostgreSQL plans both forms equally.
    listsKeys: false,
    json() {
      return new PostgresJson(this)
    },
    infinity: undefined,
    changes,
    now: {
      timestamp: 'now()',
      date: "((now() at time zone 'UTC')::date)",
      time: "((now() at time zone 'UTC')::time(0))",
    },
    clock: '(extract(epoch from clock_timestamp()) * 1000)::float8',
    lengthOf: ({ storage, isUuid }) => {
      if (isUuid) return `char_length(${uuidText.join('{c}')})`
      return storage === 'bytes' ? 'octet_length({c})' : 'char_length({c})'
    },
    replay: undefined,
    columnType,
    classOf: postgresClassOf,
    incrementColumn: (name, isKey) =>
      `${name} bigint generated by default as identity (maxvalue ${Number.MAX_SAFE_INTEGER})${isKey ? ' primary key' : ''}`,
    encoder: () => undefined,
    decoder: (column) => (column.isBoolean ? undefined : decoders[column.storage]?.(column)),
    returned: () => undefined,
    uuidText,
    textOf: ({ storage, field: { entry } }) => {
      const { digits } = entry
      if (storage !== 'decimal' || digits === undefined) return texts[storage]
      return ['cast(cast(', ` as numeric(${digits.precision},${digits.scale})) as text)`]
    },
    timeGroup: timeGroupSql,
    timestampOfHour: ['cast(', ' as timestamptz)'],
    total: totalSql,
    fold,
    search: createPostgresSearch(fold, hasIcu, uuidText),
    foldValue: foldCase,
    indexes: { nulls: true, trigrams: hasTrigrams },
    // A value that is not a UUID is equal to no row.
    encodeList: (column, values) => (column.isUuid ? values.filter(isUuid) : values),
    lock: ' for update',
    lockFree: ' for update skip locked',
    timestamps: {
      // `now()` would not advance within the transaction, and `clock_timestamp()` alone is not stable, so that indexes
      // could not be used.
      now: (ms) =>
        `(statement_timestamp() + cast(${ms} as double precision) * interval '1 millisecond')`,
      millis: (timestamp) => `cast(extract(epoch from ${timestamp}) * 1000 as double precision)`,
    },
    hasOneWriter: false,
    listHas: 'cast({c} as jsonb) @> cast({v} as jsonb)',
    jsonPaths: (names) => [names],
    jsonAt,
    jsonOperand: (value) => value,
    listTest: ['= any(', ')'],
    jsonOfSubquery: ['', ''],
    rowJson,
    tableNamed: `select 1 from pg_class where relname = cast($1 as text) and relkind in ('r', 'p')
      and relnamespace = (select oid from pg_namespace where nspname = current_schema())`,
    scans: postgresScans,
    passKeys,
  }
}

function columnType({
  storage,
  isBoolean,
  isUuid: isUuidColumn,
  field: { entry },
}: Pick<Column, 'storage' | 'isBoolean' | 'isUuid' | 'field'>): string {
  if (isBoolean) return 'boolean'
  if (isUuidColumn) return 'uuid'
  const { digits } = entry
  if (storage !== 'decimal' || digits === undefined) return columnTypes[storage]
  return `numeric(${digits.precision},${digits.scale})`
}

/** As text if JSON would change the value. */
const rowJson: Dialect['rowJson'] = {
  list: 'json_build_array',
  all: ['coalesce(json_agg(', "), '[]')"],
  value: ({ storage, isBoolean }) => {
    if (storage === 'bytes') return ['encode(', ", 'base64')"]
    return isBoolean || asJson.has(storage) ? undefined : ['cast(', ' as text)']
  },
}

/** UUIDs support neither patterns nor minima. As text they sort equally. */
const uuidText = ['cast(', ' as text) collate "C"'] as const

const asJson: ReadonlySet<Column['storage']> = new Set(['integer', 'real', 'text'])

const changes: TableChanges = {
  kind: 'in place',
  empty: async (runner, tables) => {
    if (tables.length === 0) return
    await runner.run(
      frameworkScript(`truncate table ${tables.map(quote).join(', ')} restart identity`),
      [],
      'nothing',
    )
  },
  changeType: changePostgresType,
  changeNull: (table, column, nullable) =>
    `alter table ${quote(table)} alter column ${quote(column)} ${nullable ? 'drop' : 'set'} not null`,
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

const jsonAt: Dialect['jsonAt'] = {
  number: whenType('number', `cast(${found} as numeric)`),
  text: `${whenType('string', found)} collate "C"`,
  boolean: whenType('boolean', `cast(${found} as boolean)`),
  any: "nullif(jsonb_typeof(cast({c} as jsonb) #> cast({p} as text[])), 'null')",
}

type Decoder = (column: Column) => Code<unknown>

const decoders: Readonly<Partial<Record<Column['storage'], Decoder>>> = {
  integer: () => 'Number(v)',
  // A table of another program may contain exact numbers where a record has doubles, and the reverse.
  real: () => 'Number(v)',
  wide: () => 'String(v)',
  decimal: ({ field: { entry } }) => {
    const scale = entry.digits?.scale ?? 0
    return (value) => toDecimal(String(value), scale)
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

/**
 * Full-text search by PostgreSQL: an index on an expression, which every statement repeats, so that no column is
 * needed. Texts are split into words before, because PostgreSQL's parser makes one word of an address or a path. Text
 * after the first 200,000 characters is not searched, because the words of a row must fit into a megabyte.
 * Sources: PostgreSQL, Full Text Search; Regular Expressions.
 */

const maxCharacters = 200_000
const weights = ['A', 'B', 'C', 'D'] as const

/**
 * @param fold SQL that converts to lower case
 * @param hasIcu whether the server knows the letters of all languages
 * @param uuidText SQL that converts a UUID to text
 */
function createPostgresSearch(
  fold: readonly [before: string, after: string],
  hasIcu: boolean,
  uuidText: readonly [before: string, after: string],
): SearchSql {
  // Otherwise every character outside ASCII counts as a letter.
  const noLetters = hasIcu
    ? '[^[:alnum:]\\u0300-\\u0331]+'
    : '[\\u0001-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u007f]+'
  const normalized = [`regexp_replace(${fold[0]}`, `${fold[1]}, '${noLetters}', ' ', 'g')`] as const
  const vector = (columns: readonly string[]): string => {
    const maxLength = Math.floor(maxCharacters / columns.length)
    const parts = columns.map((column, index) => {
      const text = normalized.join(`left(coalesce(${column}, ''), ${maxLength})`)
      return `setweight(to_tsvector('pg_catalog.simple', ${text}), '${weights[index] ?? 'D'}')`
    })
    return `(${parts.join(' || ')})`
  }
  const textOf = ({ name, isUuid }: Column, of = ''): string =>
    isUuid ? uuidText.join(of + quote(name)) : of + quote(name)
  const vectorOf = ({ search, alias }: SearchParts): Sql =>
    raw(vector(search.columns.map((column) => textOf(column, `${quote(alias)}.`))))
  const queryOf = ({ value }: SearchParts): Sql =>
    sql`to_tsquery('pg_catalog.simple', ${wrap(fold, sql`cast(${value} as text)`)})`
  const test = (parts: SearchParts): Sql => sql`${vectorOf(parts)} @@ ${queryOf(parts)}`
  return {
    schema: (_table, { name, columns }) => ({
      name,
      columns: [],
      over: columns.map((column) => column.name),
      unique: false,
      whereNull: undefined,
      using: 'gin',
      parts: [vector(columns.map((column) => textOf(column)))],
    }),
    drop: (name) => [`drop index if exists ${quote(name)}`],
    operand: (terms) => terms.map((term) => toQuery(term, hasIcu)).join(' & '),
    test,
    some: (parts) => ({
      test: test(parts),
      rank: sql`- ts_rank(${vectorOf(parts)}, ${queryOf(parts)}, 1)`,
    }),
    rank: (parts) => ({
      test: test(parts),
      by: sql`ts_rank(${vectorOf(parts)}, ${queryOf(parts)}, 1) desc, `,
    }),
  }
}

/** Characters that divide words: marks other than accents. PostgreSQL without ICU divides at none of them. */
const dividers = /[^\p{L}\p{Nd}\u0300-\u0331]+/gu

/**
 * `Café` → `('Café' | 'Café')`: a word in its two forms of Unicode, because rows may contain either. A word that is divided
 * in the index is a phrase.
 *
 * @param term letters, digits and marks only
 */
function toQuery(term: string, hasIcu: boolean): string {
  const forms = unicodeForms(term).map((form) => (hasIcu ? form.replace(dividers, ' ') : form))
  const words = [...new Set(forms)].map((form) => `'${form}'`)
  return words.length === 1 ? words.join('') : `(${words.join(' | ')})`
}
