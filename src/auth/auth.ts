/**
 * Creates, verifies and revokes tokens: JWTs (RFC 7519). Tokens of this application are signed with RS256. Source:
 * specification, Authentication 3 and 4.
 */
import { hkdfSync } from 'node:crypto'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { OpenTransaction } from '../core/transaction.js'
import type { Log } from '../core/log.js'
import { resetState } from '../core/provider-symbols.js'
import { HttpError } from '../errors/http-error.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { Claims } from '../http/request.js'
import type { ServerRequest } from '../http/server-request.js'
import {
  findClaimError,
  tokenOptions,
  toTokenClaims,
  type TokenOptions,
  maxTokenBytes,
  readTokenHeader,
  checkToken,
  clockTolerance,
  signToken,
  endOfRotation,
  longestRotation,
  type RefusalCause,
  type TokenCheckResult,
  type TokenRefusal,
  type PublicKey,
  type Rotation,
} from './tokens.js'
import type { TokenKeys } from './keys.js'
import { RefusalWarnings } from './refusal-warnings.js'
import { RoleWarnings } from './role-list.js'
import {
  SignInRegistry,
  createMemorySignIns,
  toOrigin,
  type SignInEntry,
  type SignIns,
} from './sign-ins.js'
import { VerifiedTokens } from './verified-tokens.js'
import {
  exchangeRule,
  ReplacedTokenRegistry,
  createMemorySuccessors,
  type RotationRule,
  type Successors,
} from './successors.js'
import { createRenewal, type Renew, type Renewal } from './renewal.js'
import {
  queryStore,
  createMemoryRevocations,
  toStoredName,
  toTrace,
  type Revocations,
  type TokenTrace,
  WatchedTokens,
} from './revocations.js'

const verifyOptions = declareOptions({
  /** The required audience, instead of the application's, for tokens that do not give access to routes. */
  audience: option.any<string>(),
})

export interface VerifyOptions extends OptionsOf<typeof verifyOptions> {}

export interface AuthSettings {
  readonly keys: TokenKeys
  readonly log: Log
  readonly rotate: Rotation
  /** All roles of the application. Default: any text is a role. */
  readonly roles?: readonly string[] | undefined
  /** Default: all claims are copied. */
  readonly renew?: Renew | undefined
  readonly issuer: string | undefined
  readonly audience: string | readonly string[] | undefined
  /** Seconds. */
  readonly expiresIn: number
  /** Default: in memory. */
  readonly revocations?: Revocations
  /** Default: in memory. */
  readonly successors?: Successors
  /** Default: in memory. */
  readonly signIns?: SignIns
  /** The rule for replaced tokens. Default: a replaced token stays valid until `exp`. */
  readonly rotation?: RotationRule | undefined
  /** Returns milliseconds since 1970. Default: the system clock. */
  readonly now?: () => number
}

/** Maximum milliseconds for which a verified token is cached if other processes may replace it. */
const maxTrust = 5_000

/** Creates, verifies and revokes tokens. Every application provides it: `static inject = [Auth]`, `app.get(Auth)`. */
export class Auth {
  readonly #settings: AuthSettings
  readonly #now: () => number
  readonly #revocations: Revocations
  readonly #verifiedTokens: VerifiedTokens
  readonly #watchedTokens: WatchedTokens
  readonly #renewal: Renewal
  readonly #replacements: ReplacedTokenRegistry
  readonly #signIns: SignInRegistry
  /** Changes when cached tokens are removed, so that the result of a check that began earlier is not cached. */
  #cacheVersion = 0
  #hasWarned = false
  readonly #warnings: RefusalWarnings
  readonly #roleWarnings: RoleWarnings | undefined

  constructor(settings: AuthSettings) {
    const { log, keys, roles } = settings
    this.#warnings = new RefusalWarnings(settings)
    this.#roleWarnings = roles && new RoleWarnings(roles, log)
    this.#settings = settings
    this.#now = settings.now ?? Date.now
    this.#revocations = settings.revocations ?? createMemoryRevocations(this.#now)
    const sharedTime = (): number => this.#revocations.now?.() ?? this.#now()
    this.#replacements = new ReplacedTokenRegistry({
      successors: settings.successors ?? createMemorySuccessors(),
      sharedTime,
      isInTransaction: () => this.#openTransaction() !== undefined,
      end: (claims) => this.#revoke(toTrace(claims).name, Infinity),
    })
    this.#signIns = new SignInRegistry({
      store: settings.signIns ?? createMemorySignIns(),
      revocations: this.#revocations,
      log,
      now: this.#now,
      sharedTime,
    })
    this.#verifiedTokens = new VerifiedTokens(undefined, (claims, request) => {
      this.recordUse(claims, request)
    })
    this.#watchedTokens = new WatchedTokens({
      revocations: this.#revocations,
      log,
      now: this.#now,
      // Cached tokens must be checked again, so that a client that connects again is rejected.
      onRevoked: (names) => {
        this.#forget(({ name }) => names.has(name))
      },
    })
    this.#renewal = this.#createRenewal()
    keys.onChange(() => {
      this.#cacheVersion++
      this.#verifiedTokens.clear()
    })
  }

  #createRenewal(): Renewal {
    const { rotate, renew, log, rotation } = this.#settings
    return createRenewal({
      rotate,
      renew,
      log,
      sign: async (claims) => {
        const token = await this.#sign(claims)
        await this.#signIns.record(claims)
        return token
      },
      isRevoked: (claims) => this.isRevoked(claims),
      ...(rotation === undefined
        ? {}
        : {
            replacements: (claims) => this.#replacements.find(claims),
            replace: (claims, text) => this.#replacements.add(claims, text),
          }),
      end: (claims) => this.#revoke(toTrace(claims).name, endOfRotation(claims) * 1000),
    })
  }

  /** False if tokens are only verified, or if there are no keys. */
  get canSign(): boolean {
    return this.#settings.keys.canSign
  }

  /**
   * Creates a token. Adds `iat`, `exp`, a random `jti`, and `auth_time`, which starts the 12 hours of rotation.
   *
   * @param payload is not changed; its own `exp`, `jti` and `auth_time` take precedence
   * @throws {TypeError} if the payload or an option is invalid
   * @throws {RangeError} if the token exceeds the accepted 8 KiB
   * @throws {Error} if there is no private key
   */
  async getToken(payload: Claims, options: TokenOptions = {}): Promise<string> {
    tokenOptions.check('Auth.getToken', options)
    const now = Math.floor(this.#now() / 1000)
    const times = { now, signedIn: this.#sharedSecond() }
    const claims = toTokenClaims(payload, options, this.#settings, times)
    const token = await this.#sign(claims)
    // A token for another audience is a sign-in only as a part of one.
    if (options.audience === undefined || payload.jti !== undefined)
      await this.#signIns.record(claims)
    return token
  }

  /**
   * Exchanges a token that is valid for one exchange, such as a refresh token. `make` is called for its first use. A
   * repeated exchange within `rotation.grace` (30 s by default) returns the same value, in every process. After that
   * the token is rejected, and the sign-in ends because the token may have been copied, unless `rotation` omits `reuse:
   * 'end'`.
   *
   * @param options the token's audience
   * @param make receives the claims; its value must be JSON, and is stored sealed with the token
   * @returns null for an invalid or revoked token, or one that was exchanged too long ago
   * @throws errors of `make`; then the token is not used
   */
  async exchange<T>(
    token: string,
    options: VerifyOptions,
    make: (claims: Claims) => T | Promise<T>,
  ): Promise<T | null> {
    verifyOptions.check('Auth.exchange', options)
    const rule = this.#settings.rotation ?? exchangeRule
    const { claims, refusal } = await this.check(token, options.audience, rule)
    const outcome =
      refusal === undefined
        ? await this.#replacements.exchange(claims, token, make)
        : refusal.reason
    if (typeof outcome !== 'string') return outcome.value
    this.#settings.log.debug({ reason: outcome }, 'a token was refused')
    return null
  }

  /**
   * The current sign-ins of a subject, which `getToken` starts and rotation continues, the last used one first.
   * `auth.revoke(id)` ends one, `auth.revokeAll(sub)` all.
   *
   * @param subject the claim `sub`
   * @throws {HttpError} 503 if the database cannot be queried
   */
  async signIns(subject: string): Promise<SignInEntry[]> {
    if (typeof subject !== 'string' || subject === '')
      throw new TypeError('Auth.signIns: sub is not text. Pass the claim `sub` of the token.')
    return this.#signIns.list(toStoredName(subject))
  }

  /**
   * Records the use of a token, at most once a minute, without waiting. For the gate, after it has verified a token.
   */
  recordUse(claims: Claims, request: ServerRequest): void {
    void this.#signIns.record(claims, toOrigin(request.incoming.headers['user-agent'], request.ip))
  }

  /**
   * Returns the claims of a valid token, deeply frozen, or null. Never throws for an invalid token; the log states the
   * reason at `debug`.
   *
   * @throws {HttpError} 503 if the database cannot be queried for revocations
   */
  async verify(token: string, options: VerifyOptions = {}): Promise<Claims | null> {
    verifyOptions.check('Auth.verify', options)
    const { audience } = options
    // Within a transaction, its own uncommitted revocations apply.
    const bypassesCache = audience !== undefined || this.#openTransaction() !== undefined
    const cached = bypassesCache ? undefined : this.findCached(token)
    if (cached !== undefined) return cached
    const { claims, refusal } = await this.check(token, audience)
    if (refusal === undefined) return claims
    this.#settings.log.debug({ reason: refusal.reason }, 'a token was refused')
    return null
  }

  /**
   * Like `verify`, for the gate, which logs the reason with the request.
   *
   * @returns the claims, or why the token is rejected
   */
  async check(
    token: string,
    audience?: string,
    rule = this.#settings.rotation,
  ): Promise<TokenCheckResult> {
    try {
      const result = await this.#check(token, audience, rule)
      // Tokens for other audiences are checked with other settings.
      if (audience === undefined) this.#warnings.add(result)
      return result
    } catch (error) {
      if (error instanceof HttpError) throw error
      this.#settings.log.error({ err: error }, 'a token cannot be checked')
      return refuse('it cannot be checked', 'unknown')
    }
  }

  /** Clears the cache of verified tokens, because a reset may have removed revocations. */
  [resetState](): void {
    this.#forget(() => false)
    this.#verifiedTokens.clear()
    this.#signIns.clear()
    this.#replacements.clear()
  }

  /**
   * The claims of a cached token; `undefined` means only that `verify` is needed.
   *
   * @param request the request that uses it, which is recorded once a minute
   */
  findCached(token: string, request?: ServerRequest): Claims | undefined {
    // Tokens begin with `e`, because their header is a JSON object. Other texts are not hashed, such as the static key.
    if (typeof token !== 'string' || token.charCodeAt(0) !== 0x65) return undefined
    return this.#verifiedTokens.find(token, this.#now(), request)
  }

  /**
   * Revokes all tokens with this `jti`, including tokens that rotation made from it.
   *
   * @param until the time after which no such token can be valid, so that the entry may be deleted: a date, or seconds
   * since 1970 like `exp`. With rotation the entry is stored for 12 hours more. Default: stored permanently.
   * @returns false if it was revoked already; only one of several concurrent calls gets true
   */
  async revoke(jti: string, until?: Date | number): Promise<boolean> {
    if (typeof jti !== 'string' || jti === '')
      throw new TypeError('Auth.revoke: jti is not text. Pass the claim `jti` of the token.')
    const end = until instanceof Date ? until.getTime() : (until ?? Infinity) * 1000
    if (Number.isNaN(end))
      throw new TypeError('Auth.revoke: until is not a date. Pass a Date, or seconds since 1970.')
    return this.#revoke(toStoredName(jti), Math.max(end, this.#rotatedUntil()))
  }

  /**
   * Revokes all tokens of a subject that were issued until now, and all tokens that rotation made from them. A user who
   * signs in more than a second later gets in again.
   *
   * @param subject the claim `sub`
   */
  async revokeAll(subject: string): Promise<void> {
    if (typeof subject !== 'string' || subject === '')
      throw new TypeError('Auth.revokeAll: sub is not text. Pass the claim `sub` of the token.')
    const name = toStoredName(subject)
    const second = this.#sharedSecond()
    await queryStore(() => this.#revocations.addSubject(name, second))
    this.#forgetRevoked((trace) => trace.subject === name && trace.signedIn <= second)
  }

  /**
   * Derives a secret for one purpose from the private key (HKDF, RFC 5869). All processes with the key get the same
   * secret, and each purpose gets a different one. Use it for data that clients store but must not read or forge, such
   * as a cookie.
   *
   * @returns 32 bytes
   * @throws {Error} if there is no private key
   */
  async secretFor(purpose: string): Promise<Buffer> {
    const { key } = await this.#settings.keys.signing()
    const keyBytes = key.export({ type: 'pkcs8', format: 'der' })
    return Buffer.from(hkdfSync('sha256', keyBytes, '', `filigree ${purpose}`, 32))
  }

  /**
   * Calls `end` once when a token with these claims is revoked: immediately in this process, within 5 seconds in
   * others.
   *
   * @returns a function that ends the watch
   */
  watch(claims: Claims, end: () => void): () => void {
    return this.#watchedTokens.watch(claims, end)
  }

  /**
   * The next token for these claims: the same claims, or the result of `auth.renew`, with the same lifetime from now.
   *
   * @returns `undefined` if none is due: too early, 12 hours after the first sign-in, revoked, not renewed, or no key
   * to sign with
   */
  renew(claims: Claims): string | undefined | Promise<string | undefined> {
    if (!this.#settings.keys.canSign) return undefined
    return this.#renewal(claims, Math.floor(this.#now() / 1000))
  }

  /**
   * Queries the store and bypasses the cache.
   *
   * @throws {HttpError} 503 if the store is unavailable
   */
  isRevoked(claims: Claims): MaybePromise<boolean> {
    return queryStore(() => this.#revocations.has(toTrace(claims), this.#now()))
  }

  /** Seconds since 1970 by the clock that all processes share, if there is one. */
  #sharedSecond(): number {
    return Math.floor((this.#revocations.now?.() ?? this.#now()) / 1000)
  }

  /** The time after which all tokens that rotation has made until now have expired, in milliseconds since 1970. */
  #rotatedUntil(): number {
    return this.#settings.rotate === 'never' ? 0 : this.#now() + longestRotation * 1000
  }

  async #revoke(name: string, end: number): Promise<boolean> {
    // A token is accepted slightly longer than its `exp`.
    const isNew = await queryStore(() => this.#revocations.add(name, end + clockTolerance * 1000))
    this.#forgetRevoked((trace) => trace.name === name)
    return isNew
  }

  /**
   * Removes revoked tokens from the cache and ends their streams: immediately, or after the commit of the transaction
   * that revoked them.
   */
  #forgetRevoked(isRevoked: (trace: TokenTrace) => boolean): void {
    const open = this.#openTransaction()
    if (open === undefined) this.#forget(isRevoked)
    else
      open.onCommit(() => {
        this.#forget(isRevoked)
      })
  }

  #openTransaction(): OpenTransaction | undefined {
    return this.#revocations.openTransaction?.()
  }

  #forget(isRevoked: (trace: TokenTrace) => boolean): void {
    this.#cacheVersion++
    this.#verifiedTokens.forget((claims) => isRevoked(toTrace(claims)))
    this.#watchedTokens.endRevoked(isRevoked)
  }

  async #sign(claims: Claims): Promise<string> {
    this.#roleWarnings?.add(claims)
    const { key, kid } = await this.#settings.keys.signing()
    const token = await signToken(claims, key, kid)
    if (token.length <= maxTokenBytes) return token
    throw new RangeError(
      `Auth.getToken: the token has ${token.length} bytes, and at most ${maxTokenBytes} are accepted. Make its payload smaller.`,
    )
  }

  async #check(
    token: string,
    audience: string | undefined,
    rule: RotationRule | undefined,
  ): Promise<TokenCheckResult> {
    if (typeof token !== 'string') return refuse('no text', 'form')
    const header = readTokenHeader(token)
    if (typeof header === 'string') return refuse(header, 'form')
    const cacheVersion = this.#cacheVersion
    const candidates = await this.#settings.keys.checking(header.kid)
    const keys = candidates.filter(({ algorithms }) => algorithms.includes(header.algorithm))
    if (keys.length === 0 && candidates.length > 0) return this.#algorithmRefusal(header.algorithm)
    const result = await this.#checkWith(token, keys, audience)
    if (result.refusal !== undefined) return result
    const isRevoked = await this.isRevoked(result.claims)
    const refusal = await this.#findRotationRefusal(result.claims, rule, isRevoked)
    if (typeof refusal !== 'number') return { refusal }
    const claims = freezeDeep(result.claims)
    // A transaction may see an earlier state of the database.
    const isCurrent = cacheVersion === this.#cacheVersion && this.#openTransaction() === undefined
    if (isCurrent && audience === undefined) this.#cacheToken(token, claims, refusal)
    return { claims }
  }

  /** @returns why the token is refused, or the milliseconds for which it is still accepted */
  async #findRotationRefusal(
    claims: Claims,
    rule: RotationRule | undefined,
    isRevoked: boolean,
  ): Promise<TokenRefusal | number> {
    if (isRevoked) {
      const replaced = rule === undefined ? undefined : await this.#replacements.find(claims)
      return { reason: 'revoked', cause: replaced === undefined ? 'revoked' : 'replaced' }
    }
    if (rule === undefined) return Infinity
    const remaining = await this.#replacements.checkReuse(claims, rule)
    return typeof remaining === 'number' ? remaining : { reason: remaining, cause: 'replaced' }
  }

  /** Logs a warning once, because an issuer whose tokens are all refused is a configuration error. */
  #algorithmRefusal(algorithm: string): TokenCheckResult {
    const { keys, log } = this.#settings
    if (!keys.canSign && !this.#hasWarned) {
      this.#hasWarned = true
      log.warn({ algorithm }, 'a token was refused: no key of its issuer allows its algorithm')
    }
    return refuse(`alg is ${algorithm}, which no key of this kid allows`, 'form')
  }

  async #checkWith(
    token: string,
    keys: readonly PublicKey[],
    requiredAudience: string | undefined,
  ): Promise<TokenCheckResult> {
    const { issuer, audience } = this.#settings
    const now = this.#now()
    const checks = { issuer, audience: requiredAudience ?? audience, now }
    let result = refuse('no key of this kid', 'key')
    for (const key of keys) {
      result = await checkToken(token, key, checks)
      // With another cause, the signature is valid.
      if (result.refusal?.cause !== 'key') break
    }
    if (result.refusal !== undefined) return result
    const refusal = findClaimError(result.claims, checks.audience !== undefined, now)
    return refusal === undefined ? result : { refusal }
  }

  #cacheToken(token: string, claims: Claims, remaining: number): void {
    const { keys, rotation } = this.#settings
    const replacements =
      rotation === undefined ? Infinity : Math.min(rotation.grace * 1000, maxTrust)
    const trust = Math.min(
      ...[keys.trustFor, this.#revocations.trustFor ?? Infinity, replacements, remaining],
    )
    const end = ((claims.exp ?? 0) + clockTolerance) * 1000
    this.#verifiedTokens.add(token, claims, Math.min(end, this.#now() + trust))
  }
}

function refuse(reason: string, cause: RefusalCause): TokenCheckResult {
  return { refusal: { reason, cause } }
}

/** All requests with a token share one claims object, so no request may change it. */
function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) freezeDeep(part)
  return Object.freeze(value)
}
