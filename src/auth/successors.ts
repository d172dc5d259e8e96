/**
 * Stores which token replaced another. Every client that sends the old token again gets the first successor. Values of
 * `exchange` are encrypted with a key derived from the token (AES-256-GCM, HKDF), so that only its holder can read them. The
 * memory store is valid for one process, a database store for all processes. Source: decisions, Tokens.
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, createHash } from 'node:crypto'
import { MemoryExpiringStore, type ExpiringStore } from '../core/expiring-store.js'
import { after, type MaybePromise } from '../core/maybe-promise.js'
import type { Claims } from '../http/request.js'
import { clockTolerance } from './tokens.js'
import { queryStore } from './revocations.js'

/** How a replaced token is treated: `RotationOptions` with its time in seconds. */
export interface RotationRule {
  /** Seconds. */
  readonly grace: number
  readonly reuse: 'end' | undefined
}

/** The default rule for `exchange`. */
export const exchangeRule: RotationRule = { grace: 30, reuse: 'end' }

interface ReplacedTokensOptions {
  readonly successors: Successors
  /** Returns milliseconds since 1970 by the clock that all processes share. */
  readonly sharedTime: () => number
  readonly isInTransaction: () => boolean
  /** Ends the sign-in to which these claims belong. */
  readonly end: (claims: Claims) => Promise<unknown>
}

export class ReplacedTokenRegistry {
  readonly #options: ReplacedTokensOptions
  /** Exchanges in progress in this process, by token. */
  readonly #exchanging = new Map<string, Promise<Replaced>>()

  constructor(options: ReplacedTokensOptions) {
    this.#options = options
  }

  find(claims: Claims): MaybePromise<Replaced | undefined> {
    return queryStore(() => this.#options.successors.find(toTokenId(claims)))
  }

  /** @returns the stored successor: this one, or an earlier one from a concurrent call */
  add(claims: Claims, text: string): MaybePromise<Replaced> {
    const { successors, sharedTime } = this.#options
    const times = { at: sharedTime(), until: ((claims.exp ?? 0) + clockTolerance) * 1000 }
    return queryStore(() => successors.add(toTokenId(claims), text, times))
  }

  /**
   * @returns milliseconds for which the rule still accepts the token, `Infinity` if it was not replaced; or the reason
   * for refusal. On refusal, the token's family has ended too, if the rule requires it.
   */
  async checkReuse(claims: Claims, { grace, reuse }: RotationRule): Promise<number | string> {
    const replaced = await this.find(claims)
    if (replaced === undefined) return Infinity
    const remaining = replaced.at + grace * 1000 - this.#options.sharedTime()
    if (remaining > 0) return remaining
    if (reuse !== 'end') return 'it was replaced'
    // Permanently, because a refresh token of the family may live longer than this one.
    await this.#options.end(claims)
    return 'it was replaced and is used again, so its sign-in has ended'
  }

  /**
   * @param token the token with these claims
   * @returns the first value made from the token, or the reason why there is none
   */
  async exchange<T>(
    claims: Claims,
    token: string,
    make: (claims: Claims) => T | Promise<T>,
  ): Promise<{ readonly value: T } | string> {
    const successor = (await this.find(claims)) ?? (await this.#makeOnce(claims, token, make))
    if (isRotated(successor)) return 'rotation has replaced it'
    return { value: JSON.parse(unseal(successor.text, token)) as T }
  }

  clear(): void {
    this.#options.successors.reset?.()
  }

  #makeOnce(claims: Claims, token: string, make: (claims: Claims) => unknown): Promise<Replaced> {
    // Inside a transaction, do not wait for a concurrent exchange: it may be waiting for this transaction.
    if (this.#options.isInTransaction()) return this.#make(claims, token, make)
    const id = toTokenId(claims)
    const running = this.#exchanging.get(id)
    if (running !== undefined) return running
    const making = this.#make(claims, token, make)
    this.#exchanging.set(id, making)
    const end = (): boolean => this.#exchanging.delete(id)
    making.then(end, end)
    return making
  }

  async #make(claims: Claims, token: string, make: (claims: Claims) => unknown): Promise<Replaced> {
    const text = JSON.stringify(await make(claims)) as string | undefined
    if (text === undefined) throw new TypeError('Auth.exchange: the value is not JSON.')
    return this.add(claims, seal(text, token))
  }
}

export interface Replaced {
  /** Time of the replacement, in milliseconds since 1970 by the clock that all processes share. */
  readonly at: number
  /** The successor: the claims of the next token as JSON, or the sealed value that `exchange` made. */
  readonly text: string
}

/** True if rotation replaced the token. Values from `exchange` are sealed as base64url. */
export function isRotated({ text }: Replaced): boolean {
  return text.startsWith('{')
}

export interface Successors {
  find(token: string): MaybePromise<Replaced | undefined>
  /**
   * @param at the current time, in milliseconds since 1970
   * @param until when the token has expired everywhere, so that the entry may be dropped
   * @returns the stored successor; of several concurrent calls, the first one's
   */
  add(token: string, text: string, times: { at: number; until: number }): MaybePromise<Replaced>
  /** Clears the entries in memory. */
  reset?(): void
}

/** Identifies one token of a family by its content, because all tokens of a family share their `jti`. */
function toTokenId(claims: Claims): string {
  return createHash('sha256').update(JSON.stringify(claims)).digest('base64url')
}

/** Milliseconds between two removals of expired entries. */
export const sweepInterval = 60_000

/** Stores successors in an expiring store. */
export function createSuccessors(entries: ExpiringStore<Replaced>): Successors {
  return {
    // Expired entries count as well, because the token may still be valid by the clock of another process.
    find: (token) => entries.get(token, 0),
    add: (token, text, { at, until }) =>
      after(entries.deleteExpired(at), () => entries.getOrAdd(token, { at, text }, until)),
  }
}

export function createMemorySuccessors(): Successors {
  const entries = new MemoryExpiringStore<Replaced>({ sweepInterval })
  return {
    ...createSuccessors(entries),
    reset: () => {
      entries.clear()
    },
  }
}

// Encryption with a key derived from a token, so that the server can store tokens for clients that have lost a response.

const startBytes = 12
const tagBytes = 16

function seal(text: string, token: string): string {
  const start = randomBytes(startBytes)
  const cipher = createCipheriv('aes-256-gcm', keyOf(token), start)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([start, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** @throws {Error} if it was sealed with another token, or is invalid */
function unseal(sealed: string, token: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', keyOf(token), bytes.subarray(0, startBytes))
  decipher.setAuthTag(bytes.subarray(startBytes, startBytes + tagBytes))
  const text = decipher.update(bytes.subarray(startBytes + tagBytes))
  return Buffer.concat([text, decipher.final()]).toString('utf8')
}

function keyOf(token: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', token, '', 'filigree exchange', 32))
}
