/** Decides when a token is renewed, and computes the claims of the next one. Source: decisions, Tokens. */
import type { Claims } from '../http/request.js'
import type { Rotation } from './options.js'

/** Seconds after the first sign-in at which rotation ends, so that the user must sign in again. */
export const longestRotation = 12 * 3600

/**
 * Whether a response should contain a fresh token.
 *
 * @param now seconds since 1970
 * @param freshAt for `'always'`: a token issued in this second is fresh enough
 */
export function isDue(claims: Claims, rotate: Rotation, now: number, freshAt?: number): boolean {
  const { iat, exp } = claims
  if (rotate === 'never' || iat === undefined || exp === undefined) return false
  if (now >= firstSignIn(claims) + longestRotation) return false
  return rotate === 'always' ? freshAt !== now : now > iat + (exp - iat) / 2
}

/**
 * The claims of the next token: all are copied, including `jti`, so that one revocation ends all tokens of the sign-in.
 * Its lifetime has the same length from now, but ends at the 12 hours.
 *
 * @returns `undefined` if it would expire before the current one, or, unless every response renews, not later
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

/** Seconds by which the clock of the issuing process may lag behind the shared clock. */
const maxClockLag = 24 * 3600

/** The time of the first sign-in: `auth_time` of tokens of this application, otherwise `iat`. In seconds since 1970. */
export function firstSignIn({ auth_time: signedIn, iat = 0 }: Claims): number {
  return typeof signedIn === 'number' && signedIn <= iat + maxClockLag ? signedIn : iat
}

/**
 * The claim `auth_time` in seconds since 1970; undefined if it is missing or in the future (such as milliseconds),
 * because such a sign-in would never become old. A token without it was issued elsewhere, and its `iat` is not a
 * sign-in.
 */
export function signInTime({ auth_time: signedIn, iat, exp }: Claims): number | undefined {
  const latest = (iat ?? exp ?? Infinity) + maxClockLag
  return typeof signedIn === 'number' && signedIn <= latest ? signedIn : undefined
}
