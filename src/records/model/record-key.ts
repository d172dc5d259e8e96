/**
 * Keys of rows at the edges of the framework. Inside, a key is one value: a number, a UUID, or for a key of several columns the
 * canonical JSON text of its parts. Programs write such a key as an object, paths as texts between commas.
 *
 * ```ts
 * '["7",2]'                                 // inside, and where an interface writes a key as one text
 * { orderId: '7', line: 2 }                 // find, update, delete, connect
 * '/order-lines/7,2'                        // each part percent-encoded
 * ```
 *
 * Source: decisions, Records: queries.
 */
import { HttpError } from '../../errors/http-error.js'
import {
  hasKey,
  storedColumnsOf,
  type Column,
  type KeyedTable,
} from '../../engines/contract/table.js'
import { isOfKind, toJson } from '../../fields/kinds/table.js'

type Values = Readonly<Record<string, unknown>>
type Parts = readonly Column[]

/**
 * The key of a row, or its foreign key, from its properties.
 *
 * @returns null if a part of a key of several columns is null or missing
 */
export function keyOf(column: Column, row: object): unknown {
  if (column.parts === undefined) return (row as Values)[column.property]
  const parts: unknown[] = []
  for (const part of column.parts) {
    const value = (row as Values)[part.property]
    if (value === undefined || value === null) return null
    parts.push(value)
  }
  return writeKeyText(column, parts)
}

/** The key of a row. @typeParam I the type of keys */
export function idOf<I extends number | string>({ key }: Pick<KeyedTable, 'key'>, row: object): I {
  return keyOf(key, row) as I
}

/** The canonical text of a key of several columns. @param values of its parts, each of its kind */
export function writeKeyText({ parts = [] }: Column, values: readonly unknown[]): string {
  return JSON.stringify(values.map((value, index) => toPart(parts[index] as Column, value)))
}

/** The JSON form of a part, in which equal values are equal. UUIDs are stored in lower case. */
function toPart({ field: { entry }, isUuid }: Column, value: unknown): unknown {
  const json = toJson(value, entry)
  return isUuid ? (json as string).toLowerCase() : json
}

function isPart({ field: { entry } }: Column, value: unknown): boolean {
  return value !== undefined && value !== null && isOfKind(value, entry)
}

/** @returns the canonical text; `undefined` for a text that is no key of these columns */
export function readKeyText(column: Column, text: unknown): string | undefined {
  if (typeof text !== 'string' || !text.startsWith('[')) return undefined
  let values: unknown
  try {
    values = JSON.parse(text)
  } catch {
    return undefined
  }
  const { parts = [] } = column
  if (!Array.isArray(values) || values.length !== parts.length) return undefined
  return parts.every((part, index) => isPart(part, (values as unknown[])[index]))
    ? writeKeyText(column, values)
    : undefined
}

/**
 * A key of several columns as a program writes it: an object of its parts, such as a row, or its text.
 *
 * @returns `undefined` for a text that is no key
 * @throws {HttpError} 400 `VALIDATION`: a part is missing or of another kind
 */
export function readCompositeKey(column: Column, input: unknown): string | undefined {
  const { parts = [] } = column
  const [first, ...others] = parts
  if (typeof input === 'string') {
    const text = readKeyText(column, input)
    if (text !== undefined || first === undefined || others.length > 0) return text
  }
  const isObject = typeof input === 'object' && input !== null && !(input instanceof Date)
  if (!isObject && first !== undefined && others.length === 0)
    return isPart(first, input) ? writeKeyText(column, [input]) : undefined
  if (!isObject || Array.isArray(input)) throw notAnObject(parts)
  return writeKeyText(
    column,
    parts.map((part) => checkPart(part, (input as Values)[part.property])),
  )
}

/** Any form of a key that a program writes. @throws as `readCompositeKey` */
export function readId<I extends number | string>(
  { key }: Pick<KeyedTable, 'key'>,
  input: unknown,
): I {
  if (key.parts === undefined) return input as I
  // A text that is no key stays one that no row has.
  return (readCompositeKey(key, input) ?? input) as I
}

/** @throws {HttpError} 400 `VALIDATION` */
function checkPart(part: Column, value: unknown): unknown {
  if (isPart(part, value)) return value
  const isMissing = value === undefined || value === null
  throw isMissing
    ? invalidPart(part, 'required', 'must be given: it is a part of the key')
    : invalidPart(part, 'type', `must be ${part.field.entry.label}`)
}

function invalidPart({ property }: Column, code: string, text: string): HttpError {
  return invalid(property, code, `${property} ${text}`)
}

function notAnObject(parts: Parts): HttpError {
  const names = parts.map(({ property }) => property).join(', ')
  return invalid('', 'type', `the key must be an object with ${names}`)
}

function invalid(path: string, code: string, message: string): HttpError {
  return new HttpError(400, message, { code: 'VALIDATION', errors: [{ path, code, message }] })
}

/**
 * The values of the columns that hold a key, as JSON values by property.
 *
 * @param column the key, or a foreign key that holds it
 */
export function partsOfKey(column: Column, id: number | string): Record<string, unknown> {
  if (column.parts === undefined) return { [column.property]: id }
  const values = JSON.parse(String(id)) as unknown[]
  return Object.fromEntries(column.parts.map(({ property }, index) => [property, values[index]]))
}

/** Whether values set a key, or a part of it. */
export function namesValueOf(column: Column, values: Values): boolean {
  return storedColumnsOf(column).some(({ property }) => values[property] !== undefined)
}

/** @throws {TypeError} for a record without a key */
export function checkKeyed(table: Pick<KeyedTable, 'key' | 'name'>, method: string): void {
  if (hasKey(table)) return
  throw new TypeError(
    `${method}: ${table.name} has no key (key: false), so its rows can be listed, counted and aggregated only.`,
  )
}

/** The parts of a key that is absent: null for each column. */
export function noKeyOf(column: Column): Record<string, null> {
  return Object.fromEntries(storedColumnsOf(column).map(({ property }) => [property, null]))
}

/** Whether values name a key, or a part of it. */
export function namesKeyOf({ property, parts }: Column, values: object): boolean {
  return parts === undefined ? property in values : parts.some((part) => part.property in values)
}

/** The text of a key in a path: `7,2`, each part percent-encoded. */
export function toPathKey({ parts }: Column, id: number | string): string {
  if (parts === undefined) return encodeURIComponent(id)
  return (JSON.parse(String(id)) as unknown[])
    .map((value) => encodeURIComponent(String(value)))
    .join(',')
}

/**
 * Reads the text of a key of several columns in a path, which is not yet decoded.
 *
 * @returns `undefined` if the number of parts is wrong, or a part is not of its kind. No row has such a key
 */
export function readPathKey(column: Column, text: string): string | undefined {
  const texts = text.split(',').map(decodePart)
  return texts.includes(undefined) ? undefined : readKeyTexts(column, texts as string[])
}

/** As `readPathKey`, from the text of each part. */
export function readKeyTexts(column: Column, texts: readonly string[]): string | undefined {
  const { parts = [] } = column
  if (texts.length !== parts.length) return undefined
  const values = parts.map(({ field }, index) => field.entry.fromText(texts[index] as string))
  return parts.every((part, index) => isPart(part, values[index]))
    ? writeKeyText(column, values)
    : undefined
}

function decodePart(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
