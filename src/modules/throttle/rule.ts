/** What a limit says, read from how it is written: `100/m` by address. */
import { createHash } from 'node:crypto'
import {
  readRate,
  rejectUnknownOptions,
  type ApplicationState,
  type HttpRequest,
  type Rate,
  type RequestAuth,
  type RouteInfo,
} from '../../index.js'

/**
 * Which requests share a count: those of an address, of a user, with the same value in a field of the body, or with the same
 * key. Requests with the key `undefined`, or without the field, are not counted. What asks for the body counts behind its
 * check.
 */
export type ThrottleBy =
  | 'ip'
  | 'user'
  | `body.${string}`
  // `never`, so that the function names the class that its route declares.
  | ((request: HttpRequest, body: never) => string | undefined)

export interface ThrottleRule {
  /** Default `'ip'`. */
  by?: ThrottleBy
  /** Where requests are counted. Default: as `throttle` says, otherwise in memory. */
  store?: 'memory' | 'database'
}

/** A limit, parsed. */
export interface Limit extends Rate {
  /** The limit as it was written, quoted, for headers. */
  readonly label: string
  /** The header `RateLimit-Policy`. */
  readonly policy: string
}

export interface RuleProblem {
  readonly message: string
  readonly remedy: string
}

/** @returns `undefined` if it is not a limit */
export function readLimit(text: unknown): Limit | undefined {
  const rate = readRate(text)
  if (rate === undefined) return undefined
  const label = `"${String(text)}"`
  const policy = `${label};q=${rate.most};w=${rate.window / 1000}`
  return { most: rate.most, window: rate.window, label, policy }
}

/** @param more the names of options besides those of the rule */
export function findRuleProblems(
  limit: unknown,
  rule: unknown,
  more: readonly string[] = [],
): RuleProblem[] {
  const problems: RuleProblem[] = []
  if (readLimit(limit) === undefined) {
    problems.push({
      message: `limit is ${JSON.stringify(limit)}`,
      remedy: "Write requests and a time: '5/m', '100/15m', '1000/h'.",
    })
  }
  if (typeof rule !== 'object' || rule === null) {
    problems.push({ message: 'its options are not an object', remedy: "Write { by: 'user' }." })
    return problems
  }
  const { by, store } = rule as Record<string, unknown>
  const isValidBy = [undefined, 'ip', 'user'].includes(by as never) || typeof by === 'function'
  if (!isValidBy && bodyFieldOf(by) === undefined) {
    problems.push({
      message: `by is ${JSON.stringify(by)}`,
      remedy: "Write 'ip', 'user', 'body.name', (request) => key or (request, body) => key.",
    })
  }
  if (![undefined, 'memory', 'database'].includes(store as never)) {
    problems.push({
      message: `store is ${JSON.stringify(store)}`,
      remedy: "Write 'memory' or 'database'.",
    })
  }
  return [...problems, ...rejectUnknownOptions(rule, [...more, 'by', 'store'])]
}

/** `name` of `'body.name'`; undefined where it is none. */
function bodyFieldOf(by: unknown): string | undefined {
  return typeof by === 'string' ? /^body\.([^.\s]+)$/.exec(by)?.[1] : undefined
}

/** True where the body has to be there before a request can be counted. */
export function requiresBody(by: ThrottleBy): boolean {
  return bodyFieldOf(by) !== undefined || (typeof by === 'function' && by.length > 1)
}

/** @returns what is wrong with a limit by the body on this route */
export function findBodyProblems(by: ThrottleBy, { body, name }: RouteInfo): RuleProblem[] {
  const field = bodyFieldOf(by)
  if (!requiresBody(by) || (field !== undefined && body?.includes(field) === true)) return []
  if (body === undefined) {
    const remedy = `Declare its body: @Post('/', { body: Credentials }), or count by 'ip'.`
    return [{ message: `counts by the body, and ${name} declares no class for one`, remedy }]
  }
  if (field === undefined) return []
  const remedy = `Its fields are ${body.join(', ')}.`
  return [{ message: `by names ${field}, which the body of ${name} does not have`, remedy }]
}

/** The key of the count; undefined is not counted. */
export type KeyReader = (request: HttpRequest) => string | undefined | Promise<string | undefined>

/** Anonymous requests are counted by address. */
export function toKeyReader(by: ThrottleBy, state: ApplicationState): KeyReader {
  if (by === 'user') return (request) => toCallerKey(request, state)
  if (by === 'ip') return (request) => `ip ${networkOf(request.ip)}`
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
 * One key for all ways to write a name: `Ada`, ` ada ` and full-width letters. Its hash, because values may be long, and
 * people's names have no place in a table of counts.
 */
function toBodyKey(field: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const plain = text.normalize('NFKC').trim().toLowerCase()
  return `body.${field} ${createHash('sha256').update(plain, 'utf16le').digest('base64url')}`
}

/** On open routes nobody else asks who calls. Who cannot be known now, for want of the database, is counted by address. */
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
  return sub === undefined ? `ip ${networkOf(request.ip)}` : `user ${sub}`
}

/** A single connection may have 2^64 IPv6 addresses: they are counted as one. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [front = '', back] = address.replace(/%.*$/, '').split('::')
  const before = front === '' ? [] : front.split(':')
  const after = back === undefined || back === '' ? [] : back.split(':')
  const missingGroups = back === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array<string>(missingGroups).fill('0'), ...after]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')}::/64`
}
