/**
 * What a token was replaced by: the first successor stands, for all who show the token again. In memory it holds for this
 * process; a store in the database holds for all of them. Source: decisions, "Third storey: signing in", Rotation.
 */
import { createHash } from 'node:crypto'
import type { Later } from '../core/maybe-promise.js'
import type { Claims } from '../http/request.js'

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
  find(token: string): Later<Replaced | undefined>
  /**
   * @param at milliseconds since 1970, now
   * @param until when the token has run out for everybody, so that the entry may be dropped
   * @returns what stands: of several who add at once the first one's
   */
  add(token: string, text: string, times: { at: number; until: number }): Later<Replaced>
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
  const kept = new Map<string, Replaced & { readonly until: number }>()
  let nextSweep = 0
  return {
    find: (token) => kept.get(token),
    add: (token, text, { at, until }) => {
      if (at >= nextSweep) {
        nextSweep = at + sweepEvery
        for (const [other, entry] of kept) if (entry.until <= at) kept.delete(other)
      }
      const known = kept.get(token)
      if (known !== undefined) return known
      const entry = { at, text, until }
      kept.set(token, entry)
      return entry
    },
    reset: () => {
      kept.clear()
    },
  }
}
