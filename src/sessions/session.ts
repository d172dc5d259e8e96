/** A visitor's data, and what the handler did with it. Source: specification, Request object; decisions, Sessions. */
import { refuseUnknownOptions } from '../errors/unknown-options.js'
import type { Session } from '../http/request.js'

/** A session that exists in the store. */
export interface StoredSession {
  /** SHA-256 of the id. */
  readonly hash: string
  /** JSON text. */
  readonly data: string
}

/** What became of a session while its request was handled. */
export interface SessionOutcome {
  /** Undefined for a visitor without a session. */
  readonly stored: StoredSession | undefined
  /** The data now, as JSON text. */
  readonly data: string
  readonly regenerated: boolean
  readonly destroyed: boolean
  /** A form of another site may begin it. */
  readonly crossSite: boolean
}

/** The data of a session nobody has written to. */
export const emptyData = '{}'

const regenerateOptions: ReadonlySet<string> = new Set(['crossSite'])

/**
 * Its own properties are the data. It has no prototype but the two methods, so that a key of any name is data and no
 * more: `session['__proto__']` and `session['constructor']` reach nothing.
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

  regenerate(options: { readonly crossSite?: boolean } = {}): void {
    refuseUnknownOptions('session.regenerate', options, regenerateOptions)
    this.#regenerated = true
    this.#crossSite = options.crossSite === true
  }

  destroy(): void {
    this.#destroyed = true
    for (const key of Object.keys(this)) Reflect.deleteProperty(this, key)
  }

  static outcomeOf(session: object): SessionOutcome | undefined {
    if (!(#stored in session)) return undefined
    return {
      stored: session.#stored,
      // Nearly every session is empty.
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
 * @throws {SyntaxError} when the stored data is no JSON
 */
export function createSession(stored: StoredSession | undefined): Session {
  const session: Session = new VisitorSession(stored)
  if (stored !== undefined) Object.assign(session, JSON.parse(stored.data))
  return session
}

/**
 * @returns undefined for an object that is no session of ours
 * @throws {TypeError} when the data has no JSON: a cycle or a BigInt
 */
export function readOutcome(session: object): SessionOutcome | undefined {
  return VisitorSession.outcomeOf(session)
}
