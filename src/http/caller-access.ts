/**
 * What was read of the caller while an answer is made: an answer that depends on its caller must not be given to
 * another. Source: decisions, "Third storey: nothing silent", Kept answers.
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
interface Watched {
  callerReads: number
  isWatched: boolean
}

/**
 * Notes from now on what is read of the caller of a request.
 *
 * @returns a function that ends the notes and tells what was read
 */
export function trackCallerAccess(request: HttpRequest): () => CallerAccess {
  const watched = request as HttpRequest & Watched
  const before = watched.callerReads
  watched.callerReads = 0
  if (!watched.isWatched) watchIncoming(watched)
  watched.isWatched = true
  return () => {
    const read = watched.callerReads
    watched.callerReads |= before
    return { identity: (read & readsIdentity) !== 0, sent: (read & readsSent) !== 0 }
  }
}

/** What the framework reads for itself tells nobody. */
export function untold<T>(request: HttpRequest, read: () => T): T {
  const watched = request as HttpRequest & Watched
  const before = watched.callerReads
  try {
    return read()
  } finally {
    watched.callerReads = before
  }
}

/** The same headers as Node gives them: `request.incoming.headers`, `rawHeaders`. */
function watchIncoming(request: HttpRequest & Watched): void {
  // Made from the headers of Node, all of which are read for that.
  Reflect.get(request, 'headers')
  const { incoming } = request
  const { headers, rawHeaders } = incoming
  const tell = (): void => {
    request.callerReads |= readsSent
  }
  Object.defineProperties(incoming, {
    headers: { value: watchHeaders(headers, tell), configurable: true },
    rawHeaders: {
      get: () => {
        tell()
        return rawHeaders
      },
      configurable: true,
    },
  })
}

const credentials: ReadonlySet<string | symbol> = new Set(['authorization', 'cookie'])

/** The same headers; tells when a credential is read, or all of them: also where there is none. */
export function watchHeaders<Headers extends object>(headers: Headers, tell: () => void): Headers {
  const look = (name: string | symbol): void => {
    if (credentials.has(name)) tell()
  }
  return new Proxy(headers, {
    get: (target, name) => {
      look(name)
      return Reflect.get(target, name) as unknown
    },
    has: (target, name) => {
      look(name)
      return Reflect.has(target, name)
    },
    ownKeys: (target) => {
      tell()
      return Reflect.ownKeys(target)
    },
  })
}
