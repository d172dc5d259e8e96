/** Creates the next token of a sign-in, after calling the application's `renew`. Source: decisions, Tokens. */
import type { MaybePromise } from '../core/maybe-promise.js'
import type { Log } from '../core/log.js'
import type { Claims } from '../http/request.js'
import { isDue, renewedClaims, type Rotation } from './tokens.js'
import { isRotated, type Replaced } from './successors.js'

/**
 * Called whenever a fresh token is due, so that roles are current.
 *
 * @param claims of the token that it follows, frozen
 * @returns the claims of the fresh token, except times, `jti` and `auth_time`; `sub`, `iss` and `aud` are copied if they
 * are missing; null revokes the old one from the next request on
 */
export type Renew = (claims: Claims) => Promise<Claims | null> | Claims | null

interface RenewalOptions {
  readonly rotate: Rotation
  readonly renew: Renew | undefined
  readonly log: Log
  readonly sign: (claims: Claims) => Promise<string>
  readonly isRevoked: (claims: Claims) => MaybePromise<boolean>
  /** Revokes the token with these claims. */
  readonly end: (claims: Claims) => Promise<unknown>
  /** With `rotation`: returns the stored successor of a token. */
  readonly replacements?: (claims: Claims) => MaybePromise<Replaced | undefined>
  /** Stores a successor. @returns the successor that was stored first */
  readonly replace?: (claims: Claims, text: string) => MaybePromise<Replaced>
}

/** @param now seconds since 1970 @returns the next token. Undefined if none is due or allowed */
export type Renewal = (claims: Claims, now: number) => MaybePromise<string | undefined>

interface Fresh {
  readonly token: string
  readonly claims: Claims
}

export function createRenewal(options: RenewalOptions): Renewal {
  const { replacements, replace } = options
  return replacements === undefined || replace === undefined
    ? createFreeRenewal(options)
    : createOneSuccessor({ ...options, replacements, replace })
}

/**
 * With `rotation`: a token has one successor, in all processes and requests. The first stored one wins. It is stored as
 * claims, from which every process creates the same token, because RS256 is deterministic.
 */
function createOneSuccessor(
  options: RenewalOptions & Required<Pick<RenewalOptions, 'replacements' | 'replace'>>,
): Renewal {
  const { rotate, sign, isRevoked, end, replacements, replace } = options
  /** Running and finished renewals in this process, by the token's claims as text and as object. */
  const running = new Map<string, Promise<string | undefined>>()
  const signedTokens = new WeakMap<Claims, { readonly text: string; readonly token: string }>()

  const signed = async (claims: Claims, next: Replaced): Promise<string | undefined> => {
    const { text } = next
    // It was exchanged, so the result of the exchange is its successor.
    if (!isRotated(next)) return undefined
    const existing = signedTokens.get(claims)
    if (existing?.text === text) return existing.token
    const token = await sign(JSON.parse(text) as Claims)
    signedTokens.set(claims, { text, token })
    return token
  }

  const first = async (claims: Claims, nextClaims: Claims): Promise<string | undefined> => {
    const next = await callRenew(options, claims, nextClaims)
    if (next === null) await end(claims)
    if (next === null || next === undefined) return undefined
    return signed(claims, await replace(claims, JSON.stringify(next)))
  }

  const follow = async (claims: Claims, now: number): Promise<string | undefined> => {
    if (await isRevoked(claims)) return undefined
    const existing = await replacements(claims)
    if (existing !== undefined) return signed(claims, existing)
    // A token issued in this second would be its own successor.
    const nextClaims =
      isDue(claims, rotate, now) && claims.iat !== now
        ? renewedClaims(claims, rotate, now)
        : undefined
    return nextClaims === undefined ? undefined : first(claims, nextClaims)
  }

  return (claims, now) => {
    // It may have been due by the clock of another process, and then it has a successor.
    if (!isDue(claims, rotate, now) && !isDue(claims, rotate, now + maxClockDifference))
      return undefined
    const name = JSON.stringify(claims)
    const existing = running.get(name)
    if (existing !== undefined) return existing
    const following = follow(claims, now).finally(() => running.delete(name))
    running.set(name, following)
    return following
  }
}

/** Seconds by which the clocks of two processes may differ for a replaced token to be known in both. */
const maxClockDifference = 60

function createFreeRenewal(options: RenewalOptions): Renewal {
  const { rotate, renew, sign, isRevoked, end } = options
  /** The current fresh token of claims, so that a client that ignores it costs one signature. */
  const freshTokens = new WeakMap<Claims, Fresh>()

  const make = async (
    claims: Claims,
    nextClaims: Claims,
    now: number,
  ): Promise<string | undefined> => {
    if (await isRevoked(claims)) return undefined
    const next = await callRenew(options, claims, nextClaims)
    if (next === null) await end(claims)
    if (next === null || next === undefined) return undefined
    const existing = freshTokens.get(claims)
    const isFresh =
      existing !== undefined && !isDue(existing.claims, rotate, now, existing.claims.iat)
    if (isFresh && (renew === undefined || haveSameContent(existing.claims, next)))
      return existing.token
    const token = await sign(next)
    freshTokens.set(claims, { token, claims: next })
    return token
  }

  return (claims, now) => {
    if (!isDue(claims, rotate, now)) return undefined
    const nextClaims = renewedClaims(claims, rotate, now)
    return nextClaims === undefined ? undefined : make(claims, nextClaims, now)
  }
}

/** @returns `undefined` if the application failed, which is logged */
async function callRenew(
  { renew, log }: RenewalOptions,
  claims: Claims,
  nextClaims: Claims,
): Promise<Claims | null | undefined> {
  if (renew === undefined) return nextClaims
  try {
    const result: unknown = await renew(claims)
    if (result === null) return null
    if (typeof result !== 'object' || Array.isArray(result)) {
      throw new TypeError('auth.renew returned no claims. Return an object of claims, or null.')
    }
    const { iat, exp, jti, auth_time } = nextClaims
    const next = { ...toNamed(claims), ...result, iat, exp, jti, auth_time }
    if (jti === undefined) delete next.jti
    return next
  } catch (error) {
    log.error({ err: error, sub: claims.sub }, 'auth.renew failed, so no fresh token is sent')
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

function haveSameContent(one: Claims, other: Claims): boolean {
  return toText(one) === toText(other)
}

/** The claims without times, which depend on the current time. */
function toText(claims: Claims): string {
  return JSON.stringify({ ...claims, iat: 0, exp: 0 })
}
