/**
 * The CORS headers that every response carries. Source: specification, Authentication 8; Fetch standard, "HTTP CORS
 * protocol".
 */
import type { Problem } from '../errors/declaration-error.js'
import { refuseUnknownNames } from '../errors/unknown-names.js'
import type { ServerRequest } from './server-request.js'

export interface CorsOptions {
  /**
   * Who may read responses: everybody, or the origins listed (`https://shop.example`), which are then answered one by
   * one with `Vary: Origin`. Default `*`.
   */
  origins?: '*' | readonly string[]
  /** How long a browser may keep a pre-flight's answer, in seconds. Default 86_400, a day. */
  maxAge?: number
  /** Response headers that scripts may read, beside `FreshToken`. Default none. */
  exposedHeaders?: readonly string[]
  /** Request headers that scripts may send, beside the five of the specification. Default none. */
  allowedHeaders?: readonly string[]
}

/** All lists are names and values in turn, and are never changed. */
export interface Cors {
  /** The headers of every answer where the request makes no difference, so that they can be prepared; else undefined. */
  readonly fixed: readonly string[] | undefined
  /** The headers of the answer to this request. */
  headersFor(request: ServerRequest): readonly string[]
  /** The headers of the answer to this pre-flight; `headersFor` is in them. */
  preflightHeaders(request: ServerRequest): readonly string[]
}

const methods = 'GET, POST, PUT, PATCH, DELETE, OPTIONS'
const allowed = ['Origin', 'X-Requested-With', 'Content-Type', 'Accept', 'Authorization']
const exposed = ['FreshToken']
const day = 86_400

/** @throws {TypeError} when an origin is malformed; `findCorsProblems` says so before */
export function createCors(options: CorsOptions = {}): Cors {
  const { origins = '*', maxAge = day } = options
  const shared = [
    'Access-Control-Allow-Methods',
    methods,
    'Access-Control-Allow-Headers',
    [...allowed, ...(options.allowedHeaders ?? [])].join(', '),
    'Access-Control-Expose-Headers',
    [...exposed, ...(options.exposedHeaders ?? [])].join(', '),
  ]
  const age = ['Access-Control-Max-Age', String(maxAge)]
  return origins === '*' ? createOpenCors(shared, age) : createListedCors(origins, shared, age)
}

function createOpenCors(shared: readonly string[], age: readonly string[]): Cors {
  const fixed = Object.freeze(['Access-Control-Allow-Origin', '*', ...shared])
  const preflight = Object.freeze([...fixed, ...age])
  return Object.freeze({ fixed, headersFor: () => fixed, preflightHeaders: () => preflight })
}

/** An origin that is not listed gets no `Access-Control-Allow-Origin`, at which its browser keeps the answer. */
function createListedCors(
  origins: readonly string[],
  shared: readonly string[],
  age: readonly string[],
): Cors {
  const refused = Object.freeze([...shared, 'Vary', 'Origin'])
  const refusedPreflight = Object.freeze([...refused, ...age])
  const answers = new Map<string, readonly string[]>()
  const preflights = new Map<string, readonly string[]>()
  for (const given of origins) {
    const origin = toOrigin(given)
    const answer = Object.freeze(['Access-Control-Allow-Origin', origin, ...refused])
    answers.set(origin, answer)
    preflights.set(origin, Object.freeze([...answer, ...age]))
  }
  return Object.freeze({
    fixed: undefined,
    headersFor: ({ incoming }: ServerRequest) =>
      answers.get(incoming.headers.origin ?? '') ?? refused,
    preflightHeaders: ({ incoming }: ServerRequest) =>
      preflights.get(incoming.headers.origin ?? '') ?? refusedPreflight,
  })
}

const optionNames: Readonly<Record<keyof CorsOptions, true>> = {
  origins: true,
  maxAge: true,
  exposedHeaders: true,
  allowedHeaders: true,
}

/** What is wrong with `bootstrap`'s `cors`. @returns `INVALID_CORS` problems, none when it can be used */
export function findCorsProblems(options: CorsOptions): Problem[] {
  const problems: Problem[] = []
  const { origins = '*', maxAge = day, exposedHeaders = [], allowedHeaders = [] } = options
  const add = (message: string, remedy: string) =>
    problems.push({ code: 'INVALID_CORS', message: `Option cors.${message}`, remedy })
  refuseUnknownNames('Option cors', options, optionNames, problems)
  // A single one as text is a likely slip that only the compiler would see.
  const given = origins as string | readonly string[]
  if (typeof given === 'string' && given !== '*') {
    add(`origins: "${given}" is no list.`, `Give '*', or a list: ["${given}"].`)
  }
  for (const origin of typeof origins === 'string' ? [] : origins) {
    if (isOrigin(origin)) continue
    add(`origins: "${origin}" is no origin.`, 'Write scheme and host: "https://shop.example".')
  }
  if (!Number.isSafeInteger(maxAge) || maxAge < 0) {
    add(`maxAge: ${maxAge} is no number of seconds.`, 'Give 0 or a positive integer.')
  }
  const lists = Object.entries<string | readonly string[]>({ exposedHeaders, allowedHeaders })
  for (const [option, names] of lists) {
    if (typeof names === 'string') {
      add(`${option}: "${names}" is no list.`, `Give a list: ["${names}"].`)
      continue
    }
    for (const name of names) {
      if (/^[\w-]+$/.test(name)) continue
      add(`${option}: "${name}" is no header name.`, 'Use letters, digits and "-".')
    }
  }
  return problems
}

/** A scheme, a host and perhaps a port, nothing after it: what browsers send as `Origin`. */
function isOrigin(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\\\s*]+$/i.test(text) && URL.canParse(text)
}

/** As browsers write it: lower case, without the scheme's own port. Of schemes like `app:` a URL knows no origin. */
function toOrigin(text: string): string {
  const { origin } = new URL(text)
  return origin === 'null' ? text.toLowerCase() : origin
}
