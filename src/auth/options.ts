/** The options for tokens, their sources and keys, checked once at bootstrap. Source: decisions, Access to routes. */

import { ServerRequest } from '../http/server-request.js'
import type { HttpRequest } from '../http/request.js'
import { cookieNameOption } from '../http/cookie-names.js'
import { createIncoming } from '../http/in-memory/fake-request.js'
import { FakeResponse } from '../http/in-memory/fake-response.js'
import type { Problems } from '../errors/problems.js'
import { declareOptions, type OptionsOf, type ValuesOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { Renew } from './renewal.js'
import type { RotationRule } from './successors.js'
import type { Rotation } from './tokens.js'
import { readKeyOrigin, type KeyOptions, type KeyOrigin } from './key-origin.js'

const rotationOptions = declareOptions({
  /**
   * How long it stays valid, with the same successor in every response of every process: seconds, or text such as
   * `30s`. After that it is 401.
   */
  grace: option.seconds("Give seconds, or text such as '30s'.").shown().required('1s'),
  /**
   * `'end'`: a later use ends the complete sign-in, because the token may have been copied. Default: only the token is
   * rejected.
   */
  reuse: option.oneOf('end').shown(),
})

/** The treatment of a token after rotation has replaced it. */
export interface RotationOptions extends OptionsOf<typeof rotationOptions> {}

const cookieOptions = declareOptions({
  name: cookieNameOption('desk_token'),
})

const authOptions = declareOptions({
  /** Closes GET routes and queries too, for all but `@NoAuth`. Default false: reads are open. */
  closed: option.flag().shown().default(false),
  /**
   * All roles of the application: `['admin', 'desk']`. A rule with another role stops the start (`ROLE_UNKNOWN`), and a
   * token that is issued with one is a warning. Default: any text is a role.
   */
  roles: option
    .of<readonly string[]>(isRoleList, "List all roles of the application: ['admin', 'desk'].")
    .shown(),
  /** Accept the token of a write in the body's `formToken` if there is no Authorization. Default false. */
  formToken: option.flag().shown().default(false),
  /**
   * Accept tokens from a cookie and send them in it too, for browsers without headers. A write with the cookie must
   * come from a page of this application. Default false.
   *
   * `{ name }` sets its name. Default: `app_token_3000` with the port outside production, `app_token.desk` with the path
   * of `publicUrl` in production. Over https it has the prefix `__Host-`.
   */
  cookie: option.flag().shown().or(cookieOptions),
  /** A scheme in `Authorization` in addition to `Bearer`: `'Token'` for `Authorization: Token …`. Default: none. */
  scheme: option.text("Write 'Token'.", /^[!#$%&'*+.^_`|~\w-]+$/).shown(),
  /**
   * Reads the token of a request: `(request) => request.headers['x-token']`. If it returns nothing, `Authorization` is
   * used. It must not read a cookie: use `cookie`. Default: none.
   */
  read: option.of<ReadToken>(
    (value) => typeof value === 'function',
    "Write read: (request) => request.headers['x-token'].",
  ),
  /** Default `'half-life'`. */
  rotate: option.oneOf('half-life', 'always', 'never').shown().default('half-life'),
  /** The treatment of replaced tokens. Default: valid until `exp`. */
  rotation: option
    .object(rotationOptions, "Write rotation: { grace: '30s', reuse: 'end' }.")
    .shown(),
  /**
   * Called at each rotation, to update roles and stop blocked users: returns the claims of the fresh token, or null,
   * which revokes the old one from the next request on. If it throws, no fresh token is sent. Default: all claims are
   * copied.
   */
  renew: option.of<Renew>(
    (value) => typeof value === 'function',
    'Give one: async (claims) => claims, or null to end the token.',
  ),
  /** Written into tokens as `iss`, and required. Default: none, and `iss` is not checked. */
  issuer: option.text('Write the issuer as in the claim "iss".').shown(),
  /**
   * Written into tokens as `aud`, and required: one of a list is sufficient. Default: none, and tokens with `aud` are
   * refused.
   */
  audience: option
    .of<string | readonly string[]>(isAudience, 'Write it as in the claim "aud".')
    .shown(),
  /** The default lifetime of tokens: seconds, or text such as `15m`. Default `1h`. */
  expiresIn: option
    .seconds("Give seconds, or text such as '15m', '1h', '7d'.")
    .shown()
    .default('1h'),
  /**
   * Address of an issuer's key set (RFC 7517), for example of Keycloak or Auth0, which creates the tokens. Requires
   * `issuer` and `audience`.
   */
  jwks: option.any<string>(),
  /**
   * Keys by PEM text or path, in place of the environment's. `false`: no tokens at all, only the static key; a
   * production server then starts without keys.
   */
  keys: option.any<KeyOptions | false>(),
})

/** `bootstrap(AppModule, { auth: { … } })`. */
export interface AuthOptions extends OptionsOf<typeof authOptions> {}

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
  /** Undefined if any text is a role. */
  readonly roles: readonly string[] | undefined
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

/**
 * @param problems receives problems with the codes `UNKNOWN_OPTION`, `INVALID_OPTION`, `INVALID_ENVIRONMENT` and
 * `AUTH_KEYS`; the result is then a placeholder until the report
 */
export function resolveAuthOptions(
  options: AuthOptions | undefined,
  environment: AuthEnvironment,
  problems: Problems,
): ResolvedAuthOptions {
  const refuse: Refuse = (message, remedy) => {
    problems.add({ code: 'INVALID_OPTION', message: `bootstrap auth: ${message}`, remedy })
  }
  problems.addAll(authOptions.findProblems(options, 'bootstrap auth'))
  const values = authOptions.read(options)
  const { closed, formToken, cookie, rotate, rotation, renew, issuer, audience, expiresIn } = values
  const { roles } = values
  if (values.jwks !== undefined && (issuer === undefined || audience === undefined))
    refuse(
      'jwks requires issuer and audience: otherwise tokens of that issuer for other applications would be accepted.',
      'Write both, as in the claims "iss" and "aud" of its tokens.',
    )
  return Object.freeze({
    apiKey: readApiKey(environment.APP_API_KEY, problems),
    ...{ closed, formToken, rotate, rotation, renew, issuer, expiresIn },
    roles: roles && Object.freeze([...roles]),
    cookie: cookie !== undefined && cookie !== false,
    cookieName: typeof cookie === 'object' ? cookie.name : undefined,
    source: readSource(values, refuse),
    audience: typeof audience === 'object' ? Object.freeze([...audience]) : audience,
    keys: readKeyOrigin(values, environment, problems),
  })
}

type Refuse = (message: string, remedy: string) => void

function readSource({ scheme, read }: ValuesOf<typeof authOptions>, refuse: Refuse): TokenSource {
  if (read === undefined) return Object.freeze({ scheme })
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

function isRoleList(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false
  return value.every((role) => typeof role === 'string' && role.trim() !== '')
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
