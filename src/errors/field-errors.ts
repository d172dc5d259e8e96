/**
 * Validation errors of writes. A client gets the error only if it sent the invalid value itself. Any other error is a
 * mistake of the program. Source: decisions, Records: writes.
 */
import { marksOf, sentenceOf, withMarks, type FieldError } from './field-error.js'
import { HttpError } from './http-error.js'

/** @returns the error with these validation errors marked as hidden from clients; any other error unchanged */
export function markHidden(error: unknown, isHidden: (fieldError: FieldError) => boolean): unknown {
  if (!(error instanceof HttpError) || error.errors?.some(isHidden) !== true) return error
  return error.mapFields((fieldError) =>
    isHidden(fieldError) ? withMarks(fieldError, { isHidden: true }) : fieldError,
  )
}

/** The record that was written. */
export interface Written {
  /** The record's name. */
  readonly record: string
  /** True if the record has the property. */
  knows(property: string): boolean
}

/** Matches `12.` of `12.price`. */
const rowNumber = /^\d+\./

/** @returns the error with its validation errors marked as errors of a write; any other error unchanged */
export function markWritten(error: unknown, record: Written): unknown {
  if (!(error instanceof HttpError) || error.status !== 400) return error
  const { message, cause = error } = error
  const fieldErrors = error.errors ?? [{ path: '', code: 'type', message }]
  const errors = fieldErrors.map((fieldError) => {
    // A removed mark stays removed.
    if ('written' in marksOf(fieldError)) return fieldError
    const property = fieldError.path.replace(rowNumber, '').split('.', 1)[0] ?? ''
    const isKnown = record.knows(property)
    return withMarks(fieldError, { written: { record: record.record, isKnown } })
  })
  return error.with({ errors, cause })
}

/**
 * @returns the error with the mark removed from matching validation errors. Whether a sum is valid depends on the row,
 * so such errors are reported to every writer.
 */
export function unmarked(error: unknown, matches: (path: string) => boolean): unknown {
  if (!(error instanceof HttpError)) return error
  return error.mapFields((fieldError) =>
    matches(fieldError.path) ? withMarks(fieldError, { written: undefined }) : fieldError,
  )
}

/**
 * Names the keys whose rows do not exist: `projectId names no Project: 9 does not exist`. A client must learn no key that
 * the program or a hook wrote.
 *
 * @param isSent whether the client sent the key, as text, at the path
 */
export function nameMissingKeys(
  error: unknown,
  isSent: (path: string, key: string) => boolean,
): unknown {
  if (!(error instanceof HttpError) || error.errors?.some(hasMissingKey) !== true) return error
  return error.mapFields((fieldError) => {
    const { path, message } = fieldError
    const key = toText(marksOf(fieldError).missingKey)
    if (key === undefined || !isSent(path, key)) return fieldError
    const named = { ...fieldError, message: `${message}: ${key} does not exist` }
    return withMarks(named, { missingKey: undefined })
  })
}

function hasMissingKey(fieldError: FieldError): boolean {
  return marksOf(fieldError).missingKey !== undefined
}

/** Longer than every number and every UUID. */
const maxKeyLength = 50

/** A key as text. Undefined for other values, such as the bytes of a driver, and for texts too long for a message. */
function toText(key: unknown): string | undefined {
  if (typeof key !== 'string' && typeof key !== 'number' && typeof key !== 'bigint')
    return undefined
  const text = String(key)
  return text.length > maxKeyLength ? undefined : text
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

  constructor(handler: string, fieldErrors: readonly FieldError[], cause: HttpError) {
    const [first] = fieldErrors
    const record = (first && marksOf(first).written?.record) ?? ''
    const messages = sentenceOf(fieldErrors)
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
  const programErrors = error.errors.filter(
    (fieldError) => marksOf(fieldError).written !== undefined && !isSent(fieldError, sent),
  )
  return programErrors.length === 0
    ? nameMissingKeys(error, (path, key) =>
        valuesAt(sent, path).some((value) => toText(value)?.toLowerCase() === key.toLowerCase()),
      )
    : new ProgramValueError(handler.name, programErrors, error)
}

function isSent(fieldError: FieldError, sent: readonly unknown[]): boolean {
  if (marksOf(fieldError).written?.isKnown === false) return false
  const { path, code } = fieldError
  const found = valuesAt(sent, path)
  // A missing value is the client's mistake only if the client sent null. The program has lost any other value.
  return found.some((value) => (code === 'required' ? value === null : value !== undefined))
}

/** The client may have sent the row as part of its body: `create(body.ticket)`, `insertMany(body.rows)`. */
function valuesAt(sent: readonly unknown[], path: string): readonly unknown[] {
  const steps = path.split('.')
  return sent.flatMap((value) => [value, ...partsOf(value)].map((one) => valueAt(one, steps)))
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
