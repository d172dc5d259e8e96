/** Cached responses (`@CacheFor('60s')`) and conditional ones (`@ETag`). Source: RFC 9110 §8.8.3 and §13.1.2; RFC 9111 §3. */
import {
  requestedOperation,
  requestValue,
  type RouteResponse,
  type RequestedOperation,
  type HttpRequest,
  acceptsEventStream,
  createDecorator,
  entityTag,
  matchesEntityTag,
  readSeconds,
  trackCallerAccess,
  type Intercept,
  type RouteInfo,
  declareOptions,
  option,
  type OptionsOf,
  type CallerAccess,
  type DecoratorProblem,
} from '../../index.js'
import { ResponseStore, type HandlerResult } from './response-store.js'

/** Set by the first root field, which caches the response for all root fields. */
const isHandled = requestValue<true>('CacheFor')

/** @returns the operation, if its response may be shared with other callers */
function claimOperation(request: HttpRequest): RequestedOperation | undefined {
  const operation = requestedOperation.get(request)
  if (operation?.kind !== 'query' || isHandled.get(request) === true) return undefined
  isHandled.set(request, true)
  return request.auth === undefined && request.headers.cookie === undefined ? operation : undefined
}

/** The cache key: all parts of a request that the response depends on. */
function operationKey(
  { path, method, headers }: HttpRequest,
  operation: RequestedOperation,
): string {
  const { text, name, variables } = operation
  return JSON.stringify(['graphql', path, method, headers.accept, text, name, variables])
}

/** True if nothing in the operation failed. */
function isComplete({ body }: RouteResponse): boolean {
  return typeof body === 'string' && !('errors' in (JSON.parse(body) as object))
}

/** Headers of a single response, which are not cached. */
const perResponseHeaders = ['FreshToken', 'X-Request-Id', 'Date', 'RateLimit', 'RateLimit-Policy']

/**
 * Caches the responses of a GET route in memory, until the time is over or a record that they were read from changes, in any process and by any
 * interface. Concurrent requests for the same response run the handler once. On GraphQL root fields, a query is cached if all its root fields
 * have a time, for callers without a token and cookies.
 *
 * @param time `'60s'`, `'5m'`, or seconds
 * @param rule which requests share a response; the values of the path always count
 */
export const CacheFor = createDecorator(
  'CacheFor',
  (time: number | string, rule: CacheRule = {}) => ({
    before: 'body' as const,
    check: (route: RouteInfo) => [
      ...timeOption.findProblems('its time', time),
      ...cacheRule.findProblems(rule),
      ...findRouteProblems(cacheRule.read(rule).by, route),
    ],
    inject: [ResponseStore],
    intercept: (route: RouteInfo, store: ResponseStore) => {
      const lifetimeMs = 1000 * timeOption.read(time)
      if (route.controller === undefined) return cacheOperations(store)
      const { by } = cacheRule.read(rule)
      const key = createKeyReader(by, route)
      const isShared = createShareCheck(by, route)
      let isPersonal = false
      return async (request, next) => {
        // Live queries are not cached.
        if (acceptsEventStream(request)) return next()
        const name = key(request)
        const cached = await store.get(name)
        if (cached !== undefined) return conditional(request, cached)
        const make = async (): Promise<HandlerResult> => {
          store.readNow(request)
          const readAccess = trackCallerAccess(request)
          const response = await next()
          const access = readAccess()
          if (!isCacheable(request, response)) return { response, cacheable: undefined }
          if (isShared(access)) return { response, cacheable: copyResponse(response) }
          if (!isPersonal) request.log.warn({ route: route.name }, personalWarning(route))
          isPersonal = true
          return { response, cacheable: undefined }
        }
        // Requests do not wait for each other on such a route.
        return isPersonal
          ? (await make()).response
          : await createOnce(store, { name, lifetimeMs, request }, make)
      }
    },
  }),
)

function personalWarning({ name }: RouteInfo): string {
  return (
    `@CacheFor on ${name}: its response depends on the caller, so it is not cached. Write by: ['user'] or by: [(request) => …]` +
    ' with everything that it depends on, or do not use the user, cookies, the session, Authorization, row rules and secured fields.'
  )
}

/** Caches a GraphQL operation for the shortest time of its root fields. Nothing is cached if a field has no time. */
function cacheOperations(store: ResponseStore): Intercept {
  return async (request, next) => {
    const operation = claimOperation(request)
    if (operation === undefined) return next()
    const lifetimes = operation.roots.map(
      (root) => 1000 * (readSeconds(root?.metadata.get(CacheFor)?.[0]) ?? 0),
    )
    const lifetimeMs = Math.min(...lifetimes)
    if (lifetimeMs === 0) return next()
    const name = operationKey(request, operation)
    const cached = await store.get(name)
    if (cached !== undefined) return conditional(request, cached)
    return await createOnce(store, { name, lifetimeMs, request }, async () => {
      store.readNow(request)
      const readAccess = trackCallerAccess(request)
      const response = await next()
      const isShared =
        isCacheable(request, response, ['accept', 'authorization', 'cookie']) && !readAccess().sent
      return {
        response,
        cacheable: isShared && isComplete(response) ? copyResponse(response) : undefined,
      }
    })
  }
}

interface CacheMiss {
  readonly name: string
  readonly lifetimeMs: number
  readonly request: HttpRequest
}

/** Creates a response once for all concurrent requests with the same key. */
async function createOnce(
  store: ResponseStore,
  { name, lifetimeMs, request }: CacheMiss,
  make: () => Promise<HandlerResult>,
): Promise<RouteResponse> {
  const { signal } = request
  const hasLeft = (): boolean => signal.aborted
  const { response, isShared } = await store.getOrCreate({ name, lifetimeMs, hasLeft }, make)
  return isShared ? conditional(request, response) : response
}

/** Adds an ETag to JSON and text, so that clients that have the content get 304. On a class: for its GET routes. */
export const ETag = createDecorator('ETag', () => ({
  before: 'body' as const,
  intercept: (route: RouteInfo) => async (request, next) => {
    const response = await next()
    if (route.method !== 'GET' || response.status !== 200) return response
    const { body, headers } = response
    if (headers.get('ETag') === undefined) {
      if (typeof body !== 'string' && !(body instanceof Uint8Array)) return response
      headers.set('ETag', entityTag(body))
    }
    return conditional(request, response)
  },
}))

/** Returns 304 if the client has this response. */
function conditional(request: HttpRequest, response: RouteResponse): RouteResponse {
  const tag = response.headers.get('ETag')
  if (response.status !== 200 || tag === undefined) return response
  if (!matchesEntityTag(request.headers['if-none-match'], tag)) return response
  const cached = response.withBody(null, 304)
  cached.headers.delete('Content-Type')
  return cached
}

/**
 * True for responses that are the same for all requests with the same key.
 *
 * @param keyHeaders the headers that are part of the key
 */
function isCacheable(
  { auth }: HttpRequest,
  { status, headers, body }: RouteResponse,
  keyHeaders: readonly string[] = ['authorization', 'cookie'],
): boolean {
  if (status < 200 || status >= 300 || headers.get('Set-Cookie') !== undefined) return false
  if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array)) return false
  // With a token, the gate sets this header. Otherwise the handler did.
  const rule = auth === undefined ? (headers.get('Cache-Control') ?? '') : ''
  if (/\b(?:no-store|private)\b/i.test(rule)) return false
  return listItems(headers.get('Vary')).every((name) => keyHeaders.includes(name))
}

function listItems(list: string | undefined): string[] {
  return (list ?? '')
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '')
}

function copyResponse(response: RouteResponse): RouteResponse {
  const copy = response.withBody(response.body)
  for (const name of perResponseHeaders) copy.headers.delete(name)
  return copy
}

/** A part of the cache key, in addition to the path. */
export type CacheBy = 'query' | 'user' | ((request: HttpRequest) => string | undefined)

const cacheRule = declareOptions({
  /** Default `['query']`. */
  by: option
    .of<readonly CacheBy[]>(
      (value) => Array.isArray(value) && value.every(isBy),
      "Write a list: by: ['query', 'user'].",
    )
    .default(['query']),
})

export interface CacheRule extends OptionsOf<typeof cacheRule> {}

/** Arguments that are the same for all callers. */
const sameForAllCallers: ReadonlySet<string> = new Set(['query'])
/** Arguments that show a handler the identity from the gate, but no other header. */
const identityArguments: ReadonlySet<string> = new Set(['query', 'user'])
/** Built-in arguments that do not contain the query. Custom arguments may contain it. */
const withoutQuery: ReadonlySet<string> = new Set(['user', 'session', 'cookies', 'headers'])

/** The argument `time` of `@CacheFor`. */
const timeOption = option.seconds("Write '60s' or '5m'.").shown().required('60s')

function findRouteProblems(by: readonly CacheBy[], route: RouteInfo): DecoratorProblem[] {
  const problems: DecoratorProblem[] = []
  const isField = route.controller === undefined
  // On a record, the decorator also applies to mutations, where it has no effect.
  if (route.method !== 'GET' && !isField) {
    problems.push({ message: 'caches GET only', remedy: 'Move it to a GET route.' })
  }
  const caller = findCallerArgument(route)
  const isPersonal = by.some((one) => one === 'user' || typeof one === 'function')
  if (isField && isPersonal) {
    problems.push({
      message: 'caches GraphQL results for anonymous callers only',
      remedy: 'Remove `by`.',
    })
  }
  if (caller !== undefined && !isPersonal) {
    problems.push({
      message: `its handler names ${caller}, so its response may depend on the caller`,
      remedy: "Write by: ['user'], or remove the argument.",
    })
  }
  return problems
}

function isBy(one: unknown): boolean {
  return one === 'query' || one === 'user' || typeof one === 'function'
}

/** The first argument that may identify the caller. */
function findCallerArgument(route: RouteInfo): string | undefined {
  return argumentsOutsidePath(route).find((name) => !sameForAllCallers.has(name))
}

function argumentsOutsidePath({ arguments: names, path }: RouteInfo): string[] {
  const inPath = new Set([...path.matchAll(/[<{]([\w$]+)/g)].map(([, name]) => name))
  return names.filter((name) => !inPath.has(name))
}

/** @returns a function that creates the cache key of a request */
function createKeyReader(
  by: readonly CacheBy[],
  route: RouteInfo,
): (request: HttpRequest) => string {
  const names = argumentsOutsidePath(route)
  const byQuery = by.includes('query') || names.some((name) => !withoutQuery.has(name))
  const byUser = by.includes('user')
  const byCredentials = names.some((name) => !identityArguments.has(name))
  const customParts = by.filter((one) => typeof one === 'function')
  return (request) => {
    const parts: unknown[] = [request.path]
    if (byQuery) parts.push(queryOf(request))
    if (byUser) parts.push(userOf(request), byCredentials ? credentialsOf(request) : null)
    for (const readPart of customParts) parts.push(readPart(request))
    return JSON.stringify([route.name, parts])
  }
}

/**
 * @returns a function that checks whether requests with the same key may share a response, from what was read of the caller
 */
function createShareCheck(
  by: readonly CacheBy[],
  route: RouteInfo,
): (reads: CallerAccess) => boolean {
  if (by.some((one) => typeof one === 'function')) return () => true
  if (!by.includes('user')) return ({ identity, sent }) => !identity && !sent
  const byCredentials = argumentsOutsidePath(route).some((name) => !identityArguments.has(name))
  return ({ sent }) => byCredentials || !sent
}

/** Independent of the order of the parameters. */
function queryOf({ url }: HttpRequest): string {
  const mark = url.indexOf('?')
  if (mark === -1) return ''
  return url
    .slice(mark + 1)
    .split('&')
    .map((pair, index) => ({ name: pair.split('=', 1)[0] ?? '', pair, index }))
    .sort((one, other) =>
      one.name === other.name ? one.index - other.index : one.name < other.name ? -1 : 1,
    )
    .map(({ pair }) => pair)
    .join('&')
}

/** Credentials that the gate does not check, but a handler may. */
function credentialsOf({ auth, headers }: HttpRequest): unknown {
  return [headers.cookie, auth === undefined ? headers.authorization : undefined]
}

/** Claims that describe the token, not the user. */
const tokenClaims: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'jti', 'auth_time'])

function userOf({ auth, user }: HttpRequest): unknown {
  if (auth?.by === 'key') return 'operator'
  if (user === null) return null
  return Object.entries(user)
    .filter(([name]) => !tokenClaims.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
}
