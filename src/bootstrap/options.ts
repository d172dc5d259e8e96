/** The options of `bootstrap`: checked, completed with defaults and the environment, frozen. */
import type { AuthOptions } from '../auth/options.js'
import { defaultUrl } from '../engines/engine-for-url.js'
import { findOtherCopy } from '../errors/copies.js'
import type { Problem } from '../errors/declaration-error.js'
import type { Problems } from '../errors/problems.js'
import { checkOptionNames } from '../errors/unknown-options.js'
import type { GraphQLOptions, GraphQLRouteOptions } from '../graphql/graphql.js'
import {
  defaultBounds,
  resolveBounds,
  type Bounds,
  defaultLimits,
  multipartAround,
  readSize,
  type Limits,
} from '../http/limits.js'
import { findCorsProblems, type CorsOptions } from '../http/cors.js'
import { resolveErrorPage, type ErrorPage } from '../http/error-page.js'
import { resolveErrors, type ErrorsOptions, type FormOfErrors } from '../http/error-form.js'
import { silentLog, type Log } from '../core/log.js'
import { resolveLive, type LiveQueriesOptions, type ResolvedLiveOptions } from '../live/live.js'
import { readPublicUrl } from './public-url.js'
import { defaultTimes, type Times } from '../http/server.js'
import { Database } from '../records/database.js'
import { checkSearchLimit } from '../records/database-options.js'
import type { DatabaseChoice } from './storage.js'
import { resolveDocsOptions, type DocsOptions, type ResolvedDocs } from '../openapi/docs-options.js'
import type { SessionStore } from '../auth/session-stores.js'
import { findCookieNameProblem } from '../http/cookie-names.js'
import type { ClassReference } from '../metadata/class.js'
import type { EntryInterceptor, Interceptor } from '../extensions/interceptor.js'
import type { Environment } from './environment.js'
import type { InjectionToken } from './provider.js'
import { isOfPackage, readList } from './module.js'
import { resolveVersions, type ResolvedVersions, type VersionsOptions } from './versions.js'

export interface SessionOptions {
  /** Seconds without changes after which a session expires. Default: 7,200. */
  idle?: number
  /** Where sessions are stored. Default: in the database if there is one, else in memory. */
  store?: SessionStore
  /**
   * The name of the cookie. Default: `app_session_3000` with the port outside production, `app_session.desk` with the
   * path of `publicUrl` in production.
   */
  cookie?: string
}

/** Options of the records' endpoint. */
export interface ApplicationGraphQLOptions
  extends Omit<GraphQLOptions, 'database' | 'log'>, GraphQLRouteOptions {
  /** Default `/graphql`. */
  path?: string
}

export interface StaticFolder {
  /** Relative to the working directory. */
  readonly folder: string
  /**
   * A file of the folder, sent for GET and HEAD requests that accept HTML and that nothing else answers. Default: 404.
   */
  readonly fallback?: string
}

export interface BootstrapOptions {
  /** False: the application opens no port; it is used by `inject` and `handle`. Default true. */
  listen?: boolean
  /** Default: `PORT`, otherwise 3000. 0 selects a free port, which `app.url` contains. */
  port?: number
  /** Default: `HOST`, else all addresses of the machine. */
  host?: string
  /** Tokens and keys. */
  auth?: AuthOptions
  /** Which other origins may read responses; false sends no CORS headers. Default: all. */
  cors?: CorsOptions | false
  /** The documentation at `/swagger`; false turns it off. Default: on, and public. */
  docs?: DocsOptions | boolean
  /** The body and status of errors of the application's routes: `{ form, class }`. Default: `{ error, errors }`. */
  errors?: ErrorsOptions
  /**
   * The page that a browser gets for an error, as HTML. Escape the error's texts with `escapeHtml`. False sends JSON to
   * browsers too. Default: a plain page with the request's id.
   */
  errorPage?: ErrorPage | false
  /** The endpoint of the records, `/graphql`; false turns GraphQL off. Default: on if there are records. */
  graphql?: ApplicationGraphQLOptions | boolean
  /** The lifetime and the store of sessions. Default: two hours after the last change, in the database or in memory. */
  sessions?: SessionOptions
  /**
   * `sqlite:./data/app.db`, `postgres://…`, an engine (`pglite()`), or an open database. Default: `DATABASE_URL`;
   * otherwise, if there are records or a provider needs a database, a file in `./data`.
   */
  database?: DatabaseChoice
  /**
   * Maximum number of matches that a client's search ranks, for records without their own `searchLimit`. Default: 10,000.
   * For an open database, pass it to `connect`.
   */
  searchLimit?: number
  /** Sizes, in bytes or as `'10mb'`, and counts. Defaults: see `Limits` and `Bounds`. */
  limits?: Partial<Record<keyof Limits, number | string> & Record<keyof Bounds, number>>
  /** Time limits in milliseconds. Defaults: see `Times`. */
  times?: Partial<Times>
  /**
   * Folders whose files are served, by their path prefix: `{ '/assets': './public' }`. With a fallback for pages that have
   * routes of their own: `{ '/': { folder: './web', fallback: 'index.html' } }`.
   */
  static?: Readonly<Record<string, string | StaticFolder>>
  /** Whether to serve the browser client at `/filigree.js`, a script that sets `window.api`. Default false. */
  client?: boolean
  /** The log: a pino logger or anything with its methods; false turns it off. Default: pino on standard output. */
  logger?: Log | boolean
  /**
   * The address at which browsers find the application: `'https://desk.example'`. Links use it, and never `Host`. Default:
   * `PUBLIC_URL`; outside production `http://localhost` with the open port.
   */
  publicUrl?: string
  /**
   * Whether to trust `X-Forwarded-For` and `X-Forwarded-Proto`: the number of proxies in front, each of which appends
   * its client's address. True trusts the leftmost entry, which a client can forge unless the proxy replaces it.
   * Default false.
   */
  trustProxy?: boolean | number
  /** What happens to keys of a body or query that its class does not declare. Default `'refuse'`, with 400. */
  unknownKeys?: 'refuse' | 'drop'
  /** How a request selects a version of the API. Default: by its path, `/v2`. */
  versions?: VersionsOptions
  /** A prefix of all paths of the application: `'/api'`. All other paths are 404. Default: none. */
  basePath?: string
  /** Interceptors around every route; those before the gate also run for 404, 405, documentation, GraphQL and files. */
  use?: readonly ClassReference<Interceptor | EntryInterceptor>[]
  /** The number of processes that share the port. Default 1: only this one. */
  workers?: number
  /**
   * Whether to follow requests through promises for `currentRequest()`, at a tenth to a quarter of a small route's
   * throughput. Default: true if a module sets `requestContext: true`.
   */
  requestContext?: boolean
  /**
   * How many different live queries there may be, and how often each is evaluated. Defaults: see `LiveQueriesOptions`.
   */
  live?: LiveQueriesOptions
  /** Replaces providers, for tests: `[[Mailer, fakeMailer]]`. */
  override?: readonly (readonly [InjectionToken, unknown])[]
  /** The environment's variables. Default `process.env`. */
  env?: Readonly<Record<string, string | undefined>>
}

/** The resolved options, all of them set; the caller's object is not changed. */
export interface Settings {
  readonly listen: boolean
  readonly port: number
  readonly host: string
  /** `undefined` if it is off. */
  readonly docs: ResolvedDocs | undefined
  /** `undefined` for the standard form. */
  readonly errors: FormOfErrors | undefined
  /** `undefined` for the built-in page; false for JSON. */
  readonly errorPage: ErrorPage | false | undefined
  readonly limits: Limits
  readonly bounds: Bounds
  readonly times: Times
  readonly static: Readonly<Record<string, StaticFolder>>
  readonly client: boolean
  /** Without a slash at its end; `undefined` if it is not set. */
  readonly publicUrl: string | undefined
  readonly trustProxy: boolean | number
  /** `''` if there is none, else without a slash at its end. */
  readonly basePath: string
  readonly use: readonly ClassReference<Interceptor | EntryInterceptor>[]
  readonly versions: ResolvedVersions
  readonly unknownKeys: 'refuse' | 'drop'
  readonly workers: number
  readonly live: ResolvedLiveOptions
  readonly override: readonly (readonly [InjectionToken, unknown])[]
}

const maxProxies = 32

const optionNames: Readonly<Record<keyof BootstrapOptions, true>> = {
  auth: true,
  basePath: true,
  client: true,
  cors: true,
  database: true,
  docs: true,
  env: true,
  errorPage: true,
  errors: true,
  graphql: true,
  host: true,
  limits: true,
  listen: true,
  live: true,
  logger: true,
  override: true,
  port: true,
  publicUrl: true,
  requestContext: true,
  searchLimit: true,
  sessions: true,
  static: true,
  times: true,
  trustProxy: true,
  unknownKeys: true,
  use: true,
  versions: true,
  workers: true,
}

/** @param problems receives unknown options and invalid values */
export function resolveOptions(
  options: BootstrapOptions,
  environment: Environment,
  problems: Problems,
): Settings {
  checkOptionNames('bootstrap', options, optionNames, problems)
  problems.addAll(findCorsProblems(options.cors ?? {}))
  checkSessions(options.sessions ?? {}, problems)
  checkFlags(options, problems)
  checkHost(options.host, problems)
  checkProxies(options.trustProxy, problems)
  checkLogger(options.logger, problems)
  checkDatabase(options.database, problems)
  checkSearches(options, problems)
  checkUnknownKeys('bootstrap', options.unknownKeys, problems)
  const publicUrl = choosePublicUrl(options.publicUrl, environment, problems)
  // Clients must send a prefix that a proxy removes.
  const serverPath = publicUrl === undefined ? undefined : new URL(publicUrl).pathname
  const closed = options.auth?.closed === true
  return Object.freeze({
    listen: options.listen ?? true,
    port: readCount('port', options.port ?? environment.port ?? 3000, [0, 65_535], problems),
    host: options.host ?? environment.host ?? '::',
    docs: resolveDocsOptions(options.docs, problems, { closed, server: serverPath }),
    errors: resolveErrors(options.errors, isOfPackage, problems),
    errorPage: resolveErrorPage(options.errorPage, problems),
    limits: resolveLimits(options.limits ?? {}, problems),
    bounds: resolveBounds(options.limits ?? {}, problems),
    times: resolveTimes(options.times ?? {}, problems),
    static: resolveStatic(options.static ?? {}, problems),
    client: options.client ?? false,
    publicUrl,
    trustProxy: options.trustProxy ?? false,
    basePath: readBasePath(options.basePath, problems),
    versions: resolveVersions(options.versions, problems),
    use: Object.freeze([...readList('bootstrap.use', options.use, problems)]),
    unknownKeys: options.unknownKeys ?? 'refuse',
    workers: readCount('workers', options.workers ?? 1, [1, 1024], problems),
    live: resolveLive(options.live, problems),
    override: Object.freeze([...readList('bootstrap.override', options.override, problems)]),
  })
}

/**
 * @param where the beginning of the message: `bootstrap`, or a route
 * @param problems receives any other value, which must not let unknown keys pass
 */
export function checkUnknownKeys(
  where: string,
  value: string | undefined,
  problems: Problems,
): void {
  if (value === undefined || value === 'refuse' || value === 'drop') return
  const message = `${where}: unknownKeys is "${value}".`
  problems.add({ code: 'INVALID_OPTION', message, remedy: "Write 'refuse' or 'drop'." })
}

function resolveStatic(
  input: NonNullable<BootstrapOptions['static']>,
  problems: Problems,
): Settings['static'] {
  const folders = Object.entries(input).map(([path, entry]) => {
    if (typeof entry === 'string') return [path, { folder: entry }] as const
    const where = `bootstrap static ${path}`
    const folder: unknown = entry.folder
    checkOptionNames(where, entry, { folder: true, fallback: true }, problems)
    for (const name of ['folder', 'fallback'] as const) {
      const value: unknown = entry[name]
      if (typeof value === 'string' || (name === 'fallback' && value === undefined)) continue
      const remedy = "Write { folder: './web', fallback: 'index.html' }."
      problems.add({ code: 'INVALID_OPTION', message: `${where}: ${name} is not a path.`, remedy })
    }
    return [path, { ...entry, folder: typeof folder === 'string' ? folder : '' }] as const
  })
  return Object.freeze(Object.fromEntries(folders))
}

function checkSessions(sessions: SessionOptions, problems: Problems): void {
  checkOptionNames(
    'bootstrap sessions',
    sessions,
    { cookie: true, idle: true, store: true },
    problems,
  )
  const { cookie } = sessions
  const problem = cookie === undefined ? undefined : findCookieNameProblem(cookie)
  if (problem !== undefined)
    problems.add({
      code: 'INVALID_OPTION',
      message: `bootstrap sessions.cookie: ${JSON.stringify(cookie)} ${problem}.`,
      remedy: "Write letters, digits, dashes and underscores: 'desk_session'.",
    })
  if (sessions.idle !== undefined) {
    readCount('sessions.idle', sessions.idle, [1, 2 ** 31 - 1], problems)
  }
}

/** Only booleans: `trustProxy: process.env.TRUST_PROXY` would be true for 'false' too. */
function checkFlags(options: BootstrapOptions, problems: Problems): void {
  for (const name of ['listen', 'client', 'requestContext'] as const) {
    const input: unknown = options[name]
    if (input === undefined || typeof input === 'boolean') continue
    problems.add(invalid(name, JSON.stringify(input), 'Write true or false.'))
  }
}

/** `'/'` counts as no prefix. */
function readBasePath(input: unknown, problems: Problems): string {
  if (input === undefined || input === '' || input === '/') return ''
  const path = typeof input === 'string' ? input.replace(/\/$/, '') : ''
  if (/^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/.test(path)) return path
  problems.add(
    invalid(
      'basePath',
      JSON.stringify(input),
      "Start it with a slash, followed by letters and digits: '/api'.",
    ),
  )
  return ''
}

function choosePublicUrl(
  input: string | undefined,
  { publicUrl, production }: Environment,
  problems: Problems,
): string | undefined {
  if (input === undefined) return publicUrl
  return readPublicUrl(
    input,
    { where: 'bootstrap: publicUrl', code: 'INVALID_OPTION', production },
    problems,
  )
}

function checkProxies(input: unknown, problems: Problems): void {
  if (input === undefined || typeof input === 'boolean') return
  if (Number.isInteger(input) && Number(input) >= 0 && Number(input) <= maxProxies) return
  const isNumber = typeof input === 'number'
  const remedy = isNumber
    ? `Give the number of proxies in front, 0 to ${maxProxies}.`
    : 'Give the number of proxies in front, such as 1. With true, every client could choose its address.'
  problems.add(invalid('trustProxy', JSON.stringify(input), remedy))
}

function checkHost(host: unknown, problems: Problems): void {
  if (host === undefined || typeof host === 'string') return
  problems.add(invalid('host', host, "Give a name or an address, such as '127.0.0.1'."))
}

function checkSearches({ database, searchLimit }: BootstrapOptions, problems: Problems): void {
  checkSearchLimit('bootstrap', searchLimit, problems)
  if (searchLimit === undefined || !(database instanceof Database)) return
  const message = 'bootstrap: searchLimit cannot be combined with an open database.'
  const remedy = 'Set it when the database is opened: connect(url, { searchLimit }).'
  problems.add({ code: 'INVALID_OPTION', message, remedy })
}

function checkDatabase(database: unknown, problems: Problems): void {
  if (database === undefined || typeof database === 'string') return
  if (typeof database === 'object' && database !== null) {
    const otherCopy = findOtherCopy(database.constructor, 'The option database')
    if (otherCopy !== undefined) problems.add(otherCopy)
    return
  }
  const remedy = `Give an address such as '${defaultUrl}', or what connect() returned.`
  problems.add(invalid('database', JSON.stringify(database), remedy))
}

function checkLogger(logger: unknown, problems: Problems): void {
  if (logger === undefined || typeof logger === 'boolean') return
  const methods = (logger ?? {}) as Record<string, unknown>
  const missing = Object.keys(silentLog).filter((name) => typeof methods[name] !== 'function')
  if (missing.length === 0) return
  const message = `bootstrap: logger has no method ${missing.join(', ')}.`
  problems.add({ code: 'INVALID_OPTION', message, remedy: 'Give a pino logger, or false.' })
}

function resolveLimits(input: NonNullable<BootstrapOptions['limits']>, problems: Problems): Limits {
  const names = namesOf({ ...defaultLimits, ...defaultBounds })
  checkOptionNames('bootstrap limits', input, names, problems)
  const sizes: Partial<Record<keyof Limits, number>> = {}
  for (const [name, value] of Object.entries(definedOf(input))) {
    if (name in defaultBounds) continue
    const mayBeOff = name === 'cost' || name === 'rows'
    const size = mayBeOff && value === Infinity ? Infinity : readSize(value)
    if (size !== undefined) sizes[name as keyof Limits] = size
    else problems.add(invalid(`limits.${name}`, value, `Use bytes, or a size such as '10mb'.`))
  }
  const { file = 0 } = sizes
  const multipart = Math.max(defaultLimits.multipart, multipartAround(file))
  return Object.freeze({ ...defaultLimits, multipart, ...sizes })
}

function resolveTimes(input: Partial<Times>, problems: Problems): Times {
  checkOptionNames('bootstrap times', input, namesOf(defaultTimes), problems)
  const times = definedOf(input)
  for (const [name, value] of Object.entries(times)) {
    if (value === Infinity && (name === 'delay' || name === 'stall')) continue
    readCount(`times.${name}`, value, [1, 2 ** 31 - 1], problems)
  }
  return Object.freeze({ ...defaultTimes, ...times })
}

function readCount(
  name: string,
  value: number,
  [min, max]: readonly [number, number],
  problems: Problems,
): number {
  const fits = Number.isInteger(value) && value >= min && value <= max
  if (!fits) problems.add(invalid(name, value, `Give an integer from ${min} to ${max}.`))
  return value
}

function invalid(name: string, value: unknown, remedy: string): Problem {
  const message = `bootstrap: ${name} is ${String(value)}.`
  return { code: 'INVALID_OPTION', message, remedy }
}

/** The options that are not undefined. */
function definedOf<T extends object>(options: T): { [K in keyof T]: NonNullable<T[K]> } {
  const input = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(input) as { [K in keyof T]: NonNullable<T[K]> }
}

function namesOf(defaults: object): Record<string, true> {
  return Object.fromEntries(Object.keys(defaults).map((name) => [name, true]))
}
