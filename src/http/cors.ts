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

/** A request by its head. */
interface BrowserRequest {
  readonly incoming: Pick<Incoming, 'headers'>
}

/** Its lists are never changed. */
export interface Cors {
  /** If false, responses have no CORS headers, and preflight requests are ordinary OPTIONS requests. */
  readonly isOn: boolean
  /**
   * The headers of every response, if they do not depend on the request, so that they can be prepared; otherwise
   * undefined.
   */
  readonly fixed: HeaderList | undefined
  /** The headers of the response to this request. */
  headersFor(request: BrowserRequest): HeaderList
  /** The headers of the response to this preflight request, including `headersFor`. */
  preflightHeaders(request: BrowserRequest): HeaderList
  /** Names the framework's own headers that this response has, so that scripts may read them. Changes the list. */
  expose(headers: HeaderList): void
  /** True if the request comes from an origin whose pages may sign in by cookie. */
  allowsCredentials(request: BrowserRequest): boolean
}

const methods = 'GET, POST, PUT, PATCH, DELETE, OPTIONS'
const allowed = ['Origin', 'X-Requested-With', 'Content-Type', 'Accept', 'Authorization']
const exposed = ['FreshToken']
const day = 86_400
const [allowHeader, exposeHeader] = [
  'Access-Control-Allow-Headers',
  'Access-Control-Expose-Headers',
]

/** Response headers of the framework. Each is exposed only if a response has it. */
const responseNames = [
  ...['ETag', 'Link', 'X-Total-Count', 'X-Total-Count-Estimate', 'Retry-After'],
  ...['RateLimit', 'RateLimit-Policy', 'Content-Disposition', 'Content-Range'],
  ...['Deprecation', 'Sunset'],
]

/** Request headers that the framework reads. Each is allowed only if a preflight request names it. */
const requestNames = [
  ...['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'],
  ...['If-Range', 'Range', 'Last-Event-ID', 'X-Request-Id'],
]

/**
 * @param added headers of the application's modules
 * @throws {TypeError} if an origin is malformed, which `findCorsProblems` reports before
 */
export function createCors(
  options: CorsOptions | false = {},
  added: readonly CorsHeaders[] = [],
): Cors {
  if (options === false) return noCors
  const { origins = '*' } = options
  const expose = createExpose(options, added)
  return origins === '*'
    ? createOpenCors(options, added, expose)
    : createListedCors(origins, options, added, expose)
}

const noHeaders = new HeaderList()

const noCors: Cors = Object.freeze({
  isOn: false,
  fixed: noHeaders,
  headersFor: () => noHeaders,
  preflightHeaders: () => noHeaders,
  expose: () => undefined,
  allowsCredentials: () => false,
})

function createExpose(options: CorsOptions, added: readonly CorsHeaders[]): Cors['expose'] {
  const { exposedHeaders = [] } = options
  const names = new Map<string, string>()
  for (const name of [...responseNames, ...added.flatMap((one) => one.exposedHeaders ?? [])]) {
    if (exposedHeaders.some((one) => one.toLowerCase() === name.toLowerCase())) continue
    names.set(name, name).set(name.toLowerCase(), name)
  }
  return (headers) => {
    const found = headers.namesIn(names)
    if (found !== undefined) headers.extendLast(exposeHeader, found.join(', '))
  }
}

/** The headers of a response after `Access-Control-Allow-Origin`. */
function sharedHeaders(options: CorsOptions, more: readonly string[]): Record<string, string> {
  return {
    'Access-Control-Allow-Methods': methods,
    [allowHeader]: [...allowed, ...(options.allowedHeaders ?? []), ...more].join(', '),
    [exposeHeader]: [...exposed, ...(options.exposedHeaders ?? [])].join(', '),
  }
}

/** Adds the requested headers that the framework reads. */
function allowRequested(headers: HeaderList, { incoming }: BrowserRequest): HeaderList {
  const requestedHeaders = incoming.headers['access-control-request-headers']
  if (requestedHeaders === undefined) return headers
  const requestedNames = new Set(
    requestedHeaders
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  )
  const more = requestNames.filter((name) => requestedNames.has(name.toLowerCase()))
  if (more.length === 0) return headers
  const extended = headers.copy()
  extended.extendLast(allowHeader, more.join(', '))
  return extended
}

/** The additional headers of a response to a preflight request. */
function preflightParts(
  options: CorsOptions,
  added: readonly CorsHeaders[],
): { readonly shared: Record<string, string>; readonly age: Record<string, string> } {
  const names = added.flatMap((one) => one.allowedHeaders ?? [])
  return {
    shared: sharedHeaders(options, [...new Set(names)]),
    age: { 'Access-Control-Max-Age': String(options.maxAge ?? day) },
  }
}

function createOpenCors(
  options: CorsOptions,
  added: readonly CorsHeaders[],
  expose: Cors['expose'],
): Cors {
  const allowAll = { 'Access-Control-Allow-Origin': '*' }
  const { shared, age } = preflightParts(options, added)
  const fixed = HeaderList.from({ ...allowAll, ...sharedHeaders(options, []) })
  const preflight = HeaderList.from({ ...allowAll, ...shared, ...age })
  return Object.freeze({
    isOn: true,
    fixed,
    headersFor: () => fixed,
    preflightHeaders: (request: BrowserRequest) => allowRequested(preflight, request),
    expose,
    allowsCredentials: () => false,
  })
}

/** Origins that are not listed get no `Access-Control-Allow-Origin`, so that their browser hides the response. */
function createListedCors(
  origins: readonly string[],
  options: CorsOptions,
  added: readonly CorsHeaders[],
  expose: Cors['expose'],
): Cors {
  const { shared, age } = preflightParts(options, added)
  const refused = { ...sharedHeaders(options, []), Vary: 'Origin' }
  const refusedPreflight = { ...shared, Vary: 'Origin', ...age }
  const credentials: Record<string, string> =
    options.credentials === true ? { 'Access-Control-Allow-Credentials': 'true' } : {}
  const responses = new Map<string, HeaderList>()
  const preflights = new Map<string, HeaderList>()
  for (const listed of origins) {
    const origin = toOrigin(listed)
    const allowing = { 'Access-Control-Allow-Origin': origin, ...credentials }
    responses.set(origin, HeaderList.from({ ...allowing, ...refused }))
    preflights.set(origin, HeaderList.from({ ...allowing, ...refusedPreflight }))
  }
  const forOthers = HeaderList.from(refused)
  const preflightForOthers = HeaderList.from(refusedPreflight)
  return Object.freeze({
    isOn: true,
    fixed: undefined,
    headersFor: ({ incoming }: BrowserRequest) =>
      responses.get(incoming.headers.origin ?? '') ?? forOthers,
    preflightHeaders: (request: BrowserRequest) =>
      allowRequested(
        preflights.get(request.incoming.headers.origin ?? '') ?? preflightForOthers,
        request,
      ),
    expose,
    allowsCredentials: ({ incoming }: BrowserRequest) =>
      options.credentials === true && responses.has(incoming.headers.origin ?? ''),
  })
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
export function findHeaderProblems(where: string, headers: CorsHeaders): readonly Problem[] {
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
