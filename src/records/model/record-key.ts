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
import { tryParseJson } from '../../core/json.js'
import { readKeyParts, writeKeyParts } from '../../core/key-text.js'
import { tryDecode } from '../../core/text.js'
import { isOfKind, isUuid as isUuidText, toFunction, toJson } from '../../fields/kinds/table.js'

type Values = Readonly<Record<string, unknown>>

/**
 * The key of a row, or its foreign key, from its properties.
 *
 * @returns null if a part of a key of several columns is null or missing
 */
export function keyOf(column: Column, row: object): unknown {
  if (column.parts === undefined) return (row as Values)[column.property]
  const parts: unknown[] = []
  for (const { column: part, toJson } of formsOf(column)) {
    const value = (row as Values)[part.property]
    if (value === undefined || value === null) return null
    parts.push(toJson(value))
  }
  return writeKeyParts(parts)
}

/** The key of a stored row, which is never null. */
export function idOf({ key }: Pick<KeyedTable, 'key'>, row: object): number | string {
  return keyOf(key, row) as number | string
}

/** The canonical text of a key of several columns. @param values of its parts, each of its kind */
export function writeKeyText(column: Column, values: readonly unknown[]): string {
  const forms = formsOf(column)
  return writeKeyParts(values.map((value, index) => (forms[index] as PartForm).toJson(value)))
}

/** How the values of a part are checked and written. */
interface PartForm {
  readonly column: Column
  readonly accepts: (value: unknown) => boolean
  /** The JSON form, in which equal values are equal. UUIDs are stored in lower case. */
  readonly toJson: (value: unknown) => unknown
}

const cachedForms = new WeakMap<Column, readonly PartForm[]>()

function formsOf(column: Column): readonly PartForm[] {
  let forms = cachedForms.get(column)
  if (forms === undefined) {
    forms = (column.parts ?? []).map(toForm)
    cachedForms.set(column, forms)
  }
  return forms
}

function toForm(column: Column): PartForm {
  const { isUuid, field } = column
  const { entry } = field
  const isPlain =
    entry.read === undefined && entry.write === undefined && entry.encode === undefined
  const toPlain = isPlain ? asIs : (value: unknown): unknown => toJson(value, entry)
  const isOfItsKind =
    entry.isPropertyValue === undefined
      ? toFunction(entry.test)
      : (value: unknown): boolean => isOfKind(value, entry)
  // The field may be of a kind that accepts any text, and the column stores UUIDs only.
  const isNarrow = isUuid && entry.test !== isUuidText
  return {
    column,
    accepts: isNarrow ? (value) => isOfItsKind(value) && isUuidText(value) : isOfItsKind,
    toJson: isUuid ? (value) => (toPlain(value) as string).toLowerCase() : toPlain,
  }
}

function asIs(value: unknown): unknown {
  return value
}

function isPart({ accepts }: PartForm, value: unknown): boolean {
  return value !== undefined && value !== null && accepts(value)
}

/** @returns the canonical text; `undefined` if a value is no such part, or the number of values is wrong */
function readValues(column: Column, values: readonly unknown[]): string | undefined {
  const forms = formsOf(column)
  if (values.length !== forms.length) return undefined
  const parts: unknown[] = []
  for (const form of forms) {
    const value = values[parts.length]
    if (!isPart(form, value)) return undefined
    parts.push(form.toJson(value))
  }
  return writeKeyParts(parts)
}

/** @returns the canonical text; `undefined` for a text that is no key of these columns */
export function readKeyText(column: Column, text: unknown): string | undefined {
  if (typeof text !== 'string' || !text.startsWith('[')) return undefined
  const values = tryParseJson(text, readKeyParts)
  return Array.isArray(values) ? readValues(column, values) : undefined
}

/**
 * A key of several columns as a program writes it: an object of its parts, such as a row, or its text.
 *
 * @returns `undefined` for a text that is no key
 * @throws {HttpError} 400 `VALIDATION`: a part is missing or of another kind
 */
export function readCompositeKey(column: Column, input: unknown): string | undefined {
  const forms = formsOf(column)
  const only = forms.length === 1 ? forms[0] : undefined
  if (typeof input === 'string') {
    const text = readKeyText(column, input)
    if (text !== undefined || only === undefined) return text
  }
  const isObject = typeof input === 'object' && input !== null && !(input instanceof Date)
  if (!isObject && only !== undefined) return readValues(column, [input])
  if (!isObject || Array.isArray(input)) throw notAnObject(column.parts ?? [])
  const parts: unknown[] = []
  for (const form of forms) {
    const value = (input as Values)[form.column.property]
    if (!isPart(form, value)) throw partError(form.column, value)
    parts.push(form.toJson(value))
  }
  return writeKeyParts(parts)
}

/** Any form of a key that a program writes. @throws as `readCompositeKey` */
export function readId({ key }: Pick<KeyedTable, 'key'>, input: unknown): number | string {
  if (key.parts === undefined) return input as number | string
  // A text that is no key stays one that no row has.
  return (readCompositeKey(key, input) ?? input) as number | string
}

function partError(part: Column, value: unknown): HttpError {
  return value === undefined || value === null
    ? invalidPart(part, 'required', 'must be given: it is a part of the key')
    : invalidPart(part, 'type', `must be ${part.field.entry.label}`)
}

function invalidPart({ property }: Column, code: string, text: string): HttpError {
  return invalidKey(property, code, text)
}

/** @param text follows the name of the property */
export function invalidKey(property: string, code: string, text: string): HttpError {
  return invalid(property, code, `${property} ${text}`)
}

function notAnObject(parts: readonly Column[]): HttpError {
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
  const values = readKeyParts(String(id))
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
  if (parts === undefined) return property in values
  for (const part of parts) if (part.property in values) return true
  return false
}

/** The text of a key in a path: `7,2`, each part percent-encoded. */
export function toPathKey({ parts }: Column, id: number | string): string {
  if (parts === undefined) return encodeURIComponent(id)
  return readKeyParts(String(id))
    .map((value) => encodeURIComponent(String(value)))
    .join(',')
}

/**
 * Reads the text of a key of several columns in a path, which is not yet decoded.
 *
 * @returns `undefined` if the number of parts is wrong, or a part is not of its kind. No row has such a key
 */
export function readPathKey(column: Column, text: string): string | undefined {
  const texts = text.split(',').map(tryDecode)
  return texts.includes(undefined) ? undefined : readKeyTexts(column, texts as string[])
}

/** As `readPathKey`, from the text of each part. */
export function readKeyTexts(column: Column, texts: readonly string[]): string | undefined {
  const { parts = [] } = column
  return readValues(
    column,
    texts.map((text, index) => parts[index]?.field.entry.fromText(text)),
  )
}
