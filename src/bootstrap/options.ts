/** The options of `bootstrap`: checked, completed with defaults and the environment, frozen. */
import type { AuthOptions } from '../auth/options.js'
import { defaultUrl } from '../engines/engine-for-url.js'
import { findOtherCopy } from '../errors/copies.js'
import type { Problem } from '../errors/declaration-error.js'
import type { Problems } from '../errors/problems.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { commonGraphqlOptions, graphqlRouteOptions } from '../graphql/graphql.js'
import {
  boundOptions,
  limitsOptions,
  resolveLimits,
  type Bounds,
  type Limits,
} from '../http/limits.js'
import { findCorsProblems, type CorsOptions } from '../http/cors.js'
import type { ErrorPage } from '../http/error-page.js'
import {
  errorsOptions,
  errorsRemedy,
  resolveErrorsOptions,
  type ErrorFormat,
} from '../http/error-form.js'
import { silentLog, type Log } from '../core/log.js'
import { liveOptions, type ResolvedLiveOptions } from '../live/live.js'
import { readPackageInfo } from './package-info.js'
import { readPublicUrl } from './public-url.js'
import { timesOptions, type Times } from '../http/listener.js'
import { Database } from '../records/database.js'
import { searchLimitOption } from '../records/model/record.js'
import type { DatabaseChoice } from './storage.js'
import { docsOptions, resolveDocsOptions, type ResolvedDocs } from '../openapi/docs-options.js'
import type { SessionStore } from '../auth/session-stores.js'
import { cookieNameOption } from '../http/cookie-names.js'
import type { ClassReference } from '../metadata/class.js'
import type { EntryInterceptor, Interceptor } from '../extensions/interceptor.js'
import { unknownKeysOption } from '../routing/decorators.js'
import type { Environment } from './environment.js'
import type { InjectionToken } from './provider.js'
import { isOfPackage, readList } from './module.js'
import { versionsOptions, type ResolvedVersions } from './versions.js'

const maxProxies = 32
const folderRemedy = "Write { folder: './web', fallback: 'index.html' }."

const sessionOptions = declareOptions({
  /** Seconds without changes after which a session expires. Default: 7,200. */
  idle: option.integer(1, 2 ** 31 - 1).shown(),
  /** Where sessions are stored. Default: in the database if there is one, else in memory. */
  store: option.any<SessionStore>(),
  /**
   * The name of the cookie. Default: `app_session_3000` with the port outside production, `app_session.desk` with the
   * path of `publicUrl` in production.
   */
  cookie: cookieNameOption('desk_session'),
})

export interface SessionOptions extends OptionsOf<typeof sessionOptions> {}

export const applicationGraphqlOptions = declareOptions({
  ...commonGraphqlOptions.all,
  ...graphqlRouteOptions.all,
  /** The path of the endpoint. Default `/graphql`. */
  path: option.any<string>(),
})

/** Options of the records' endpoint. */
export interface ApplicationGraphQLOptions extends OptionsOf<typeof applicationGraphqlOptions> {}

const staticFolderOptions = declareOptions({
  /** Relative to the working directory. */
  folder: option.text(folderRemedy).required(),
  /**
   * A file of the folder, sent for GET and HEAD requests that accept HTML and that nothing else answers. Default: 404.
   */
  fallback: option.text(folderRemedy),
})

export interface StaticFolder extends OptionsOf<typeof staticFolderOptions> {}

const bootstrapOptions = declareOptions({
  /** False: the application opens no port; it is used by `inject` and `handle`. Default true. */
  listen: option.flag().shown().default(true),
  /** Default: `PORT`, otherwise 3000. 0 selects a free port, which `app.url` contains. */
  port: option.integer(0, 65_535).shown(),
  /** Default: `HOST`, else all addresses of the machine. */
  host: option
    .of<string>(
      (value) => typeof value === 'string',
      "Give a name or an address, such as '127.0.0.1'.",
    )
    .shown(),
  /** Tokens and keys. */
  auth: option.any<AuthOptions>(),
  /** Which other origins may read responses; false sends no CORS headers. Default: all. */
  cors: option.any<CorsOptions | false>(),
  /** The documentation at `/swagger`; false turns it off. Default: on, and public. */
  docs: option.flag().shown().or(docsOptions),
  /** The body and status of errors of the application's routes: `{ form, class }`. Default: `{ error, code, errors }`. */
  errors: option.object(errorsOptions, errorsRemedy).shown(),
  /**
   * The page that a browser gets for an error, as HTML. Escape the error's texts with `escapeHtml`. False sends JSON to
   * browsers too. Default: a plain page with the request's id.
   */
  errorPage: option.of<ErrorPage | false>(
    (value) => value === false || typeof value === 'function',
    'Write errorPage: ({ status, requestId }) => `<!doctype html>…`, or false for JSON.',
  ),
  /** The endpoint of the records, `/graphql`; false turns GraphQL off. Default: on if there are records. */
  graphql: option.flag().or(applicationGraphqlOptions),
  /** The lifetime and the store of sessions. Default: two hours after the last change, in the database or in memory. */
  sessions: option.object(sessionOptions, 'Write sessions: { idle: 7200 }.'),
  /**
   * `sqlite:./data/app.db`, `postgres://…`, an engine (`pglite()`), or an open database. Default: `DATABASE_URL`;
   * otherwise, if there are records or a provider needs a database, a file in `./data`.
   */
  database: option.any<DatabaseChoice>(),
  /**
   * Maximum number of matches that a client's search ranks, for records without their own `searchLimit`. Default: 10,000.
   * For an open database, pass it to `connect`.
   */
  searchLimit: searchLimitOption,
  /** Sizes, in bytes or as `'10mb'`, and counts. Defaults: see `Limits` and `Bounds`. */
  limits: option.object(limitsOptions, "Write limits: { body: '10mb' }."),
  /** Time limits in milliseconds. Defaults: see `Times`. */
  times: option.object(timesOptions, 'Write times: { handler: 30_000 }.'),
  /**
   * Folders whose files are served, by their path prefix: `{ '/assets': './public' }`. With a fallback for pages that have
   * routes of their own: `{ '/': { folder: './web', fallback: 'index.html' } }`.
   */
  static: option.any<Readonly<Record<string, string | StaticFolder>>>(),
  /** Whether to serve the browser client at `/filigree.js`, a script that sets `window.api`. Default false. */
  client: option.flag().shown().default(false),
  /** The log: a pino logger or anything with its methods; false turns it off. Default: pino on standard output. */
  logger: option.any<Log | boolean>(),
  /**
   * The address at which browsers find the application: `'https://desk.example'`. Links use it, and never `Host`. Default:
   * `PUBLIC_URL`; outside production `http://localhost` with the open port.
   */
  publicUrl: option.any<string>(),
  /**
   * Whether to trust `X-Forwarded-For` and `X-Forwarded-Proto`: the number of proxies in front, each of which appends
   * its client's address. True trusts the leftmost entry, which a client can forge unless the proxy replaces it.
   * Default false.
   */
  trustProxy: option
    .of<boolean | number>(
      isProxyCount,
      `Give the number of proxies in front, 0 to ${maxProxies}. With true, every client could choose its address.`,
    )
    .shown()
    .default(false),
  /** What happens to keys of a body or query that its class does not declare. Default `'refuse'`, with 400. */
  unknownKeys: unknownKeysOption.default('refuse'),
  /** How a request selects a version of the API. Default: by its path, `/v2`. */
  versions: option.object(versionsOptions, "Write versions: { by: 'path' }."),
  /** A prefix of all paths of the application: `'/api'`. All other paths are 404. Default: none. */
  basePath: option
    .parsed<string, string>(
      readBasePath,
      "Start it with a slash, followed by letters and digits: '/api'.",
    )
    .shown()
    .default(''),
  /** Interceptors around every route; those before the gate also run for 404, 405, documentation, GraphQL and files. */
  use: option.any<readonly ClassReference<Interceptor | EntryInterceptor>[]>(),
  /** The number of processes that share the port. Default 1: only this one. */
  workers: option.integer(1, 1024).shown().default(1),
  /**
   * Whether to follow requests through promises for `currentRequest()`, at a tenth to a quarter of a small route's
   * throughput. Default: true if a module sets `requestContext: true`.
   */
  requestContext: option.flag().shown(),
  /**
   * How many different live queries there may be, and how often each is evaluated. Defaults: see `LiveQueriesOptions`.
   */
  live: option
    .object(liveOptions, "Write { answers: 1000, byCaller: 100, pace: '100ms' }.")
    .shown(),
  /** Replaces providers, for tests: `[[Mailer, fakeMailer]]`. */
  override: option.any<readonly (readonly [InjectionToken, unknown])[]>(),
  /** The environment's variables. Default `process.env`. */
  env: option.any<Readonly<Record<string, string | undefined>>>(),
})

export interface BootstrapOptions extends OptionsOf<typeof bootstrapOptions> {}

/** The resolved options, all of them set; the caller's object is not changed. */
export interface Settings {
  readonly listen: boolean
  readonly port: number
  readonly host: string
  /** `undefined` if it is off. */
  readonly docs: ResolvedDocs | undefined
  /** `undefined` for the standard form. */
  readonly errors: ErrorFormat | undefined
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

/** @param problems receives unknown options and invalid values */
export function resolveOptions(
  options: BootstrapOptions,
  environment: Environment,
  problems: Problems,
): Settings {
  problems.addAll(bootstrapOptions.findProblems(options, 'bootstrap'))
  problems.addAll(findCorsProblems(options.cors ?? {}))
  checkLogger(options.logger, problems)
  checkDatabase(options.database, problems)
  checkSearches(options, problems)
  const values = bootstrapOptions.read(options)
  const { listen, client, trustProxy, basePath, unknownKeys, workers, errorPage } = values
  const publicUrl = choosePublicUrl(options.publicUrl, environment, problems)
  // Clients must send a prefix that a proxy removes.
  const serverPath = publicUrl === undefined ? undefined : new URL(publicUrl).pathname
  const closed = options.auth?.closed === true
  const { name: title, version } = readPackageInfo()
  return Object.freeze({
    ...{ listen, client, publicUrl, trustProxy, basePath, unknownKeys, workers, errorPage },
    port: values.port ?? environment.port ?? 3000,
    host: values.host ?? environment.host ?? '::',
    docs: resolveDocsOptions(values.docs, problems, {
      ...{ closed, server: serverPath, title, version },
    }),
    errors: resolveErrorsOptions(options.errors, isOfPackage),
    limits: resolveLimits(options.limits ?? {}),
    bounds: boundOptions.read(options.limits),
    times: timesOptions.read(options.times),
    static: resolveStatic(options.static ?? {}, problems),
    versions: versionsOptions.read(options.versions),
    use: Object.freeze([...readList('bootstrap.use', options.use, problems)]),
    live: liveOptions.read(options.live),
    override: Object.freeze([...readList('bootstrap.override', options.override, problems)]),
  })
}

function resolveStatic(
  input: NonNullable<BootstrapOptions['static']>,
  problems: Problems,
): Settings['static'] {
  const folders = Object.entries(input).flatMap(([path, entry]) => {
    if (typeof entry === 'string') return [[path, { folder: entry }] as const]
    const found = staticFolderOptions.findProblems(entry, `bootstrap static ${path}`)
    problems.addAll(found)
    return found.length > 0 ? [] : [[path, staticFolderOptions.read(entry)] as const]
  })
  return Object.freeze(Object.fromEntries(folders))
}

/** `'/'` counts as no prefix. */
function readBasePath(input: unknown): string | undefined {
  if (input === '' || input === '/') return ''
  const path = typeof input === 'string' ? input.replace(/\/$/, '') : ''
  return /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/.test(path) ? path : undefined
}

/** Other values are refused: `trustProxy: process.env.TRUST_PROXY` would be true for 'false' too. */
function isProxyCount(value: unknown): boolean {
  if (typeof value === 'boolean') return true
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= maxProxies
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

function checkSearches({ database, searchLimit }: BootstrapOptions, problems: Problems): void {
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

function invalid(name: string, value: unknown, remedy: string): Problem {
  const message = `bootstrap: ${name} is ${String(value)}.`
  return { code: 'INVALID_OPTION', message, remedy }
}
