/**
 * Lets a request in, or answers 401 or 403. It looks at the head alone, so that who stays outside sends no body.
 * Source: specification, Authentication 2, 3, 5 and 7; decisions, Authentication and "Gate".
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { HttpError } from '../errors/http-error.js'
import type { Log } from '../core/log.js'
import type { RequestAuth } from '../http/request.js'
import type { ServerRequest } from '../http/server-request.js'
import { isThenable } from '../core/later.js'
import { hasRoles, tokenAccess, type AccessRule } from './access.js'
import type { Auth } from './auth.js'

export interface Gate {
  /**
   * Sets `request.auth` and `request.user`, or refuses. Synchronous for the static key and for a token seen before.
   *
   * @throws {HttpError} 401 without a good token, always the same; 403 without the role, or when the guard says no
   */
  admit(request: ServerRequest, rule: AccessRule): void | Promise<void>
  /**
   * Where none is needed: a token that comes says who asks, and who brings none is nobody.
   *
   * @throws {HttpError} 401 for a bad token
   */
  recognise(request: ServerRequest): void | Promise<void>
  /** Adds `FreshToken` to the response where one is due. For secured routes, after the handler, errors included. */
  rotate(request: ServerRequest): void | Promise<void>
  /** With `formToken`: this write brings no Authorization, so its body has to be read, within the limits, before `admit`. */
  needsBody(request: ServerRequest): boolean
}

export interface GateOptions {
  /** The static key; blank and undefined let nobody in. */
  readonly apiKey: string | undefined
  readonly auth: Auth
  /** A write without Authorization may show its token as the body's `formToken`. */
  readonly formToken: boolean
  readonly log: Log
}

const byKey: RequestAuth = Object.freeze({ by: 'key', claims: null })
/** The scheme heeds no case, and one or more spaces may follow it (RFC 9110 §11.1 and §11.4). */
const bearerForm = /^bearer +([^ ].*)$/i
/** A shorter static key can be guessed. */
const fewestKeyCharacters = 16

export function createGate({ apiKey, auth, formToken, log }: GateOptions): Gate {
  const isKey = createKeyCheck(apiKey, log)

  const needsBody = (request: ServerRequest): boolean =>
    formToken && request.incoming.headers.authorization === undefined && isWrite(request.method)

  const readToken = (request: ServerRequest): string => {
    const header = request.incoming.headers.authorization
    if (header !== undefined) return readBearer(header)
    return needsBody(request) ? (request.formToken ?? '') : ''
  }

  const gate: Gate = {
    needsBody,
    recognise: (request) =>
      request.incoming.headers.authorization === undefined && readToken(request) === ''
        ? undefined
        : gate.admit(request, tokenAccess),
    admit: (request, rule) => {
      if (rule.open) return undefined
      const token = readToken(request)
      if (token === '') throw unauthorized()
      const known = auth.remembered(token)
      if (known !== undefined) return enter(request, rule, { by: 'token', claims: known })
      if (isKey(token)) return enter(request, rule, byKey)
      return auth.verify(token).then((claims) => {
        if (claims === null) throw unauthorized()
        return enter(request, rule, { by: 'token', claims })
      })
    },
    rotate: (request) => {
      const claims = request.auth?.claims
      if (claims === undefined || claims === null) return undefined
      const token = auth.renew(claims)
      if (token === undefined || typeof token === 'string') {
        addFreshToken(request, token)
        return undefined
      }
      return token.then(
        (fresh) => {
          addFreshToken(request, fresh)
        },
        (error: unknown) => {
          log.error({ err: error }, 'a fresh token cannot be made')
        },
      )
    },
  }
  return gate
}

function enter(request: ServerRequest, rule: AccessRule, auth: RequestAuth): void | Promise<void> {
  const { claims } = auth
  request.auth = auth
  request.user = claims
  if (!hasRoles(rule, claims)) throw forbidden()
  return rule.guard === undefined ? undefined : askGuard(rule.guard(claims, request))
}

/** Nothing but `true` lets in, whatever a guard without types may answer. */
function askGuard(verdict: unknown): void | Promise<void> {
  if (verdict === true) return undefined
  if (!isThenable(verdict)) throw forbidden()
  return Promise.resolve(verdict).then(askGuard)
}

/** Compares digests, so that neither the key's length nor its beginning shows in the time it takes. */
function createKeyCheck(apiKey: string | undefined, log: Log): (token: string) => boolean {
  const key = apiKey?.trim() ?? ''
  if (key === '') return () => false
  if (key.length < fewestKeyCharacters) {
    log.warn(
      { characters: key.length },
      `APP_API_KEY is short enough to be guessed. Give it ${fewestKeyCharacters} characters or more: openssl rand -hex 32`,
    )
  }
  const wanted = hash('sha256', key, 'buffer')
  return (token) => timingSafeEqual(hash('sha256', token, 'buffer'), wanted)
}

function addFreshToken(request: ServerRequest, token: string | undefined): void {
  if (token !== undefined) request.addHeader('FreshToken', token)
}

/** @returns the token, or an empty text where the scheme is another; nearly everybody writes it in the first way */
function readBearer(header: string): string {
  if (header.startsWith('Bearer ') && header.charCodeAt(7) !== 0x20) return header.slice(7)
  return bearerForm.exec(header)?.[1] ?? ''
}

function isWrite(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

function unauthorized(): HttpError {
  return new HttpError(401, 'Unauthorized', { headers: { 'WWW-Authenticate': 'Bearer' } })
}

function forbidden(): HttpError {
  return new HttpError(403, 'Forbidden')
}
