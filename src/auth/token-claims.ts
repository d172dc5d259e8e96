/**
 * Builds the claims of new tokens, and checks the claims of existing ones. Source: RFC 7519 §4.1; specification,
 * Authentication 3.
 */

import { randomUUID } from 'node:crypto'
import type { Claims } from '../http/request.js'
import { clockTolerance } from './jose.js'
import { readSeconds } from '../core/duration.js'

const texts = ['sub', 'iss', 'jti'] as const

/**
 * @param requiresAudience false where no audience is configured: then a token that names one is meant for somebody else
 * @param now milliseconds since 1970
 * @returns why the token is refused: for the log, never for the client
 */
export function findClaimError(
  claims: Claims,
  requiresAudience: boolean,
  now: number,
): string | undefined {
  for (const name of texts) {
    if (claims[name] !== undefined && typeof claims[name] !== 'string') return `${name} is not text`
  }
  return findAudienceError(claims.aud, requiresAudience) ?? findTimeError(claims, now)
}

function findAudienceError(audience: unknown, isRequired: boolean): string | undefined {
  if (audience === undefined) return undefined
  if (!isRequired) return 'aud is there, and no audience is configured'
  const all: readonly unknown[] = Array.isArray(audience) ? audience : [audience]
  return all.every((name) => typeof name === 'string') ? undefined : 'aud is not text'
}

/** jose leaves `iat` unread; a token from the future was made by a clock, or a hand, that is not to be trusted. */
function findTimeError({ iat, exp, nbf }: Claims, now: number): string | undefined {
  const times: unknown[] = [iat, exp, nbf]
  if (times.some((time) => time !== undefined && !Number.isFinite(time)))
    return 'a time is not a number'
  const isAhead = iat !== undefined && iat > Math.floor(now / 1000) + clockTolerance
  return isAhead ? 'iat is ahead' : undefined
}

/** Options of one token. Missing options default to the payload's claims or the application's options. */
export interface TokenOptions {
  /** Its lifetime: seconds, or text such as `15m`. Default `auth.expiresIn` of the application: 1 hour. */
  readonly expiresIn?: number | string
  /** The time from now until it becomes valid: seconds, or text such as `1m`. Default: immediately. */
  readonly notBefore?: number | string
  readonly audience?: string | readonly string[]
  readonly issuer?: string
  readonly subject?: string
}

export const tokenOptions: ReadonlySet<string> = new Set<keyof TokenOptions>([
  'expiresIn',
  'notBefore',
  'audience',
  'issuer',
  'subject',
])

/** The application's defaults for tokens. */
export interface TokenDefaults {
  readonly issuer: string | undefined
  readonly audience: string | readonly string[] | undefined
  /** Seconds. */
  readonly expiresIn: number
}

/**
 * @param times seconds since 1970: of this process, and of all that share revocations
 * @throws {TypeError} when the payload or an option is none
 */
export function toTokenClaims(
  payload: Claims,
  options: TokenOptions,
  defaults: TokenDefaults,
  { now, signedIn }: { readonly now: number; readonly signedIn: number },
): Claims {
  if (typeof payload !== 'object' || (payload as unknown) === null || Array.isArray(payload)) {
    throw new TypeError(
      'Auth.getToken: the payload is not an object of claims. Give one, such as { sub: "ada" }.',
    )
  }
  const { subject, notBefore } = options
  const { exp = now + defaults.expiresIn, jti = randomUUID() } = payload
  if (!Number.isFinite(exp))
    throw new TypeError(
      'Auth.getToken: exp is not a number of seconds. Count them from 1970, or give expiresIn.',
    )
  const issuer = options.issuer ?? payload.iss ?? defaults.issuer
  const audience = options.audience ?? payload.aud ?? defaults.audience
  return {
    ...payload,
    ...(subject === undefined ? {} : { sub: subject }),
    ...(issuer === undefined ? {} : { iss: issuer }),
    ...(audience === undefined ? {} : { aud: audience }),
    ...(notBefore === undefined ? {} : { nbf: now + toSeconds('notBefore', notBefore) }),
    iat: now,
    exp: options.expiresIn === undefined ? exp : now + toSeconds('expiresIn', options.expiresIn),
    jti,
    auth_time: payload.auth_time ?? signedIn,
  }
}

function toSeconds(name: string, value: number | string): number {
  const seconds = readSeconds(value)
  if (seconds !== undefined) return seconds
  const text = JSON.stringify(value)
  throw new TypeError(
    `Auth.getToken: ${name} ${text} is not a length of time. Give seconds, or text such as "15m".`,
  )
}
