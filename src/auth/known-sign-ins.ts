/** Where people are signed in: notes it, and tells it without what was revoked. Source: decisions, "Third storey: signing in". */
import type { Log } from '../core/log.js'
import type { Claims } from '../http/request.js'
import { clockTolerance } from './jose.js'
import { askStore, toTrace, type Revocations, type TokenTrace } from './revocations.js'
import {
  NotedSignIns,
  type Origin,
  type SignInEntry,
  type SignIns,
  type SignInUse,
} from './sign-ins.js'

export interface KnownSignInsOptions {
  readonly store: SignIns
  readonly revocations: Revocations
  readonly log: Log
  /** Milliseconds since 1970, of this process. */
  readonly now: () => number
  /** The same by the clock of all processes. */
  readonly sharedTime: () => number
}

export class KnownSignIns {
  readonly #options: KnownSignInsOptions
  readonly #noted = new NotedSignIns()

  constructor(options: KnownSignInsOptions) {
    this.#options = options
  }

  /** Never fails: who signs in is not refused because nobody can note it. */
  async note(claims: Claims, origin: Origin = { agent: null, address: null }): Promise<void> {
    const { store, revocations, log, sharedTime } = this.#options
    const { name, subject, signedIn } = toTrace(claims)
    if (subject === undefined) return
    const since = signedIn * 1000
    const ends = ((claims.exp ?? 0) + clockTolerance) * 1000
    const use: SignInUse = { id: name, subject, since, last: sharedTime(), ends, ...origin }
    if (!this.#noted.isNew(use, revocations.openTransaction?.())) return
    try {
      await store.note(use)
    } catch (error) {
      this.#noted.forget(name)
      log.debug({ err: error }, 'a sign-in cannot be noted')
    }
  }

  /**
   * @param subject as it is stored
   * @throws {HttpError} 503 where the database cannot be asked
   */
  async of(subject: string): Promise<SignInEntry[]> {
    const { store, revocations, now, sharedTime } = this.#options
    const uses = await askStore(() => store.of(subject, sharedTime()))
    const traces = uses.map(({ id, since }) => ({
      name: id,
      subject,
      signedIn: Math.floor(since / 1000),
    }))
    const ended = await askStore(() => revocations.among(traces, now()))
    return uses
      .filter((_, index) => !ended.has(traces[index] as TokenTrace))
      .map(({ id, since, last, agent, address }) => ({
        id,
        since: new Date(since),
        last: new Date(last),
        agent,
        address,
      }))
  }

  clear(): void {
    this.#noted.clear()
    this.#options.store.reset?.()
  }
}
