/** Tokens that were revoked before they expired. Source: decisions, Tokens. */

import { AsyncResource } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import type { Log } from '../core/log.js'
import type { Claims } from '../http/request.js'
import { MemoryExpiringStore, type ExpiringStore } from '../core/expiring-store.js'
import { after, attempt, type MaybePromise } from '../core/maybe-promise.js'
import { TransactionError, type OpenTransaction } from '../core/transaction.js'
import { isStorable } from '../core/text.js'
import { HttpError } from '../errors/http-error.js'
import { firstSignIn } from './tokens.js'

/** Milliseconds between two checks for revocations by other processes. */
const checkInterval = 2000

interface WatchedTokensOptions {
  readonly revocations: Revocations
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Receives the watched tokens that were revoked by other processes; calls `endRevoked`. */
  readonly onRevoked: (names: ReadonlySet<string>) => void
}

export class WatchedTokens {
  readonly #options: WatchedTokensOptions
  readonly #watched = new Map<TokenTrace, () => void>()
  /** Opened since the last check: their token may have been revoked after the gate. */
  readonly #newlyWatched: TokenTrace[] = []
  /** Created at the start, outside any transaction, whose context the checks would inherit. */
  readonly #outside = new AsyncResource('filigree.auth')
  #timer: NodeJS.Timeout | undefined
  #isChecking = false
  #isFailing = false

  constructor(options: WatchedTokensOptions) {
    this.#options = options
  }

  /**
   * @param end called once when the token is revoked. Must not throw
   * @returns a function that ends the watch
   */
  watch(claims: Claims, end: () => void): () => void {
    const trace = toTrace(claims)
    this.#watched.set(trace, end)
    this.#newlyWatched.push(trace)
    if (this.#newlyWatched.length === 1)
      this.#outside.runInAsyncScope(() =>
        setImmediate(() => void this.#check(this.#newlyWatched.splice(0))),
      )
    if (this.#options.revocations.trustFor !== undefined) this.#start()
    return () => {
      this.#watched.delete(trace)
      if (this.#watched.size === 0) this.#stop()
    }
  }

  /** Ends the streams of revoked tokens. */
  endRevoked(isRevoked: (trace: TokenTrace) => boolean): void {
    for (const trace of this.#watched.keys()) if (isRevoked(trace)) this.#end(trace)
  }

  /** Starts one timer for all watches. It never keeps the process alive. */
  #start(): void {
    this.#timer ??= this.#outside.runInAsyncScope(() =>
      setInterval(() => {
        if (!this.#isChecking) void this.#check([...this.#watched.keys()])
      }, checkInterval).unref(),
    )
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #check(traces: readonly TokenTrace[]): Promise<void> {
    const { revocations, now, log, onRevoked } = this.#options
    this.#isChecking = true
    try {
      const revoked = await revocations.among(traces, now())
      if (revoked.size > 0) onRevoked(new Set([...revoked].map(({ name }) => name)))
      this.#isFailing = false
    } catch (error) {
      // No token can be revoked while the database is unavailable. Later revocations are found when it responds.
      if (!this.#isFailing)
        log.warn({ err: error }, 'revoked tokens cannot be looked up for streams')
      this.#isFailing = true
    } finally {
      this.#isChecking = false
    }
  }

  #end(trace: TokenTrace): void {
    const end = this.#watched.get(trace)
    this.#watched.delete(trace)
    if (this.#watched.size === 0) this.#stop()
    end?.()
  }
}

/** How a token can be revoked: alone, or with all tokens of its subject. */
export interface TokenTrace {
  /** Its `jti`, which rotation copies; otherwise a digest of its content. */
  readonly name: string
  /** Undefined for a token without `sub`. */
  readonly subject: string | undefined
  /** The time of the sign-in in whole seconds since 1970. Rotation does not change it. */
  readonly signedIn: number
}

/**
 * Where revocations are stored. The memory store is valid for one process, a database store for all processes. Times
 * are milliseconds since 1970 unless stated otherwise.
 */
export interface Revocations {
  /**
   * @param until when the entry may be dropped; `Infinity` stores it permanently
   * @returns false if the token was already revoked
   */
  add(name: string, until: number): MaybePromise<boolean>
  /** Revokes the subject's sign-ins up to and including this second since 1970. */
  addSubject(subject: string, second: number): MaybePromise<void>
  has(trace: TokenTrace, now: number): MaybePromise<boolean>
  /** Returns the revoked ones among many tokens, in one query. */
  among(traces: readonly TokenTrace[], now: number): MaybePromise<ReadonlySet<TokenTrace>>
  /** The current transaction. Undefined for stores without transactions. */
  openTransaction?(): OpenTransaction | undefined
  /** Milliseconds since 1970 by the clock that all processes share. Undefined for the application's clock. */
  now?(): number
  /** Milliseconds for which `false` from `has` may be cached, because other processes may revoke. Default: forever. */
  readonly trustFor?: number
}

export function toTrace(claims: Claims): TokenTrace {
  const { jti, sub } = claims
  const isNamed = typeof jti === 'string' && jti !== ''
  return {
    name: isNamed ? toStoredName(jti) : toDigest(JSON.stringify(claims)),
    subject: typeof sub === 'string' && sub !== '' ? toStoredName(sub) : undefined,
    signedIn: Math.max(0, Math.floor(firstSignIn(claims))),
  }
}

/**
 * Converts a `jti` or `sub` to a form that every store accepts. Very long texts, and texts that databases reject,
 * become their digest.
 */
export function toStoredName(name: string): string {
  return name.length <= 255 && isStorable(name) ? name : toDigest(name)
}

/** Creates a store for the revocations of this process. */
export function createMemoryRevocations(now: () => number = Date.now): Revocations {
  const tokens = new MemoryExpiringStore<true>()
  const subjects = new Map<string, number>()
  const has = ({ name, subject, signedIn }: TokenTrace, at: number): boolean =>
    tokens.get(name, at) === true || signedIn <= (subjects.get(subject ?? '') ?? -1)
  return {
    add: (name, until) => revokeToken(tokens, { name, until, now: now() }),
    addSubject: (subject, second) => {
      subjects.set(subject, Math.max(second, subjects.get(subject) ?? 0))
    },
    has,
    among: (traces, at) => new Set(traces.filter((trace) => has(trace, at))),
  }
}

/**
 * Stores the revocation of a token. A shorter revocation does not shorten a longer one.
 *
 * @returns false if the token was already revoked
 */
export function revokeToken(
  tokens: ExpiringStore<true>,
  { name, until, now }: { readonly name: string; readonly until: number; readonly now: number },
): MaybePromise<boolean> {
  return after(tokens.deleteExpired(now), () =>
    after(
      tokens.add(name, true, until),
      (isAdded): MaybePromise<boolean> => isAdded || after(tokens.extend(name, until), () => false),
    ),
  )
}

/**
 * Queries a token store. An unavailable store does not mean that the token is invalid.
 *
 * @throws {HttpError} 503 if the store is unavailable
 */
export function queryStore<T>(query: () => MaybePromise<T>): MaybePromise<T> {
  return attempt(query, (cause) => {
    if (cause instanceof TransactionError) throw cause
    throw new HttpError(503, 'The database is not available at the moment.', {
      code: 'DATABASE_UNAVAILABLE',
      headers: { 'retry-after': '1' },
      cause,
    })
  })
}

function toDigest(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('base64url')}`
}
