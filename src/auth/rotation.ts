/**
 * Decides when a token is followed by a fresh one, and makes its claims. Source: decisions, Tokens.
 */
import type { Claims } from '../http/request.js'
import type { Rotation } from './options.js'

/** Seconds after the first sign-in at which rotation ends: then somebody has to sign in again. */
export const longestRotation = 12 * 3600

/**
 * Answers whether a response should bring a fresh token.
 *
 * @param now seconds since 1970
 * @param freshAt for `'always'`: a token made in this second is fresh enough
 */
export function isDue(claims: Claims, rotate: Rotation, now: number, freshAt?: number): boolean {
  const { iat, exp } = claims
  if (rotate === 'never' || iat === undefined || exp === undefined) return false
  if (now >= firstSignIn(claims) + longestRotation) return false
  return rotate === 'always' ? freshAt !== now : now > iat + (exp - iat) / 2
}

/**
 * The claims of the following token: all kept, `jti` too, so that one revocation ends the whole row; a life of the same
 * length from now, though never past the 12 hours.
 *
 * @returns `undefined` when it would live shorter than the one it follows, or, unless every response brings one, no longer
 */
export function renewedClaims(claims: Claims, rotate: Rotation, now: number): Claims | undefined {
  const { iat, exp } = claims
  if (iat === undefined || exp === undefined) return undefined
  const started = firstSignIn(claims)
  const end = Math.min(now + (exp - iat), started + longestRotation)
  const isGain = rotate === 'always' ? end >= exp : end > exp
  return isGain ? { ...claims, iat: now, exp: end, auth_time: started } : undefined
}

/** Seconds since 1970 after which no token that rotation makes from these claims is valid any more. */
export function endOfRotation(claims: Claims): number {
  return Math.max(claims.exp ?? 0, firstSignIn(claims) + longestRotation)
}

/** Seconds by which the clock of the process that made a token may be behind the one that all processes share. */
const maxClockLag = 24 * 3600

/** Tokens made here carry it as `auth_time`; those made elsewhere count from their `iat`. In seconds since 1970. */
export function firstSignIn({ auth_time: signedIn, iat = 0 }: Claims): number {
  return typeof signedIn === 'number' && signedIn <= iat + maxClockLag ? signedIn : iat
}

/**
 * The claim `auth_time`, in seconds since 1970; undefined where there is none, or one of the future, such as milliseconds:
 * with it a sign-in would never get old. A token without was made elsewhere, by who knows what: its `iat` is no sign-in.
 */
export function signInTime({ auth_time: signedIn, iat, exp }: Claims): number | undefined {
  const latest = (iat ?? exp ?? Infinity) + maxClockLag
  return typeof signedIn === 'number' && signedIn <= latest ? signedIn : undefined
}
