/**
 * Reports values in the results of handlers that JSON cannot hold, with the route and the path. Without a report the client
 * would get `{}` with status 200. Source: decisions, Responses, files and streams.
 */
import { after, isThenable } from '../core/maybe-promise.js'
import { Reply } from '../http/reply.js'
import { followPromises, type PromiseWatch } from './current-request.js'
import type { Invoker } from './invoker.js'

export interface InspectionOptions {
  /** The name of the route for the log. */
  readonly name: string
  /** True if the route declares its response, so that bytes are written by the kind of their field. */
  readonly isDeclared: boolean
  readonly watch: PromiseWatch
}

/** Maximum results per route to inspect. A mistake shows in the first results, and later ones cost nothing. */
const maxInspectedResults = 100

/** Maximum objects and lists to inspect in one result, including circular ones. */
const maxInspectedValues = 1_000

/** Follows the promises of a handler, and reports the first value that JSON cannot hold. Not for production. */
export function inspectResults(
  invoke: Invoker,
  { name, isDeclared, watch }: InspectionOptions,
): Invoker {
  const { log } = watch
  const run = followPromises(invoke, name, watch)
  let remaining = maxInspectedResults
  return (request) => {
    if (remaining === 0) return run(request)
    return after(run(request), (result) => {
      if (remaining === 0) return result
      remaining--
      const found = findUnsendable(result, isDeclared)
      if (found === undefined) return result
      remaining = 0
      const { code, path, message } = found
      log.warn({ code, route: name, path }, `${name} ${message}`)
      return result
    })
  }
}

interface UnsendableValue {
  readonly code: 'FORGOTTEN_AWAIT' | 'UNSENDABLE_VALUE'
  readonly path: string
  readonly message: string
}

interface PendingValue {
  readonly value: unknown
  readonly path: string
}

/** Finds the first value that JSON cannot hold, such as the promise at `items.0.owner`. */
function findUnsendable(result: unknown, isDeclared: boolean): UnsendableValue | undefined {
  const body: unknown = result instanceof Reply ? result.body : result
  const pending: PendingValue[] = [{ value: body, path: '' }]
  // The loop also visits values that it adds meanwhile.
  for (const { value, path } of pending) {
    if (pending.length > maxInspectedValues) return undefined
    const found = describeUnsendable(value, path, isDeclared)
    if (found !== undefined) return found
    if (!isData(value)) continue
    for (const [key, member] of Object.entries(value)) {
      if (typeof member !== 'object' || member === null) continue
      pending.push({ value: member, path: path === '' ? key : `${path}.${key}` })
    }
  }
  return undefined
}

function describeUnsendable(
  value: unknown,
  path: string,
  isDeclared: boolean,
): UnsendableValue | undefined {
  const at = path === '' ? '' : ` at ${path}`
  if (isThenable(value)) {
    const message = `returns a promise${at}, which is sent as {}. Await it first.`
    return { code: 'FORGOTTEN_AWAIT', path, message }
  }
  const remedy = remedyFor(value, path, isDeclared)
  if (remedy === undefined) return undefined
  const message = `returns a value of type ${typeName(value)}${at}, which JSON cannot hold. ${remedy}`
  return { code: 'UNSENDABLE_VALUE', path, message }
}

/** What to send instead of objects without members that JSON could write. */
const remedies: Readonly<Record<string, string>> = {
  Map: 'Send Object.fromEntries(map).',
  Set: 'Send a list: [...set].',
  WeakMap: 'Send an object.',
  WeakSet: 'Send a list.',
  Error: 'Throw it, or send its message.',
  DOMException: 'Throw it, or send its message.',
  RegExp: 'Send its source.',
  FormData: 'Send Object.fromEntries(data).',
  URLSearchParams: 'Send Object.fromEntries(parameters).',
  Headers: 'Send Object.fromEntries(headers).',
}

const bytesRemedy =
  "Declare the field with kind blob in a class of `returns`, or send bytes.toString('base64')."

/** @returns undefined for values that JSON can hold, and for complete responses of bytes */
function remedyFor(value: unknown, path: string, isDeclared: boolean): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Blob)
    return path === '' || isDeclared ? undefined : bytesRemedy
  return 'toJSON' in value ? undefined : remedies[typeName(value)]
}

/** The name of a built-in type, such as `Map`, also for values of another realm and for derived classes. */
function typeName(value: unknown): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1)
}

/** True for values that JSON writes by their members. False for bytes, streams and objects with `toJSON`. */
function isData(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    !ArrayBuffer.isView(value) &&
    !(Symbol.asyncIterator in value) &&
    !('toJSON' in value) &&
    !('pipe' in value)
  )
}
