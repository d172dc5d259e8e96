/**
 * Limits: `throttle({ limit: '100/m' })` for the whole application, `@Throttle('5/m')` for routes. Before the gate by
 * address, behind it by user. Source: decisions, "Second storey: production", Throttle; RFC 6585 §4;
 * draft-ietf-httpapi-ratelimit-headers-10.
 */
import {
  createDecorator,
  createModule,
  HttpError,
  requestValue,
  type HttpRequest,
  type Intercept,
  type Interceptor,
  type Next,
  type Place,
  type RouteInfo,
} from '../../index.js'
import { ApplicationCounters, Counters, DatabaseCounters, MemoryCounters } from './counters.js'
import {
  findFaults,
  readLimit,
  toKeyReader,
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
 * Limits the whole application: pages, GraphQL and unknown paths too where it is by address. One count for all routes
 * together. `store` also says where `@Throttle` counts.
 */
export const throttle = createModule(function throttle({ limit, ...rule }: ThrottleOptions) {
  const faults = findFaults(limit, rule)
  const { by = 'ip', store = 'memory' } = rule
  const read = readLimit(limit)
  const name = `application ${limit} ${typeof by === 'string' ? by : 'key'}`
  class ApplicationThrottle implements Interceptor {
    static readonly inject = [ApplicationCounters]
    static readonly before = placeOf(by)
    static readonly everywhere = true
    static readonly document = documentRefusal
    readonly #intercept: Intercept

    constructor(counters: Counters) {
      this.#intercept = limiter({ name, limit: read ?? never, by, counters })
    }

    intercept(request: HttpRequest, next: Next): unknown {
      return this.#intercept(request, next)
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
 * Limits a route, or each route of a class: one count for the route's pattern and key.
 *
 * @param limit requests and a time: `'5/m'`
 */
export const Throttle = createDecorator('Throttle', (limit: string, rule: ThrottleRule = {}) => {
  const { by = 'ip', store } = rule
  const read = readLimit(limit)
  return {
    before: placeOf(by),
    check: () => findFaults(limit, rule),
    document: documentRefusal,
    inject: [countersOf(store)],
    intercept: (route: RouteInfo, counters: Counters) =>
      limiter({ name: nameOf(route, limit), limit: read ?? never, by, counters }),
  }
})

/** Stands for a limit that cannot be read, which stops the start. */
const never: Limit = { most: 1, window: 1, text: '' }

function countersOf(store: ThrottleRule['store']) {
  if (store === undefined) return ApplicationCounters
  return store === 'database' ? DatabaseCounters : MemoryCounters
}

/** Who it is for is known behind the gate alone. */
function placeOf(by: ThrottleBy): Place {
  return by === 'ip' ? 'gate' : 'body'
}

const limitsOf = new WeakMap<RouteInfo, number>()

/** The same in every process; two limits of one route have two. */
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

/** A limit that has counted a request. */
interface Counted {
  readonly limit: Limit
  readonly left: number
  readonly ends: number
  readonly giveBack: () => void | Promise<void>
}

const countedFor = requestValue<Counted[]>('throttle')

function limiter({ name, limit, by, counters }: Limiting): Intercept {
  const keyOf = toKeyReader(by)
  return async (request, next) => {
    const key = keyOf(request)
    if (key === undefined) return next()
    const before = countedFor.get(request)
    const counted = before ?? []
    if (before === undefined) countedFor.set(request, counted)
    const counting = counters.take(name, key, limit)
    const count = counting instanceof Promise ? await counting : counting
    if (!count.taken) {
      // One limit refuses: none has counted.
      for (const one of counted.splice(0)) await one.giveBack()
      throw refusal(limit, count.ends)
    }
    const { left, ends } = count
    counted.push({ limit, left, ends, giveBack: () => counters.giveBack(name, key, ends) })
    const answer = await next()
    // The outermost speaks for all of them.
    if (before === undefined && answer.headers.get('RateLimit') === undefined) {
      const tightest = counted.reduce(tighter, counted[0] as Counted)
      for (const [header, value] of headersOf(tightest)) answer.headers.set(header, value)
    }
    return answer
  }
}

function tighter(one: Counted, other: Counted): Counted {
  if (one.left === other.left) return one.ends >= other.ends ? one : other
  return one.left < other.left ? one : other
}

function refusal(limit: Limit, ends: number): HttpError {
  const headers = Object.fromEntries(headersOf({ limit, left: 0, ends }))
  return new HttpError(429, undefined, {
    headers: { 'Retry-After': String(secondsUntil(ends)), ...headers },
  })
}

function headersOf({
  limit,
  left,
  ends,
}: Pick<Counted, 'limit' | 'left' | 'ends'>): [string, string][] {
  return [
    ['RateLimit-Policy', `"${limit.text}";q=${limit.most};w=${limit.window / 1000}`],
    ['RateLimit', `"${limit.text}";r=${left};t=${secondsUntil(ends)}`],
  ]
}

function secondsUntil(ends: number): number {
  return Math.max(1, Math.ceil((ends - Date.now()) / 1000))
}

/** What the document says of it. */
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
      description: 'Seconds to wait.',
      schema: { type: 'integer' as const, minimum: 1 },
    },
    RateLimit: header('What is left: `"5/m";r=0;t=42`.'),
    'RateLimit-Policy': header('The limit: `"5/m";q=5;w=60`.'),
  },
  content: {
    'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } },
    'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemBody' } },
  },
}

/** By status; words such as `default` last. */
function sorted(responses: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(responses).sort(([one], [other]) => one.localeCompare(other)),
  )
}
