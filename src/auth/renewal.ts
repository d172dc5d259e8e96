/** Makes the token that follows another, and asks the application first. Source: decisions, Tokens. */
import type { MaybePromise } from '../core/maybe-promise.js'
import type { Log } from '../core/log.js'
import type { Claims } from '../http/request.js'
import type { Rotation } from './options.js'
import { isDue, renewedClaims } from './rotation.js'
import { isRotated, type Replaced } from './successors.js'

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
  readonly isRevoked: (claims: Claims) => MaybePromise<boolean>
  /** Calls back the token with these claims. */
  readonly end: (claims: Claims) => Promise<unknown>
  /** With `rotation`: what the token was replaced by. */
  readonly replaced?: (claims: Claims) => MaybePromise<Replaced | undefined>
  /** Keeps what it is replaced by. @returns what stands */
  readonly replace?: (claims: Claims, text: string) => MaybePromise<Replaced>
}

/** @param now seconds since 1970 @returns the token, `undefined` where none is due or none may be had */
export type Renewal = (claims: Claims, now: number) => MaybePromise<string | undefined>

interface Fresh {
  readonly token: string
  readonly claims: Claims
}

export function createRenewal(options: RenewalOptions): Renewal {
  const { replaced, replace } = options
  return replaced === undefined || replace === undefined
    ? createFreeRenewal(options)
    : createOneSuccessor({ ...options, replaced, replace })
}

/**
 * With `rotation`: a token has one successor, whoever asks for it and however often. The first that is kept stands; its text
 * is the claims, of which every process makes the same token, because RS256 signs alike.
 */
function createOneSuccessor(
  options: RenewalOptions & Required<Pick<RenewalOptions, 'replaced' | 'replace'>>,
): Renewal {
  const { rotate, sign, isRevoked, end, replaced, replace } = options
  /** Under way in this process, or made: by the token's claims as text, and by the claims object. */
  const running = new Map<string, Promise<string | undefined>>()
  const made = new WeakMap<Claims, { readonly text: string; readonly token: string }>()

  const signed = async (claims: Claims, next: Replaced): Promise<string | undefined> => {
    const { text } = next
    // It was exchanged: what was made of it is what follows.
    if (!isRotated(next)) return undefined
    const known = made.get(claims)
    if (known?.text === text) return known.token
    const token = await sign(JSON.parse(text) as Claims)
    made.set(claims, { text, token })
    return token
  }

  const first = async (claims: Claims, wanted: Claims): Promise<string | undefined> => {
    const next = await askApplication(options, claims, wanted)
    if (next === null) await end(claims)
    if (next === null || next === undefined) return undefined
    return signed(claims, await replace(claims, JSON.stringify(next)))
  }

  const follow = async (claims: Claims, now: number): Promise<string | undefined> => {
    if (await isRevoked(claims)) return undefined
    const known = await replaced(claims)
    if (known !== undefined) return signed(claims, known)
    // A token of this very second would be its own successor.
    const wanted =
      isDue(claims, rotate, now) && claims.iat !== now
        ? renewedClaims(claims, rotate, now)
        : undefined
    return wanted === undefined ? undefined : first(claims, wanted)
  }

  return (claims, now) => {
    // By the clock of another process it may have been due, and then it has its successor.
    if (!isDue(claims, rotate, now) && !isDue(claims, rotate, now + mostApart)) return undefined
    const name = JSON.stringify(claims)
    const known = running.get(name)
    if (known !== undefined) return known
    const following = follow(claims, now).finally(() => running.delete(name))
    running.set(name, following)
    return following
  }
}

/** Seconds by which the clocks of two processes may differ for a replaced token to be known in both. */
const mostApart = 60

function createFreeRenewal(options: RenewalOptions): Renewal {
  const { rotate, renew, sign, isRevoked, end } = options
  /** The fresh token of claims, kept while it is the one to send, so that a client that ignores it costs one signature. */
  const kept = new WeakMap<Claims, Fresh>()

  const make = async (claims: Claims, wanted: Claims, now: number): Promise<string | undefined> => {
    if (await isRevoked(claims)) return undefined
    const next = await askApplication(options, claims, wanted)
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
  if (renew === undefined) return wanted
  try {
    const said: unknown = await renew(claims)
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
