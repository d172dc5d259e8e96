/**
 * Converts the values of a column to another type in one `alter table`. A statement before it finds a value that cannot
 * be converted, because the server's error would name neither the field nor the row. Source: PostgreSQL, ALTER TABLE.
 */
import type { ValueClass } from '../contract/conversions.js'
import type { TypeChange, TypeChangeSql } from '../contract/dialect.js'
import { quote, quoteTable } from '../contract/quote.js'

const classes: Readonly<Record<string, ValueClass>> = {
  bigint: 'integer',
  integer: 'integer',
  smallint: 'integer',
  boolean: 'boolean',
  'double precision': 'real',
  real: 'real',
  numeric: 'decimal',
  text: 'text',
  character: 'text',
  'character varying': 'text',
  uuid: 'uuid',
  'timestamp with time zone': 'timestamp',
  date: 'date',
  'time without time zone': 'time',
  bytea: 'bytes',
  json: 'json',
  jsonb: 'json',
}

/** @param type as the catalogue writes it. @returns `undefined` for types that records never use */
export function postgresClassOf(type: string): ValueClass | undefined {
  return classes[type.replace(/\(.*\)$/, '')]
}

/** SQL over a column. */
interface Conversion {
  /** The condition that a value can be converted. Undefined if all values can. */
  readonly test?: string
  readonly value: string
}

const integerRange = 'between -9223372036854775808 and 9223372036854775807'
const number = `'^-?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?$'`
const day = '[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
const time = '([01][0-9]|2[0-3]):[0-5][0-9]'
const zone = '([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])'
const timestamp = `'^${day}([Tt ]${time}(:[0-5][0-9]([.][0-9]{1,9})?)?${zone}?)?$'`

const uuid = `'^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`

/** `case` keeps the server from evaluating the second condition for other texts. */
function matches(text: string, pattern: string, condition = 'true'): string {
  return `case when ${text} ~ ${pattern} then ${condition} else false end`
}

/** Whether the month has the day. The year 0000 does not exist. */
function isDay(c: string): string {
  return `case when left(${c}, 4) = '0000' then false else substr(${c}, 9, 2)::integer <= extract(day from (left(${c}, 7) || '-01')::date + interval '1 month' - interval '1 day') end`
}

/** @param c the quoted column @param type the new type, without collation */
function findConversion(
  c: string,
  from: ValueClass | undefined,
  to: ValueClass | undefined,
  type: string,
): Conversion {
  const plain = { value: `${c}::text::${type}` }
  switch (to) {
    case 'integer':
      if (from === 'boolean') return { value: `${c}::integer::${type}` }
      if (from === 'text')
        return {
          test: matches(c, `'^-?[0-9]{1,19}([.]0*)?$'`, `${c}::numeric ${integerRange}`),
          value: `${c}::numeric::${type}`,
        }
      if (from !== 'real' && from !== 'decimal') return plain
      return {
        test: `${c}::text::numeric = trunc(${c}::text::numeric) and ${c}::text::numeric ${integerRange}`,
        value: `${c}::text::numeric::${type}`,
      }
    case 'boolean':
      if (from === 'integer') return { test: `${c} in (0, 1)`, value: `${c} = 1` }
      return {
        test: `${c}::text in ('true', 'false', '1', '0')`,
        value: `${c}::text in ('true', '1')`,
      }
    case 'real':
      return from === 'text' ? { test: matches(`lower(${c})`, number), ...plain } : plain
    case 'decimal':
      return { test: fitsDigits(c, from, type), ...plain }
    case 'timestamp':
      if (from === 'date') return { value: `${c}::timestamp at time zone 'UTC'` }
      if (from !== 'text') return plain
      return {
        test: matches(c, timestamp, isDay(c)),
        value: `case when ${c} ~ '${zone}$' then ${c}::timestamptz else ${c}::timestamp at time zone 'UTC' end`,
      }
    case 'date':
      if (from === 'timestamp') return { value: `(${c} at time zone 'UTC')::date` }
      return from === 'text' ? { test: matches(c, `'^${day}$'`, isDay(c)), ...plain } : plain
    case 'time':
      return from === 'text' ? { test: matches(c, `'^${time}:[0-5][0-9]$'`), ...plain } : plain
    case 'text':
      return { value: toText(c, from) }
    case 'uuid':
      return { test: matches(`lower(${c}::text)`, uuid), ...plain }
    default:
      return plain
  }
}

/** SQL of the value as text, as the kind writes it. */
function toText(c: string, from: ValueClass | undefined): string {
  if (from === 'timestamp')
    return `to_char(${c} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  return from === 'date' ? `to_char(${c}, 'YYYY-MM-DD')` : `${c}::text`
}

function fitsDigits(c: string, from: ValueClass | undefined, type: string): string {
  const [, precision = '1000', scale = '0'] = /\((\d+),(-?\d+)\)$/.exec(type) ?? []
  const fits = `abs(round(${c}::text::numeric, ${scale})) < 1e${Number(precision) - Number(scale)}::numeric`
  return from === 'text' ? matches(`lower(${c})`, number, fits) : fits
}

/** ` collate …` is not part of a cast, and the bare type would lose the digits of a decimal. */
function castType(type: string): string {
  return type.replace(/ collate .*$/, '')
}

export function changePostgresType({
  table,
  column,
  from,
  to,
  origin,
  primaryKey,
}: TypeChange): TypeChangeSql {
  const c = quote(column)
  const type = castType(to)
  const { test, value } = findConversion(
    c,
    postgresClassOf(from),
    postgresClassOf(longType(type)),
    type,
  )
  const alter = `alter table ${quoteTable(table)} alter column ${c} type ${to} using ${value}`
  if (test === undefined) return { checks: [], alter }
  const key = primaryKey.map((one) => `${quote(one)}::text`).join(` || '/' || `)
  const check = [
    'do $filigree$ declare refused text; begin',
    `  select to_json(left(${c}::text, 60)) || ' in the row with the key ' || ${key || "''"} into refused`,
    `    from ${quoteTable(table)} where ${c} is not null and not (${test}) limit 1;`,
    '  if refused is not null then',
    `    raise exception using errcode = 'data_exception', message = '${origin}: ' || refused || ' cannot be converted to ${type}';`,
    '  end if;',
    'end $filigree$',
  ].join('\n')
  return { checks: [check], alter }
}

/** `timestamptz(3)` → `timestamp with time zone`, as the catalogue writes types. */
function longType(type: string): string {
  if (type.startsWith('timestamptz')) return 'timestamp with time zone'
  return /^time\(\d\)$/.test(type) ? 'time without time zone' : type
}
