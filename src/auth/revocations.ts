/** Tokens that were revoked before they expired. Source: decisions, Authentication, "Revocation", and "Sign-in". */
import { createHash } from 'node:crypto'
import { attempt, type Later } from '../core/maybe-promise.js'
import type { OpenTransaction } from '../core/transaction.js'
import { isStorable } from '../core/text.js'
import { HttpError } from '../errors/http-error.js'
import type { Claims } from '../http/request.js'
import { firstSignIn } from './rotation.js'

/** How a token can be revoked: alone, or with all tokens of its subject. */
export interface TokenTrace {
  /** Its `jti`, which rotation keeps; of a token without one its content. */
  readonly name: string
  /** Undefined for a token without `sub`. */
  readonly subject: string | undefined
  /** When its row of tokens began, in whole seconds since 1970: rotation does not move it. */
  readonly signedIn: number
}

/**
 * Where revocations are kept. In memory they hold for this process; a store in the database holds for all of them.
 * Times are milliseconds since 1970 unless they say otherwise.
 */
export interface Revocations {
  /**
   * @param until when the entry may be dropped; `Infinity` keeps it
   * @returns false where it was called back already
   */
  add(name: string, until: number): Later<boolean>
  /** Calls back what the subject has signed in to, up to and with this second since 1970. */
  addSubject(subject: string, second: number): Later<void>
  has(trace: TokenTrace, now: number): Later<boolean>
  /** Those of many that were called back, asked at once. */
  among(traces: readonly TokenTrace[], now: number): Later<ReadonlySet<TokenTrace>>
  /** The transaction that what is asked now is part of; absent where there are none. */
  openTransaction?(): OpenTransaction | undefined
  /** Milliseconds since 1970 by the clock that all share who revoke here; absent where that is the application's. */
  now?(): number
  /** Milliseconds that a `false` of `has` may be believed: others may revoke meanwhile. Default for ever. */
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
 * A `jti` or `sub` in a form that every store can keep: very long texts, and those that a database refuses, become
 * their digest.
 */
export function toStoredName(name: string): string {
  return name.length <= 255 && isStorable(name) ? name : toDigest(name)
}

/** Revocations of this process alone. */
export function createMemoryRevocations(now: () => number = Date.now): Revocations {
  const revoked = new Map<string, number>()
  const subjects = new Map<string, number>()
  const has = ({ name, subject, signedIn }: TokenTrace, at: number): boolean =>
    (revoked.get(name) ?? 0) > at || signedIn <= (subjects.get(subject ?? '') ?? -1)
  return {
    add: (name, until) => {
      const present = now()
      for (const [other, end] of revoked) {
        if (end <= present) revoked.delete(other)
      }
      const before = revoked.get(name)
      revoked.set(name, Math.max(until, before ?? 0))
      return before === undefined
    },
    addSubject: (subject, second) => {
      subjects.set(subject, Math.max(second, subjects.get(subject) ?? 0))
    },
    has,
    among: (traces, at) => new Set(traces.filter((trace) => has(trace, at))),
  }
}

/**
 * Asks a store of tokens. Who cannot be asked leaves everything open, which is no fault of the token.
 *
 * @throws {HttpError} 503 where it does not answer
 */
export function askStore<T>(question: () => Later<T>): Later<T> {
  return attempt(question, (cause) => {
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
