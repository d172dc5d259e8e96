/**
 * The form of tokens (JWTs): their header, claims and times, and their signature by jose. Most forged tokens are refused by
 * their form, before a key is looked up. Source: RFC 7515, 7519 and 8725; specification, Authentication 3; decisions, Tokens.
 */

import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { type KeyObject, randomUUID } from 'node:crypto'
import type { Claims } from '../http/request.js'
import { isMap } from '../core/json.js'
import { readSeconds } from '../core/time.js'

const texts = ['sub', 'iss', 'jti'] as const

/**
 * @param requiresAudience false if no audience is configured: then a token with an audience is for another application
 * @param now milliseconds since 1970
 * @returns why the token is refused
 */
export function findClaimError(
  claims: Claims,
  requiresAudience: boolean,
  now: number,
): TokenRefusal | undefined {
  for (const name of texts) {
    if (claims[name] !== undefined && typeof claims[name] !== 'string')
      return { reason: `${name} is not text`, cause: 'claims' }
  }
  const reason = findAudienceError(claims.aud, requiresAudience)
  if (reason !== undefined) return { reason, cause: 'audience', claims }
  return findTimeError(claims, now)
}

function findAudienceError(audience: unknown, isRequired: boolean): string | undefined {
  if (audience === undefined) return undefined
  if (!isRequired) return 'the token has aud, and no audience is configured'
  const all: readonly unknown[] = Array.isArray(audience) ? audience : [audience]
  return all.every((name) => typeof name === 'string') ? undefined : 'aud is not text'
}

/** Also checks `iat`, which jose ignores: a token from the future has a wrong clock or is forged. */
function findTimeError({ iat, exp, nbf }: Claims, now: number): TokenRefusal | undefined {
  const times: unknown[] = [iat, exp, nbf]
  if (times.some((time) => time !== undefined && !Number.isFinite(time)))
    return { reason: 'a time is not a number', cause: 'claims' }
  const isAhead = iat !== undefined && iat > Math.floor(now / 1000) + clockTolerance
  return isAhead ? { reason: 'iat is ahead', cause: 'clock' } : undefined
}

export const tokenOptions = declareOptions({
  /** Its lifetime: seconds, or text such as `15m`. Default `auth.expiresIn` of the application: 1 hour. */
  expiresIn: option.any<number | string>(),
  /** The time from now until it becomes valid: seconds, or text such as `1m`. Default: immediately. */
  notBefore: option.any<number | string>(),
  audience: option.any<string | readonly string[]>(),
  issuer: option.any<string>(),
  subject: option.any<string>(),
})

/** Options of one token. Missing options default to the payload's claims or the application's options. */
export interface TokenOptions extends OptionsOf<typeof tokenOptions> {}

/** The application's defaults for tokens. */
interface TokenDefaults {
  readonly issuer: string | undefined
  readonly audience: string | readonly string[] | undefined
  /** Seconds. */
  readonly expiresIn: number
}

/**
 * @param now seconds since 1970 by the clock of this process
 * @param signedIn seconds since 1970 by the clock that all processes share
 * @throws {TypeError} the payload or an option is invalid
 */
export function toTokenClaims(
  payload: Claims,
  options: TokenOptions,
  defaults: TokenDefaults,
  { now, signedIn }: { readonly now: number; readonly signedIn: number },
): Claims {
  if (typeof payload !== 'object' || (payload as unknown) === null || Array.isArray(payload)) {
    throw new TypeError(
      'Auth.getToken: the payload is not an object of claims. Pass an object such as { sub: "ada" }.',
    )
  }
  const { subject, notBefore } = options
  const { exp = now + defaults.expiresIn, jti = randomUUID() } = payload
  if (!Number.isFinite(exp))
    throw new TypeError(
      'Auth.getToken: exp is not a number of seconds since 1970. Correct it, or use expiresIn.',
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
    `Auth.getToken: ${name} ${text} is not a length of time. Use seconds, or text such as "15m".`,
  )
}

// Renewal: when a token is renewed, and the claims of the next one.

/** When a response contains a fresh token: after half of the token's lifetime, always, or never. */
export type Rotation = 'half-life' | 'always' | 'never'

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

// Signatures, by jose. It is loaded with the first token, so that it does not delay a server without tokens.

/** Seconds that the clocks of two machines may differ by. */
export const clockTolerance = 5

/** The required claims of a token. */
interface TokenChecks {
  readonly issuer: string | undefined
  readonly audience: string | readonly string[] | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/**
 * Why a token is refused. `form`: its form or algorithm. `key`: no key has signed it. `clock`: it is not valid yet.
 * `claims`: all other claims.
 */
export type RefusalCause =
  | 'form'
  | 'key'
  | 'issuer'
  | 'audience'
  | 'clock'
  | 'expired'
  | 'claims'
  | 'replaced'
  | 'revoked'
  | 'unknown'

export interface TokenRefusal {
  /** For the log. */
  readonly reason: string
  readonly cause: RefusalCause
  /** The claims that were compared, if the signature is valid. */
  readonly claims?: Claims
}

/** Claims of a valid token, or why it is invalid. */
export type TokenCheckResult =
  | { readonly claims: Claims; readonly refusal?: undefined }
  | { readonly claims?: undefined; readonly refusal: TokenRefusal }

let library: Promise<typeof import('jose')> | undefined

function load(): Promise<typeof import('jose')> {
  library ??= import('jose')
  return library
}

/** @returns the compact token with the header `{ alg: 'RS256', typ: 'JWT', kid }` */
export async function signToken(claims: Claims, key: KeyObject, kid: string): Promise<string> {
  const { SignJWT } = await load()
  return new SignJWT(claims as Record<string, unknown>)
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid })
    .sign(key)
}

/** Checks signature, algorithm, `exp` (required), `nbf`, and the expected `iss` and `aud`. Never throws for an invalid token. */
export async function checkToken(
  token: string,
  { key, algorithms }: PublicKey,
  checks: TokenChecks,
): Promise<TokenCheckResult> {
  const { jwtVerify, errors } = await load()
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [...algorithms],
      requiredClaims: ['exp'],
      clockTolerance,
      currentDate: new Date(checks.now),
      ...(checks.issuer === undefined ? {} : { issuer: checks.issuer }),
      ...(checks.audience === undefined ? {} : { audience: toList(checks.audience) }),
    })
    return { claims: payload }
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    const reason = error.message
    if (error instanceof errors.JWTExpired) return { refusal: { reason, cause: 'expired' } }
    if (!(error instanceof errors.JWTClaimValidationFailed))
      return { refusal: { reason, cause: 'key' } }
    const cause = claimCauses[error.claim] ?? 'claims'
    return { refusal: { reason, cause, claims: error.payload } }
  }
}

const claimCauses: Readonly<Record<string, RefusalCause>> = {
  iss: 'issuer',
  aud: 'audience',
  nbf: 'clock',
}

function toList(audience: string | readonly string[]): string[] {
  return typeof audience === 'string' ? [audience] : [...audience]
}

// The header. Most forgeries are refused by it, before a key is looked up (RFC 7515 §3 and §4.1, RFC 8725 §3.1).

/** Maximum bytes of a token. */
export const maxTokenBytes = 8192

/** Three parts of base64url; ASCII, so that its length is its bytes. */
const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** The accepted algorithms, all of key pairs (RFC 7518 §3.1, RFC 9864). Symmetric algorithms and `none` are refused. */
export const signatureAlgorithms = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
]

export type SignatureAlgorithm = (typeof signatureAlgorithms)[number]

/** The algorithms of configured keys, and of tokens that the application signs. */
export const defaultAlgorithms: readonly SignatureAlgorithm[] = ['RS256']

/** A key that verifies tokens. */
export interface PublicKey {
  /** The `kid` of tokens: the name that the application gives, otherwise the thumbprint of the key (RFC 7638). */
  readonly kid: string
  readonly key: KeyObject
  /** Algorithms of tokens that this key verifies. */
  readonly algorithms: readonly SignatureAlgorithm[]
  /** True if `kid` is the thumbprint, so that an issuer may use another name. */
  readonly unnamed: boolean
}

/** Values of `typ` that an access token may have (RFC 7519 §5.1, RFC 9068 §2.1). Other kinds of tokens have others. */
const tokenTypes: ReadonlySet<string> = new Set(['jwt', 'at+jwt'])

/** The used members of a header. `jwk`, `jku`, `x5u` and `x5c` are ignored. */
interface TokenHeader {
  readonly kid: string | undefined
  readonly algorithm: SignatureAlgorithm
}

/**
 * Reads the header of a compact token.
 *
 * @returns the header, or the reason why the token is refused, for the log
 */
export function readTokenHeader(token: string): TokenHeader | string {
  if (token.length > maxTokenBytes) return 'longer than 8 KiB'
  if (!compactForm.test(token)) return 'not three parts of base64url'
  const signature = token.slice(token.lastIndexOf('.') + 1)
  // Otherwise one token would have several texts, because the last letter can differ without changing the signature.
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) {
    return 'signature is not canonical base64url'
  }
  const header = parseObject(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url'))
  if (header === undefined) return 'header is not a JSON object'
  const algorithm = signatureAlgorithms.find((name) => name === header.alg)
  if (algorithm === undefined) return 'alg is not an algorithm of key pairs'
  if ('crit' in header) return 'crit is not supported'
  if (header.typ !== undefined && !isTokenType(header.typ)) return 'typ is of another kind of token'
  if (header.kid !== undefined && typeof header.kid !== 'string') return 'kid is not text'
  return { kid: header.kid, algorithm }
}

/** Ignores case. `application/` is optional (RFC 7515 §4.1.9). */
function isTokenType(type: unknown): boolean {
  return (
    typeof type === 'string' && tokenTypes.has(type.toLowerCase().replace(/^application\//, ''))
  )
}

function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isMap(value) ? value : undefined
  } catch {
    return undefined
  }
}
