/**
 * The current sign-ins of users: their start, last use, and origin. A sign-in is identified by the `jti` of its tokens.
 * Revoked ones are filtered when they are read. Source: decisions, Tokens.
 */

import type { Log } from '../core/log.js'
import type { Claims } from '../http/request.js'
import { clockTolerance } from './tokens.js'
import { queryStore, toTrace, type Revocations, type TokenTrace } from './revocations.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { OpenTransaction } from '../core/transaction.js'

interface SignInRegistryOptions {
  readonly store: SignIns
  readonly revocations: Revocations
  readonly log: Log
  /** Milliseconds since 1970, of this process. */
  readonly now: () => number
  /** Milliseconds since 1970 by the clock that all processes share. */
  readonly sharedTime: () => number
}

export class SignInRegistry {
  readonly #options: SignInRegistryOptions
  readonly #recent = new RecentSignIns()

  constructor(options: SignInRegistryOptions) {
    this.#options = options
  }

  /** Never fails, because a sign-in must not depend on recording it. */
  async record(claims: Claims, origin: Origin = { agent: null, address: null }): Promise<void> {
    const { store, revocations, log, sharedTime } = this.#options
    const { name, subject, signedIn } = toTrace(claims)
    if (subject === undefined) return
    const since = signedIn * 1000
    const ends = ((claims.exp ?? 0) + clockTolerance) * 1000
    const use: SignInUse = { id: name, subject, since, last: sharedTime(), ends, ...origin }
    if (!this.#recent.isNew(use, revocations.openTransaction?.())) return
    try {
      await store.record(use)
    } catch (error) {
      this.#recent.forget(name)
      log.debug({ err: error }, 'a sign-in cannot be recorded')
    }
  }

  /** @param subject as it is stored @throws {HttpError} 503 if the database cannot be queried */
  async list(subject: string): Promise<SignInEntry[]> {
    const { store, revocations, now, sharedTime } = this.#options
    const uses = await queryStore(() => store.list(subject, sharedTime()))
    const traces = uses.map(({ id, since }) => ({
      name: id,
      subject,
      signedIn: Math.floor(since / 1000),
    }))
    const ended = await queryStore(() => revocations.among(traces, now()))
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
    this.#recent.clear()
    this.#options.store.reset?.()
  }
}

/** A sign-in of a user on one device. Times are by the database's clock, if there is one. */
export interface SignInEntry {
  /** The token's `jti`. `auth.revoke(id)` ends the sign-in. */
  readonly id: string
  readonly since: Date
  /** The last use, to a minute. */
  readonly last: Date
  /** The `User-Agent` of the last use, at most 255 characters. Null until the token is used. */
  readonly agent: string | null
  /** The client's address at the last use, with `trustProxy` as the proxies report it. Null until the token is used. */
  readonly address: string | null
}

/** The origin of a request. */
export interface Origin {
  readonly agent: string | null
  readonly address: string | null
}

/** A started, renewed or used sign-in. Times are milliseconds since 1970. */
export interface SignInUse extends Origin {
  readonly id: string
  readonly subject: string
  readonly since: number
  readonly last: number
  /** The time at which its last token expires. */
  readonly ends: number
}

/** The store of sign-ins, in memory or in the database. */
export interface SignIns {
  /** Inserts it, or updates `last`, agent and address if `last` is a minute old, and `ends` if it is later. */
  record(use: SignInUse): MaybePromise<unknown>
  /** The sign-ins of a subject that have not expired, the last used one first, at most a thousand. */
  list(subject: string, now: number): MaybePromise<readonly SignInUse[]>
  /** Clears the sign-ins in memory. */
  reset?(): void
}

/** Milliseconds between two writings of a sign-in. */
export const recordInterval = 60_000

/** The maximum number of returned sign-ins of one subject. */
export const maxSignIns = 1000

const maxEntries = 100_000

export function createMemorySignIns(): SignIns {
  const entries = new Map<string, SignInUse>()
  const sweep = (now: number): void => {
    for (const [id, { ends }] of entries) if (ends <= now) entries.delete(id)
    for (const id of entries.keys()) {
      if (entries.size < maxEntries) break
      entries.delete(id)
    }
  }
  return {
    record: (use) => {
      const existing = entries.get(use.id)
      if (existing === undefined) {
        if (entries.size >= maxEntries) sweep(use.last)
        entries.set(use.id, use)
      } else if (existing.subject === use.subject) entries.set(use.id, toNext(existing, use))
    },
    list: (subject, now) =>
      [...entries.values()]
        .filter((use) => use.subject === subject && use.ends > now)
        .sort((one, other) => other.last - one.last)
        .slice(0, maxSignIns),
    reset: () => {
      entries.clear()
    },
  }
}

/** The database store does the same in SQL. */
function toNext(existing: SignInUse, use: SignInUse): SignInUse {
  const ends = Math.max(existing.ends, use.ends)
  const isDue = use.last - existing.last >= recordInterval
  const from = isDue || existing.address === null ? use : existing
  return {
    ...existing,
    ends,
    last: isDue ? use.last : existing.last,
    agent: from.agent ?? existing.agent,
    address: from.address ?? existing.address,
  }
}

/** Recently recorded sign-ins, so that the store is used at most once a minute for each. */
class RecentSignIns {
  readonly #recent = new Map<string, { readonly at: number; readonly use: SignInUse }>()

  /** @param open the transaction that records it, which may be rolled back */
  isNew(use: SignInUse, open: OpenTransaction | undefined): boolean {
    const { id, last: at } = use
    const previous = this.#recent.get(id)
    const isRecent =
      previous !== undefined &&
      at - previous.at < recordInterval &&
      use.ends - previous.use.ends < recordInterval &&
      (use.address === null || previous.use.address !== null)
    if (isRecent) return false
    if (this.#recent.size >= maxRecent) this.#sweep(at)
    this.#recent.set(id, { at, use })
    open?.onRollback(() => {
      this.#recent.delete(id)
    })
    return true
  }

  forget(id: string): void {
    this.#recent.delete(id)
  }

  clear(): void {
    this.#recent.clear()
  }

  #sweep(now: number): void {
    for (const [id, { at }] of this.#recent) if (now - at >= recordInterval) this.#recent.delete(id)
    if (this.#recent.size >= maxRecent) this.#recent.clear()
  }
}

const maxRecent = 20_000

/** Control characters and unpaired surrogates, which databases cannot store. */
const unstorable = /[\p{Cc}\ud800-\udfff]/gu

/** The stored parts of a request's head, with limited length. */
export function toOrigin(agent: string | undefined, address: string): Origin {
  return {
    agent: agent === undefined ? null : agent.slice(0, 255).replace(unstorable, ''),
    address: address === '' ? null : address.slice(0, 64).replace(unstorable, ''),
  }
}
