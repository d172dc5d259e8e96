/**
 * Sign-ins as data: since when, last use, from where. A sign-in is named by the `jti` that rotation keeps; what was revoked
 * is left out where they are read. Source: decisions, Tokens.
 */

import type { Log } from '../core/log.js'
import type { Claims } from '../http/request.js'
import { clockTolerance } from './jose.js'
import { askStore, toTrace, type Revocations, type TokenTrace } from './revocations.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { OpenTransaction } from '../core/transaction.js'

/** Where people are signed in: notes it, and tells it without what was revoked. Source: decisions, Tokens. */

interface KnownSignInsOptions {
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

/** Somebody's sign-in on one device. Times are by the database's clock where there is one. */
export interface SignInEntry {
  /** For `auth.revoke`, which ends it. The token's `jti`. */
  readonly id: string
  readonly since: Date
  /** The last use, to a minute. */
  readonly last: Date
  /** The `User-Agent` of the last use, at most 255 characters. Null until the token is used. */
  readonly agent: string | null
  /** The client's address at the last use, behind trusted proxies theirs. Null until the token is used. */
  readonly address: string | null
}

/** Where a request comes from. */
export interface Origin {
  readonly agent: string | null
  readonly address: string | null
}

/** A sign-in that began, went on or was used. Times are milliseconds since 1970. */
export interface SignInUse extends Origin {
  readonly id: string
  readonly subject: string
  readonly since: number
  readonly last: number
  /** When its last token runs out. */
  readonly ends: number
}

/** How sign-ins are kept: in memory, or in the database. */
export interface SignIns {
  /** Adds it, or writes what is new: `last`, agent and address where `last` is a minute old, `ends` where it is later. */
  note(use: SignInUse): MaybePromise<unknown>
  /** Those of a subject that have not run out, the last used one first, a thousand at most. */
  of(subject: string, now: number): MaybePromise<readonly SignInUse[]>
  /** Forgets what is kept in memory. */
  reset?(): void
}

/** Milliseconds between two writings of a sign-in. */
export const notedEvery = 60_000

/** The most sign-ins of one subject that are told. */
export const mostSignIns = 1000

const mostKept = 100_000

export function createMemorySignIns(): SignIns {
  const kept = new Map<string, SignInUse>()
  const sweep = (now: number): void => {
    for (const [id, { ends }] of kept) if (ends <= now) kept.delete(id)
    for (const id of kept.keys()) {
      if (kept.size < mostKept) break
      kept.delete(id)
    }
  }
  return {
    note: (use) => {
      const known = kept.get(use.id)
      if (known === undefined) {
        if (kept.size >= mostKept) sweep(use.last)
        kept.set(use.id, use)
      } else if (known.subject === use.subject) kept.set(use.id, toNext(known, use))
    },
    of: (subject, now) =>
      [...kept.values()]
        .filter((use) => use.subject === subject && use.ends > now)
        .sort((one, other) => other.last - one.last)
        .slice(0, mostSignIns),
    reset: () => {
      kept.clear()
    },
  }
}

/** The database's statement says the same in SQL. */
function toNext(known: SignInUse, use: SignInUse): SignInUse {
  const ends = Math.max(known.ends, use.ends)
  const isDue = use.last - known.last >= notedEvery
  const from = isDue || known.address === null ? use : known
  return {
    ...known,
    ends,
    last: isDue ? use.last : known.last,
    agent: from.agent ?? known.agent,
    address: from.address ?? known.address,
  }
}

/** Knows what was noted lately, so that the store is asked once a minute for a sign-in. */
export class NotedSignIns {
  readonly #noted = new Map<string, { readonly at: number; readonly use: SignInUse }>()

  /** @param open the transaction that notes it, and may take that back */
  isNew(use: SignInUse, open: OpenTransaction | undefined): boolean {
    const { id, last: at } = use
    const before = this.#noted.get(id)
    const isKnown =
      before !== undefined &&
      at - before.at < notedEvery &&
      use.ends - before.use.ends < notedEvery &&
      (use.address === null || before.use.address !== null)
    if (isKnown) return false
    if (this.#noted.size >= mostNoted) this.#sweep(at)
    this.#noted.set(id, { at, use })
    open?.onRollback(() => {
      this.#noted.delete(id)
    })
    return true
  }

  forget(id: string): void {
    this.#noted.delete(id)
  }

  clear(): void {
    this.#noted.clear()
  }

  #sweep(now: number): void {
    for (const [id, { at }] of this.#noted) if (now - at >= notedEvery) this.#noted.delete(id)
    if (this.#noted.size >= mostNoted) this.#noted.clear()
  }
}

const mostNoted = 20_000

/** Control characters and halves of characters, which no database keeps and no page shows. */
const odd = /[\p{Cc}\ud800-\udfff]/gu

/** What is kept of a request's head, bounded. */
export function toOrigin(agent: string | undefined, address: string): Origin {
  return {
    agent: agent === undefined ? null : agent.slice(0, 255).replace(odd, ''),
    address: address === '' ? null : address.slice(0, 64).replace(odd, ''),
  }
}
