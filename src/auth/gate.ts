/**
 * Lets a request in, or answers 401 or 403. It reads only the head, so a refused client sends no body.
 * Source: specification, Authentication 2, 3, 5 and 7; decisions, Access to routes.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { HttpError } from '../errors/http-error.js'
import type { Log } from '../core/log.js'
import { gateEvents } from '../http/request-events.js'
import { withoutTracking } from '../http/caller-access.js'
import { onAnything, onAuthorization, onCookie } from '../http/cache-privacy.js'
import type { Claims, RequestAuth } from '../http/request.js'
import { isSameOrigin } from '../http/same-origin.js'
import type { ServerRequest } from '../http/server-request.js'
import { readTokenCookie, toTokenCookie } from '../http/token-cookie.js'
import { isThenable, type MaybePromise } from '../core/maybe-promise.js'
import {
  endOfAccess,
  describeDenial,
  noAuthAccess,
  satisfies,
  tokenAccess,
  type AccessRule,
} from './access.js'
import type { Auth } from './auth.js'
import type { TokenSource } from './token-source.js'

export interface Gate {
  /**
   * Sets `request.auth` and `request.user`, or refuses. Synchronous for the static key and for a token seen before.
   *
   * @throws {HttpError} 401 without a good token, always the same; 403 without the role, when the guard says no, or for
   * a write that a cookie would let in and that no page of ours sent; 503 where revocations cannot be asked
   */
  admit(request: ServerRequest, rule: AccessRule): void | Promise<void>
  /**
   * For open routes whose answer depends on the caller: checks the token if one comes, and does nothing otherwise.
   *
   * @param rule the route's: under `@NoAuth` the cookie says nothing
   * @throws {HttpError} as `admit`, 401 for a token that is bad
   */
  recognise(request: ServerRequest, rule?: AccessRule): void | Promise<void>
  /**
   * Who calls, and nothing else: the request and its answer stay as they are, a bad token is none. Synchronous for the
   * static key and for a token seen before. Rejects if the database does not say whether the token is good.
   */
  identify(request: ServerRequest): MaybePromise<RequestAuth | undefined>
  /** @throws {HttpError} 403 for a write that a cookie would let in and that no page of ours sent; `admit` asks by itself */
  refuseForeignWrite(request: ServerRequest): void
  /**
   * Whether a caller who is known already would be admitted; guards are asked with this request. Says no instead of throwing.
   */
  wouldAdmit(
    request: ServerRequest,
    rule: AccessRule,
    auth: RequestAuth,
  ): boolean | Promise<boolean>
  /**
   * Sends the fresh token if one is due: in the cookie if the token came by cookie, else in `FreshToken`. For secured
   * routes, after the handler, errors included.
   */
  rotate(request: ServerRequest): void | Promise<void>
  /** With `formToken`: this write brings no other token, so its body has to be read, within the limits, before `admit`. */
  needsBody(request: ServerRequest): boolean
}

export interface GateOptions {
  /** The static key; blank and undefined let nobody in. */
  readonly apiKey: string | undefined
  readonly auth: Auth
  /** A write without Authorization may show its token as the body's `formToken`. */
  readonly formToken: boolean
  /** A token may come in the cookie, and goes there. Default false. */
  readonly cookie?: boolean
  /** Where else a request may have its token. Default: `Authorization: Bearer …` alone. */
  readonly source?: TokenSource
  readonly log: Log
}

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

  const needsBody = (request: ServerRequest): boolean =>
    formToken &&
    sentToken(request) === undefined &&
    isWrite(request.method) &&
    tokenCookie(request) === undefined

  // The browser sends the cookie for every page, so a write must prove that it comes from one of our pages.
  const refuseForeignWrite = (request: ServerRequest): void => {
    if (!isWrite(request.method) || isSameOrigin(request)) return
    if (sentToken(request) === undefined && tokenCookie(request) !== undefined)
      throw forbidden(
        'a write by cookie comes from another origin: neither Sec-Fetch-Site: same-origin nor our own Origin',
      )
  }

  /** Where `Authorization` is there it alone counts. */
  const findToken = (request: ServerRequest, byCookie: boolean): string => {
    request.dependsOn |= byCookie ? dependencies : onToken
    const sent = sentToken(request)
    if (sent !== undefined) return sent
    const token = byCookie ? tokenCookie(request) : undefined
    if (token === undefined) return formToken ? formTokenOf(request) : ''
    refuseForeignWrite(request)
    request.byCookie = true
    return token
  }

  const admit = (request: ServerRequest, rule: AccessRule, token: string): void | Promise<void> => {
    if (token === '')
      throw unauthorized(missingToken(request, source.scheme ?? 'Bearer', cookie === true))
    const cached = auth.remembered(token, request)
    if (cached !== undefined) return enter(request, rule, { by: 'token', claims: cached })
    if (!request.byCookie && isKey(token)) return enter(request, rule, byKey)
    return auth.check(token).then((claims) => {
      if (typeof claims !== 'string') {
        auth.used(claims, request)
        return enter(request, rule, { by: 'token', claims })
      }
      if (request.byCookie) setCookie(request, undefined)
      throw unauthorized(`the token was refused: ${claims}`)
    })
  }

  return {
    needsBody,
    refuseForeignWrite: cookie === true ? refuseForeignWrite : () => undefined,
    admit: (request, rule) => {
      if (rule.open) return undefined
      return withEvents(request, () => admit(request, rule, findToken(request, true)))
    },
    recognise: (request, rule) =>
      withEvents(request, () => {
        const token = findToken(request, rule !== noAuthAccess)
        return token === '' && !hasScheme(request) ? undefined : admit(request, tokenAccess, token)
      }),
    identify: (request) => {
      if (request.admitted !== undefined) return request.admitted
      const sent = sentToken(request)
      const token = sent ?? tokenCookie(request)
      if (token === undefined || token === '') return undefined
      if (sent === undefined && isWrite(request.method) && !isSameOrigin(request)) return undefined
      const cached = auth.remembered(token)
      if (cached !== undefined) return { by: 'token', claims: cached }
      if (sent !== undefined && isKey(token)) return byKey
      return auth
        .verify(token)
        .then((claims) => (claims === null ? undefined : { by: 'token', claims }))
    },
    wouldAdmit: (request, rule, auth) => {
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
    },
    rotate: (request) => {
      const claims = request.admitted?.claims
      if (claims === undefined || claims === null) return undefined
      if (request.incoming.isTunneled === true) return undefined
      if (request.byCookie && isWrite(request.method))
        return followWrite(auth, request, claims, log)
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
    },
  }
}

/** Tells of it where somebody listens. */
function withEvents(request: ServerRequest, run: () => void | Promise<void>): void | Promise<void> {
  return gateEvents.hasSubscribers
    ? gateEvents.around({ request, ms: 0, error: undefined }, run)
    : run()
}

/** A write may have ended the token that let it in, as a sign-out does: then the browser forgets it. */
async function followWrite(
  auth: Auth,
  request: ServerRequest,
  claims: Claims,
  log: Log,
): Promise<void> {
  try {
    if (await auth.isRevoked(claims)) setCookie(request, undefined)
    else sendToken(request, await auth.renew(claims))
  } catch (error) {
    log.error({ err: error }, 'a fresh token cannot be made')
  }
}

function enter(request: ServerRequest, rule: AccessRule, auth: RequestAuth): void | Promise<void> {
  const { claims } = auth
  request.admitted = auth
  request.admittedUntil = endOfAccess(rule, claims)
  if (!satisfies(rule, claims, request)) throw forbidden(describeDenial(rule, claims, request))
  return runGuards(rule, claims, request)
}

/** The guards of a rule and of those beside it, one after the other. */
function runGuards(
  { guard, also }: AccessRule,
  claims: Claims | null,
  request: ServerRequest,
): void | Promise<void> {
  const pending = guard === undefined ? undefined : requireTrue(guard(claims, request))
  if (also === undefined) return pending
  return pending === undefined
    ? runGuards(also, claims, request)
    : pending.then(() => runGuards(also, claims, request))
}

/** Only `true` lets in, whatever an untyped guard returns. */
function requireTrue(result: unknown): void | Promise<void> {
  if (result === true) return undefined
  if (!isThenable(result))
    throw forbidden(`the guard of the route answered ${String(result)}, not true`)
  return Promise.resolve(result).then(requireTrue)
}

/** Compares digests, so that neither the key's length nor its beginning shows in the time it takes. */
function createKeyCheck(apiKey: string | undefined, log: Log): (token: string) => boolean {
  const key = apiKey?.trim() ?? ''
  if (key === '') return () => false
  if (key.length < minKeyLength) {
    log.warn(
      { characters: key.length },
      `APP_API_KEY is short enough to be guessed. Give it ${minKeyLength} characters or more: openssl rand -hex 32`,
    )
  }
  const expected = hash('sha256', key, 'buffer')
  return (token) => timingSafeEqual(hash('sha256', token, 'buffer'), expected)
}

function sendToken(request: ServerRequest, token: string | undefined): void {
  if (token === undefined) return
  if (request.byCookie) setCookie(request, token)
  else request.addHeader('FreshToken', token)
}

function setCookie(request: ServerRequest, token: string | undefined): void {
  request.addHeader('Set-Cookie', toTokenCookie(request, token))
}

function formTokenOf({ method, formToken }: ServerRequest): string {
  return isWrite(method) ? (formToken ?? '') : ''
}

/** True if the scheme is one of ours, even without a token. */
function createSchemeCheck(scheme = 'Bearer'): (request: ServerRequest) => boolean {
  const form = new RegExp(`^(?:bearer|${escapeForm(scheme)})(?: |$)`, 'i')
  return ({ incoming }) => form.test(incoming.headers.authorization ?? '')
}

/** Reads `Authorization` with a scheme of the application, and with Bearer. */
function createHeaderReader(scheme: string): (header: string) => string {
  const form = new RegExp(`^(?:bearer|${escapeForm(scheme)}) +([^ ].*)$`, 'i')
  return (header) => form.exec(header)?.[1] ?? ''
}

function escapeForm(text: string): string {
  return text.replace(/[^\w-]/g, String.raw`\$&`)
}

/** @returns a function that returns undefined where the request has neither a token nor `Authorization` */
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

/** @returns the token, or an empty text where the scheme is another; nearly everybody writes it in the first way */
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
  if (incoming.headers.authorization !== undefined) return `Authorization brings no ${scheme} token`
  return cookie
    ? 'a token is needed, and neither Authorization nor the cookie brings one'
    : 'a token is needed, and there is no Authorization'
}

function forbidden(reason: string): HttpError {
  return new HttpError(403, 'Forbidden', { reason })
}
