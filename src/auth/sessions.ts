/**
 * Sessions: opens the session of a request, and saves it if the handler has changed it. An unused session costs nothing and
 * sets no cookie. An ID that the store does not know is never accepted. Source: decisions, Sessions.
 */

import { hash, randomBytes } from 'node:crypto'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { Session } from '../http/request.js'
import { AddressRates } from '../core/address-counts.js'
import { HttpError } from '../errors/http-error.js'
import { readSoleCookie, toSetCookie } from '../http/cookies.js'
import type { Log } from '../core/log.js'
import { isCrossSiteForm } from '../http/request-origin.js'
import { sessionRefusal } from '../http/refusals.js'
import type { ServerRequest } from '../http/server-request.js'
import { Visitor } from '../http/visitor.js'
import { after, attempt } from '../core/maybe-promise.js'
import type { SessionStore } from './session-stores.js'

/** A session that exists in the store. */
interface StoredSession {
  /** SHA-256 of the ID. */
  readonly hash: string
  /** JSON text. */
  readonly data: string
}

/** The state of a session after its request was handled. */
interface SessionOutcome {
  /** Undefined for a visitor without a session. */
  readonly stored: StoredSession | undefined
  /** The current data, as JSON text. */
  readonly data: string
  readonly regenerated: boolean
  readonly destroyed: boolean
  /** True if a form of another site may begin the session. */
  readonly crossSite: boolean
}

/** The data of a session without entries. */
const emptyData = '{}'
/** Stored in place of a session that `regenerate` has moved to another ID. */
const movedData = 'null'
/** Milliseconds for which requests with the replaced ID may still arrive. */
const movedLifetime = 60_000

const regenerateOptions = declareOptions({
  /** A form of another site may begin the session. Default false. */
  crossSite: option.flag(),
})

/**
 * A session whose own properties are the data. Its prototype has only the two methods, so that a key of any name is
 * plain data: `session['__proto__']` and `session['constructor']` reach nothing.
 */
class VisitorSession implements Session {
  [key: string]: unknown
  readonly #stored: StoredSession | undefined
  #regenerated = false
  #destroyed = false
  #crossSite = false

  constructor(stored: StoredSession | undefined) {
    this.#stored = stored
  }

  regenerate(options: OptionsOf<typeof regenerateOptions> = {}): void {
    regenerateOptions.check('session.regenerate', options)
    this.#regenerated = true
    this.#crossSite = options.crossSite === true
  }

  destroy(): void {
    this.#destroyed = true
    for (const key of Object.keys(this)) Reflect.deleteProperty(this, key)
  }

  /**
   * @returns undefined for an object that this module did not create
   * @throws {TypeError} if the data cannot be written as JSON, because of a cycle or a BigInt
   */
  static outcomeOf(session: object): SessionOutcome | undefined {
    if (!(#stored in session)) return undefined
    return {
      stored: session.#stored,
      // Nearly every session is empty, so skip the serialization.
      data: Object.keys(session).length === 0 ? emptyData : JSON.stringify(session),
      regenerated: session.#regenerated,
      destroyed: session.#destroyed,
      crossSite: session.#crossSite,
    }
  }
}

const { prototype } = VisitorSession
Reflect.deleteProperty(prototype, 'constructor')
Object.setPrototypeOf(prototype, null)
Object.freeze(prototype)

/**
 * @param stored undefined for a visitor without a session
 * @throws {SyntaxError} if the stored data is not JSON
 */
function createSession(stored: StoredSession | undefined): Session {
  const session: Session = new VisitorSession(stored)
  if (stored !== undefined) Object.assign(session, JSON.parse(stored.data))
  return session
}

/** The session of a visitor without a cookie, when it is first read. */
function createEmptySession(): Session {
  return createSession(undefined)
}

export interface SessionManager {
  /**
   * Sets `request.session`. Asynchronous only if the request has a cookie and the store returns a promise.
   *
   * @throws {HttpError} 503 if the store is unavailable, because an empty session would sign the visitor out
   */
  open(request: ServerRequest): void | Promise<void>
  /**
   * Stores changes, and sets or clears the cookie. Runs after the handler and before the response.
   *
   * @throws {TypeError} if the data cannot be written as JSON
   * @throws {HttpError} 403 if a form of another site would begin the session
   * @throws {HttpError} 429 if an address begins too many sessions
   * @throws {HttpError} 503 if the store fails, so that a sign-in or sign-out is not confirmed by mistake
   */
  save(request: ServerRequest): void | Promise<void>
}

interface SessionManagerOptions {
  readonly store: SessionStore
  /** Seconds after the last change until a session expires. Default: 7,200. */
  readonly idle?: number
  readonly log: Log
  /** Maximum sessions that one address may begin per minute. Further ones get 429. Default: `Infinity`. */
  readonly maxByAddress?: number
  /** Returns milliseconds since 1970. Default: the system clock. */
  readonly now?: () => number
}

/** 256 bits in base64url. Other values are not looked up. */
const idForm = /^[\w-]{43}$/
/** Milliseconds between two sweeps of the store. */
const sweepEvery = 300_000

export function createSessionManager(options: SessionManagerOptions): SessionManager {
  const { store, idle = 7200, log, now = Date.now, maxByAddress = Infinity } = options
  const sessionRates = new AddressRates(maxByAddress, now)
  /** Hashes of sessions that were moved, or whose data could not be read. Writes to them must not replace the stored data. */
  const unread = new WeakMap<Session, string>()
  let sweptAt = now()

  /** Opens an empty session whose changes are dropped, so that they neither replace the stored data nor set a cookie. */
  const openUnwritable = (request: ServerRequest, hash: string): void => {
    const session = createSession(undefined)
    request.visitor = new Visitor(session, false)
    unread.set(session, hash)
  }

  const openStored = (request: ServerRequest, hash: string, data: string | undefined): void => {
    const isExisting = data !== undefined
    try {
      if (data === movedData) {
        openUnwritable(request, hash)
        return
      }
      const session = createSession(isExisting ? { hash, data } : undefined)
      request.visitor = new Visitor(session, isExisting)
    } catch (error) {
      // Retrying would not help. The stored data stays unchanged.
      openUnwritable(request, hash)
      log.error({ err: error }, 'a stored session is not JSON, so the request has an empty session')
    }
  }

  const create = (request: ServerRequest, data: string): void | Promise<void> => {
    const id = randomBytes(32).toString('base64url')
    return after(store.write(toHash(id), data, now() + idle * 1000, false), () => {
      setCookie(request, id)
    })
  }
  /** @throws {HttpError} 429 if the address has begun too many sessions */
  const begin = (request: ServerRequest, data: string): void | Promise<void> => {
    const wait = sessionRates.take(request.ip)
    if (wait > 0) throw sessionRefusal(wait)
    return create(request, data)
  }
  const replace = (
    request: ServerRequest,
    outcome: SessionOutcome,
    old: string,
  ): void | Promise<void> => {
    const { data, destroyed } = outcome
    if (!destroyed || data !== emptyData) {
      checkCrossSite(request, outcome)
      // A late request with the old ID must not begin a session, whose cookie would replace the new one.
      const isMoved = !destroyed && outcome.stored !== undefined
      const removed = isMoved
        ? store.write(old, movedData, now() + movedLifetime, true)
        : store.remove(old)
      return after(removed, () => create(request, data))
    }
    // Clear the browser's cookie even if the store fails.
    setCookie(request, undefined)
    return store.remove(old)
  }
  const write = (request: ServerRequest, outcome: SessionOutcome): void | Promise<void> => {
    const { stored, data } = outcome
    const session = request.visitor?.session
    const old = stored?.hash ?? (session && unread.get(session))
    const isReplaced = outcome.destroyed || outcome.regenerated
    if (old !== undefined && isReplaced) return replace(request, outcome, old)
    if (stored !== undefined) {
      if (data === stored.data) return undefined
      return store.write(stored.hash, data, now() + idle * 1000, true)
    }
    if (data === emptyData || old !== undefined) return undefined
    checkCrossSite(request, outcome)
    return begin(request, data)
  }
  const sweep = (): void => {
    if (store.sweep === undefined || now() - sweptAt < sweepEvery) return
    sweptAt = now()
    void attempt(
      () => store.sweep?.(sweptAt),
      (error) => {
        log.error({ err: error }, 'old sessions cannot be dropped')
      },
    )
  }

  return {
    open: (request) => {
      const id = readId(request)
      if (id === undefined) {
        request.visitor = new Visitor(createEmptySession, false)
        return undefined
      }
      const name = toHash(id)
      return attempt(
        () =>
          after(store.read(name, now()), (data) => {
            openStored(request, name, data)
          }),
        refuse,
      )
    },
    save: (request) => {
      const session = request.visitor?.session
      if (session === undefined) return undefined
      const outcome = VisitorSession.outcomeOf(session)
      if (outcome === undefined) return undefined
      sweep()
      return attempt(() => write(request, outcome), refuse)
    },
  }
}

function readId(request: ServerRequest): string | undefined {
  const { cookie } = request.incoming.headers
  if (cookie === undefined) return undefined
  const id = readSoleCookie(cookie, request.cookieNames.session)
  return id !== undefined && idForm.test(id) ? id : undefined
}

/**
 * Prevents a page of another site from signing its visitor in as another user, or from replacing the visitor's session.
 *
 * @throws {HttpError} 403
 */
function checkCrossSite(request: ServerRequest, { crossSite }: SessionOutcome): void {
  if (crossSite || !isCrossSiteForm(request) || request.allowsCredentials) return
  const reason = 'a form of another site sent a request that would begin a session'
  throw new HttpError(403, 'Forbidden', { reason })
}

/** @param id undefined clears the cookie */
function setCookie(request: ServerRequest, id: string | undefined): void {
  const { cookieSecure: secure, cookieNames } = request
  const cookie = toSetCookie(
    cookieNames.session,
    id ?? '',
    id === undefined ? { secure, maxAge: 0 } : { secure },
  )
  request.addHeader('Set-Cookie', cookie)
}

function toHash(id: string): string {
  return hash('sha256', id, 'base64url')
}

/** Responds with 503, because the store may recover shortly. The log gets the cause. */
function refuse(error: unknown): never {
  if (error instanceof HttpError) throw error
  throw new HttpError(503, 'Sessions are not available at the moment.', {
    code: 'SESSIONS_UNAVAILABLE',
    headers: { 'retry-after': '1' },
    cause: error,
  })
}
