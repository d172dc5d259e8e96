/**
 * Signs and verifies tokens (RFC 7515, 7519) with jose, which is loaded with the first token, so that it does not delay
 * a server without tokens.
 */
import type { KeyObject } from 'node:crypto'
import type { Claims } from '../http/request.js'
import type { PublicKey } from './pem.js'

/** Seconds that the clocks of two machines may differ by. */
export const clockTolerance = 5

/** The required claims of a token. */
export interface TokenChecks {
  readonly issuer: string | undefined
  readonly audience: string | readonly string[] | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Claims of a valid token, or the reason why it is invalid: for the log, never for the client. */
export type TokenCheckResult =
  | { readonly claims: Claims; readonly reason?: undefined }
  | { readonly claims?: undefined; readonly reason: string }

let library: Promise<typeof import('jose')> | undefined

function load(): Promise<typeof import('jose')> {
  library ??= import('jose')
  return library
}

/** @returns the compact token, its header `{ alg: 'RS256', typ: 'JWT', kid }` */
export async function signToken(claims: Claims, key: KeyObject, kid: string): Promise<string> {
  const { SignJWT } = await load()
  return new SignJWT(claims as Record<string, unknown>)
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid })
    .sign(key)
}

/** Checks signature, algorithm, `exp` (required), `nbf`, and `iss` and `aud` where given. Never throws for a bad token. */
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
    if (error instanceof errors.JOSEError) return { reason: error.message }
    throw error
  }
}

function toList(audience: string | readonly string[]): string[] {
  return typeof audience === 'string' ? [audience] : [...audience]
}
