/**
 * Faults of what a program writes. A client is told of a fault where it has sent the value itself; any other is the
 * program's. Source: decisions, Records: writes.
 */

import { type FieldError, HttpError } from './http-error.js'

/**
 * Faults about fields that clients must not know of: the program sees them in full, a client only learns that there are
 * some.
 */

/** The value of the rule that an input breaks (`min: 3` → 3): for error forms of applications, and in no JSON. */

/** Enumerable, so that a fault that is copied with another path keeps it. */
const ruleValue = Symbol('rule value')

interface RuleFieldError extends FieldError {
  readonly [ruleValue]?: unknown
}

export function withRuleValue(fieldError: FieldError, value: unknown): FieldError {
  if (value === undefined) return fieldError
  const withValue: RuleFieldError = { ...fieldError, [ruleValue]: value }
  return withValue
}

export function ruleValueOf(fieldError: RuleFieldError): unknown {
  return fieldError[ruleValue]
}

/** Enumerable, so that a fault that is copied with another path keeps it; in no JSON. */
const hidden = Symbol('untold')

/** @returns the error with these faults marked; any other as it is */
export function markHidden(error: unknown, isHidden: (fieldError: FieldError) => boolean): unknown {
  if (!(error instanceof HttpError) || error.errors?.some(isHidden) !== true) return error
  const errors = error.errors.map((fieldError) =>
    isHidden(fieldError) ? { ...fieldError, [hidden]: true } : fieldError,
  )
  const { status, message, code, headers } = error
  return new HttpError(status, message, { code, errors, headers, cause: error })
}

/** True if the client does not see all of it. */
export function hasHiddenErrors({ errors }: HttpError): boolean {
  return errors?.some((fieldError) => hidden in fieldError) === true
}

/** @returns the error for the client: the same one if none of its faults is marked */
export function withoutHiddenErrors(error: HttpError): HttpError {
  if (!hasHiddenErrors(error)) return error
  const { status, code, headers } = error
  const errors = error.errors?.filter((fieldError) => !(hidden in fieldError)) ?? []
  const sentence = errors.map(({ message }) => message).join('; ')
  return new HttpError(status, sentence === '' ? somewhere : sentence, {
    code,
    headers,
    ...(errors.length > 0 && { errors }),
    cause: error,
  })
}

const somewhere = 'A value does not fit the record.'

/** What was written. */
export interface Written {
  /** The record's name. */
  readonly record: string
  /** True for the names of its properties. */
  knows(property: string): boolean
}

interface Mark {
  readonly record: string
  /** The record has such a property. */
  readonly isKnown: boolean
}

interface MarkedFieldError extends FieldError {
  readonly [written]?: Mark
}

/** `12.` of `12.price`. */
const rowNumber = /^\d+\./

/** Enumerable, so that a fault that is copied with another path keeps it; in no JSON. */
const written = Symbol('written')

/** @returns the error with its faults marked as those of a write; any other as it is */
export function markWritten(error: unknown, record: Written): unknown {
  if (!(error instanceof HttpError) || error.status !== 400) return error
  const fieldErrors = error.errors ?? [{ path: '', code: 'type', message: error.message }]
  const errors = fieldErrors.map((fieldError: MarkedFieldError) => {
    const isKnown = record.knows(fieldError.path.replace(rowNumber, '').split('.', 1)[0] ?? '')
    return { [written]: { record: record.record, isKnown }, ...fieldError }
  })
  const { status, message, code, headers, reason, cause } = error
  return new HttpError(status, message, {
    code,
    errors,
    headers,
    ...(reason !== undefined && { reason }),
    cause: cause ?? error,
  })
}

/** @returns the error with these faults as they are found, whoever writes: what a sum comes to depends on the row */
export function unmarked(error: unknown, matches: (path: string) => boolean): unknown {
  if (!(error instanceof HttpError)) return error
  for (const fieldError of error.errors ?? [])
    if (matches(fieldError.path)) Reflect.set(fieldError, written, undefined)
  return error
}

const routesOfClientValues = new WeakSet<object>()

/** @param route makes its writes of what clients send and of nothing else, so that all faults are theirs: `crud` */
export function writesClientValuesOnly(route: object): void {
  routesOfClientValues.add(route)
}

/** A write failed by a value that no client has sent. */
class ProgramValueError extends Error {
  readonly record: string
  readonly paths: readonly string[]
  readonly handler: string

  constructor(handler: string, fieldErrors: readonly MarkedFieldError[], cause: HttpError) {
    const [{ [written]: mark } = { [written]: undefined }] = fieldErrors
    const record = mark?.record ?? ''
    const messages = fieldErrors.map(({ message }) => message).join('; ')
    super(
      `${handler}: what it writes to ${record} does not fit: ${messages}. The client did not send that, so it is not told. Give the value, or take it from the request's body.`,
      { cause },
    )
    this.name = 'ProgramFault'
    this.record = record
    this.paths = fieldErrors.map(({ path }) => path)
    this.handler = handler
  }
}

/**
 * @param sent what came in the request: its body or form, its query, or the arguments of a field
 * @returns a `ProgramFault` in place of a write's error that the client has not caused; any other error as it is
 */
export function attributeWriteError(
  error: unknown,
  sent: readonly unknown[],
  handler: { readonly name: string },
): unknown {
  if (!(error instanceof HttpError) || error.errors === undefined) return error
  if (routesOfClientValues.has(handler)) return error
  const programErrors = (error.errors as readonly MarkedFieldError[]).filter(
    (fieldError) => fieldError[written] !== undefined && !isSent(fieldError, sent),
  )
  return programErrors.length === 0
    ? error
    : new ProgramValueError(handler.name, programErrors, error)
}

function isSent(
  { path, code, [written]: mark }: MarkedFieldError,
  sent: readonly unknown[],
): boolean {
  if (mark?.isKnown === false) return false
  const steps = path.split('.')
  // The client may have sent the row as a part of its body: `create(body.ticket)`, `insertMany(body.rows)`.
  const found = sent.flatMap((value) =>
    [value, ...partsOf(value)].map((one) => valueAt(one, steps)),
  )
  // What is missing in the end is the client's only where it has sent null: any other value was forgotten on the way.
  return found.some((value) => (code === 'required' ? value === null : value !== undefined))
}

function partsOf(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : []
}

/** @returns `undefined` where there is none */
function valueAt(value: unknown, steps: readonly string[]): unknown {
  let found = value
  for (const step of steps) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as Readonly<Record<string, unknown>>)[step]
  }
  return found
}
