/**
 * What was read of the caller while an answer is made: an answer that depends on its caller must not be given to
 * another. Source: decisions, Operations.
 */
import type { HttpRequest } from './request.js'

export interface CallerAccess {
  /** `user` or `auth`, also by the rules of records: their `rows`, their secured fields. */
  readonly identity: boolean
  /** Cookies, the session, `Authorization`, or all headers: what tells callers apart whom the gate does not know. */
  readonly sent: boolean
}

/** Bits of `ServerRequest.callerReads`. */
export const readsIdentity = 1
export const readsSent = 2

/** The part of a request that is needed here. */
interface TrackedRequest {
  callerReads: number
  isWatched: boolean
}

/**
 * Notes from now on what is read of the caller of a request.
 *
 * @returns a function that ends the notes and tells what was read
 */
export function trackCallerAccess(request: HttpRequest): () => CallerAccess {
  const tracked = request as HttpRequest & TrackedRequest
  const before = tracked.callerReads
  tracked.callerReads = 0
  if (!tracked.isWatched) watchIncoming(tracked)
  tracked.isWatched = true
  return () => {
    const read = tracked.callerReads
    tracked.callerReads |= before
    return { identity: (read & readsIdentity) !== 0, sent: (read & readsSent) !== 0 }
  }
}

/** What the framework reads for itself tells nobody. */
export function withoutTracking<T>(request: HttpRequest, read: () => T): T {
  const tracked = request as HttpRequest & TrackedRequest
  const before = tracked.callerReads
  try {
    return read()
  } finally {
    tracked.callerReads = before
  }
}

/** The same headers as Node gives them: `request.incoming.headers`, `rawHeaders`. */
function watchIncoming(request: HttpRequest & TrackedRequest): void {
  // Made from the headers of Node, all of which are read for that.
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

const credentials: ReadonlySet<string | symbol> = new Set(['authorization', 'cookie'])

/** The same headers; tells when a credential is read, or all of them: also where there is none. */
export function watchHeaders<Headers extends object>(
  headers: Headers,
  report: () => void,
): Headers {
  const check = (name: string | symbol): void => {
    if (credentials.has(name)) report()
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
