/**
 * Validation errors of writes. A client gets the error only if it sent the invalid value itself. Any other error is a
 * mistake of the program. Source: decisions, Records: writes.
 */
import { type FieldError, HttpError } from './http-error.js'

/**
 * The key of the violated rule's parameter (`min: 3` → 3), which applications use in their own error formats. JSON does
 * not contain symbols. The property is enumerable, so that a copy of the error with another path includes it.
 */
const ruleValue = Symbol.for('filigree.ruleValue')

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

/**
 * Marks validation errors about fields that must stay hidden from clients. The program sees them in full. A client only
 * learns that there are some. The property is enumerable, so that a copy of the error with another path includes it. It
 * is not part of the JSON.
 */
const hidden = Symbol.for('filigree.hidden')

/** @returns the error with these validation errors marked; any other error unchanged */
export function markHidden(error: unknown, isHidden: (fieldError: FieldError) => boolean): unknown {
  if (!(error instanceof HttpError) || error.errors?.some(isHidden) !== true) return error
  const errors = error.errors.map((fieldError) =>
    isHidden(fieldError) ? { ...fieldError, [hidden]: true } : fieldError,
  )
  const { status, message, code, headers } = error
  return new HttpError(status, message, { code, errors, headers, cause: error })
}

/** True if the client does not see all validation errors. */
export function hasHiddenErrors({ errors }: HttpError): boolean {
  return errors?.some((fieldError) => hidden in fieldError) === true
}

/** @returns the error for the client: the same object if nothing is hidden */
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

/** The record that was written. */
export interface Written {
  /** The record's name. */
  readonly record: string
  /** True if the record has the property. */
  knows(property: string): boolean
}

interface Mark {
  readonly record: string
  /** True if the record has the property. */
  readonly isKnown: boolean
}

interface MarkedFieldError extends FieldError {
  readonly [written]?: Mark
}

/** Matches `12.` of `12.price`. */
const rowNumber = /^\d+\./

/** Enumerable, so that a copy of the error with another path includes it. It is not part of the JSON. */
const written = Symbol.for('filigree.written')

/** @returns the error with its validation errors marked as errors of a write; any other error unchanged */
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

/**
 * @returns the error with the mark removed from matching validation errors. Whether a sum is valid depends on the row,
 * so such errors are reported to every writer.
 */
export function unmarked(error: unknown, matches: (path: string) => boolean): unknown {
  if (!(error instanceof HttpError)) return error
  for (const fieldError of error.errors ?? [])
    if (matches(fieldError.path)) Reflect.set(fieldError, written, undefined)
  return error
}

const routesOfClientValues = new WeakSet<object>()

/**
 * Declares that a route writes only values that clients send, so that all validation errors concern the client. `crud`
 * does so.
 *
 * @param route the route that only writes client values
 */
export function writesClientValuesOnly(route: object): void {
  routesOfClientValues.add(route)
}

/** Thrown if a write failed because of a value that no client sent. */
class ProgramValueError extends Error {
  readonly record: string
  readonly paths: readonly string[]
  readonly handler: string

  constructor(handler: string, fieldErrors: readonly MarkedFieldError[], cause: HttpError) {
    const [{ [written]: mark } = { [written]: undefined }] = fieldErrors
    const record = mark?.record ?? ''
    const messages = fieldErrors.map(({ message }) => message).join('; ')
    super(
      `${handler} writes an invalid value to ${record}: ${messages}. The client did not send the value, so it gets no details. Set the value, or take it from the request's body.`,
      { cause },
    )
    this.name = 'ProgramFault'
    this.record = record
    this.paths = fieldErrors.map(({ path }) => path)
    this.handler = handler
  }
}

/**
 * @param sent the client's input: body or form, query, or the arguments of a GraphQL field
 * @returns a `ProgramValueError` in place of a write error that the client did not cause; any other error unchanged
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
  // The client may have sent the row as part of its body: `create(body.ticket)`, `insertMany(body.rows)`.
  const found = sent.flatMap((value) =>
    [value, ...partsOf(value)].map((one) => valueAt(one, steps)),
  )
  // A missing value is the client's mistake only if the client sent null. The program has lost any other value.
  return found.some((value) => (code === 'required' ? value === null : value !== undefined))
}

function partsOf(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : []
}

/** @returns the value at the path, if any */
function valueAt(value: unknown, steps: readonly string[]): unknown {
  let found = value
  for (const step of steps) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as Readonly<Record<string, unknown>>)[step]
  }
  return found
}
