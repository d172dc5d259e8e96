/**
 * Admits a request, or rejects it with 401 or 403. It reads only the head, so a rejected client sends no body. Source:
 * specification, Authentication 2, 3, 5 and 7; decisions, Access to routes.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { HttpError } from '../errors/http-error.js'
import type { Log } from '../core/log.js'
import { gateEvents } from '../http/request-observers.js'
import { CallerIdentity, cookieCaller, unknownCaller } from '../http/caller-identity.js'
import { withoutTracking } from '../http/caller-access.js'
import { onAnything, onAuthorization, onCookie } from '../http/cache-headers.js'
import type { Claims, RequestAuth } from '../http/request.js'
import { isSameOrigin } from '../http/request-origin.js'
import type { ServerRequest } from '../http/server-request.js'
import { clearTokenCookie, readTokenCookie, toTokenCookie } from '../http/token-cookie.js'
import { isThenable, type MaybePromise } from '../core/maybe-promise.js'
import { escapePattern } from '../core/text.js'
import {
  endOfAccess,
  describeDenial,
  noAuthAccess,
  satisfies,
  tokenAccess,
  type AccessRule,
} from './access.js'
import type { Auth } from './auth.js'
import type { RefusalCause } from './tokens.js'
import type { TokenSource } from './options.js'

export interface Gate {
  /**
   * Sets `request.auth` and `request.user`, or rejects the request. Synchronous for the static key and for a cached
   * token.
   *
   * @throws {HttpError} 401 without a valid token, always equal; 403 without the role, if the guard rejects, or for a
   * cross-site write with a cookie; 503 if revocations cannot be queried
   */
  admit(request: ServerRequest, rule: AccessRule): void | Promise<void>
  /**
   * For open routes whose response depends on the caller: verifies the token if there is one.
   *
   * @param rule the rule of the route: with `@NoAuth` the cookie is ignored
   * @throws {HttpError} as `admit`, 401 for an invalid token
   */
  recognise(request: ServerRequest, rule?: AccessRule): void | Promise<void>
  /**
   * Returns the caller without changing the request or its response. An invalid token counts as none. Synchronous for
   * the static key and for a cached token. Rejects if the database cannot tell whether the token is valid.
   */
  identify(request: ServerRequest): MaybePromise<RequestAuth | undefined>
  /** @throws {HttpError} 403 for a cross-site write that is authenticated by a cookie; `admit` includes this check */
  refuseForeignWrite(request: ServerRequest): void
  /** Whether a known caller would be admitted, including guards with this request. Never throws. */
  wouldAdmit(
    request: ServerRequest,
    rule: AccessRule,
    auth: RequestAuth,
  ): boolean | Promise<boolean>
  /**
   * Sends the fresh token if one is due: in the cookie if the token came by cookie, otherwise in `FreshToken`. For
   * secured routes, after the handler, including errors.
   */
  rotate(request: ServerRequest): void | Promise<void>
  /**
   * With `formToken`: whether this write has no other token, so that its body must be read, within the limits, before
   * `admit`.
   */
  needsBody(request: ServerRequest): boolean
}

export interface GateOptions {
  /** The static key; blank or undefined if there is none. */
  readonly apiKey: string | undefined
  readonly auth: Auth
  /** Whether a write without Authorization may have its token in the body's `formToken`. */
  readonly formToken: boolean
  /** Whether tokens are accepted from and sent in the cookie. Default false. */
  readonly cookie?: boolean
  /** Another source of tokens. Default: `Authorization: Bearer …` alone. */
  readonly source?: TokenSource
  readonly log: Log
}

/** The rule of optional sign-in: any token is enough, and none is needed. */
const recognisedAccess: AccessRule = Object.freeze({ ...tokenAccess })

/** Causes for which a token may be of another application on this host. */
const foreignCauses: ReadonlySet<RefusalCause> = new Set(['form', 'key', 'issuer', 'audience'])

const byKey: RequestAuth = Object.freeze({ by: 'key', claims: null })
/** The scheme is case-insensitive, and one or more spaces may follow it (RFC 9110 §11.1 and §11.4). */
const bearerForm = /^bearer +([^ ].*)$/i
/** Minimum length of `APP_API_KEY` in characters. A shorter key can be guessed. */
export const minKeyLength = 16

export function createGate(options: GateOptions): Gate {
  const { apiKey, auth, formToken, cookie, source = {}, log } = options
  const isKey = createKeyCheck(apiKey, log)
  const readHeader = source.scheme === undefined ? readBearer : createHeaderReader(source.scheme)
  const hasScheme = createSchemeCheck(source.scheme)
  const onToken = source.read === undefined ? onAuthorization : onAnything
  const dependencies = cookie === true ? onToken | onCookie : onToken
  const sentToken = createTokenReader(readHeader, source.read)
  const tokenCookie = (request: ServerRequest): string | undefined =>
    cookie === true ? readTokenCookie(request) : undefined

  const needsBody = (request: ServerRequest): boolean => {
    if (!formToken || sentToken(request) !== undefined || !isWrite(request.method)) return false
    const token = tokenCookie(request)
    // A cookie of another application does not count, which is known only after the check.
    return token === undefined || (auth.findCached(token) === undefined && isSameOrigin(request))
  }

  // Browsers send the cookie for every page, so a write must prove that it comes from a page of this application.
  const refuseForeignWrite = (request: ServerRequest): void => {
    if (!isWrite(request.method) || isSameOrigin(request)) return
    if (sentToken(request) === undefined && tokenCookie(request) !== undefined)
      throw forbidden(
        'a write by cookie comes from another origin: it has neither Sec-Fetch-Site: same-origin nor the Origin of this application',
      )
  }

  /** If there is an `Authorization` header, only it counts. */
  const findToken = (request: ServerRequest, byCookie: boolean): string => {
    request.response.varyOn(byCookie ? dependencies : onToken)
    const sent = sentToken(request)
    if (sent !== undefined) return sent
    const token = byCookie ? tokenCookie(request) : undefined
    if (token === undefined) return formToken ? formTokenOf(request) : ''
    refuseForeignWrite(request)
    request.caller = cookieCaller
    return token
  }

  const admit = (request: ServerRequest, rule: AccessRule, token: string): void | Promise<void> => {
    if (token === '')
      throw unauthorized(missingToken(request, source.scheme ?? 'Bearer', cookie === true))
    const cached = auth.findCached(token, request)
    if (cached !== undefined) return enter(request, rule, { by: 'token', claims: cached })
    if (!request.caller.isByCookie && isKey(token)) return enter(request, rule, byKey)
    return auth.check(token).then(({ claims, refusal }) => {
      if (refusal === undefined) {
        auth.recordUse(claims, request)
        return enter(request, rule, { by: 'token', claims })
      }
      if (request.caller.isByCookie && foreignCauses.has(refusal.cause))
        return admitWithoutCookie(request, rule)
      // A replaced or expired token may be late, and the browser may have its successor.
      if (refusal.cause === 'revoked') clearTokenCookie(request)
      throw unauthorized(`the token was refused: ${refusal.reason}`)
    })
  }

  /** The cookie is of another application, so the request is handled as if it had none. */
  const admitWithoutCookie = (request: ServerRequest, rule: AccessRule): void | Promise<void> => {
    request.caller = unknownCaller
    const token = formToken ? formTokenOf(request) : ''
    return token === '' && rule === recognisedAccess ? undefined : admit(request, rule, token)
  }

  return {
    needsBody,
    refuseForeignWrite: cookie === true ? refuseForeignWrite : () => undefined,
    admit: (request, rule) => {
      if (rule.open) return undefined
      return withEvents(request, () => admit(request, rule, findToken(request, true)))
    },
    recognise: (request, rule) => {
      const run = (): void | Promise<void> =>
        withEvents(request, () => {
          const token = findToken(request, rule !== noAuthAccess)
          const isAnonymous = token === '' && !hasScheme(request)
          return isAnonymous ? undefined : admit(request, recognisedAccess, token)
        })
      // The caller counts as read when the application reads it.
      return request.isWatched ? withoutTracking(request, run) : run()
    },
    identify: (request) => {
      if (request.caller.auth !== undefined) return request.caller.auth
      const sent = sentToken(request)
      const token = sent ?? tokenCookie(request)
      if (token === undefined || token === '') return undefined
      if (sent === undefined && isWrite(request.method) && !isSameOrigin(request)) return undefined
      const cached = auth.findCached(token)
      if (cached !== undefined) return { by: 'token', claims: cached }
      if (sent !== undefined && isKey(token)) return byKey
      return auth
        .verify(token)
        .then((claims) => (claims === null ? undefined : { by: 'token', claims }))
    },
    wouldAdmit,
    rotate: (request) => sendFreshToken(request, auth, log),
  }
}

function wouldAdmit(
  request: ServerRequest,
  rule: AccessRule,
  auth: RequestAuth,
): boolean | Promise<boolean> {
  try {
    const pending = enter(request, rule, auth)
    if (pending === undefined) return true
    return pending.then(
      () => true,
      () => false,
    )
  } catch {
    return false
  }
}

function sendFreshToken(request: ServerRequest, auth: Auth, log: Log): void | Promise<void> {
  const claims = request.caller.auth?.claims
  if (claims === undefined || claims === null) return undefined
  if (request.incoming.isTunneled === true) return undefined
  if (request.caller.isByCookie && isWrite(request.method))
    return sendTokenAfterWrite(auth, request, claims, log)
  const token = auth.renew(claims)
  if (token === undefined || typeof token === 'string') {
    sendToken(request, token)
    return undefined
  }
  return token.then(
    (fresh) => {
      sendToken(request, fresh)
    },
    (error: unknown) => {
      log.error({ err: error }, 'a fresh token cannot be made')
    },
  )
}

/** Publishes the check if the channel has subscribers. */
function withEvents(request: ServerRequest, run: () => void | Promise<void>): void | Promise<void> {
  return gateEvents.hasSubscribers
    ? gateEvents.around({ request, ms: 0, error: undefined }, run)
    : run()
}

/** A write may have revoked its own token, as a sign-out does. Then the cookie is removed. */
async function sendTokenAfterWrite(
  auth: Auth,
  request: ServerRequest,
  claims: Claims,
  log: Log,
): Promise<void> {
  try {
    if (await auth.isRevoked(claims)) clearTokenCookie(request)
    else sendToken(request, await auth.renew(claims))
  } catch (error) {
    log.error({ err: error }, 'a fresh token cannot be made')
  }
}

function enter(request: ServerRequest, rule: AccessRule, auth: RequestAuth): void | Promise<void> {
  const { claims } = auth
  request.caller = new CallerIdentity(auth, endOfAccess(rule, claims), request.caller.isByCookie)
  if (!satisfies(rule, claims, request)) throw forbidden(describeDenial(rule, claims, request))
  return runGuards(rule, claims, request)
}

/** Runs the guards of a rule and of the rules in `also`, one after the other. */
function runGuards(
  { guard, also }: AccessRule,
  claims: Claims | null,
  request: ServerRequest,
): void | Promise<void> {
  const pending = guard === undefined ? undefined : checkGuardResult(guard(claims, request))
  if (also === undefined) return pending
  return pending === undefined
    ? runGuards(also, claims, request)
    : pending.then(() => runGuards(also, claims, request))
}

/** Only `true` admits the caller, whatever an untyped guard returns. */
function checkGuardResult(result: unknown): void | Promise<void> {
  if (result === true) return undefined
  if (!isThenable(result))
    throw forbidden(`the guard of the route returned ${String(result)}, not true`)
  return Promise.resolve(result).then(checkGuardResult)
}

/** Compares digests, so that the time reveals neither the length nor the beginning of the key. */
function createKeyCheck(apiKey: string | undefined, log: Log): (token: string) => boolean {
  const key = apiKey?.trim() ?? ''
  if (key === '') return () => false
  if (key.length < minKeyLength) {
    log.warn(
      { characters: key.length },
      `APP_API_KEY is short enough to be guessed. Use ${minKeyLength} characters or more: openssl rand -hex 32`,
    )
  }
  const expected = hash('sha256', key, 'buffer')
  return (token) => timingSafeEqual(hash('sha256', token, 'buffer'), expected)
}

function sendToken(request: ServerRequest, token: string | undefined): void {
  if (token === undefined) return
  const { auth, until, isByCookie } = request.caller
  const [name, value] = isByCookie
    ? ['Set-Cookie', toTokenCookie(request, token)]
    : ['FreshToken', token]
  request.addHeader(name, value)
  request.caller = new CallerIdentity(auth, until, isByCookie, { name, value })
}

function formTokenOf({ method, formToken }: ServerRequest): string {
  return isWrite(method) ? (formToken ?? '') : ''
}

/** True if `Authorization` has an accepted scheme, even without a token. */
function createSchemeCheck(scheme = 'Bearer'): (request: ServerRequest) => boolean {
  const form = new RegExp(`^(?:bearer|${escapePattern(scheme)})(?: |$)`, 'i')
  return ({ incoming }) => form.test(incoming.headers.authorization ?? '')
}

/** Reads `Authorization` with a scheme of the application, and with Bearer. */
function createHeaderReader(scheme: string): (header: string) => string {
  const form = new RegExp(`^(?:bearer|${escapePattern(scheme)}) +([^ ].*)$`, 'i')
  return (header) => form.exec(header)?.[1] ?? ''
}

/** @returns a function that returns undefined if the request has neither a token nor `Authorization` */
function createTokenReader(
  readHeader: (header: string) => string,
  read: TokenSource['read'],
): (request: ServerRequest) => string | undefined {
  const readFromHeader = ({ incoming }: ServerRequest): string | undefined => {
    const header = incoming.headers.authorization
    return header === undefined ? undefined : readHeader(header)
  }
  if (read === undefined) return readFromHeader
  return (request) => {
    const token: unknown = withoutTracking(request, () => read(request))
    return typeof token === 'string' && token !== '' ? token : readFromHeader(request)
  }
}

/** @returns the token, or an empty text for another scheme. The first form is the most common one */
function readBearer(header: string): string {
  if (header.startsWith('Bearer ') && header.charCodeAt(7) !== 0x20) return header.slice(7)
  return bearerForm.exec(header)?.[1] ?? ''
}

function isWrite(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

function unauthorized(reason: string): HttpError {
  return new HttpError(401, 'Unauthorized', { headers: { 'WWW-Authenticate': 'Bearer' }, reason })
}

function missingToken({ incoming }: ServerRequest, scheme: string, cookie: boolean): string {
  if (incoming.headers.authorization !== undefined)
    return `Authorization contains no ${scheme} token`
  return cookie
    ? 'a token is needed, and neither Authorization nor the cookie contains one'
    : 'a token is needed, and there is no Authorization'
}

function forbidden(reason: string): HttpError {
  return new HttpError(403, 'Forbidden', { reason })
}
