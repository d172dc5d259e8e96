/**
 * Serves live queries: each in the response of its own route, or all of a page over one connection, for the browser
 * client, because browsers open at most six connections to an origin.
 *
 * ```
 * POST /filigree/live   { "asks": [{ "path": "/tickets?limit=20", "last": "life:3" }, …] }
 * → events `live`       { "ask": 0, "event": "live", "id": "life:4", "data": {…} }
 * ```
 *
 * Each path, relative to the prefix of the application, becomes an internal GET request that accepts an event stream,
 * with the gate and the rights of its route. `event` and `data` come from that stream. `refused` has the status if
 * there is no stream, and `ended` marks its end. Only streams of live queries are forwarded. Source: docs/client.md,
 * "Live queries".
 */

import { hasGuard, type AccessRule } from '../auth/access.js'
import { after, type MaybePromise } from '../core/maybe-promise.js'
import { HttpError } from '../errors/http-error.js'
import { selfEndingEvents, events, type EventItem } from '../http/events.js'
import { acceptsEventStream } from '../http/accept.js'
import { isSameOrigin } from '../http/request-origin.js'
import type { Reply } from '../http/reply.js'
import { toResponse, type ResultRule } from '../http/result.js'
import type { PreparedResponse } from '../http/route-response.js'
import type { ServerRequest } from '../http/server-request.js'
import { Live } from '../live/live.js'
import { type LiveQueries, rightsKey } from '../live/live-queries.js'
import type { RightsDepth, Within } from '../live/live-query.js'
import { liveEvents, rowEvents, rowsForm } from '../live/live-format.js'
import { checkAccess, requestCaller } from '../records/rights/caller.js'
import { trackRequest } from '../records/tracked-reads.js'
import { responseRights } from '../records/rights/secured-responses.js'
import type { RouteInterceptors } from './interceptors.js'
import type { Invoker } from './invoker.js'
import type { PlannedRoute } from './planned-route.js'
import { isMap } from '../core/json.js'
import type { HeaderList } from '../http/header-list.js'
import { isEventStream, readEvents } from '../http/in-memory/event-reader.js'
import { FakeResponse } from '../http/in-memory/fake-response.js'
import {
  carrierOf,
  createRequestQueue,
  createTunneledRequest,
} from '../http/in-memory/internal-request.js'
import type { Incoming, Outgoing } from '../http/node-messages.js'

export const liveQueriesPath = '/filigree/live'

/** Serves a request. */
export type Serve = (incoming: Incoming, outgoing: Outgoing) => void

interface LiveQueryRequest {
  readonly path: string
  readonly last: string | undefined
}

/** The maximum number of live queries of one request, because each is a stream. */
const maxQueries = 100
const longestId = 200

/** @throws {HttpError} 400 if the body has no list of queries */
export function openLiveQueries(request: ServerRequest, serve: Serve): Reply {
  const queries = readQueries(request.body)
  const ours = request.incoming.headers.origin === undefined || isSameOrigin(request)
  const carrier = carrierOf(request.incoming, ours)
  const answers = queries.map(() => new FakeResponse())
  const items = new Handover<EventItem>(() => {
    for (const outgoing of answers) outgoing.destroy()
  })
  const queue = createRequestQueue()
  for (const [index, { path, last }] of queries.entries()) {
    const outgoing = answers[index]
    if (outgoing === undefined) continue
    const url = `${request.basePath}${path}`
    queue.add(async () => {
      if (outgoing.destroyed) return
      serve(createTunneledRequest(carrier, { method: 'GET', url, lastEventId: last }), outgoing)
      void pass(index, outgoing, items)
      await outgoing.head.catch(() => undefined)
    })
  }
  return events(items)
}

/** Forwards the events of one live query until it ends. */
async function pass(
  index: number,
  outgoing: FakeResponse,
  items: Handover<EventItem>,
): Promise<void> {
  try {
    const { status, headers } = await outgoing.head
    const refuse = (): Promise<void> | undefined => {
      outgoing.destroy()
      const data = { status: status < 400 ? 406 : status, retryAfter: retryAfter(headers) }
      return items.give({ event: 'live', data: { ask: index, event: 'refused', data } })
    }
    if (!isEventStream(headers)) {
      await refuse()
      return
    }
    for await (const { event, data, id } of readEvents(outgoing.body)) {
      // Stops reading any other stream, because streams are produced as fast as they are read.
      if (event !== 'live' && event !== 'closed') {
        await refuse()
        return
      }
      const named = id === undefined ? '' : `,"id":${JSON.stringify(id)}`
      await items.give({
        event: 'live',
        data: `{"ask":${index},"event":"${event}"${named},"data":${data}}`,
      })
    }
  } catch {
    // The stream was cut off like a connection. The client requests it again.
  }
  await items.give({ event: 'live', data: { ask: index, event: 'ended' } })
}

function retryAfter(headers: HeaderList): number | undefined {
  const seconds = Number(headers.first('Retry-After') ?? NaN)
  return Number.isFinite(seconds) ? seconds : undefined
}

/**
 * Merges items of several producers for one consumer. Each producer waits until its item was consumed, and the consumer
 * reads until it disconnects.
 */
class Handover<T> implements AsyncIterableIterator<T> {
  readonly #pendingItems: { readonly item: T; readonly onTaken: () => void }[] = []
  readonly #onLeave: () => void
  #isOver = false
  #wake: (() => void) | undefined

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  give(item: T): Promise<void> | undefined {
    if (this.#isOver) return undefined
    return new Promise((onTaken) => {
      this.#pendingItems.push({ item, onTaken })
      this.#wake?.()
    })
  }

  async next(): Promise<IteratorResult<T>> {
    while (!this.#isOver) {
      const pendingItem = this.#pendingItems.shift()
      if (pendingItem !== undefined) {
        pendingItem.onTaken()
        return { value: pendingItem.item, done: false }
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return { value: undefined, done: true }
  }

  return(): Promise<IteratorResult<T>> {
    this.#isOver = true
    this.#wake?.()
    for (const { onTaken } of this.#pendingItems.splice(0)) onTaken()
    this.#onLeave()
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

function readQueries(body: unknown): readonly LiveQueryRequest[] {
  const queries = isMap(body) ? body.asks : undefined
  if (!Array.isArray(queries) || queries.length === 0) {
    throw new HttpError(400, 'Send { "asks": [{ "path": "/…" }] }.')
  }
  if (queries.length > maxQueries) {
    throw new HttpError(429, `More than ${maxQueries} live queries over one connection.`)
  }
  return queries.map((query: unknown, index) => {
    const { path, last } = isMap(query) ? query : { path: undefined, last: undefined }
    if (typeof path !== 'string' || !/^\/(?!\/)[!-~]*$/.test(path)) {
      throw new HttpError(400, `asks[${index}].path is not a path.`)
    }
    if (last !== undefined && !isId(last))
      throw new HttpError(400, `asks[${index}].last is not an id.`)
    return { path, last }
  })
}

/** Whether the id can be sent in a header. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= longestId && /^[!-~]*$/.test(value)
}

/**
 * Live queries of routes: lists and finds of `crud`, and handlers with `@Live`. A request that accepts events gets a
 * live query. Each of its runs calls the handler again, with the rule of its gate, its interceptors and the shape of
 * its response. Source: decisions, Live queries.
 */

interface LiveRoute {
  readonly plan: PlannedRoute
  /** The method of the handler. */
  readonly handler: unknown
  readonly interceptors: RouteInterceptors
  /** The handler with its interceptors. */
  readonly invoke: Invoker
  readonly rule: ResultRule
}

let routes = 0

/** @param handler the method of the handler */
export function hasLiveQueries({ route, info }: PlannedRoute, handler: unknown): boolean {
  const isLive = responseRights(handler) !== undefined || info.metadata.get(Live) !== undefined
  return route.method === 'GET' && isLive
}

/** @returns `invoke` unchanged if the route has no live queries */
export function withLiveQueries(route: LiveRoute, live: LiveQueries): Invoker {
  const { plan, handler, invoke } = route
  if (!hasLiveQueries(plan, handler)) return invoke
  const { method, name, pattern } = plan.route
  const generated = responseRights(handler)
  // Versions of a route may be equal in everything else.
  const where = `${++routes} ${method} ${pattern.text} ${name}`
  const depth = rightsOf(route, generated)
  return (request) => (acceptsEventStream(request) ? open(request) : invoke(request))

  async function open(request: ServerRequest): Promise<Reply> {
    const { auth } = request.caller
    const claims = auth?.claims
    const byKey = auth?.by === 'key'
    const { 'last-event-id': lastId } = request.incoming.headers
    const listener = await live.open(
      {
        owner: route,
        depth,
        key: (by) => {
          const rightsOfCaller = rightsKey({ claims, byKey, request }, by)
          return JSON.stringify([where, request.sentPath, request.url, rightsOfCaller])
        },
        form: rowsForm,
        run: ({ caller }, runWithin) => runOnce(route, caller.request ?? request, runWithin),
      },
      {
        claims,
        byKey,
        request,
        lastId: typeof lastId === 'string' ? lastId : undefined,
        abandon: () => {
          request.outgoing.destroy()
        },
      },
    )
    return selfEndingEvents(liveEvents(listener, rowEvents))
  }
}

/** The part of the caller that the handler may read. */
function rightsOf(
  { plan, interceptors }: LiveRoute,
  generated: RightsDepth | undefined,
): RightsDepth {
  const { route, access, checks, customArguments } = plan
  if (hasGuard(access) || interceptors.handler.length > 0 || checks.returnsForCaller !== undefined)
    return 'all'
  if (generated !== undefined) return generated
  const names = route.argumentNames.filter(
    (name) => !route.pattern.names.includes(name) && name !== 'query',
  )
  if (names.some((name) => customArguments.has(name))) return 'all'
  if (names.length === 0) return 'nothing'
  return names.every((name) => name === 'user') ? 'claims' : 'all'
}

/** Runs the handler once. @returns the JSON text of its result */
async function runOnce(
  { plan, invoke, rule }: LiveRoute,
  request: ServerRequest,
  runWithin: Within,
): Promise<string> {
  await runWithin(() => checkLiveAccess(plan.access, request))
  const result = await runWithin(() => invoke(request))
  const { returns } = plan.checks
  const response = toResponse(request, returns === undefined ? result : returns(result), rule)
  return after(response, (written) => {
    if (request.response.jsonDependsOnCaller) trackRequest()
    return toText(written)
  })
}

/** @throws {HttpError} 401 or 403 */
function checkLiveAccess(rule: AccessRule, request: ServerRequest): MaybePromise<void> {
  if (rule.open) return undefined
  return after(checkAccess(rule, requestCaller(request)), (result) => {
    if (result !== 'admitted') throw new HttpError(result === 'forbidden' ? 403 : 401)
  })
}

/** @throws {HttpError} if the handler responds with an error */
function toText({ status, list, body }: PreparedResponse): string {
  if (status >= 400) throw new HttpError(status)
  if (body === null) return 'null'
  if (typeof body !== 'string')
    throw new TypeError('A live query must return data or text. Remove @Live, or return data.')
  const isJson = list.first('Content-Type')?.startsWith('application/json') === true
  return isJson ? body : JSON.stringify(body)
}
