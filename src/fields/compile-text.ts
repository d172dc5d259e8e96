/**
 * Compiles a shape to a check of text values, as in queries and forms. The field's kind converts each text with a strict
 * grammar, and then the same check runs as for a body. Source: decisions, Routing.
 */
import { isMap } from '../core/json.js'
import { clip } from '../core/text.js'
import {
  buildSafely,
  compileBuilder,
  createViolationOrder,
  finishCheck,
  type InputCheck,
  type CheckRun,
  type InputOptions,
} from './compile-input.js'
import { maxViolations, toHttpError, type Violation } from './violations.js'
import type { DeferredCheck } from './constraint-runner.js'
import type { Shape, ShapeField } from './shape.js'

/**
 * Compiles the check of texts by name: `{ limit: '20', tag: ['a', 'b'] }`.
 *
 * Booleans are `true`, `false`, `1` or `0`. Numbers are written as in a path, dates in ISO 8601, nested classes and `json`
 * as JSON. Only a list field accepts a repeated name. Invalid text is a violation with the code `type`. Values that are not
 * text are checked unchanged.
 *
 * @throws {HttpError} as the check of `compileInput`
 */
export function compileText<T extends object>(
  shape: Shape<T>,
  options: TextOptions = {},
): InputCheck<T> {
  const { build, hasDeferredRules } = compileBuilder(shape, options)
  const inputName = options.inputName ?? 'the query'
  const order = createViolationOrder(shape)
  const read = options.isForm === true ? formReaderOf : readerOf
  const readers = shape.fields.map((field) => ({ name: field.name, read: read(field) }))
  const refusesUnknown = options.unknownKeys !== 'drop'
  return (value) => {
    const unreadable = new Map<string, Violation>()
    const converted = isMap(value) ? convert(value, readers, unreadable) : value
    if (refusesUnknown && isMap(converted)) checkBrackets(converted, shape, unreadable)
    const run: CheckRun = { violations: [], deferred: [], inputName, order }
    const built = buildSafely(build, converted, run) as T
    if (unreadable.size === 0) {
      if (hasDeferredRules && run.deferred.length > 0) return finishCheck(built, run)
      if (run.violations.length > 0)
        throw toHttpError(order(run.violations, run.violations.length), inputName)
      return built
    }
    // The check must not report a missing value for text that is reported as unreadable.
    const otherViolations = run.violations.filter(
      ({ path }) => !unreadable.has(path.split('.', 1)[0] ?? ''),
    )
    const deferred: DeferredCheck[] = run.deferred.filter(
      ({ property }) => !unreadable.has(property.name),
    )
    const violations = [...unreadable.values(), ...otherViolations].slice(0, maxViolations)
    return finishCheck(built, {
      violations,
      deferred,
      inputName,
      order,
    })
  }
}

export interface TextOptions extends Omit<InputOptions, 'list'> {
  /**
   * The text comes from an HTML form: empty values of optional fields are absent, except for plain text, and `on` is true.
   * Default false.
   */
  isForm?: boolean
}

type TextReader = (raw: unknown) => unknown

interface NamedReader {
  readonly name: string
  readonly read: TextReader
}

/** The violation of a text: `must be an integer`. */
class UnreadableText {
  readonly text: string
  /** The path of the item in a list: `.2`. */
  readonly path: string
  /** The text is a complete message in the application's words. */
  readonly isMessage: boolean

  constructor(text: string, { path = '', isMessage = false } = {}) {
    this.text = text
    this.path = path
    this.isMessage = isMessage
  }
}

function convert(
  texts: Record<string, unknown>,
  readers: readonly NamedReader[],
  unreadable: Map<string, Violation>,
): Record<string, unknown> {
  // Without a prototype, because the names come from clients.
  const values: Record<string, unknown> = Object.assign(Object.create(null) as object, texts)
  for (const { name, read } of readers) {
    if (!Object.hasOwn(values, name) || values[name] === undefined) continue
    const value = read(values[name])
    if (value instanceof UnreadableText) {
      const { text, path, isMessage } = value
      unreadable.set(name, { path: name + path, code: 'type', text, isMessage })
      values[name] = undefined
    } else values[name] = value
  }
  return values
}

/** Explains names such as `size[width]`, in which other servers read an object. Removes them from the values. */
function checkBrackets(
  values: Record<string, unknown>,
  shape: Shape,
  unreadable: Map<string, Violation>,
): void {
  for (const key in values) {
    const bracket = key.indexOf('[')
    if (bracket <= 0) continue
    const name = key.slice(0, bracket)
    const field = shape.fields.find((one) => one.name === name && !one.readOnly && !one.hidden)
    const form = field && formOf(field)
    if (form === undefined) continue
    unreadable.set(name, { path: clip(key), code: 'unknown', text: `is unknown. ${form}` })
    Reflect.deleteProperty(values, key)
  }
}

/** The way to write a value with several parts as text; undefined if the field has one part. */
function formOf({ name, nested, kind, list }: ShapeField): string | undefined {
  if (nested === undefined && kind !== 'json')
    return list ? `Repeat the name for each value: ${name}=…&${name}=…` : undefined
  return `Write ${name} as JSON: ${list ? '[{"…": …}]' : '{"…": …}'}`
}

function readerOf(field: ShapeField): TextReader {
  const readItem = itemReaderOf(field)
  if (!field.list)
    return (raw) => (Array.isArray(raw) ? readRepeated(field, raw, readItem) : readItem(raw))
  return (raw) => {
    const list: unknown[] = []
    for (const [index, item] of (Array.isArray(raw) ? (raw as unknown[]) : [raw]).entries()) {
      const value = readItem(item)
      if (value instanceof UnreadableText)
        return new UnreadableText(value.text, { path: `.${index}`, isMessage: value.isMessage })
      // A client may send the items of a class one by one, or as one JSON list.
      if (field.nested !== undefined && typeof item === 'string' && Array.isArray(value))
        list.push(...(value as unknown[]))
      else list.push(value)
    }
    return list
  }
}

/** Browsers send every input of a form, empty ones too, and `on` for a checkbox without a value. */
function formReaderOf(field: ShapeField): TextReader {
  const read = readerOf(field)
  const dropsEmpty = isEmptyAbsent(field)
  const readsOn = isCheckbox(field)
  if (!dropsEmpty && !readsOn) return read
  const readOne = (raw: unknown): unknown => {
    if (dropsEmpty && raw === '') return undefined
    return readsOn && raw === 'on' ? 'true' : raw
  }
  return (raw) => {
    if (!Array.isArray(raw)) {
      const value = readOne(raw)
      return value === undefined ? undefined : read(value)
    }
    const values = raw.map(readOne).filter((value) => value !== undefined)
    return values.length === 0 ? undefined : read(values)
  }
}

/** Whether an empty value in a form means that the field is absent. */
export function isEmptyAbsent(field: ShapeField): boolean {
  return field.optional && !isPlainText(field)
}

/** Whether `on` in a form means true. */
export function isCheckbox(field: ShapeField): boolean {
  return field.kind === 'boolean' && !hasUnknownKind(field)
}

/** Whether an empty text is a value of the field. */
function isPlainText({ kind, rules }: ShapeField): boolean {
  if (kind !== 'string' && kind !== 'text') return false
  return rules.format === undefined && rules.oneOf === undefined
}

function readRepeated(field: ShapeField, raw: unknown[], readItem: TextReader): unknown {
  if (field.declared !== undefined) return new UnreadableText('must be given once')
  // class-validator's rules decide whether a list is allowed.
  const values = raw.map(readItem)
  return values.find((value) => value instanceof UnreadableText) ?? values
}

function itemReaderOf(field: ShapeField): TextReader {
  const { fromText, label } = field.entry
  if (hasUnknownKind(field)) return (raw) => raw
  const message = field.messages.type
  const isMessage = message !== undefined
  const wrongKind = new UnreadableText(
    message ?? `must be ${field.nested === undefined ? label : 'an object, written as JSON'}`,
    { isMessage },
  )
  const asDate = field.declared === undefined && field.kind === 'datetime'
  return (raw) => {
    if (typeof raw !== 'string') return raw
    const value = fromText(raw)
    if (value === undefined) {
      const hint = isMessage ? undefined : field.entry.hint?.(raw)
      return hint === undefined ? wrongKind : new UnreadableText(`${wrongKind.text}; ${hint}`)
    }
    return asDate ? new Date(raw) : value
  }
}

/** Whether neither `@Field` nor class-validator determines the kind, so that the text is the value. */
export function hasUnknownKind({ declared, kind, nested, constraints }: ShapeField): boolean {
  if (declared !== undefined || kind !== 'json' || nested !== undefined) return false
  return !constraints.some(({ name }) => isObjectRule(name))
}

function isObjectRule(name: string): boolean {
  return name === 'isObject' || name === 'isNotEmptyObject'
}
