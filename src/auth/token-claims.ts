/** The claims of a token that is about to be made. Source: RFC 7519 §4.1; specification, Authentication 3. */
import { randomUUID } from 'node:crypto'
import type { Claims } from '../http/request.js'
import { readSeconds } from '../core/duration.js'

/** What one token says beyond its payload. Where a name is missing, the payload's own claim or the application's default counts. */
export interface TokenOptions {
  /** Its life: seconds, or text such as `15m`. Default the application's `auth.expiresIn`: 1 hour. */
  readonly expiresIn?: number | string
  /** When it starts to be good, from now: seconds, or text such as `1m`. Default at once. */
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

/** What the application says about all its tokens. */
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
      'Auth.getToken: the payload is no object of claims. Give one, such as { sub: "ada" }.',
    )
  }
  const { subject, notBefore } = options
  const { exp = now + defaults.expiresIn, jti = randomUUID() } = payload
  if (!Number.isFinite(exp))
    throw new TypeError(
      'Auth.getToken: exp is no number of seconds. Count them from 1970, or give expiresIn.',
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
  const given = JSON.stringify(value)
  throw new TypeError(
    `Auth.getToken: ${name} ${given} is no length of time. Give seconds, or text such as "15m".`,
  )
}
