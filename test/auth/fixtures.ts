/** Clocks, tokens and requests for the tests of this folder. */
import type { KeyObject } from 'node:crypto'
import { Auth, type AuthOptions, DeclarationError, HttpError, type Log } from '../../src/index.js'
import type { Problem } from '../../src/errors/declaration-error.js'
import { Problems } from '../../src/errors/problems.js'
import { type AuthSettings } from '../../src/auth/auth.js'
import { createGate, type Gate, type GateOptions } from '../../src/auth/gate.js'
import { resolveAuthOptions, type AuthEnvironment } from '../../src/auth/options.js'
import { createKeys, type TokenKeys } from '../../src/auth/keys.js'
import { type KeyOrigin, readPrivateKey, readPublicKeys } from '../../src/auth/key-origin.js'
import { silentLog } from '../silent-log.js'
import type { Pair } from './key-pair.js'
import { signToken, type SignOptions } from './sign-token.js'
import { fakeRequest, type ServerRequest } from '../http/fake-request.js'

export type { AuthEnvironment, Gate, ServerRequest }
export { createMemoryRevocations, toTrace, type Revocations } from '../../src/auth/revocations.js'
export {
  accessRule,
  describeDemands,
  openAccess,
  combineRules,
  satisfies,
  tokenAccess,
} from '../../src/auth/access.js'
export { classAccess, readHandlerAccess } from '../../src/auth/decorators.js'
export { ReceivedBody } from '../../src/http/bodies/received-body.js'
export { openKeyFolder, thumbprint } from '../../src/auth/key-origin.js'
export { createKeys }

/** 2026-11-20T10:00:00Z in milliseconds. */
export const noon = Date.UTC(2026, 10, 20, 10)
/** The same in seconds. */
export const noonSeconds = noon / 1000

export interface Clock {
  (): number
  /** Moves the clock, in seconds. */
  advance(seconds: number): void
}

export function makeClock(start = noon): Clock {
  let time = start
  return Object.assign(() => time, {
    advance: (seconds: number) => {
      time += seconds * 1000
    },
  })
}

export function givenKeys(pair: Pair, ...older: Pair[]): KeyOrigin {
  const privateKey = readPrivateKey(pair.privatePem)
  const all = [pair, ...older].flatMap(({ publicPem }) => readPublicKeys(publicPem))
  return { from: 'given', private: privateKey, public: all }
}

export type AuthInput = Partial<AuthSettings> & { origin: KeyOrigin; now: () => number }

export function makeAuth({ origin, ...settings }: AuthInput): Auth {
  const log = settings.log ?? silentLog
  return new Auth({
    keys: createKeys({ origin, log, now: settings.now }),
    log,
    rotate: 'half-life',
    issuer: undefined,
    audience: undefined,
    expiresIn: 3600,
    ...settings,
  })
}

export function makeGate(auth: Auth, options: Partial<GateOptions> = {}): Gate {
  return createGate({ apiKey: undefined, auth, formToken: false, log: silentLog, ...options })
}

export function makeRequest(
  headers: Record<string, string> = {},
  { method = 'POST', url = '/items' }: { method?: string; url?: string } = {},
): ServerRequest {
  return fakeRequest({ method, url, headers: Object.entries(headers) })
}

export function bearer(token: string): ServerRequest {
  return makeRequest({ authorization: `Bearer ${token}` })
}

export function resolveAuth(
  options: AuthOptions,
  environment: AuthEnvironment,
): { resolved: ReturnType<typeof resolveAuthOptions>; problems: readonly Problem[] } {
  const problems = new Problems()
  const resolved = resolveAuthOptions(options, environment, problems)
  return { resolved, problems: problems.list }
}

/** @returns an Auth that takes its keys from environment variables */
export function authFrom(environment: AuthEnvironment): Auth {
  const { resolved, problems } = resolveAuth({}, environment)
  if (problems.length > 0) throw new DeclarationError(problems)
  return makeAuth({ origin: resolved.keys, now: Date.now })
}

/** @returns keys that verify tokens, and fail to sign them */
export function keysWithoutSigning(pair: Pair): TokenKeys {
  const keys = createKeys({ origin: givenKeys(pair), log: silentLog })
  return { ...keys, signing: () => Promise.reject(new Error('no key')) }
}

/** @returns keys that sign tokens, and fail to verify them */
export function keysWithoutChecking(log: Log): TokenKeys {
  const keys = createKeys({ origin: { from: 'none' }, log })
  return { ...keys, checking: () => Promise.reject(new Error('disk is gone')) }
}

/** The error that a call throws or rejects with. */
export async function failureOf(run: () => unknown): Promise<HttpError> {
  try {
    await run()
  } catch (error) {
    if (error instanceof HttpError) return error
    throw error
  }
  throw new Error('It was let in.')
}

/** The value of a response header that was added to the request, or undefined. */
export function addedHeader(request: ServerRequest, name: string): string | undefined {
  return request.response.headers?.first(name)
}

/** A log that stores its lines as `level message`. */
export function makeLog(): Log & { readonly lines: string[] } {
  const lines: string[] = []
  const keep = (level: string) => (_details: object, message: string) => {
    lines.push(`${level} ${message}`)
  }
  return {
    lines,
    error: keep('error'),
    warn: keep('warn'),
    info: keep('info'),
    debug: keep('debug'),
  }
}

/** A token that Filigree did not make. `iat` is noon unless the payload has another. */
export function foreignToken(
  payload: object,
  key: KeyObject | string,
  options: SignOptions & { noTimestamp?: boolean } = {},
): string {
  const claims = options.noTimestamp ? { ...payload } : { iat: noonSeconds, ...payload }
  return signToken(claims, key, options)
}

/** A token assembled by hand, with any header. */
export function rawToken(header: unknown, payload: unknown, signature: Buffer | string): string {
  const tail = typeof signature === 'string' ? signature : signature.toString('base64url')
  return `${toPart(header)}.${toPart(payload)}.${tail}`
}

export function toPart(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return Buffer.from(text).toString('base64url')
}
