/** Makes, checks and revokes tokens: RS256 JWTs (RFC 7519). Source: specification, Authentication 3 and 4. */
import { randomUUID } from 'node:crypto'
import type { Log } from '../core/log.js'
import type { Claims } from '../http/request.js'
import { findClaimFault } from './claim-faults.js'
import { readSeconds } from './duration.js'
import { checkToken, clockTolerance, signToken } from './jose.js'
import type { Keys } from './keys.js'
import type { Rotation } from './options.js'
import type { PublicKey } from './pem.js'
import { RememberedTokens } from './remembered-tokens.js'
import { createMemoryRevocations, type Revocations } from './revocations.js'
import { isDue, renewedClaims } from './rotation.js'
import { mostTokenBytes, readTokenHeader } from './token-form.js'

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

export interface AuthSettings {
  readonly keys: Keys
  readonly log: Log
  readonly rotate: Rotation
  readonly issuer: string | undefined
  readonly audience: string | readonly string[] | undefined
  /** Seconds. */
  readonly expiresIn: number
  /** Default: in memory. */
  readonly revocations?: Revocations
  /** Milliseconds since 1970. Default the system's clock. */
  readonly now?: () => number
}

/** Makes, checks and revokes tokens. A provider of every application: `static inject = [Auth]`, `app.get(Auth)`. */
export class Auth {
  readonly #settings: AuthSettings
  readonly #now: () => number
  readonly #revocations: Revocations
  readonly #remembered = new RememberedTokens()
  /** The fresh token of claims, kept while it is the one to send, so that a client that ignores it costs one signature. */
  readonly #renewed = new WeakMap<Claims, { readonly token: string; readonly claims: Claims }>()
  /** Grows when something is forgotten, so that a check that began before is not remembered after. */
  #era = 0

  constructor(settings: AuthSettings) {
    this.#settings = settings
    this.#now = settings.now ?? Date.now
    this.#revocations = settings.revocations ?? createMemoryRevocations(this.#now)
    settings.keys.onChange(() => {
      this.#era++
      this.#remembered.clear()
    })
  }

  /**
   * Makes a token. Adds `iat`, `exp`, a random `jti`, and `auth_time`, from which the 12 hours of rotation count.
   *
   * @param payload is not changed; its own `exp`, `jti` and `auth_time` are kept
   * @throws {TypeError} when the payload or an option is none
   * @throws {RangeError} when the token gets longer than the 8 KiB that are accepted
   * @throws {Error} where there is no private key
   */
  async getToken(payload: Claims, options: TokenOptions = {}): Promise<string> {
    const token = await this.#sign(this.#toClaims(payload, options))
    if (token.length <= mostTokenBytes) return token
    throw new RangeError(
      `Auth.getToken: the token has ${token.length} bytes, ${mostTokenBytes} are accepted. Put less into its payload.`,
    )
  }

  /** The claims of a good token, deeply frozen, or null. Never throws for a bad token; the log says at `debug` why. */
  async verify(token: string): Promise<Claims | null> {
    const known = this.remembered(token)
    if (known !== undefined) return known
    try {
      const verdict = await this.#check(token)
      if (typeof verdict !== 'string') return verdict
      this.#settings.log.debug({ reason: verdict }, 'a token was refused')
    } catch (error) {
      this.#settings.log.error({ err: error }, 'a token cannot be checked')
    }
    return null
  }

  /** The claims of a token that was verified before and still holds; `undefined` says only that `verify` has to look. */
  remembered(token: string): Claims | undefined {
    // Every JSON object begins with `{` and so every token with `e`: the static key need not be hashed for this.
    if (typeof token !== 'string' || token.charCodeAt(0) !== 0x65) return undefined
    return this.#remembered.find(token, this.#now())
  }

  /**
   * Calls back all tokens with this `jti`, also those that rotation made of it.
   *
   * @param until when no such token can be alive any more, so that the entry may be dropped: a date, or seconds since
   * 1970 like `exp`. Default: kept for good.
   */
  async revoke(jti: string, until?: Date | number): Promise<void> {
    if (typeof jti !== 'string' || jti === '')
      throw new TypeError("Auth.revoke: jti is no text. Give the token's claim of that name.")
    const end = until instanceof Date ? until.getTime() : (until ?? Infinity) * 1000
    if (Number.isNaN(end))
      throw new TypeError('Auth.revoke: until is no date. Give a Date, or seconds since 1970.')
    // A token is taken for a little longer than it says.
    await this.#revocations.add(jti, end + clockTolerance * 1000)
    this.#era++
    this.#remembered.forget(jti)
  }

  /**
   * The token that follows one with these claims: the same claims, a life of the same length from now.
   *
   * @returns `undefined` when none is due: too early, 12 h after the first sign-in, revoked, or no key to sign with
   */
  renew(claims: Claims): string | undefined | Promise<string | undefined> {
    const { rotate, keys } = this.#settings
    const now = Math.floor(this.#now() / 1000)
    if (!keys.canSign || !isDue(claims, rotate, now)) return undefined
    const next = renewedClaims(claims, rotate, now)
    return next === undefined ? undefined : this.#renew(claims, next, now)
  }

  async #renew(claims: Claims, next: Claims, now: number): Promise<string | undefined> {
    if (await this.#isRevoked(claims)) return undefined
    const kept = this.#renewed.get(claims)
    if (kept !== undefined && !isDue(kept.claims, this.#settings.rotate, now, kept.claims.iat)) {
      return kept.token
    }
    const token = await this.#sign(next)
    this.#renewed.set(claims, { token, claims: next })
    return token
  }

  async #sign(claims: Claims): Promise<string> {
    const { key, kid } = await this.#settings.keys.signing()
    return signToken(claims, key, kid)
  }

  async #check(token: string): Promise<Claims | string> {
    if (typeof token !== 'string') return 'no text'
    const header = readTokenHeader(token)
    if (typeof header === 'string') return header
    const era = this.#era
    const candidates = await this.#settings.keys.checking(header.kid)
    const verdict = await this.#checkWith(token, candidates)
    if (typeof verdict === 'string') return verdict
    if (await this.#isRevoked(verdict)) return 'revoked'
    const claims = freezeDeep(verdict)
    if (era === this.#era) this.#remember(token, claims)
    return claims
  }

  async #checkWith(token: string, keys: readonly PublicKey[]): Promise<Claims | string> {
    const { issuer, audience } = this.#settings
    const now = this.#now()
    let fault = 'no key of this kid'
    for (const { key } of keys) {
      const verdict = await checkToken(token, key, { issuer, audience, now })
      if (verdict.claims !== undefined) {
        return findClaimFault(verdict.claims, audience !== undefined, now) ?? verdict.claims
      }
      fault = verdict.fault
    }
    return fault
  }

  #isRevoked({ jti }: Claims): boolean | Promise<boolean> {
    return typeof jti === 'string' && this.#revocations.has(jti, this.#now())
  }

  #remember(token: string, claims: Claims): void {
    const trust = Math.min(this.#settings.keys.trustFor, this.#revocations.trustFor ?? Infinity)
    const end = ((claims.exp ?? 0) + clockTolerance) * 1000
    this.#remembered.add(token, claims, Math.min(end, this.#now() + trust))
  }

  #toClaims(payload: Claims, options: TokenOptions): Claims {
    if (typeof payload !== 'object' || (payload as unknown) === null || Array.isArray(payload)) {
      throw new TypeError(
        'Auth.getToken: the payload is no object of claims. Give one, such as { sub: "ada" }.',
      )
    }
    const now = Math.floor(this.#now() / 1000)
    const { subject, notBefore } = options
    const { exp = now + this.#settings.expiresIn, jti = randomUUID() } = payload
    if (!Number.isFinite(exp))
      throw new TypeError(
        'Auth.getToken: exp is no number of seconds. Count them from 1970, or give expiresIn.',
      )
    const issuer = options.issuer ?? payload.iss ?? this.#settings.issuer
    const audience = options.audience ?? payload.aud ?? this.#settings.audience
    return {
      ...payload,
      ...(subject === undefined ? {} : { sub: subject }),
      ...(issuer === undefined ? {} : { iss: issuer }),
      ...(audience === undefined ? {} : { aud: audience }),
      ...(notBefore === undefined ? {} : { nbf: now + toSeconds('notBefore', notBefore) }),
      iat: now,
      exp: options.expiresIn === undefined ? exp : now + toSeconds('expiresIn', options.expiresIn),
      jti,
      auth_time: payload.auth_time ?? now,
    }
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

/** One claims object serves every request with its token: none may change it for the others. */
function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) freezeDeep(part)
  return Object.freeze(value)
}
