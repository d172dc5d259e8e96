/** Limits and rules: parses `'100/m'`, checks options, and reads the key that requests are counted by. */
import { createHash } from 'node:crypto'
import {
  addressKey,
  normalizeText,
  readRate,
  declareOptions,
  option,
  type ApplicationState,
  type DecoratorProblem,
  type HttpRequest,
  type OptionsOf,
  type Rate,
  type RequestAuth,
  type RouteInfo,
} from '../../index.js'

/**
 * Which requests share a count: requests of one address, of one user, with the same value in a field of the body, or with the same
 * key. Requests with the key `undefined`, or without the field, are not counted. Rules that need the body count after it is checked.
 */
export type ThrottleBy =
  | 'ip'
  | 'user'
  | `body.${string}`
  // `never`, so that the function can declare the class of its body.
  | ((request: HttpRequest, body: never) => string | undefined)

export const limitOption = option
  .parsed<string, RequestLimit>(toLimit, "Write requests and a time: '5/m', '100/15m', '1000/h'.")
  .shown()
  .required('1/s')

export const throttleRule = declareOptions({
  /** Which requests share a count. Default `'ip'`. */
  by: option
    .of<ThrottleBy>(
      isBy,
      "Write 'ip', 'user', 'body.name', (request) => key or (request, body) => key.",
    )
    .shown()
    .default('ip'),
  /** Where requests are counted. Default: the store of `throttle`, otherwise memory. */
  store: option.oneOf('memory', 'database').shown(),
})

export interface ThrottleRule extends OptionsOf<typeof throttleRule> {}

/** A parsed limit. */
export interface RequestLimit extends Rate {
  readonly text: string
  /** The quoted text of the limit, for headers. */
  readonly label: string
  /** The header `RateLimit-Policy`. */
  readonly policy: string
}

function toLimit(value: unknown): RequestLimit | undefined {
  const rate = readRate(value)
  if (rate === undefined) return undefined
  const text = String(value)
  const label = `"${text}"`
  return { ...rate, text, label, policy: `${label};q=${rate.limit};w=${rate.window / 1000}` }
}

function isBy(value: unknown): boolean {
  return (
    value === 'ip' ||
    value === 'user' ||
    typeof value === 'function' ||
    bodyFieldOf(value) !== undefined
  )
}

/** Returns `name` for `'body.name'`; undefined for anything else. */
function bodyFieldOf(by: unknown): string | undefined {
  return typeof by === 'string' ? /^body\.([^.\s]+)$/.exec(by)?.[1] : undefined
}

/** True if the body must be read before a request can be counted. */
export function requiresBody(by: ThrottleBy): boolean {
  return bodyFieldOf(by) !== undefined || (typeof by === 'function' && by.length > 1)
}

/** @returns problems of a limit by body on this route */
export function findBodyProblems(by: ThrottleBy, { body, name }: RouteInfo): DecoratorProblem[] {
  const field = bodyFieldOf(by)
  if (!requiresBody(by) || (field !== undefined && body?.includes(field) === true)) return []
  if (body === undefined) {
    const remedy = `Declare its body: @Post('/', { body: Credentials }), or count by 'ip'.`
    return [{ message: `counts by the body, but ${name} does not declare its class`, remedy }]
  }
  if (field === undefined) return []
  const remedy = `Its fields are ${body.join(', ')}.`
  return [{ message: `by names ${field}, which the body of ${name} does not have`, remedy }]
}

/** The key that a request is counted by; undefined: it is not counted. */
export type KeyReader = (request: HttpRequest) => string | undefined | Promise<string | undefined>

/** Anonymous requests are counted by address. */
export function toKeyReader(by: ThrottleBy, state: ApplicationState): KeyReader {
  if (by === 'user') return (request) => toCallerKey(request, state)
  if (by === 'ip') return (request) => `ip ${addressKey(request.ip)}`
  const field = bodyFieldOf(by)
  if (field !== undefined)
    return ({ body }) => toBodyKey(field, (body as Record<string, unknown> | undefined)?.[field])
  if (typeof by === 'string') return () => undefined
  return (request) => {
    const key = by(request, request.body as never)
    return key === undefined ? undefined : `key ${key}`
  }
}

/**
 * All spellings of a name have one key: `Ada`, ` ada ` and full-width letters. It is hashed, because values may be long and personal.
 */
function toBodyKey(field: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const plain = normalizeText(text, 'NFKC').trim().toLowerCase()
  return `body.${field} ${createHash('sha256').update(plain, 'utf16le').digest('base64url')}`
}

/**
 * Reads the caller, also on open routes. If the database is down and the caller is unknown, the request is counted by address.
 */
function toCallerKey(request: HttpRequest, state: ApplicationState): string | Promise<string> {
  const caller = state.callerOf(request)
  return caller instanceof Promise
    ? caller.then(
        (auth) => toUserKey(request, auth),
        () => toUserKey(request, undefined),
      )
    : toUserKey(request, caller)
}

function toUserKey(request: HttpRequest, auth: RequestAuth | undefined): string {
  if (auth?.by === 'key') return 'operator'
  const sub = auth?.claims?.sub
  return sub === undefined ? `ip ${addressKey(request.ip)}` : `user ${sub}`
}
