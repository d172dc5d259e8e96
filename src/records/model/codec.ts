/** Converts property values to driver values and back. Codecs are compiled once for each table and engine. */

import type { Kind } from '../../fields/kinds/kind.js'
import { toJson, toProperty, isOfKind, toFunction, isUuid } from '../../fields/kinds/table.js'
import { readShape, type ShapeField } from '../../fields/shape.js'
import { instanceConstructorOf, type Constructor } from '../../fields/instance.js'
import type { Class } from '../../metadata/class.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Row } from '../../engines/contract/engine.js'
import { hasKey, storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { keyOf, partsOfKey, readCompositeKey, readKeyText, writeKeyText } from './record-key.js'
import { storedValueError } from './stored-value-error.js'
import type { Instance, Table } from './table.js'

/** @returns the JSON text of a valid value */
export function toStoredJson(field: ShapeField, value: unknown): string {
  return JSON.stringify(needsConversion(field) ? write(field, value) : value)
}

/** @returns the property's value, with nested objects as instances of their classes */
function fromStoredJson(field: ShapeField, text: unknown): unknown {
  // Some drivers parse JSON themselves.
  const value: unknown = typeof text === 'string' ? JSON.parse(text) : text
  return needsConversion(field) ? read(field, value) : value
}

function needsConversion({ nested, entry }: ShapeField): boolean {
  return nested !== undefined || entry.write !== undefined || entry.encode !== undefined
}

function write(field: ShapeField, value: unknown): unknown {
  if (value === null || value === undefined) return value
  if (field.list && Array.isArray(value)) return value.map((item) => writeOne(field, item))
  return writeOne(field, value)
}

function writeOne(field: ShapeField, value: unknown): unknown {
  if (field.nested !== undefined) {
    const fields = readShape(field.nested()).fields
    const source = value as Record<string, unknown>
    return Object.fromEntries(fields.map((inner) => [inner.name, write(inner, source[inner.name])]))
  }
  return toJson(value, field.entry)
}

function read(field: ShapeField, value: unknown): unknown {
  if (value === null || value === undefined) return value
  if (field.list && Array.isArray(value)) return value.map((item) => readOne(field, item))
  return readOne(field, value)
}

function readOne(field: ShapeField, value: unknown): unknown {
  if (value === null) return value
  if (field.nested !== undefined) return readInstance(field.nested(), value)
  return field.entry.write === undefined ? value : toProperty(value, field.entry)
}

function readInstance(type: Class, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const source = value as Record<string, unknown>
  const instance = new (makerFor(type))()
  for (const field of readShape(type).fields) {
    const inner = read(field, source[field.name])
    if (inner !== undefined) instance[field.name] = inner
  }
  return instance
}

const makers = new WeakMap<Class, Constructor>()

function makerFor(type: Class): Constructor {
  let maker = makers.get(type)
  if (maker === undefined) {
    maker = instanceConstructorOf(type).Constructor
    makers.set(type, maker)
  }
  return maker
}

/**
 * @param id a key, or an integer key as text (from a path or GraphQL); of several columns also an object of its parts
 *
 * @returns the driver value; `undefined` for an invalid key, which no row can have
 * @throws {HttpError} 400 `VALIDATION`: an object without a part, or with a part of another kind
 */
export function toKey({ key }: TableCodec, id: unknown): unknown {
  if (key.column.parts !== undefined) return readCompositeKey(key.column, id)
  const { fromText } = key.column.field.entry
  const value = typeof id === 'string' ? fromText(id) : id
  if (value === undefined || value === null || !key.accepts(value)) return undefined
  return key.encode(value)
}

/**
 * The values of the columns in which a key is stored.
 *
 * @param key in the driver's form, as they are. Null: no key
 */
export function columnValuesOf(
  column: Column,
  key: unknown,
  { byProperty }: Pick<TableCodec, 'byProperty'>,
): readonly unknown[] {
  if (column.parts === undefined) return [key]
  if (key === null) return column.parts.map(() => null)
  const values = partsOfKey(column, key as string)
  return column.parts.map(({ property }) => byProperty.get(property)?.encode(values[property]))
}

/**
 * The key in a row of values, in the driver's form.
 *
 * @param columns the columns of the values
 * @returns `undefined` if the columns do not contain it, null if a part of it is null
 */
export function keyInValues(
  column: Column,
  columns: readonly Column[],
  values: readonly unknown[],
  { byProperty }: Pick<TableCodec, 'byProperty'>,
): unknown {
  if (column.parts === undefined) return values[columns.indexOf(column)]
  const parts: unknown[] = []
  for (const part of column.parts) {
    const value = values[columns.indexOf(part)]
    if (value === undefined || value === null) return value
    parts.push(byProperty.get(part.property)?.decode(value))
  }
  return writeKeyText(column, parts)
}

/** Converts one column's values for one engine. */
export interface ColumnCodec {
  readonly column: Column
  /** The index of the column in the table. */
  readonly index: number
  /** Whether a value (never null) is of the column's kind. */
  readonly accepts: (value: unknown) => boolean
  /** Converts a value of the kind, never null. */
  readonly encode: (value: unknown) => unknown
  /** Converts a driver value to the property's value, never null. */
  readonly decode: (value: unknown) => unknown
  /** Whether the column can store an encoded value. The field of a UUID key may be of a kind that accepts any text. */
  readonly canStore: (encoded: unknown) => boolean
}

export interface TableCodec<T extends object = object> {
  /** In the order of the table's columns. */
  readonly columns: readonly ColumnCodec[]
  /** With keys and foreign keys of several columns. */
  readonly byProperty: ReadonlyMap<string, ColumnCodec>
  readonly key: ColumnCodec
  /** Columns that cannot store every value of their kind. */
  readonly narrow: readonly ColumnCodec[]
  /** Makes an instance from a row that contains all columns in order. A null that was never set leaves no property. */
  readonly readRow: (row: Row) => T
  /** The value of every written column of an instance, in order; null if there is none. */
  readonly writeRow: (instance: object) => unknown[]
  /**
   * Gives an instance the values that a row would have after it was stored and read again: timestamps in UTC, decimals
   * with their full scale, lists and nested objects as copies. Values of another kind stay as they are.
   */
  readonly convert: (instance: Record<string, unknown>) => void
}

export function createTableCodec<T extends object>(
  table: Table<T>,
  dialect: Dialect,
): TableCodec<T> {
  const columns = table.columns.map((column, index) => createCodec(column, index, dialect))
  const byProperty = new Map(columns.map((codec) => [codec.column.property, codec]))
  const noKey = { ...table.key, parts: [] }
  const key = hasKey(table) ? undefined : createCompositeCodec(noKey, columns.length, [])
  for (const column of compositeColumnsOf(table)) {
    const parts = column.parts.map((part) => columns[table.columns.indexOf(part)] as ColumnCodec)
    byProperty.set(column.property, createCompositeCodec(column, byProperty.size, parts))
  }
  return Object.freeze({
    columns,
    byProperty,
    key: key ?? (byProperty.get(table.key.property) as ColumnCodec),
    narrow: columns.filter(({ canStore }) => canStore !== canStoreAll),
    readRow: compileReader(table, columns, dialect) as (row: Row) => T,
    writeRow: compileWriter(columns.filter(({ column }) => !column.isComputed)),
    convert: toConverter(columns),
  })
}

type CompositeColumn = Column & Required<Pick<Column, 'parts'>>

function compositeColumnsOf({ key, relations }: Table): Set<CompositeColumn> {
  const columns = [key, ...[...relations.values()].map(({ local }) => local)]
  const isComposite = ({ parts = [] }: Column): boolean => parts.length > 0
  return new Set(columns.filter((column): column is CompositeColumn => isComposite(column)))
}

/** The driver's form of a key of several columns is the same text. */
function createCompositeCodec(
  column: CompositeColumn,
  index: number,
  parts: readonly ColumnCodec[],
): ColumnCodec {
  return Object.freeze({
    column,
    index,
    canStore: canStoreAll,
    accepts: (value: unknown) => readKeyText(column, value) !== undefined,
    encode: (value: unknown) => readKeyText(column, value),
    decode: (value: unknown) => {
      // Some drivers parse JSON themselves.
      const stored = (typeof value === 'string' ? JSON.parse(value) : value) as readonly unknown[]
      if (stored.includes(null)) return null
      return writeKeyText(
        column,
        parts.map(({ decode }, position) => decode(stored[position])),
      )
    },
  })
}

function toConverter(columns: readonly ColumnCodec[]): TableCodec['convert'] {
  const converted = columns.flatMap(({ column, accepts }) => {
    const convert = toStoredForm(column)
    return convert === undefined ? [] : [{ property: column.property, accepts, convert }]
  })
  return (instance) => {
    for (const { property, accepts, convert } of converted) {
      const value = instance[property]
      if (value !== undefined && value !== null && accepts(value))
        instance[property] = convert(value)
    }
  }
}

/** Converts a value to the value that would be read after storing it; undefined if that is always the same value. */
function toStoredForm(column: Column): ((value: unknown) => unknown) | undefined {
  const { field, storage } = column
  if (storage === 'json') return (value) => fromStoredJson(field, toStoredJson(field, value))
  const encode = chooseEncoder(column)
  const { decode } = field.entry
  if (decode === undefined) return encode === asIs ? undefined : encode
  return (value) => decode(encode(value))
}

function createCodec(column: Column, index: number, dialect: Dialect): ColumnCodec {
  const encodeValue = dialect.values.encoder(column)
  const { entry } = column.field
  const accepts = testOf(entry)
  const encode = chooseEncoder(column)
  return Object.freeze({
    column,
    index,
    canStore:
      dialect.values.uuidText && column.isUuid && entry.test !== isUuid ? isUuid : canStoreAll,
    accepts: column.storage === 'json' ? () => true : accepts,
    decode: (value: unknown) => decodeValue(column, dialect, value),
    encode:
      encodeValue === undefined
        ? encode
        : encode === asIs
          ? encodeValue
          : (value: unknown) => encodeValue(encode(value)),
  })
}

/** The conversion of a value, in either of its two forms, to the form of the storage class. */
function chooseEncoder({ storage, field, isUuid }: Column): (value: unknown) => unknown {
  if (storage === 'json') return (value) => toStoredJson(field, value)
  const { entry } = field
  const encode = isUuid ? toLowerCase : (entry.encode ?? asIs)
  // Where the two forms cannot be distinguished, they are equal, or `encode` accepts both.
  return entry.isPropertyValue === undefined ? encode : (value) => encode(toProperty(value, entry))
}

function decodeValue(column: Column, dialect: Dialect, value: unknown): unknown {
  const { field, storage } = column
  if (storage === 'json') return fromStoredJson(field, value)
  const decoder = dialect.values.decoder(column)
  const decoded = decoder === undefined ? value : toFunction(decoder)(value)
  const { decode } = field.entry
  return decode === undefined ? decoded : decode(decoded)
}

const canStoreAll = (): boolean => true

function toLowerCase(value: unknown): unknown {
  return (value as string).toLowerCase()
}

function asIs(value: unknown): unknown {
  return value
}

/** @returns a test of whether a value is of the kind, in either of its forms */
export function testOf(kind: Kind): (value: unknown) => boolean {
  return kind.isPropertyValue === undefined
    ? toFunction(kind.test)
    : (value) => isOfKind(value, kind)
}

/** Compiles the function from a row to an instance, without loops. */
function compileReader(
  table: Table,
  columns: readonly ColumnCodec[],
  dialect: Dialect,
): (row: Row) => unknown {
  const names = ['Make', 'readJson', 'toReadError']
  const toReadError = (row: Row, error: unknown): unknown => readErrorOf(table, columns, row, error)
  const { Constructor } = instanceConstructorOf(table.type)
  const readers: unknown[] = [Constructor, fromStoredJson, toReadError]
  const lines = table.columns.map((column, index) => {
    const target = `o[${JSON.stringify(column.property)}]`
    const value = readExpression(column, dialect, (constant) => {
      const name = `c${readers.length}`
      names.push(name)
      readers.push(constant)
      return name
    })
    const store = `${target} = ${value}`
    if (!column.nullable) return `v = r[${index}]; ${store}`
    const otherwise = column.field.nullable ? `else ${target} = null` : ''
    return `v = r[${index}]; if (v !== null) ${store}; ${otherwise}`
  })
  const body = `return function readRow(r) { const o = new Make(); let v
try {\n${lines.join('\n')}\n} catch (error) { throw toReadError(r, error) }\nreturn o }`
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- our own text; names are quoted
  return (new Function(...names, body) as (...args: unknown[]) => (row: Row) => unknown)(...readers)
}

/** Names the column that could not be read. It is searched only now, so that reading a row costs nothing more. */
function readErrorOf(
  table: Table,
  columns: readonly ColumnCodec[],
  row: Row,
  error: unknown,
): unknown {
  const failing = columns.find((column) => decodeIfValid(column, row) === invalid)
  if (failing === undefined) return error
  return storedValueError(table.type.name, failing.column, readKeyOf(table, columns, row), error)
}

/** The key of a row; `undefined` if it cannot be read either. */
function readKeyOf({ key }: Table, columns: readonly ColumnCodec[], row: Row): unknown {
  const record: Instance = {}
  for (const codec of columns) {
    if (!storedColumnsOf(key).includes(codec.column)) continue
    const value = decodeIfValid(codec, row)
    if (value === invalid) return undefined
    record[codec.column.property] = value
  }
  return keyOf(key, record)
}

const invalid = Symbol('a stored value that does not fit its column')

function decodeIfValid({ decode, index }: ColumnCodec, row: Row): unknown {
  try {
    return row[index] === null ? null : decode(row[index])
  } catch {
    return invalid
  }
}

function readExpression(
  column: Column,
  dialect: Dialect,
  constant: (value: unknown) => string,
): string {
  if (column.storage === 'json') return `readJson(${constant(column.field)}, v)`
  const decoder = dialect.values.decoder(column) ?? 'v'
  const value = typeof decoder === 'string' ? decoder : `${constant(decoder)}(v)`
  const { decode } = column.field.entry
  return decode === undefined ? value : `${constant(decode)}(${value})`
}

/** Compiles the function from an instance to a driver's values, without loops. */
function compileWriter(columns: readonly ColumnCodec[]): (instance: object) => unknown[] {
  const names = columns.map((_, index) => `e${index}`)
  const items = columns.map(({ column, encode }, index) => {
    const value = `o[${JSON.stringify(column.property)}]`
    return encode === asIs
      ? `${value} ?? null`
      : `${value} === undefined || ${value} === null ? null : e${index}(${value})`
  })
  const body = `return function writeRow(o) { return [${items.join(',\n')}] }`
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- our own text; names are quoted
  const make = new Function(...names, body) as (
    ...encoders: unknown[]
  ) => (instance: object) => unknown[]
  return make(...columns.map(({ encode }) => encode))
}
