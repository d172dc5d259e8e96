/** The options for tokens, their sources and keys, checked once at bootstrap. Source: decisions, Access to routes. */

import { ServerRequest } from '../http/server-request.js'
import type { HttpRequest } from '../http/request.js'
import { findCookieNameProblem } from '../http/cookie-names.js'
import { createIncoming } from '../http/in-memory/fake-request.js'
import { FakeResponse } from '../http/in-memory/fake-response.js'
import type { Problems } from '../errors/problems.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { checkOptionNames } from '../errors/unknown-options.js'
import { readSeconds } from '../core/time.js'
import type { Renew } from './renewal.js'
import type { RotationRule } from './successors.js'
import type { Rotation } from './tokens.js'
import { readKeyOrigin, type KeyOptions, type KeyOrigin } from './key-origin.js'

/** The treatment of a token after rotation has replaced it. */
export interface RotationOptions {
  /**
   * How long it stays valid, with the same successor in every response of every process: seconds, or text such as
   * `30s`. After that it is 401.
   */
  readonly grace: number | string
  /**
   * `'end'`: a later use ends the complete sign-in, because the token may have been copied. Default: only the token is
   * rejected.
   */
  readonly reuse?: 'end'
}

/** `bootstrap(AppModule, { auth: { … } })`. */
export interface AuthOptions {
  /** Closes GET routes and queries too, for all but `@NoAuth`. Default false: reads are open. */
  readonly closed?: boolean
  /** Accept the token of a write in the body's `formToken` if there is no Authorization. Default false. */
  readonly formToken?: boolean
  /**
   * Accept tokens from a cookie and send them in it too, for browsers without headers. A write with the cookie must
   * come from a page of this application. Default false.
   *
   * `{ name }` sets its name. Default: `app_token_3000` with the port outside production, `app_token.desk` with the path
   * of `publicUrl` in production. Over https it has the prefix `__Host-`.
   */
  readonly cookie?: boolean | { readonly name?: string }
  /** A scheme in `Authorization` in addition to `Bearer`: `'Token'` for `Authorization: Token …`. Default: none. */
  readonly scheme?: string
  /**
   * Reads the token of a request: `(request) => request.headers['x-token']`. If it returns nothing, `Authorization` is
   * used. It must not read a cookie: use `cookie`. Default: none.
   */
  readonly read?: ReadToken
  /** Default `'half-life'`. */
  readonly rotate?: Rotation
  /** The treatment of replaced tokens. Default: valid until `exp`. */
  readonly rotation?: RotationOptions
  /**
   * Called at each rotation, to update roles and stop blocked users: returns the claims of the fresh token, or null,
   * which revokes the old one from the next request on. If it throws, no fresh token is sent. Default: all claims are
   * copied.
   */
  readonly renew?: Renew
  /** Written into tokens as `iss`, and required. Default: none, and `iss` is not checked. */
  readonly issuer?: string
  /**
   * Written into tokens as `aud`, and required: one of a list is sufficient. Default: none, and tokens with `aud` are
   * refused.
   */
  readonly audience?: string | readonly string[]
  /** The default lifetime of tokens: seconds, or text such as `15m`. Default `1h`. */
  readonly expiresIn?: number | string
  /**
   * Address of an issuer's key set (RFC 7517), for example of Keycloak or Auth0, which creates the tokens. Requires
   * `issuer` and `audience`.
   */
  readonly jwks?: string
  /**
   * Keys by PEM text or path, in place of the environment's. `false`: no tokens at all, only the static key; a
   * production server then starts without keys.
   */
  readonly keys?: KeyOptions | false
}

/** The part of the environment that belongs to authentication; bootstrap reads it. */
export interface AuthEnvironment {
  readonly APP_API_KEY?: string | undefined
  readonly APP_PRIVATE_KEY?: string | undefined
  readonly APP_PUBLIC_KEY?: string | undefined
  readonly NODE_ENV?: string | undefined
}

/** The options with defaults, frozen. */
export interface ResolvedAuthOptions {
  /** Without surrounding blanks. Undefined if there is no static key. */
  readonly apiKey: string | undefined
  readonly closed: boolean
  readonly formToken: boolean
  readonly cookie: boolean
  /** Undefined for the default. */
  readonly cookieName: string | undefined
  readonly source: TokenSource
  readonly rotate: Rotation
  readonly rotation: RotationRule | undefined
  readonly renew: Renew | undefined
  readonly issuer: string | undefined
  readonly audience: string | readonly string[] | undefined
  /** Seconds. */
  readonly expiresIn: number
  readonly keys: KeyOrigin
}

const rotations: readonly Rotation[] = ['half-life', 'always', 'never']
const names: Readonly<Record<keyof AuthOptions, true>> = {
  audience: true,
  closed: true,
  cookie: true,
  expiresIn: true,
  formToken: true,
  issuer: true,
  jwks: true,
  keys: true,
  read: true,
  renew: true,
  rotate: true,
  rotation: true,
  scheme: true,
}

/**
 * @param problems receives problems with the codes `UNKNOWN_OPTION`, `INVALID_OPTION`, `INVALID_ENVIRONMENT` and
 * `AUTH_KEYS`; the result is then a placeholder until the report
 */
export function resolveAuthOptions(
  options: AuthOptions | undefined,
  environment: AuthEnvironment,
  problems: Problems,
): ResolvedAuthOptions {
  const input = options ?? {}
  const refuse: Refuse = (message, remedy) => {
    problems.add({ code: 'INVALID_OPTION', message: `bootstrap auth: ${message}`, remedy })
  }
  checkOptionNames('bootstrap auth', input, names, problems)
  checkOptions(input, refuse)
  const { issuer, audience } = input
  return Object.freeze({
    apiKey: readApiKey(environment.APP_API_KEY, problems),
    closed: input.closed === true,
    formToken: input.formToken === true,
    cookie: input.cookie !== undefined && input.cookie !== false,
    cookieName: readCookieName(input.cookie, refuse, problems),
    source: readSource(input, refuse),
    rotate: input.rotate ?? 'half-life',
    rotation: readRotation(input.rotation, refuse, problems),
    renew: input.renew,
    issuer,
    audience: typeof audience === 'object' ? Object.freeze([...audience]) : audience,
    expiresIn: readSeconds(input.expiresIn ?? '1h') ?? 3600,
    keys: readKeyOrigin(input, environment, problems),
  })
}

type Refuse = (message: string, remedy: string) => void

function checkOptions(options: AuthOptions, refuse: Refuse): void {
  const { rotate, issuer, audience, expiresIn } = options
  for (const name of ['closed', 'formToken'] as const) {
    if (options[name] === undefined || typeof options[name] === 'boolean') continue
    refuse(`${name} is neither true nor false.`, `Write auth: { ${name}: true }.`)
  }
  if (rotate !== undefined && !rotations.includes(rotate)) {
    const hint = didYouMean(rotate, rotations)
    refuse(`rotate "${rotate}" is unknown.`, `${hint} One of ${rotations.join(', ')}.`.trim())
  }
  if (options.renew !== undefined && typeof options.renew !== 'function') {
    refuse(
      'renew is not a function.',
      'Give one: async (claims) => claims, or null to end the token.',
    )
  }
  if (issuer !== undefined && !isName(issuer)) {
    refuse('issuer is not text.', 'Write the issuer as in the claim "iss".')
  }
  if (audience !== undefined && !isAudience(audience)) {
    refuse('audience is neither text nor a list of texts.', 'Write it as in the claim "aud".')
  }
  if (options.jwks !== undefined && (issuer === undefined || audience === undefined)) {
    refuse(
      'jwks requires issuer and audience: otherwise tokens of that issuer for other applications would be accepted.',
      'Write both, as in the claims "iss" and "aud" of its tokens.',
    )
  }
  if (expiresIn !== undefined && readSeconds(expiresIn) === undefined) {
    refuse(
      `expiresIn ${JSON.stringify(expiresIn)} is not a length of time.`,
      'Give seconds, or text such as "15m", "1h", "7d".',
    )
  }
}

function readCookieName(
  input: AuthOptions['cookie'],
  refuse: Refuse,
  problems: Problems,
): string | undefined {
  if (input === undefined || typeof input === 'boolean') return undefined
  if (typeof input !== 'object' || (input as unknown) === null) {
    refuse(
      'cookie is neither true nor an object.',
      "Write auth: { cookie: { name: 'desk_token' } }.",
    )
    return undefined
  }
  checkOptionNames('bootstrap auth.cookie', input, { name: true }, problems)
  const problem = input.name === undefined ? undefined : findCookieNameProblem(input.name)
  if (problem !== undefined)
    refuse(
      `cookie.name ${JSON.stringify(input.name)} ${problem}.`,
      "Write letters, digits, dashes and underscores: 'desk_token'.",
    )
  return input.name
}

/** A token of RFC 9110 §5.6.2. */
const schemeForm = /^[!#$%&'*+.^_`|~\w-]+$/

function readSource({ scheme, read }: AuthOptions, refuse: Refuse): TokenSource {
  if (scheme !== undefined && (typeof scheme !== 'string' || !schemeForm.test(scheme)))
    refuse(`scheme ${JSON.stringify(scheme)} is not the name of a scheme.`, "Write 'Token'.")
  if (read === undefined) return Object.freeze({ scheme })
  const remedy = "Write read: (request) => request.headers['x-token']."
  if (typeof read !== 'function') {
    refuse('read is not a function.', remedy)
    return Object.freeze({ scheme })
  }
  if (scheme !== undefined) refuse('scheme and read cannot be combined.', 'Remove one of them.')
  try {
    const locations = findTokenLocations(read)
    if (locations.some((location) => location.in === 'cookie'))
      refuse(
        'read reads a cookie, which browsers send for every page. Writes would not be protected.',
        'Write auth: { cookie: true } for tokens in a cookie.',
      )
    return Object.freeze({ read, location: locations[0] })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    refuse(
      `read fails for a request without a token: ${reason}.`,
      'Return the token, or undefined if there is none.',
    )
    return Object.freeze({ read })
  }
}

const rotationNames: Readonly<Record<keyof RotationOptions, true>> = { grace: true, reuse: true }

function readRotation(
  input: RotationOptions | undefined,
  refuse: Refuse,
  problems: Problems,
): RotationRule | undefined {
  if (input === undefined) return undefined
  if (typeof input !== 'object' || (input as unknown) === null) {
    refuse('rotation is not an object.', "Write rotation: { grace: '30s', reuse: 'end' }.")
    return undefined
  }
  checkOptionNames('bootstrap auth.rotation', input, rotationNames, problems)
  const grace = readSeconds(input.grace)
  if (grace === undefined)
    refuse(
      `rotation.grace ${JSON.stringify(input.grace)} is not a length of time.`,
      'Give seconds, or text such as "30s".',
    )
  const reuse: unknown = input.reuse
  if (reuse !== undefined && reuse !== 'end')
    refuse(`rotation.reuse ${JSON.stringify(reuse)} is unknown.`, "Write 'end', or leave it out.")
  return Object.freeze({ grace: grace ?? 1, reuse: input.reuse })
}

function readApiKey(value: string | undefined, problems: Problems): string | undefined {
  const key = value?.trim() ?? ''
  if (key === '') return undefined
  if (/^[\x21-\x7e]+$/.test(key)) return key
  problems.add({
    code: 'INVALID_ENVIRONMENT',
    message:
      'APP_API_KEY has blanks or characters that are not allowed in an Authorization header.',
    remedy: 'Create one with letters and digits: openssl rand -hex 32',
  })
  return undefined
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isAudience(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 && value.every(isName) : isName(value)
}

// Custom sources of tokens, `auth: { scheme }` or `auth: { read }`. `Authorization: Bearer …` is accepted in addition, because
// MCP clients, WebSockets and tests send it.

/** Reads the token of a request: `(request) => request.headers['x-token']`. Undefined or empty: the request has none. */
export type ReadToken = (request: HttpRequest) => string | undefined

export interface TokenSource {
  /** The scheme in `Authorization`, as it is written in responses. Default: `Bearer`. */
  readonly scheme?: string | undefined
  readonly read?: ReadToken | undefined
  /** The first location that `read` reads; undefined if it is neither a header nor a query parameter. */
  readonly location?: TokenLocation | undefined
}

interface TokenLocation {
  readonly in: 'header' | 'query' | 'cookie'
  readonly name: string
}

/**
 * Calls `read` with a request that has no headers, as it is called for every anonymous caller.
 *
 * @returns the headers, query parameters and cookies that it reads, in this order
 * @throws errors of `read`, and TypeError if it returns a promise or a value that is neither text nor undefined
 */
function findTokenLocations(read: ReadToken): readonly TokenLocation[] {
  const locations: TokenLocation[] = []
  const incoming = createIncoming({ method: 'GET', url: '/', headers: [], body: undefined })
  const request = new ServerRequest(incoming, new FakeResponse(), { trustProxy: false })
  const recording = (location: TokenLocation['in']): object =>
    new Proxy(Object.create(null) as object, {
      get: (_, name) => {
        if (typeof name !== 'string') return undefined
        const isCookie = location === 'header' && name.toLowerCase() === 'cookie'
        locations.push(isCookie ? { in: 'cookie', name } : { in: location, name })
        return undefined
      },
    })
  const overrides = {
    headers: recording('header'),
    query: recording('query'),
    cookies: recording('cookie'),
    incoming: Object.create(incoming, { headers: { value: recording('header') } }) as object,
  }
  const token: unknown = read(
    new Proxy(request, {
      get: (target, name) =>
        name in overrides
          ? overrides[name as keyof typeof overrides]
          : (Reflect.get(target, name, target) as unknown),
    }),
  )
  if (token === undefined || token === null || typeof token === 'string') return locations
  throw new TypeError(token instanceof Promise ? 'it returns a promise' : 'it returns no text')
}
