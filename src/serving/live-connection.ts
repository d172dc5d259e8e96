/**
 * Serves all live queries of a page over one connection, for the browser client, because browsers open at most six
 * connections to an origin.
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
import type { Limits } from '../http/limits.js'
import { isMap } from '../core/json.js'
import { promiseOf } from '../core/maybe-promise.js'
import { Problems } from '../errors/problems.js'
import { readWithin } from '../http/bodies/read-body.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import { HttpError } from '../errors/http-error.js'
import { events, type EventItem } from '../http/events.js'
import type { HeaderList } from '../http/header-list.js'
import { isEventStream, readEvents } from '../http/in-memory/event-reader.js'
import { FakeResponse } from '../http/in-memory/fake-response.js'
import {
  carrierOf,
  createRequestQueue,
  createTunneledRequest,
} from '../http/in-memory/internal-request.js'
import type { Incoming, Outgoing } from '../http/node-messages.js'
import type { Reply } from '../http/reply.js'
import { isFromOwnPage } from '../http/request-origin.js'
import type { ServerRequest } from '../http/server-request.js'
import { frameworkRoute, type FrameworkRoute } from './framework-route.js'
import type { ServeContext } from './serve-route.js'

const routePath = '/filigree/live'

/** Serves a request. */
export type Serve = (incoming: Incoming, outgoing: Outgoing) => void

/** Maximum bytes of the body, which lists all queries. */
const maxBodyBytes = 256 * 1024

/**
 * Open to all callers, because each query is authorized by its own route. A token in the request is checked and renewed
 * here.
 */
export function liveQueriesRoute(
  { basePath, limits }: { readonly basePath: string; readonly limits: Limits },
  { gate, times }: ServeContext,
  serve: Serve,
): FrameworkRoute {
  const pattern = parsePattern(joinPaths(basePath, routePath), new Problems())
  if (pattern === undefined) throw new Error(`${basePath}${routePath} is not a path.`)
  const readBody = readWithin(
    { limits: { ...limits, body: maxBodyBytes }, isRequired: false },
    times,
  )
  return frameworkRoute({
    pattern,
    name: 'live',
    method: 'POST',
    before: [(request) => promiseOf(gate.recognise(request)), readBody],
    invoke: (request) => openLiveQueries(request, serve),
    after: [(request) => promiseOf(gate.rotate(request))],
    timeout: times.handler,
  })
}

interface LiveQueryRequest {
  readonly path: string
  readonly last: string | undefined
}

/** The maximum number of live queries of one request, because each is a stream. */
const maxQueries = 100
const longestId = 200

/** @throws {HttpError} 400 if the body has no list of queries */
function openLiveQueries(request: ServerRequest, serve: Serve): Reply {
  const queries = readQueries(request.body)
  const carrier = carrierOf(request.incoming, { withCookies: isFromOwnPage(request) })
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
