/**
 * PostgreSQL's types that fields name: `@Field('string', { type: 'citext' })`. Names are compared in the catalogue's
 * spelling. Sources: PostgreSQL, Data Types; System Catalogs, format_type.
 */
import type { SqlWrapper } from '../contract/sql-text.js'
import type { Column } from '../contract/table.js'
import type { ActualColumn } from '../contract/table-schema.js'

/** A type in its parts: `varchar(20)[]` is `character varying`, `(20)` and an array. */
interface TypeParts {
  /** The catalogue's name, without modifier and brackets. */
  readonly name: string
  readonly modifier: string
  readonly isArray: boolean
}

const shortNames: Readonly<Record<string, string>> = {
  int: 'integer',
  int2: 'smallint',
  int4: 'integer',
  int8: 'bigint',
  float: 'double precision',
  float4: 'real',
  float8: 'double precision',
  bool: 'boolean',
  dec: 'numeric',
  decimal: 'numeric',
  char: 'character',
  bpchar: 'character',
  varchar: 'character varying',
  varbit: 'bit varying',
  timestamp: 'timestamp without time zone',
  timestamptz: 'timestamp with time zone',
  time: 'time without time zone',
  timetz: 'time with time zone',
}

const pattern = /^(.+?)\s*(\([^)]*\))?((?: with(?:out)? time zone)?)\s*((?:\[\d*\])*)$/i

function partsOf(type: string): TypeParts {
  const bare = type.split(' collate ')[0] ?? type
  const [, base = bare, modifier = '', zone = '', brackets = ''] = pattern.exec(bare.trim()) ?? []
  const written = base
    .split('.')
    .map((part) => (part.startsWith('"') ? plainName(part) : part.toLowerCase()))
    .join('.')
    .replace(/^pg_catalog\./, '')
    .replace(/\s+/g, ' ')
  const name = zone === '' ? (shortNames[written] ?? written) : written + zone.toLowerCase()
  return { name, modifier: modifier.replace(/\s/g, ''), isArray: brackets !== '' }
}

/** A quoted name that needs no quotes has none in the catalogue. */
function plainName(quoted: string): string {
  return /^"[a-z_][a-z0-9_]*"$/.test(quoted) ? quoted.slice(1, -1) : quoted
}

/** @returns the type as the catalogue writes it, without modifiers: `int4[]` → `integer[]` */
export function toCatalogueName(type: string): string {
  const { name, isArray } = partsOf(type)
  return `${name}${isArray ? '[]' : ''}`
}

/** @returns the type of a list's items: `order_status[]` → `order_status` */
export function itemTypeOf(type: string): string {
  return type.replace(/\s*(?:\[\d*\])+$/, '')
}

/** Whether a column has the declared type. A modifier, as in `varchar(20)`, is compared if it is declared. */
export function isSameType(declared: string, { type, sql = type }: ActualColumn): boolean {
  const [one, other] = [partsOf(declared), partsOf(sql)]
  if (one.isArray !== other.isArray || !isSameName(one.name, other.name)) return false
  return one.modifier === '' || one.modifier === other.modifier
}

/** The catalogue leaves out the schema of a type that `search_path` finds. */
function isSameName(one: string, other: string): boolean {
  if (one === other) return true
  const [a, b] = [one, other].map((name) => name.split('.'))
  return a?.length !== b?.length && a?.at(-1) === b?.at(-1)
}

const integers = ['smallint', 'integer', 'bigint']
const texts: ReadonlySet<string> = new Set(['text', 'character varying', 'name', 'citext'])
/** Types without the operator `=`. Their values are compared and sorted as text. */
const incomparable: ReadonlySet<string> = new Set([
  ...['point', 'line', 'lseg', 'box', 'path', 'polygon', 'circle'],
  ...['xml', 'json', 'jsonpath'],
])
/** Types of texts with `min` and `max`. Source: PostgreSQL, Aggregate Functions. */
const withExtremes: ReadonlySet<string> = new Set([
  ...['text', 'character varying', 'character', 'citext', 'interval', 'money'],
  ...['inet', 'cidr', 'time with time zone', 'pg_lsn'],
])
/** The types of PostgreSQL itself that some kind other than text stores. Other types are domains, or of extensions. */
const typed: Readonly<Partial<Record<Column['storage'], readonly string[]>>> = {
  integer: integers,
  wide: integers,
  real: ['real', 'double precision', 'numeric', ...integers],
  decimal: ['numeric', ...integers],
  timestamp: ['timestamp with time zone', 'timestamp without time zone'],
  date: ['date'],
  time: ['time without time zone'],
  bytes: ['bytea'],
  json: ['json', 'jsonb'],
}
const booleans = ['boolean']
const uuids = ['uuid', 'text', 'character varying', 'character']
const builtIn: ReadonlySet<string> = new Set([
  ...Object.values(typed).flat(),
  ...booleans,
  ...uuids,
  ...texts,
  ...incomparable,
  ...['time with time zone', 'interval', 'money', 'inet', 'cidr', 'macaddr', 'macaddr8'],
  ...['bit', 'bit varying', 'tsvector', 'tsquery', 'oid', 'pg_lsn', 'hstore', 'ltree'],
  ...['int4range', 'int8range', 'numrange', 'tsrange', 'tstzrange', 'daterange'],
  ...['int4multirange', 'int8multirange', 'nummultirange', 'tsmultirange', 'tstzmultirange'],
  'datemultirange',
])

/** Whether the server, or an extension, brings the type, so that no migration makes an enum of this name. */
export function isBuiltIn(type: string): boolean {
  return builtIn.has(partsOf(type).name)
}

/** @returns why the type does not fit the field; `undefined` if it does, or if it is not a type of PostgreSQL itself */
export function findTypeProblem(
  column: Column,
): { readonly message: string; readonly remedy: string } | undefined {
  const { type, isArray, field } = column
  if (type === undefined) return undefined
  const parts = partsOf(type)
  const fix = (text: string): { message: string; remedy: string } => ({
    message: `type "${type}" does not fit ${field.list ? 'a list of ' : ''}kind "${field.kind}".`,
    remedy: text,
  })
  if (isArray && (field.nested !== undefined || unlisted.has(field.entry.storage)))
    return fix(
      "Write @Field('string', { list: true, … }): the items are text in the database's form.",
    )
  if (field.list && !parts.isArray && builtIn.has(parts.name) && !/^jsonb?$/.test(parts.name))
    return fix(
      `Write the type of an array, "${type}[]", or leave it out: lists are stored as JSON.`,
    )
  if (!field.list && parts.isArray && column.storage !== 'text') return fix('Add list: true.')
  const allowed = allowedTypes(column)
  if (allowed === undefined || !builtIn.has(parts.name) || allowed.includes(parts.name))
    return undefined
  return fix(
    `Types of this kind are: ${allowed.join(', ')}. With @Field('string', …) any value is text in the database's form.`,
  )
}

/** Kinds whose values in JSON differ from the server's. */
const unlisted: ReadonlySet<string> = new Set(['timestamp', 'bytes'])

/** @returns `undefined` for kinds that may have any type */
function allowedTypes({
  isArray,
  isBoolean,
  isUuid,
  storage,
  field,
}: Column): readonly string[] | undefined {
  if (isArray) {
    const { entry, kind } = field
    if (kind === 'boolean') return booleans
    return kind === 'uuid' ? uuids : entry.storage === 'text' ? undefined : typed[entry.storage]
  }
  if (isBoolean) return booleans
  if (isUuid) return uuids
  return storage === 'text' ? undefined : typed[storage]
}

/** SQL around an array that writes it as JSON. Numbers that JSON would change, and values of other types, are texts. */
export function arrayJson({ field: { entry } }: Column): SqlWrapper {
  const isText = ['text', 'wide', 'decimal'].includes(entry.storage)
  return isText ? ['to_json(cast(', ' as text[]))'] : ['to_json(', ')']
}

/** What statements have to know of a column's declared type. */
export interface TypeTraits {
  /** Patterns apply to the text of its values. */
  readonly isOther: boolean
  /** Its values are read by a cast to text. */
  readonly isCast: boolean
  /** Its values have no order and cannot be compared, except as text. */
  readonly isIncomparable: boolean
  /** `min` and `max` exist for it. */
  readonly hasExtremes: boolean
  /** A timestamp without time zone, which is in UTC. */
  readonly isLocal: boolean
}

const noTraits: TypeTraits = {
  isOther: false,
  isCast: false,
  isIncomparable: false,
  hasExtremes: true,
  isLocal: false,
}
const traits = new Map<string, TypeTraits>()

export function traitsOf({
  type,
  storage,
  isArray,
  field: { kind },
}: Pick<Column, 'type' | 'storage' | 'isArray' | 'field'>): TypeTraits {
  if (type === undefined || isArray) return noTraits
  const key = `${kind} ${type}`
  let found = traits.get(key)
  if (found === undefined) {
    const { name, isArray: isText } = partsOf(type)
    const isOther = storage === 'text' && (isText || !texts.has(name))
    found = Object.freeze({
      isOther,
      // A cast would add the length of the network to each address.
      isCast: isOther && name !== 'inet',
      isIncomparable: storage === 'text' && !isText && incomparable.has(name),
      hasExtremes: storage !== 'text' || kind === 'enum' || withExtremes.has(name),
      isLocal: storage === 'timestamp' && name === 'timestamp without time zone',
    })
    traits.set(key, found)
  }
  return found
}

/**
 * Writes a JSON list as the text of an array.
 *
 * @param json `["a",null,"b c"]`
 * @returns `{"a",NULL,"b c"}`
 */
export function toArrayText(json: string): string {
  return writeArray(JSON.parse(json) as unknown)
}

function writeArray(list: unknown): string {
  if (!Array.isArray(list)) return String(list)
  return `{${list.map(writeItem).join()}}`
}

function writeItem(item: unknown): string {
  if (item === null || item === undefined) return 'NULL'
  if (typeof item === 'number' || typeof item === 'boolean') return String(item)
  const text = typeof item === 'string' ? item : JSON.stringify(item)
  return `"${text.replaceAll(/[\\"]/g, '\\$&')}"`
}
