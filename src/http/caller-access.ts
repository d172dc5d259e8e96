/**
 * Tracks whether a response depends on its caller, so that it is not cached for another caller. Source: decisions,
 * Operations.
 */
import type { HttpRequest } from './request.js'

export interface CallerAccess {
  /** `user` or `auth` were read, also by rules of records (`rows`, secured fields). */
  readonly identity: boolean
  /** Cookies, the session, or headers that may distinguish callers without a token were read. */
  readonly sent: boolean
}

/** Bits of `ServerRequest.callerReads`. */
export const readsIdentity = 1
export const readsSent = 2

/** The part of a request that is needed here. */
interface TrackedRequest {
  callerReads: number
  watch(): void
}

/** Starts tracking which parts of the caller are read. @returns a function that stops and returns the result */
export function trackCallerAccess(request: HttpRequest): () => CallerAccess {
  const tracked = request as HttpRequest & TrackedRequest
  const before = tracked.callerReads
  tracked.callerReads = 0
  tracked.watch()
  return () => {
    const read = tracked.callerReads
    tracked.callerReads |= before
    return { identity: (read & readsIdentity) !== 0, sent: (read & readsSent) !== 0 }
  }
}

/** Reads something for the framework itself, without tracking. */
export function withoutTracking<T>(request: HttpRequest, read: () => T): T {
  const tracked = request as HttpRequest & TrackedRequest
  const before = tracked.callerReads
  try {
    return read()
  } finally {
    tracked.callerReads = before
  }
}

/** Tracks the headers of Node: `request.incoming.headers`, `rawHeaders`. */
export function watchIncoming(request: HttpRequest & Pick<TrackedRequest, 'callerReads'>): void {
  // Created from all headers of Node, so create it before tracking.
  Reflect.get(request, 'headers')
  const { incoming } = request
  const { headers, rawHeaders } = incoming
  const report = (): void => {
    request.callerReads |= readsSent
  }
  Object.defineProperties(incoming, {
    headers: { value: watchHeaders(headers, report), configurable: true },
    rawHeaders: {
      get: () => {
        report()
        return rawHeaders
      },
      configurable: true,
    },
  })
}

/** Headers that describe the transfer. A response for one value of them is valid for every caller. */
const transferHeaders: ReadonlySet<string | symbol> = new Set([
  ...['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'expect'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since'],
  ...['last-event-id', 'range', 'transfer-encoding', 'upgrade', 'x-request-id'],
  ...['traceparent', 'tracestate', 'baggage'],
])

/** Wraps headers to report when one that may distinguish callers, or all of them, are read, even if they are missing. */
export function watchHeaders<Headers extends object>(
  headers: Headers,
  report: () => void,
): Headers {
  const check = (name: string | symbol): void => {
    if (typeof name === 'string' && !transferHeaders.has(name)) report()
  }
  return new Proxy(headers, {
    get: (target, name) => {
      check(name)
      return Reflect.get(target, name) as unknown
    },
    has: (target, name) => {
      check(name)
      return Reflect.has(target, name)
    },
    ownKeys: (target) => {
      report()
      return Reflect.ownKeys(target)
    },
  })
}
