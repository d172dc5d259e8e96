/**
 * A cache of verified tokens, so that a repeated one costs a hash and a lookup. Only the SHA-256 of a token is stored,
 * so that a memory dump contains no usable tokens. Source: decisions, Tokens; design, Speed.
 */
import { hash } from 'node:crypto'
import type { Claims } from '../http/request.js'
import type { ServerRequest } from '../http/server-request.js'

interface VerifiedToken {
  readonly claims: Claims
  /** Milliseconds since 1970. */
  readonly until: number
  /** Whether it was used since the clock hand passed. */
  used: boolean
  /** The time after which its use is recorded again. */
  nextUseAt: number
}

/** The maximum number of cached tokens. Above it, tokens without recent use are removed. */
const defaultMaxTokens = 10_000

/** Milliseconds between two reports of a token's use. */
const useInterval = 5000

export class VerifiedTokens {
  readonly #entries = new Map<string, VerifiedToken>()
  readonly #maxTokens: number
  readonly #onUse: (claims: Claims, request: ServerRequest) => void

  /** @param onUse called from time to time when a token is used */
  constructor(
    maxTokens = defaultMaxTokens,
    onUse: (claims: Claims, request: ServerRequest) => void = () => undefined,
  ) {
    this.#maxTokens = maxTokens
    this.#onUse = onUse
  }

  get size(): number {
    return this.#entries.size
  }

  /** @param now milliseconds since 1970 @param request the request with the token, if this counts as a use */
  find(token: string, now: number, request?: ServerRequest): Claims | undefined {
    const digest = toDigest(token)
    const entry = this.#entries.get(digest)
    if (entry === undefined) return undefined
    if (now >= entry.until) {
      this.#entries.delete(digest)
      return undefined
    }
    entry.used = true
    if (now >= entry.nextUseAt && request !== undefined) {
      entry.nextUseAt = now + useInterval
      this.#onUse(entry.claims, request)
    }
    return entry.claims
  }

  /** @param until milliseconds since 1970 */
  add(token: string, claims: Claims, until: number): void {
    if (this.#entries.size >= this.#maxTokens) this.#makeRoom()
    this.#entries.set(toDigest(token), { claims, until, used: false, nextUseAt: 0 })
  }

  /** Removes all tokens with such claims. */
  forget(matches: (claims: Claims) => boolean): void {
    for (const [digest, { claims }] of this.#entries) {
      if (matches(claims)) this.#entries.delete(digest)
    }
  }

  clear(): void {
    this.#entries.clear()
  }

  /**
   * The clock algorithm (second chance): removes the oldest token without recent use, and moves recently used ones to
   * the end.
   */
  #makeRoom(): void {
    for (const [digest, entry] of this.#entries) {
      this.#entries.delete(digest)
      if (!entry.used) return
      entry.used = false
      this.#entries.set(digest, entry)
    }
  }
}

/** One character for each byte, because short texts are the fastest keys of a Map. */
function toDigest(token: string): string {
  return hash('sha256', token, 'binary')
}
