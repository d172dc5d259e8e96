/**
 * Cached answers (`@CacheFor('60s')`) and conditional ones (`@ETag`). Source: decisions, "Second storey: production",
 * Caching; RFC 9110 §8.8.3 and §13.1.2; RFC 9111 §3.
 */

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
} from '../../index.js'
import { AnswerStore, type MadeAnswer } from './response-store.js'
import { findFaults, keyOf, sharedBy, type CacheRule } from './cache-key.js'

/**
 * `@CacheFor` on root fields of GraphQL: a query is cached as a whole, if all of its root fields have a time, for
 * callers without a token and a cookie.
 */

/** Set by the first root field, which keeps the answer for all of them. */
const isTaken = requestValue<true>('CacheFor')

/** @returns the operation, if its answer may be shared with other callers */
function takeOperation(request: HttpRequest): RequestedOperation | undefined {
  const asked = requestedOperation.get(request)
  if (asked?.kind !== 'query' || isTaken.get(request) === true) return undefined
  isTaken.set(request, true)
  return request.auth === undefined && request.headers.cookie === undefined ? asked : undefined
}

/** All parts of a request that the answer depends on. */
function operationKey({ path, method, headers }: HttpRequest, asked: RequestedOperation): string {
  const { text, name, variables } = asked
  return JSON.stringify(['graphql', path, method, headers.accept, text, name, variables])
}

/** True if nothing in the operation failed. */
function isComplete({ body }: RouteResponse): boolean {
  return typeof body === 'string' && !('errors' in (JSON.parse(body) as object))
}

export type { CacheBy, CacheRule } from './cache-key.js'

/** Headers that belong to a single answer and are not cached. */
const passing = ['FreshToken', 'X-Request-Id', 'Date', 'RateLimit', 'RateLimit-Policy']

/**
 * Keeps the answers of a GET route in memory, until their time is over or a record that they were read from changes,
 * whichever door or process changes it. Requests that miss the same answer at the same time run the handler once.
 *
 * @param time `'60s'`, `'5m'`, or seconds
 * @param rule which requests share an answer; the values of the path always count
 */
export const CacheFor = createDecorator(
  'CacheFor',
  (time: number | string, rule: CacheRule = {}) => ({
    before: 'body' as const,
    check: (route: RouteInfo) => findFaults(time, rule, route),
    inject: [AnswerStore],
    intercept: (route: RouteInfo, store: AnswerStore) => {
      const life = 1000 * (readSeconds(time) ?? 0)
      if (route.controller === undefined) return keepOperations(store)
      const key = keyOf(rule, route)
      const isShared = sharedBy(rule, route)
      let isPersonal = false
      return async (request, next) => {
        // What stays true by itself is not kept.
        if (acceptsEventStream(request)) return next()
        const name = key(request)
        const known = await store.get(name)
        if (known !== undefined) return conditional(request, known)
        const make = async (): Promise<MadeAnswer> => {
          store.readNow(request)
          const readOf = trackCallerAccess(request)
          const answer = await next()
          const isFor = readOf()
          if (!isKept(request, answer)) return { answer, kept: undefined }
          if (isShared(isFor)) return { answer, kept: copy(answer) }
          if (!isPersonal) request.log.warn({ route: route.name }, personal(route))
          isPersonal = true
          return { answer, kept: undefined }
        }
        // Of such a route no request waits for the answer of another.
        return isPersonal ? (await make()).answer : await once(store, { name, life, request }, make)
      }
    },
  }),
)

function personal({ name }: RouteInfo): string {
  return (
    `@CacheFor on ${name}: its answer depends on the caller, so it is not kept. Write by: ['user'] or by: [(request) => …]` +
    ' with all that it depends on, or make it without the user, cookies, the session, Authorization, rows and secured fields.'
  )
}

/** The shortest time of the root fields applies; if one has no time, nothing is kept. */
function keepOperations(store: AnswerStore): Intercept {
  return async (request, next) => {
    const asked = takeOperation(request)
    if (asked === undefined) return next()
    const lives = asked.roots.map(
      (root) => 1000 * (readSeconds(root?.metadata.get(CacheFor)?.[0]) ?? 0),
    )
    const life = Math.min(...lives)
    if (life === 0) return next()
    const name = operationKey(request, asked)
    const known = await store.get(name)
    if (known !== undefined) return conditional(request, known)
    return await once(store, { name, life, request }, async () => {
      store.readNow(request)
      const answer = await next()
      const isShared = isKept(request, answer, ['accept', 'authorization', 'cookie'])
      return { answer, kept: isShared && isComplete(answer) ? copy(answer) : undefined }
    })
  }
}

interface MissedAnswer {
  readonly name: string
  readonly life: number
  readonly request: HttpRequest
}

/** Makes an answer once for all requests of its name that wait at this moment. */
async function once(
  store: AnswerStore,
  { name, life, request }: MissedAnswer,
  make: () => Promise<MadeAnswer>,
): Promise<RouteResponse> {
  const { signal } = request
  const hasLeft = (): boolean => signal.aborted
  const { answer, isShared } = await store.keep({ name, life, hasLeft }, make)
  return isShared ? conditional(request, answer) : answer
}

/** Gives JSON and text an ETag, so that clients that already have it get 304. On a class: for its GET routes. */
export const ETag = createDecorator('ETag', () => ({
  before: 'body' as const,
  intercept: (route: RouteInfo) => async (request, next) => {
    const answer = await next()
    if (route.method !== 'GET' || answer.status !== 200) return answer
    const { body, headers } = answer
    if (headers.get('ETag') === undefined) {
      if (typeof body !== 'string' && !(body instanceof Uint8Array)) return answer
      headers.set('ETag', entityTag(body))
    }
    return conditional(request, answer)
  },
}))

/** 304 for clients that have this answer. */
function conditional(request: HttpRequest, answer: RouteResponse): RouteResponse {
  const tag = answer.headers.get('ETag')
  if (answer.status !== 200 || tag === undefined) return answer
  if (!matchesEntityTag(request.headers['if-none-match'], tag)) return answer
  const known = answer.withBody(null, 304)
  known.headers.delete('Content-Type')
  return known
}

/**
 * True for answers that are the same for all requests with the same key.
 *
 * @param varied the headers that are part of the key
 */
function isKept(
  { auth }: HttpRequest,
  { status, headers, body }: RouteResponse,
  varied: readonly string[] = ['authorization', 'cookie'],
): boolean {
  if (status < 200 || status >= 300 || headers.get('Set-Cookie') !== undefined) return false
  if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array)) return false
  // The gate sets this header for all callers with a token; otherwise it is the handler's.
  const rule = auth === undefined ? (headers.get('Cache-Control') ?? '') : ''
  if (/\b(?:no-store|private)\b/i.test(rule)) return false
  return wordsOf(headers.get('Vary')).every((name) => varied.includes(name))
}

function wordsOf(list: string | undefined): string[] {
  return (list ?? '')
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '')
}

function copy(answer: RouteResponse): RouteResponse {
  const copied = answer.withBody(answer.body)
  for (const name of passing) copied.headers.delete(name)
  return copied
}
