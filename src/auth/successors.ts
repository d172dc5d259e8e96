/**
 * What a token was replaced by: the first successor stands, for all who show the token again. In memory it holds for this
 * process; a store in the database holds for all of them. Source: decisions, Tokens.
 */

import { createHash } from 'node:crypto'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { Claims } from '../http/request.js'
import { clockTolerance } from './jose.js'
import type { RotationRule } from './options.js'
import { queryStore } from './revocations.js'
import { seal, unseal } from './secrets.js'

/**
 * Tokens that have a successor: by rotation, or because they were exchanged for what the application made of them. A token
 * has one, whichever was first. Source: decisions, Tokens.
 */

/** Where nothing is said, for `exchange`. */
export const exchangeRule: RotationRule = { grace: 30, reuse: 'end' }

interface ReplacedTokensOptions {
  readonly successors: Successors
  /** Milliseconds since 1970 by the clock of all processes. */
  readonly sharedTime: () => number
  readonly isInTransaction: () => boolean
  /** Ends the sign-in that these claims are of. */
  readonly end: (claims: Claims) => Promise<unknown>
}

export class ReplacedTokenRegistry {
  readonly #options: ReplacedTokensOptions
  /** Exchanges under way in this process, by the token. */
  readonly #exchanging = new Map<string, Promise<Replaced>>()

  constructor(options: ReplacedTokensOptions) {
    this.#options = options
  }

  find(claims: Claims): MaybePromise<Replaced | undefined> {
    return queryStore(() => this.#options.successors.find(toTokenId(claims)))
  }

  /** @returns what stands, ours or that of somebody who was first */
  add(claims: Claims, text: string): MaybePromise<Replaced> {
    const { successors, sharedTime } = this.#options
    const times = { at: sharedTime(), until: ((claims.exp ?? 0) + clockTolerance) * 1000 }
    return queryStore(() => successors.add(toTokenId(claims), text, times))
  }

  /**
   * @returns milliseconds for which the token counts by the rule, `Infinity` where it was not replaced; or why it is refused:
   * then its family has ended too, where that is asked for
   */
  async checkReuse(claims: Claims, { grace, reuse }: RotationRule): Promise<number | string> {
    const replaced = await this.find(claims)
    if (replaced === undefined) return Infinity
    const remaining = replaced.at + grace * 1000 - this.#options.sharedTime()
    if (remaining > 0) return remaining
    if (reuse !== 'end') return 'it was replaced'
    // For good: a refresh token of the family may live longer than this one.
    await this.#options.end(claims)
    return 'it was replaced and is used again, so its sign-in has ended'
  }

  /**
   * @param token whose claims these are
   * @returns what was made of it first; or why there is nothing
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
    // Within a transaction nobody else's value may be waited for: theirs may wait for it.
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
    if (text === undefined) throw new TypeError('Auth.exchange: what was made is no JSON.')
    return this.add(claims, seal(text, token))
  }
}

export interface Replaced {
  /** When, in milliseconds since 1970 by the clock that all processes share. */
  readonly at: number
  /** What followed: the claims of the next token as JSON, or what `exchange` made, sealed. */
  readonly text: string
}

/** True where rotation has replaced the token, and not `exchange`: what is sealed is base64url. */
export function isRotated({ text }: Replaced): boolean {
  return text.startsWith('{')
}

export interface Successors {
  find(token: string): MaybePromise<Replaced | undefined>
  /**
   * @param at milliseconds since 1970, now
   * @param until when the token has run out for everybody, so that the entry may be dropped
   * @returns what stands: of several who add at once the first one's
   */
  add(token: string, text: string, times: { at: number; until: number }): MaybePromise<Replaced>
  /** Forgets what is kept in memory. */
  reset?(): void
}

/** Names one token of a family, which share their `jti`, by its content. */
export function toTokenId(claims: Claims): string {
  return createHash('sha256').update(JSON.stringify(claims)).digest('base64url')
}

/** Milliseconds between two removals of what has run out. */
export const sweepEvery = 60_000

export function createMemorySuccessors(): Successors {
  const entries = new Map<string, Replaced & { readonly until: number }>()
  let nextSweep = 0
  return {
    find: (token) => entries.get(token),
    add: (token, text, { at, until }) => {
      if (at >= nextSweep) {
        nextSweep = at + sweepEvery
        for (const [other, entry] of entries) if (entry.until <= at) entries.delete(other)
      }
      const existing = entries.get(token)
      if (existing !== undefined) return existing
      const entry = { at, text, until }
      entries.set(token, entry)
      return entry
    },
    reset: () => {
      entries.clear()
    },
  }
}
