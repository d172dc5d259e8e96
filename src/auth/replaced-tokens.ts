/**
 * Tokens that have a successor: by rotation, or because they were exchanged for what the application made of them. A token
 * has one, whichever was first. Source: decisions, "Third storey: signing in", Rotation.
 */
import type { Later } from '../core/maybe-promise.js'
import type { Claims } from '../http/request.js'
import { clockTolerance } from './jose.js'
import type { ReplacedRule } from './options.js'
import { askStore } from './revocations.js'
import { seal, unseal } from './sealed.js'
import { isRotated, toTokenId, type Replaced, type Successors } from './successors.js'

/** Where nothing is said, for `exchange`. */
export const exchangeRule: ReplacedRule = { grace: 30, reuse: 'end' }

export interface ReplacedTokensOptions {
  readonly successors: Successors
  /** Milliseconds since 1970 by the clock of all processes. */
  readonly sharedTime: () => number
  readonly isInTransaction: () => boolean
  /** Ends the sign-in that these claims are of. */
  readonly end: (claims: Claims) => Promise<unknown>
}

export class ReplacedTokens {
  readonly #options: ReplacedTokensOptions
  /** Exchanges under way in this process, by the token. */
  readonly #exchanging = new Map<string, Promise<Replaced>>()

  constructor(options: ReplacedTokensOptions) {
    this.#options = options
  }

  find(claims: Claims): Later<Replaced | undefined> {
    return askStore(() => this.#options.successors.find(toTokenId(claims)))
  }

  /** @returns what stands, ours or that of somebody who was first */
  add(claims: Claims, text: string): Later<Replaced> {
    const { successors, sharedTime } = this.#options
    const times = { at: sharedTime(), until: ((claims.exp ?? 0) + clockTolerance) * 1000 }
    return askStore(() => successors.add(toTokenId(claims), text, times))
  }

  /**
   * @returns milliseconds for which the token counts by the rule, `Infinity` where it was not replaced; or why it is refused:
   * then its family has ended too, where that is asked for
   */
  async ask(claims: Claims, { grace, reuse }: ReplacedRule): Promise<number | string> {
    const replaced = await this.find(claims)
    if (replaced === undefined) return Infinity
    const left = replaced.at + grace * 1000 - this.#options.sharedTime()
    if (left > 0) return left
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
    const made = (await this.find(claims)) ?? (await this.#makeOnce(claims, token, make))
    if (isRotated(made)) return 'rotation has replaced it'
    return { value: JSON.parse(unseal(made.text, token)) as T }
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
