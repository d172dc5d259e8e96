/**
 * Compiles a shape into the check of values that arrive as text: queries, forms. Text is converted by the field's kind,
 * with strict grammars; then the same check runs as for a body. Source: decisions, Routing.
 */
import { isMap } from '../core/json.js'
import {
  buildSafely,
  compileBuild,
  inOrder,
  settle,
  type Check,
  type CheckRun,
  type InputOptions,
} from './compile-input.js'
import { mostFaults, toHttpError, type Fault } from './faults.js'
import type { LateEntry } from './late-constraints.js'
import type { Shape, ShapeField } from './shape.js'

/**
 * The compiled check of text by name, `{ limit: '20', tag: ['a', 'b'] }`.
 *
 * By kind: `true`, `false`, `1` and `0` only; numbers as in a path; ISO 8601 moments; a repeated name, or a single one,
 * is a list where a list is declared and a fault elsewhere; nested classes and `json` are written as JSON. A text that is
 * not of its kind is a fault of code `type` at its path. Values that are no text are left to the check.
 *
 * @throws {HttpError} as the check of `compileInput`
 */
export function compileText<T extends object>(
  shape: Shape<T>,
  options: TextOptions = {},
): Check<T> {
  const { build, waits } = compileBuild(shape, options)
  const whole = options.whole ?? 'the query'
  const order = inOrder(shape)
  const read = options.isForm === true ? formReaderOf : readerOf
  const readers = shape.fields.map((field) => ({ name: field.name, read: read(field) }))
  return (value) => {
    const wrong = new Map<string, Fault>()
    const converted = isMap(value) ? convert(value, readers, wrong) : value
    const run: CheckRun = { faults: [], late: [], whole, order }
    const built = buildSafely(build, converted, run) as T
    if (wrong.size === 0) {
      if (waits && run.late.length > 0) return settle(built, run)
      if (run.faults.length > 0) throw toHttpError(order(run.faults, run.faults.length), whole)
      return built
    }
    // A text that could not be read has its fault already; the check must not report the missing value as a second one.
    const others = run.faults.filter(({ path }) => !wrong.has(path.split('.', 1)[0] ?? ''))
    const readable: LateEntry[] = run.late.filter(({ property }) => !wrong.has(property.name))
    const faults = [...wrong.values(), ...others].slice(0, mostFaults)
    return settle(built, { faults, late: readable, whole, order })
  }
}

export interface TextOptions extends Omit<InputOptions, 'list'> {
  /**
   * The text comes from an HTML form: an empty value of an optional field is absent, unless the field is plain text, and the
   * `on` of a checkbox is true. Default false.
   */
  isForm?: boolean
}

type Reader = (raw: unknown) => unknown

interface NamedReader {
  readonly name: string
  readonly read: Reader
}

/** Says what a text must be: `must be an integer`. */
class Unreadable {
  readonly text: string
  /** Of the item in a list: `.2`. */
  readonly path: string

  constructor(text: string, path = '') {
    this.text = text
    this.path = path
  }
}

function convert(
  texts: Record<string, unknown>,
  readers: readonly NamedReader[],
  wrong: Map<string, Fault>,
): Record<string, unknown> {
  // Only own keys, none that every object inherits: the names come from clients.
  const values: Record<string, unknown> = Object.assign(Object.create(null) as object, texts)
  for (const { name, read } of readers) {
    if (!Object.hasOwn(values, name) || values[name] === undefined) continue
    const value = read(values[name])
    if (value instanceof Unreadable) {
      wrong.set(name, { path: name + value.path, code: 'type', text: value.text })
      values[name] = undefined
    } else values[name] = value
  }
  return values
}

function readerOf(field: ShapeField): Reader {
  const one = itemReaderOf(field)
  if (!field.list) return (raw) => (Array.isArray(raw) ? readRepeated(field, raw, one) : one(raw))
  return (raw) => {
    const list: unknown[] = []
    for (const [index, item] of (Array.isArray(raw) ? (raw as unknown[]) : [raw]).entries()) {
      const value = one(item)
      if (value instanceof Unreadable) return new Unreadable(value.text, `.${index}`)
      list.push(value)
    }
    return list
  }
}

/** Browsers send every input of a form, empty ones too, and `on` for a checkbox without a value. */
function formReaderOf(field: ShapeField): Reader {
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
      const one = readOne(raw)
      return one === undefined ? undefined : read(one)
    }
    const values = raw.map(readOne).filter((one) => one !== undefined)
    return values.length === 0 ? undefined : read(values)
  }
}

/** Whether a form's empty value of the field means that there is none. */
export function isEmptyAbsent(field: ShapeField): boolean {
  return field.optional && !isPlainText(field)
}

/** Whether a form's `on` is true. */
export function isCheckbox(field: ShapeField): boolean {
  return field.kind === 'boolean' && !isOpen(field)
}

/** An empty text is a value of such a field. */
function isPlainText({ kind, rules }: ShapeField): boolean {
  if (kind !== 'string' && kind !== 'text') return false
  return rules.format === undefined && rules.oneOf === undefined
}

function readRepeated(field: ShapeField, raw: unknown[], one: Reader): unknown {
  if (field.declared !== undefined) return new Unreadable('must be given once')
  // Whether a list may be is for class-validator's rules to say.
  const values = raw.map(one)
  return values.find((value) => value instanceof Unreadable) ?? values
}

function itemReaderOf(field: ShapeField): Reader {
  const { fromText, noun } = field.entry
  if (isOpen(field)) return (raw) => raw
  const unreadable = new Unreadable(
    `must be ${field.nested === undefined ? noun : 'an object, written as JSON'}`,
  )
  const asDate = field.declared === undefined && field.kind === 'datetime'
  return (raw) => {
    if (typeof raw !== 'string') return raw
    const value = fromText(raw)
    if (value === undefined) {
      const hint = field.entry.hint?.(raw)
      return hint === undefined ? unreadable : new Unreadable(`${unreadable.text}; ${hint}`)
    }
    return asDate ? new Date(raw) : value
  }
}

/** Nothing is known of the kind: the text is the value. */
export function isOpen({ declared, kind, nested, constraints }: ShapeField): boolean {
  if (declared !== undefined || kind !== 'json' || nested !== undefined) return false
  return !constraints.some(({ name }) => isObjectRule(name))
}

function isObjectRule(name: string): boolean {
  return name === 'isObject' || name === 'isNotEmptyObject'
}
