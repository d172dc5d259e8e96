/**
 * Faults of what a program writes. A client is told of a fault where it has sent the value itself; any other is the
 * program's. Source: decisions, Third storey, "Whose fault".
 */

import { type FieldError, HttpError } from './http-error.js'

/**
 * Faults about fields that clients must not know of: the program sees them in full, a client only learns that there are
 * some.
 */

/** The value of the rule that an input breaks (`min: 3` → 3): for error forms of applications, and in no JSON. */

/** Enumerable, so that a fault that is copied with another path keeps it. */
const ruleValue = Symbol('rule value')

interface FaultOfRule extends FieldError {
  readonly [ruleValue]?: unknown
}

export function withRuleValue(fault: FieldError, value: unknown): FieldError {
  if (value === undefined) return fault
  const withValue: FaultOfRule = { ...fault, [ruleValue]: value }
  return withValue
}

export function ruleValueOf(fault: FaultOfRule): unknown {
  return fault[ruleValue]
}

/** Enumerable, so that a fault that is copied with another path keeps it; in no JSON. */
const untold = Symbol('untold')

/** @returns the error with these faults marked; any other as it is */
export function markUntold(error: unknown, isUntold: (fault: FieldError) => boolean): unknown {
  if (!(error instanceof HttpError) || error.errors?.some(isUntold) !== true) return error
  const errors = error.errors.map((fault) =>
    isUntold(fault) ? { ...fault, [untold]: true } : fault,
  )
  const { status, message, code, headers } = error
  return new HttpError(status, message, { code, errors, headers, cause: error })
}

/** True if the client does not see all of it. */
export function hasUntold({ errors }: HttpError): boolean {
  return errors?.some((fault) => untold in fault) === true
}

/** @returns the error for the client: the same one if none of its faults is marked */
export function withoutUntold(error: HttpError): HttpError {
  if (!hasUntold(error)) return error
  const { status, code, headers } = error
  const errors = error.errors?.filter((fault) => !(untold in fault)) ?? []
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

interface WrittenFault extends FieldError {
  readonly [written]?: Mark
}

/** `12.` of `12.price`. */
const rowNumber = /^\d+\./

/** Enumerable, so that a fault that is copied with another path keeps it; in no JSON. */
const written = Symbol('written')

/** @returns the error with its faults marked as those of a write; any other as it is */
export function markWritten(error: unknown, record: Written): unknown {
  if (!(error instanceof HttpError) || error.status !== 400) return error
  const faults = error.errors ?? [{ path: '', code: 'type', message: error.message }]
  const errors = faults.map((fault: WrittenFault) => {
    const isKnown = record.knows(fault.path.replace(rowNumber, '').split('.', 1)[0] ?? '')
    return { [written]: { record: record.record, isKnown }, ...fault }
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
export function unmarked(error: unknown, isMeant: (path: string) => boolean): unknown {
  if (!(error instanceof HttpError)) return error
  for (const fault of error.errors ?? [])
    if (isMeant(fault.path)) Reflect.set(fault, written, undefined)
  return error
}

const clientDoors = new WeakSet<object>()

/** @param route makes its writes of what clients send and of nothing else, so that all faults are theirs: `crud` */
export function blamesClients(route: object): void {
  clientDoors.add(route)
}

/** A write failed by a value that no client has sent. */
class ProgramFault extends Error {
  readonly record: string
  readonly paths: readonly string[]
  readonly handler: string

  constructor(handler: string, faults: readonly WrittenFault[], cause: HttpError) {
    const [{ [written]: mark } = { [written]: undefined }] = faults
    const record = mark?.record ?? ''
    const words = faults.map(({ message }) => message).join('; ')
    super(
      `${handler}: what it writes to ${record} does not fit: ${words}. The client did not send that, so it is not told. Give the value, or take it from the request's body.`,
      { cause },
    )
    this.name = 'ProgramFault'
    this.record = record
    this.paths = faults.map(({ path }) => path)
    this.handler = handler
  }
}

/**
 * @param sent what came in the request: its body or form, its query, or the arguments of a field
 * @returns a `ProgramFault` in place of a write's error that the client has not caused; any other error as it is
 */
export function whoseFault(
  error: unknown,
  sent: readonly unknown[],
  handler: { readonly name: string },
): unknown {
  if (!(error instanceof HttpError) || error.errors === undefined) return error
  if (clientDoors.has(handler)) return error
  const own = (error.errors as readonly WrittenFault[]).filter(
    (fault) => fault[written] !== undefined && !isSent(fault, sent),
  )
  return own.length === 0 ? error : new ProgramFault(handler.name, own, error)
}

function isSent({ path, code, [written]: mark }: WrittenFault, sent: readonly unknown[]): boolean {
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
