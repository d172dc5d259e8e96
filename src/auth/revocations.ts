/** Tokens that were called back before they expire. Source: decisions, Authentication, "Revocation". */

/**
 * Where revocations are kept. In memory they hold for this process; a store in the database holds for all of them.
 * Times are milliseconds since 1970.
 */
export interface Revocations {
  /** @param until when the entry may be dropped; `Infinity` keeps it */
  add(jti: string, until: number): void | Promise<void>
  has(jti: string, now: number): boolean | Promise<boolean>
  /** Milliseconds that a `false` of `has` may be believed: others may revoke meanwhile. Default for ever. */
  readonly trustFor?: number
}

/** Revocations of this process alone. */
export function createMemoryRevocations(now: () => number = Date.now): Revocations {
  const revoked = new Map<string, number>()
  return {
    add: (jti, until) => {
      const present = now()
      for (const [other, end] of revoked) {
        if (end <= present) revoked.delete(other)
      }
      revoked.set(jti, Math.max(until, revoked.get(jti) ?? 0))
    },
    has: (jti, at) => (revoked.get(jti) ?? 0) > at,
  }
}
