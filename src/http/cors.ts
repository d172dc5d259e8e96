/** The CORS headers of all responses. Source: specification, Authentication 8; Fetch standard, "HTTP CORS protocol". */
import type { Problem } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { HeaderList } from './header-list.js'
import type { Incoming } from './node-messages.js'

/** The option `cors` of `bootstrap`. `findCorsProblems` checks the values. */
const corsOptions = declareOptions({
  /**
   * The origins that may read responses: all, or the listed ones (`https://shop.example`), which get individual
   * responses with `Vary: Origin`. Default `*`.
   */
  origins: option.any<'*' | readonly string[]>(),
  /**
   * Browsers may send cookies with requests of the listed origins, and pages of these origins may sign in by cookie.
   * Needs a list of origins. Default false.
   */
  credentials: option.flag().shown(),
  /** Seconds for which a browser may cache the response to a preflight request. Default 86_400, a day. */
  maxAge: option.any<number>(),
  /** Response headers that scripts may read in addition to `FreshToken`. Default none. */
  exposedHeaders: option.any<readonly string[]>(),
  /** Request headers that scripts may send in addition to the five of the specification. Default none. */
  allowedHeaders: option.any<readonly string[]>(),
})

export interface CorsOptions extends OptionsOf<typeof corsOptions> {}

const corsHeadersOptions = declareOptions({
  /** Response headers that scripts may read, if a response has them. */
  exposedHeaders: option.any<readonly string[]>(),
  /** Request headers that scripts may send. */
  allowedHeaders: option.any<readonly string[]>(),
})

/** Headers of a module that pages of other origins need. */
export interface CorsHeaders extends OptionsOf<typeof corsHeadersOptions> {}

/** What CORS reads of a request. */
interface CorsRequest {
  readonly incoming: Pick<Incoming, 'headers'>
}

/** The CORS headers of an application. Callers must not change the lists. */
export interface Cors {
  /** If false, responses have no CORS headers, and preflight requests are ordinary OPTIONS requests. */
  readonly isOn: boolean
  /**
   * The headers of every response, if they do not depend on the request, so that they can be prepared; otherwise
   * undefined.
   */
  readonly fixed: HeaderList | undefined
  /** The headers of the response to this request. */
  headersFor(request: CorsRequest): HeaderList
  /** The headers of the response to this preflight request, including `headersFor`. */
  preflightHeaders(request: CorsRequest): HeaderList
  /** Lets scripts read the framework's own headers that a response has. Adds their names to the headers of the response. */
  exposePresent(responseHeaders: HeaderList): void
  /** True if the request comes from an origin whose pages may sign in by cookie. */
  allowsCredentials(request: CorsRequest): boolean
}

const methods = 'GET, POST, PUT, PATCH, DELETE, OPTIONS'
const day = 86_400
const allowHeaders = 'Access-Control-Allow-Headers'
const exposeHeaders = 'Access-Control-Expose-Headers'

const alwaysAllowed = ['Origin', 'X-Requested-With', 'Content-Type', 'Accept', 'Authorization']
const alwaysExposed = ['FreshToken']

/** Request headers that the framework reads. Each is allowed only if a preflight request names it. */
const allowedIfRequested = [
  ...['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'],
  ...['If-Range', 'Range', 'Last-Event-ID', 'X-Request-Id'],
]

/** Response headers of the framework. Each is exposed only if a response has it. */
const exposedIfPresent = [
  ...['ETag', 'Link', 'X-Total-Count', 'X-Total-Count-Estimate', 'Retry-After'],
  ...['RateLimit', 'RateLimit-Policy', 'Content-Disposition', 'Content-Range'],
  ...['Deprecation', 'Sunset'],
]

/**
 * @param moduleHeaders headers of the application's modules
 * @throws {TypeError} if an origin is malformed, which `findCorsProblems` reports before
 */
export function createCors(
  options: CorsOptions | false = {},
  moduleHeaders: readonly CorsHeaders[] = [],
): Cors {
  if (options === false) return noCors
  const { origins = '*' } = options
  const headers: SharedHeaders = {
    response: responseHeaders(options, []),
    preflight: {
      ...responseHeaders(
        options,
        moduleHeaders.flatMap(({ allowedHeaders = [] }) => allowedHeaders),
      ),
      'Access-Control-Max-Age': String(options.maxAge ?? day),
    },
    exposePresent: createExposePresent(options, moduleHeaders),
  }
  return origins === '*'
    ? createOpenCors(headers)
    : createListedCors(origins, options.credentials === true, headers)
}

const noHeaders = new HeaderList()

const noCors: Cors = Object.freeze({
  isOn: false,
  fixed: noHeaders,
  headersFor: () => noHeaders,
  preflightHeaders: () => noHeaders,
  exposePresent: () => undefined,
  allowsCredentials: () => false,
})

/** What is the same for all origins. */
interface SharedHeaders {
  readonly response: Readonly<Record<string, string>>
  readonly preflight: Readonly<Record<string, string>>
  readonly exposePresent: Cors['exposePresent']
}

function responseHeaders(
  { allowedHeaders = [], exposedHeaders = [] }: CorsOptions,
  moduleAllowed: readonly string[],
): Record<string, string> {
  const allowed = [...alwaysAllowed, ...allowedHeaders, ...new Set(moduleAllowed)]
  return {
    'Access-Control-Allow-Methods': methods,
    [allowHeaders]: allowed.join(', '),
    [exposeHeaders]: [...alwaysExposed, ...exposedHeaders].join(', '),
  }
}

function createExposePresent(
  { exposedHeaders = [] }: CorsOptions,
  moduleHeaders: readonly CorsHeaders[],
): Cors['exposePresent'] {
  const exposed = new Set(exposedHeaders.map((name) => name.toLowerCase()))
  const names = new Map<string, string>()
  const moduleExposed = moduleHeaders.flatMap((headers) => headers.exposedHeaders ?? [])
  for (const name of [...exposedIfPresent, ...moduleExposed]) {
    if (exposed.has(name.toLowerCase())) continue
    names.set(name, name).set(name.toLowerCase(), name)
  }
  return (headers) => {
    const present = headers.namesIn(names)
    if (present !== undefined) headers.extendLast(exposeHeaders, present.join(', '))
  }
}

/** Allows the requested headers that the framework reads. */
function allowRequested(headers: HeaderList, { incoming }: CorsRequest): HeaderList {
  const requestedHeaders = incoming.headers['access-control-request-headers']
  if (requestedHeaders === undefined) return headers
  const requestedNames = new Set(
    requestedHeaders
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  )
  const names = allowedIfRequested.filter((name) => requestedNames.has(name.toLowerCase()))
  if (names.length === 0) return headers
  const extended = headers.copy()
  extended.extendLast(allowHeaders, names.join(', '))
  return extended
}

function createOpenCors({ response, preflight, exposePresent }: SharedHeaders): Cors {
  const allOrigins = { 'Access-Control-Allow-Origin': '*' }
  const fixed = HeaderList.from({ ...allOrigins, ...response })
  const fixedPreflight = HeaderList.from({ ...allOrigins, ...preflight })
  return Object.freeze({
    isOn: true,
    fixed,
    headersFor: () => fixed,
    preflightHeaders: (request: CorsRequest) => allowRequested(fixedPreflight, request),
    exposePresent,
    allowsCredentials: () => false,
  })
}

/** Origins that are not listed get no `Access-Control-Allow-Origin`, so that their browser hides the response. */
function createListedCors(
  origins: readonly string[],
  credentials: boolean,
  { response, preflight, exposePresent }: SharedHeaders,
): Cors {
  const withCredentials: Record<string, string> = credentials
    ? { 'Access-Control-Allow-Credentials': 'true' }
    : {}
  const headersWith = (allowing: Readonly<Record<string, string>>): OriginHeaders => ({
    response: HeaderList.from({ ...allowing, ...response, Vary: 'Origin' }),
    preflight: HeaderList.from({ ...allowing, ...preflight, Vary: 'Origin' }),
  })
  const byOrigin = new Map<string, OriginHeaders>()
  for (const listed of origins) {
    const origin = toOrigin(listed)
    const allowing = { 'Access-Control-Allow-Origin': origin, ...withCredentials }
    byOrigin.set(origin, headersWith(allowing))
  }
  const forOtherOrigins = headersWith({})
  const headersOf = ({ incoming }: CorsRequest): OriginHeaders =>
    byOrigin.get(incoming.headers.origin ?? '') ?? forOtherOrigins
  return Object.freeze({
    isOn: true,
    fixed: undefined,
    headersFor: (request: CorsRequest) => headersOf(request).response,
    preflightHeaders: (request: CorsRequest) =>
      allowRequested(headersOf(request).preflight, request),
    exposePresent,
    allowsCredentials: ({ incoming }: CorsRequest) =>
      credentials && byOrigin.has(incoming.headers.origin ?? ''),
  })
}

interface OriginHeaders {
  readonly response: HeaderList
  readonly preflight: HeaderList
}

/** Checks `bootstrap`'s `cors`. @returns `INVALID_CORS` problems */
export function findCorsProblems(options: CorsOptions | false): readonly Problem[] {
  const problems = new Problems()
  if (options === false) return []
  const { origins = '*', maxAge = day, exposedHeaders = [], allowedHeaders = [] } = options
  const add = (message: string, remedy: string) => {
    problems.add({ code: 'INVALID_CORS', message: `Option cors.${message}`, remedy })
  }
  problems.addAll(corsOptions.findProblems(options, 'Option cors'))
  // A single origin as text is a likely mistake, which only the compiler would find.
  const originsInput = origins as string | readonly string[]
  if (typeof originsInput === 'string' && originsInput !== '*') {
    add(`origins: "${originsInput}" is not a list.`, `Give '*', or a list: ["${originsInput}"].`)
  }
  if (typeof originsInput !== 'string' && !Array.isArray(originsInput)) {
    add(
      `origins is ${JSON.stringify(originsInput)}, which is not a list.`,
      "Give '*', or a list of origins.",
    )
  }
  for (const origin of Array.isArray(originsInput) ? (originsInput as string[]) : []) {
    if (isOrigin(origin)) continue
    add(`origins: "${origin}" is not an origin.`, 'Write scheme and host: "https://shop.example".')
  }
  if (options.credentials === true && origins === '*') {
    add('credentials: every origin may read responses.', 'List the origins: cors.origins.')
  }
  if (!Number.isSafeInteger(maxAge) || maxAge < 0) {
    add(`maxAge: ${maxAge} is not a number of seconds.`, 'Give 0 or a positive integer.')
  }
  findNameProblems({ exposedHeaders, allowedHeaders }, add)
  return problems.list
}

/** Checks the `cors` of a module. */
export function findCorsHeaderProblems(where: string, headers: CorsHeaders): readonly Problem[] {
  const problems = new Problems()
  const add = (message: string, remedy: string) => {
    problems.add({ code: 'INVALID_CORS', message: `${where}.${message}`, remedy })
  }
  problems.addAll(corsHeadersOptions.findProblems(headers, where))
  findNameProblems(headers, add)
  return problems.list
}

function findNameProblems(
  { exposedHeaders = [], allowedHeaders = [] }: CorsHeaders,
  add: (message: string, remedy: string) => void,
): void {
  const lists = Object.entries<string | readonly string[]>({ exposedHeaders, allowedHeaders })
  for (const [option, names] of lists) {
    if (typeof names === 'string') {
      add(`${option}: "${names}" is not a list.`, `Give a list: ["${names}"].`)
      continue
    }
    for (const name of names) {
      if (/^[\w-]+$/.test(name)) continue
      add(`${option}: "${name}" is not a header name.`, 'Use letters, digits and "-".')
    }
  }
}

/** True for a scheme, a host and an optional port, as browsers send in `Origin`. */
function isOrigin(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\\\s*]+$/i.test(text) && URL.canParse(text)
}

/**
 * The origin as browsers write it: lower case, without the scheme's default port. URLs of schemes such as `app:` have
 * no origin.
 */
function toOrigin(text: string): string {
  const { origin } = new URL(text)
  return origin === 'null' ? text.toLowerCase() : origin
}
