/**
 * Rate limits: `throttle({ limit: '100/m' })` for the whole application, `@Throttle('5/m')` for routes. Limits by
 * address run before the gate, limits by user after it, limits by the body behind its check. Source: decisions, "Second storey: production", Throttle; RFC
 * 6585 §4;
 * draft-ietf-httpapi-ratelimit-headers-10.
 */
import {
  ApplicationState,
  createDecorator,
  createModule,
  HttpError,
  Operational,
  requestValue,
  type OnEnter,
  type EntryInterceptor,
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
  findBodyFaults,
  findFaults,
  readLimit,
  toKeyReader,
  wantsBody,
  type Limit,
  type ThrottleBy,
  type ThrottleRule,
} from './rule.js'

export type { ThrottleBy, ThrottleRule } from './rule.js'

export interface ThrottleOptions extends ThrottleRule {
  /** Requests and a time: `'100/m'`, `'1000/h'`, `'20/10s'`. */
  limit: string
}

/**
 * Limits the whole application; by address also pages, GraphQL and unknown paths. All routes share one count. `store`
 * also sets where `@Throttle` counts.
 */
export const throttle = createModule(function throttle({ limit, ...rule }: ThrottleOptions) {
  const { by = 'ip', store = 'memory' } = rule
  const faults = [...findFaults(limit, rule, ['limit']), ...(wantsBody(by) ? [bodiesDiffer] : [])]
  const read = readLimit(limit)
  const name = `application ${limit} ${typeof by === 'string' ? by : 'key'}`
  class ApplicationThrottle implements EntryInterceptor {
    static readonly inject = [ApplicationCounters, ApplicationState]
    static readonly before = placeOf(by)
    static readonly everywhere = true
    static readonly document = (operation: OpenApiOperation, route: RouteInfo): OpenApiOperation =>
      isCounted(route) ? documentRefusal(operation) : operation
    readonly enter: OnEnter

    constructor(counters: Counters, state: ApplicationState) {
      this.enter = limiter({ name, limit: read ?? never, by, counters }, state)
    }

    applies(route: RouteInfo): boolean {
      return isCounted(route)
    }
  }
  return {
    problems: faults.map(({ message, remedy }) => ({
      code: 'INVALID_OPTION',
      message: `throttle: ${message}.`,
      remedy,
    })),
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
 * Limits a route, or each route of a class: one count for each pattern and key.
 *
 * @param limit requests and a time: `'5/m'`
 */
export const Throttle = createDecorator('Throttle', (limit: string, rule: ThrottleRule = {}) => {
  const { by = 'ip', store } = rule
  const read = readLimit(limit)
  return {
    before: placeOf(by),
    check: (route: RouteInfo) => {
      const faults = findFaults(limit, rule)
      return faults.length > 0 ? faults : findBodyFaults(by, route)
    },
    document: documentRefusal,
    inject: [countersOf(store), ApplicationState],
    enter: (route: RouteInfo, counters: Counters, state: ApplicationState) =>
      limiter({ name: nameOf(route, limit), limit: read ?? never, by, counters }, state),
  }
})

/** A prober that is refused restarts a process that works. */
function isCounted({ metadata }: RouteInfo): boolean {
  return metadata.get(Operational) === undefined
}

const bodiesDiffer = {
  message: 'by asks for a body, of which each route has another',
  remedy: "Write @Throttle('5/m', { by: 'body.name' }) before the route.",
}

/** Replaces an invalid limit, which stops the start anyway. */
const never: Limit = { most: 1, window: 1, label: '', policy: '' }

function countersOf(store: ThrottleRule['store']) {
  if (store === undefined) return ApplicationCounters
  return store === 'database' ? DatabaseCounters : MemoryCounters
}

/** The user is only known after the gate, and a body once it is read and checked. */
function placeOf(by: ThrottleBy): InterceptorPosition {
  if (wantsBody(by)) return 'handler'
  return by === 'ip' ? 'gate' : 'body'
}

type OpenApiOperation = Parameters<NonNullable<InterceptorClass['document']>>[0]

const limitsOf = new WeakMap<RouteInfo, number>()

/** The same name in every process; two limits on one route have different names. */
function nameOf(route: RouteInfo, limit: string): string {
  const number = (limitsOf.get(route) ?? 0) + 1
  limitsOf.set(route, number)
  return `${route.method} ${route.path} ${limit} ${number}`
}

interface Limiting {
  readonly name: string
  readonly limit: Limit
  readonly by: ThrottleBy
  readonly counters: Counters
}

/** A limit that has counted a request, and those before it. */
interface Counted {
  readonly by: Limiting
  readonly key: string
  readonly count: Count
  readonly before: Counted | undefined
}

const countedFor = requestValue<Counted | undefined>('throttle')

/** It acts on the way in alone, and in memory at once: a limit costs its requests no promise. */
function limiter(limiting: Limiting, state: ApplicationState): OnEnter {
  const keyOf = toKeyReader(limiting.by, state)
  return (request) => {
    // What is asked within a request was counted with it, where the limit is one for both.
    if (request.carriedBy !== undefined && hasCounted(request.carriedBy, limiting)) return undefined
    const key = keyOf(request)
    return key instanceof Promise
      ? key.then((known) => countBy(request, limiting, known))
      : countBy(request, limiting, key)
  }
}

function hasCounted(request: HttpRequest, limiting: Limiting): boolean {
  let counted = countedFor.get(request)
  while (counted !== undefined && counted.by !== limiting) counted = counted.before
  return counted !== undefined
}

function countBy(
  request: HttpRequest,
  limiting: Limiting,
  key: string | undefined,
): Promise<void> | undefined {
  if (key === undefined) return undefined
  const { name, limit, counters } = limiting
  const count = counters.take(name, key, limit)
  return count instanceof Promise
    ? count.then((there) => heed(request, limiting, key, there))
    : heed(request, limiting, key, count)
}

function heed(
  request: HttpRequest,
  by: Limiting,
  key: string,
  count: Count,
): Promise<never> | undefined {
  const before = countedFor.get(request)
  if (!count.taken) return refuse(request, by, count, before)
  countedFor.set(request, { by, key, count, before })
  // The tightest limit sets the headers for all of them.
  for (let other = before; other !== undefined; other = other.before) {
    if (!isTighter(count, other.count)) return undefined
  }
  request.setHeader('RateLimit-Policy', by.limit.policy)
  request.setHeader('RateLimit', toState(by, count))
  return undefined
}

/** If one limit refuses, none may count the request. */
function refuse(
  request: HttpRequest,
  by: Limiting,
  count: Count,
  before: Counted | undefined,
): Promise<never> | undefined {
  const waits: Promise<void>[] = []
  for (let other = before; other !== undefined; other = other.before) {
    const given = other.by.counters.giveBack(other.by.name, other.key, other.count.ends)
    if (given instanceof Promise) waits.push(given)
  }
  countedFor.set(request, undefined)
  const refusal = new HttpError(429, undefined, {
    reason: `${by.name.replace(/ \d+$/, '')} by ${typeof by.by === 'string' ? by.by : 'a function'}: ${by.limit.label} is used up`,
    headers: {
      'Retry-After': String(by.counters.secondsUntil(count.ends)),
      'RateLimit-Policy': by.limit.policy,
      RateLimit: toState(by, count),
    },
  })
  if (waits.length === 0) throw refusal
  return Promise.all(waits).then(() => {
    throw refusal
  })
}

function isTighter(one: Count, other: Count): boolean {
  return one.left === other.left ? one.ends > other.ends : one.left < other.left
}

function toState({ limit, counters }: Limiting, { left, ends }: Count): string {
  return `${limit.label};r=${left};t=${counters.secondsUntil(ends)}`
}

/** Documents the limit. */
function documentRefusal<Operation extends { responses?: Record<string, unknown> }>(
  operation: Operation,
): Operation {
  const responses = { ...operation.responses, '429': refused }
  return { ...operation, responses: sorted(responses) }
}

const header = (description: string) => ({ description, schema: { type: 'string' as const } })

const refused = {
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

/** By status; names such as `default` come last. */
function sorted(responses: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(responses).sort(([one], [other]) => one.localeCompare(other)),
  )
}
