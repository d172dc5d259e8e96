/** What is wrong with the claims of a signed token. Source: RFC 7519 §4.1; decisions, Authentication, "JWT". */
import type { Claims } from '../http/request.js'
import { clockTolerance } from './jose.js'

const texts = ['sub', 'iss', 'jti'] as const

/**
 * @param audienceAsked false where no audience is configured: then a token that names one is meant for somebody else
 * @param now milliseconds since 1970
 * @returns why the token is refused: for the log, never for the client
 */
export function findClaimFault(
  claims: Claims,
  audienceAsked: boolean,
  now: number,
): string | undefined {
  for (const name of texts) {
    if (claims[name] !== undefined && typeof claims[name] !== 'string') return `${name} is no text`
  }
  return findAudienceFault(claims.aud, audienceAsked) ?? findTimeFault(claims, now)
}

function findAudienceFault(audience: unknown, asked: boolean): string | undefined {
  if (audience === undefined) return undefined
  if (!asked) return 'aud is there, and no audience is configured'
  const all: readonly unknown[] = Array.isArray(audience) ? audience : [audience]
  return all.every((name) => typeof name === 'string') ? undefined : 'aud is no text'
}

/** jose leaves `iat` unread; a token from the future was made by a clock, or a hand, that is not to be trusted. */
function findTimeFault({ iat, exp, nbf }: Claims, now: number): string | undefined {
  const times: unknown[] = [iat, exp, nbf]
  if (times.some((time) => time !== undefined && !Number.isFinite(time)))
    return 'a time is no number'
  const isAhead = iat !== undefined && iat > Math.floor(now / 1000) + clockTolerance
  return isAhead ? 'iat is ahead' : undefined
}
