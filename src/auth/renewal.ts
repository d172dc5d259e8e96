/** Makes the token that follows another, and asks the application first. Source: decisions, "FreshToken" and "Sign-in". */
import type { Later } from '../core/later.js'
import type { Log } from '../core/log.js'
import type { Claims } from '../http/request.js'
import type { Rotation } from './options.js'
import { isDue, renewedClaims } from './rotation.js'

/**
 * Asked whenever a fresh token is due, so that roles are current.
 *
 * @param claims of the token that it follows, frozen
 * @returns the claims of the fresh token, except times, `jti` and `auth_time`; `sub`, `iss` and `aud` are kept if not
 * named; null revokes the old one from the next request on
 */
export type Renew = (claims: Claims) => Promise<Claims | null> | Claims | null

export interface RenewalOptions {
  readonly rotate: Rotation
  readonly renew: Renew | undefined
  readonly log: Log
  readonly sign: (claims: Claims) => Promise<string>
  readonly isRevoked: (claims: Claims) => Later<boolean>
  /** Calls back the token with these claims. */
  readonly end: (claims: Claims) => Promise<unknown>
}

/** @param now seconds since 1970 @returns the token, `undefined` where none is due or none may be had */
export type Renewal = (claims: Claims, now: number) => Later<string | undefined>

interface Fresh {
  readonly token: string
  readonly claims: Claims
}

export function createRenewal(options: RenewalOptions): Renewal {
  const { rotate, renew, sign, isRevoked, end } = options
  /** The fresh token of claims, kept while it is the one to send, so that a client that ignores it costs one signature. */
  const kept = new WeakMap<Claims, Fresh>()

  const make = async (claims: Claims, wanted: Claims, now: number): Promise<string | undefined> => {
    if (await isRevoked(claims)) return undefined
    const next = renew === undefined ? wanted : await askApplication(options, claims, wanted)
    if (next === null) await end(claims)
    if (next === null || next === undefined) return undefined
    const known = kept.get(claims)
    const isFresh = known !== undefined && !isDue(known.claims, rotate, now, known.claims.iat)
    if (isFresh && (renew === undefined || saysSame(known.claims, next))) return known.token
    const token = await sign(next)
    kept.set(claims, { token, claims: next })
    return token
  }

  return (claims, now) => {
    if (!isDue(claims, rotate, now)) return undefined
    const wanted = renewedClaims(claims, rotate, now)
    return wanted === undefined ? undefined : make(claims, wanted, now)
  }
}

/** @returns `undefined` where the application failed, which is logged */
async function askApplication(
  { renew, log }: RenewalOptions,
  claims: Claims,
  wanted: Claims,
): Promise<Claims | null | undefined> {
  try {
    const said: unknown = await renew?.(claims)
    if (said === null) return null
    if (typeof said !== 'object' || Array.isArray(said)) {
      throw new TypeError('auth.renew gave no claims. Return an object of claims, or null.')
    }
    const { iat, exp, jti, auth_time } = wanted
    const next = { ...toNamed(claims), ...said, iat, exp, jti, auth_time }
    if (jti === undefined) delete next.jti
    return next
  } catch (error) {
    log.error({ err: error, sub: claims.sub }, 'auth.renew failed; no fresh token is sent')
    return undefined
  }
}

/** Subject, issuer and audience: without them the fresh token would be refused, or escape `revokeAll`. */
function toNamed({ sub, iss, aud }: Claims): Claims {
  return {
    ...(sub === undefined ? {} : { sub }),
    ...(iss === undefined ? {} : { iss }),
    ...(aud === undefined ? {} : { aud }),
  }
}

function saysSame(one: Claims, other: Claims): boolean {
  return toText(one) === toText(other)
}

/** Without the times, which are those of the moment. */
function toText(claims: Claims): string {
  return JSON.stringify({ ...claims, iat: 0, exp: 0 })
}
