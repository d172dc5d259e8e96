/** The session of a request. Set by `auth/sessions.ts`. */
import type { Session } from './request.js'

export class Visitor {
  readonly #create: (() => Session) | undefined
  readonly #isKnown: boolean
  #session: Session | undefined
  #isRead = false

  /**
   * @param session a function creates it when it is first read
   * @param isKnown whether it existed before the request
   */
  constructor(session: Session | (() => Session), isKnown: boolean) {
    if (typeof session === 'function') this.#create = session
    else this.#session = session
    this.#isKnown = isKnown
  }

  /** The session, for the application. */
  read(): Session | undefined {
    this.#isRead = true
    return (this.#session ??= this.#create?.())
  }

  /** The session, for saving it; undefined if it was not created. */
  get session(): Session | undefined {
    return this.#session
  }

  /** Whether an existing session was read, so that the response is for this visitor only. */
  get isRead(): boolean {
    return this.#isKnown && this.#isRead
  }
}
