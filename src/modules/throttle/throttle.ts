/**
 * Rate limits: `throttle({ limit: '100/m' })` for the application, `@Throttle('5/m')` for routes. Limits by address run before the gate, limits by user
 * after it, and limits by body after the body is checked. Source: RFC 6585 §4; draft-ietf-httpapi-ratelimit-headers-10.
 */
import {
  ApplicationState,
  createDecorator,
  createModule,
  declareOptions,
  HttpError,
  Operational,
  requestValue,
  type OnEnter,
  type EntryInterceptor,
  type OptionsOf,
  type HttpRequest,
  type InterceptorClass,
  type InterceptorPosition,
  type RouteInfo,
} from '../../index.js'
import {
  ApplicationCounters,
  Counters,
  DatabaseCounters,
  MemoryCounters,
  type Count,
} from './counters.js'
import {
  findBodyProblems,
  limitOption,
  toKeyReader,
  requiresBody,
  throttleRule,
  type RequestLimit,
  type ThrottleBy,
  type ThrottleRule,
} from './rule.js'

export type { ThrottleBy, ThrottleRule } from './rule.js'

const throttleOptions = declareOptions({
  /** Requests and a time: `'100/m'`, `'1000/h'`, `'20/10s'`. */
  limit: limitOption,
  ...throttleRule.all,
})

export interface ThrottleOptions extends OptionsOf<typeof throttleOptions> {}

/**
 * Limits the whole application; by address also pages, GraphQL and unknown paths. All routes share one count. `store` is also the default of `@Throttle`.
 */
export const throttle = createModule(function throttle(options: ThrottleOptions) {
  const { limit, by, store } = throttleOptions.read(options)
  const name = `application ${limit.text} ${typeof by === 'string' ? by : 'key'}`
  class ApplicationThrottle implements EntryInterceptor {
    static readonly inject = [ApplicationCounters, ApplicationState]
    static readonly before = positionOf(by)
    static readonly everywhere = true
    static readonly document = (operation: OpenApiOperation, route: RouteInfo): OpenApiOperation =>
      isCounted(route) ? documentLimit(operation) : operation
    readonly enter: OnEnter

    constructor(counters: Counters, state: ApplicationState) {
      this.enter = createLimiter({ name, limit, by, counters }, state)
    }

    applies(route: RouteInfo): boolean {
      return isCounted(route)
    }
  }
  return {
    problems: [
      ...throttleOptions.findProblems(options, 'throttle'),
      ...(requiresBody(by) ? [bodyProblem] : []),
    ],
    ...(store === 'database'
      ? {
          providers: [
            DatabaseCounters,
            {
              provide: ApplicationCounters,
              make: (counters: DatabaseCounters) => counters,
              inject: [DatabaseCounters],
            },
          ],
        }
      : { providers: [ApplicationCounters] }),
    use: [ApplicationThrottle],
  }
})

/**
 * Limits a route, or each route of a class, with one count for each route and key.
 *
 * @param limit requests and a time: `'5/m'`
 */
export const Throttle = createDecorator('Throttle', (text: string, rule: ThrottleRule = {}) => {
  const limit = limitOption.read(text)
  const { by, store } = throttleRule.read(rule)
  return {
    before: positionOf(by),
    check: (route: RouteInfo) => [
      ...limitOption.findProblems('limit', text),
      ...throttleRule.findProblems(rule),
      ...findBodyProblems(by, route),
    ],
    document: documentLimit,
    inject: [countersOf(store), ApplicationState],
    enter: (route: RouteInfo, counters: Counters, state: ApplicationState) =>
      createLimiter({ name: limitName(route, limit.text), limit, by, counters }, state),
  }
})

/** Health probes are not counted: a rejected probe would restart a working process. */
function isCounted({ metadata }: RouteInfo): boolean {
  return metadata.get(Operational) === undefined
}

const bodyProblem = {
  code: 'INVALID_OPTION',
  message: 'throttle: by needs a body, but each route has a different one.',
  remedy: "Write @Throttle('5/m', { by: 'body.name' }) before the route.",
}

function countersOf(store: ThrottleRule['store']) {
  if (store === undefined) return ApplicationCounters
  return store === 'database' ? DatabaseCounters : MemoryCounters
}

/** The user is known after the gate, and the body after it is checked. */
function positionOf(by: ThrottleBy): InterceptorPosition {
  if (requiresBody(by)) return 'handler'
  return by === 'ip' ? 'gate' : 'body'
}

type OpenApiOperation = Parameters<NonNullable<InterceptorClass['document']>>[0]

const limitCounts = new WeakMap<RouteInfo, number>()

/** The name is the same in every process. Two limits on one route have different names. */
function limitName(route: RouteInfo, limit: string): string {
  const number = (limitCounts.get(route) ?? 0) + 1
  limitCounts.set(route, number)
  return `${route.method} ${route.path} ${limit} ${number}`
}

interface LimiterOptions {
  readonly name: string
  readonly limit: RequestLimit
  readonly by: ThrottleBy
  readonly counters: Counters
}

/** A limit that has counted the request, linked to the previous one. */
interface CountedRequest {
  readonly limiter: LimiterOptions
  readonly key: string
  readonly count: Count
  readonly previous: CountedRequest | undefined
}

const countedFor = requestValue<CountedRequest | undefined>('throttle')

/** Runs before the handler only. In memory it is synchronous: it creates no promise. */
function createLimiter(options: LimiterOptions, state: ApplicationState): OnEnter {
  const readKey = toKeyReader(options.by, state)
  return (request) => {
    // An internal request was counted with its outer request, if the same limit applies.
    if (request.parentRequest !== undefined && hasCounted(request.parentRequest, options))
      return undefined
    const key = readKey(request)
    return key instanceof Promise
      ? key.then((resolvedKey) => countBy(request, options, resolvedKey))
      : countBy(request, options, key)
  }
}

function hasCounted(request: HttpRequest, options: LimiterOptions): boolean {
  let counted = countedFor.get(request)
  while (counted !== undefined && counted.limiter !== options) counted = counted.previous
  return counted !== undefined
}

function countBy(
  request: HttpRequest,
  options: LimiterOptions,
  key: string | undefined,
): Promise<void> | undefined {
  if (key === undefined) return undefined
  const { name, limit, counters } = options
  const count = counters.tryCount(name, key, limit)
  return count instanceof Promise
    ? count.then((databaseCount) => applyCount(request, options, key, databaseCount))
    : applyCount(request, options, key, count)
}

function applyCount(
  request: HttpRequest,
  options: LimiterOptions,
  key: string,
  count: Count,
): Promise<never> | undefined {
  const previous = countedFor.get(request)
  if (!count.isCounted) return refuse(request, options, count, previous)
  countedFor.set(request, { limiter: options, key, count, previous })
  // The headers describe the limit with the fewest remaining requests.
  for (let other = previous; other !== undefined; other = other.previous) {
    if (!isTighter(count, other.count)) return undefined
  }
  request.setHeader('RateLimit-Policy', options.limit.policy)
  request.setHeader('RateLimit', rateLimitHeader(options, count))
  return undefined
}

/** If one limit rejects the request, the other limits take it back. */
function refuse(
  request: HttpRequest,
  options: LimiterOptions,
  count: Count,
  previous: CountedRequest | undefined,
): Promise<never> | undefined {
  const waits: Promise<void>[] = []
  for (let other = previous; other !== undefined; other = other.previous) {
    const uncounted = other.limiter.counters.uncount(
      other.limiter.name,
      other.key,
      other.count.endsAt,
    )
    if (uncounted instanceof Promise) waits.push(uncounted)
  }
  countedFor.set(request, undefined)
  const refusal = new HttpError(429, undefined, {
    reason: `${options.name.replace(/ \d+$/, '')} by ${typeof options.by === 'string' ? options.by : 'a function'}: ${options.limit.label} is used up`,
    headers: {
      'Retry-After': String(options.counters.secondsUntil(count.endsAt)),
      'RateLimit-Policy': options.limit.policy,
      RateLimit: rateLimitHeader(options, count),
    },
  })
  if (waits.length === 0) throw refusal
  return Promise.all(waits).then(() => {
    throw refusal
  })
}

function isTighter(one: Count, other: Count): boolean {
  return one.remaining === other.remaining
    ? one.endsAt > other.endsAt
    : one.remaining < other.remaining
}

function rateLimitHeader(
  { limit, counters }: LimiterOptions,
  { remaining, endsAt }: Count,
): string {
  return `${limit.label};r=${remaining};t=${counters.secondsUntil(endsAt)}`
}

/** Adds the response 429 to an operation of the document. */
function documentLimit<Operation extends { responses?: Record<string, unknown> }>(
  operation: Operation,
): Operation {
  const responses = { ...operation.responses, '429': limitResponse }
  return { ...operation, responses: sortByStatus(responses) }
}

const header = (description: string) => ({ description, schema: { type: 'string' as const } })

const limitResponse = {
  description: 'Too many requests: wait before you try again.',
  headers: {
    'Retry-After': {
      description: 'The number of seconds to wait.',
      schema: { type: 'integer' as const, minimum: 1 },
    },
    RateLimit: header('The remaining requests and seconds: `"5/m";r=0;t=42`.'),
    'RateLimit-Policy': header('The limit: `"5/m";q=5;w=60`.'),
  },
  content: {
    'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } },
    'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemBody' } },
  },
}

/** Sorts by status; names such as `default` come last. */
function sortByStatus(responses: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(responses).sort(([one], [other]) => one.localeCompare(other)),
  )
}
