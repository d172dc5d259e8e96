/**
 * Live queries: one engine for GraphQL's `query @live`, `crud` and `@Live`. It runs a query again when its tables
 * change, compares the results and sends the difference. Changes come from the change feed, from statements and from
 * other processes.
 *
 * Each interface passes a `LiveQueryDefinition` to `open`. Definitions with equal keys share one result. A key covers
 * interface, text, variables and permissions. `run` runs the query once for one listener and returns JSON text. `form`
 * formats the messages, and `events` writes them. `open` returns a `LiveListener`, the source of an event stream. All
 * listeners get the same message objects:
 *
 * - `{ kind: 'data', id, text }`: `text` is the payload's JSON. For GraphQL, `text` is an execution result: the
 * `payload` of `next` in graphql-transport-ws, or the data of an event. `id` is `life:version`, for `Last-Event-ID`.
 * - `{ kind: 'closed', status, text }`: the last message. The caller has lost access (401, 403), and the stream ends.
 *
 * `open` rejects with an `HttpError` if the first run is refused or there are too many live queries (429). If a client does
 * not read, its connection is closed.
 *
 * Source: decisions, Live queries.
 */

import { AsyncResource } from 'node:async_hooks'
import type { Claims, HttpRequest } from '../http/request.js'
import { RunQueue } from '../core/run-queue.js'
import { HttpError } from '../errors/http-error.js'
import { addressKey } from '../core/address-counts.js'
import {
  DependsOnRequest,
  LiveQuery,
  type LiveParts,
  type LiveQueryDefinition,
  type LiveQueryHost,
  type RightsDepth,
} from './live-query.js'
import { LiveListener, type LiveCaller } from './live-listener.js'
import { WatchedTables } from './watched-tables.js'

interface AccessOfCaller {
  readonly claims: Claims | null | undefined
  readonly byKey: boolean
  readonly request: Pick<HttpRequest, 'headers' | 'ip' | 'secure'> | undefined
}

/** Transport headers, which do not identify the caller. */
const transportHeaders: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'cache-control', 'connection', 'content-length'],
  ...['content-type', 'last-event-id', 'pragma', 'transfer-encoding'],
])

/** Returns the part of the caller that a result depends on, as JSON data. */
export function rightsKey({ claims, byKey, request }: AccessOfCaller, depth: RightsDepth): unknown {
  if (depth === 'nothing') return null
  const identity = byKey ? 'key' : sorted(claims ?? {}, noNames)
  const isIdentified = byKey || (claims !== undefined && claims !== null)
  if (depth !== 'all' || request === undefined) return [isIdentified, identity]
  const { headers, ip, secure } = request
  return [isIdentified, identity, ip, secure, sorted(headers, transportHeaders)]
}

const noNames: ReadonlySet<string> = new Set()

function sorted(values: object, without: ReadonlySet<string>): [string, unknown][] {
  return (Object.entries(values) as [string, unknown][])
    .filter(([name]) => !without.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
}

/** Maximum number of runs that wait for a database at the same time. */
const maxConcurrentRuns = 4

/** Maximum characters of a key, including variables. Keys stay in memory while anyone listens. */
const maxKeyLength = 64 * 1024

/** The listeners of one caller to one query. */
interface Place {
  readonly caller: CallerQueries
  readonly query: LiveQuery
  listeners: number
}

interface CallerQueries {
  readonly name: string
  /** By the key of the query. */
  readonly places: Map<string, Place>
}

/** Counters for metrics. */
export interface LiveCounts {
  readonly listeners: number
  readonly answers: number
  /** Runs since the start. */
  readonly runs: number
  /** Messages to all listeners since the start. */
  readonly messages: number
}

export class LiveQueries implements LiveQueryHost {
  readonly parts: LiveParts
  readonly tables: WatchedTables
  readonly runs: RunQueue
  readonly counts = { listeners: 0, runs: 0, messages: 0 }
  readonly #queries = new Map<string, LiveQuery>()
  /**
   * Owners whose code reads the current request although their declarations do not say so. Their results are not
   * shared.
   */
  readonly #unsharedOwners = new WeakSet()
  /** By the caller's name. */
  readonly #byCaller = new Map<string, CallerQueries>()
  readonly #listeners = new Map<LiveListener, Place>()
  /** Runs belong to no request and no transaction, whatever triggered them. */
  readonly #outside = new AsyncResource('live')
  readonly #stopMoves: () => void
  #expiry: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(parts: LiveParts) {
    this.parts = parts
    this.runs = new RunQueue(maxConcurrentRuns)
    this.tables = new WatchedTables(parts)
    this.#stopMoves = parts.clock.onMove(() => {
      this.#endExpired()
    })
  }

  /**
   * Opens a listener, once the first result is available.
   *
   * @throws {HttpError} 413 if the query is too long, 429 if there are too many live queries, and any error of the
   * first run
   */
  async open(definition: LiveQueryDefinition, caller: LiveCaller): Promise<LiveListener> {
    if (this.#isClosed) throw new HttpError(503)
    const depth = this.#unsharedOwners.has(definition.owner) ? 'all' : definition.depth
    const key = definition.key(depth, caller)
    if (key.length > maxKeyLength)
      throw new HttpError(413, `A live query may have at most ${maxKeyLength} characters.`)
    const name = nameOf(caller)
    this.#checkLimits(key, name)
    const query = this.#queries.get(key) ?? this.#make({ ...definition, depth }, key)
    const listener = new LiveListener(caller, definition, this)
    this.#add(listener, this.#placeOf(name, query))
    try {
      await this.outside(() => query.add(listener))
      return listener
    } catch (error) {
      listener.end()
      if (error instanceof DependsOnRequest) return this.open(definition, caller)
      throw error
    }
  }

  /** Runs the owner's queries separately for each caller from now on, also for these listeners. */
  splitByRequest({ owner }: LiveQueryDefinition, listeners: Iterable<LiveListener>): void {
    this.#unsharedOwners.add(owner)
    for (const listener of listeners) this.#separate(listener)
  }

  /** Continues a listener in a query of its own caller, whose first message is the complete result. */
  #separate(listener: LiveListener): void {
    const place = this.#listeners.get(listener)
    if (place === undefined) return
    const { caller, query: shared } = place
    const { definition } = shared
    const key = definition.key('all', listener.caller)
    if (key.length > maxKeyLength) {
      listener.end()
      return
    }
    const query = this.#queries.get(key) ?? this.#make({ ...definition, depth: 'all' }, key)
    this.#uncount(place)
    this.#listeners.set(listener, this.#placeOf(caller.name, query))
    // A failed run ends the listener.
    this.outside(() => query.add(listener)).catch(() => undefined)
  }

  /** Runs work outside any request's and transaction's context. */
  outside<T>(work: () => T): T {
    return this.#outside.runInAsyncScope(work)
  }

  /** Removes a live query that has no listeners left. */
  forget(query: LiveQuery): void {
    if (this.#queries.get(query.key) === query) this.#queries.delete(query.key)
    this.tables.unfollow(query)
  }

  get counted(): LiveCounts {
    return { ...this.counts, answers: this.#queries.size }
  }

  /** Ends all listeners normally. */
  close(): void {
    this.#isClosed = true
    for (const listener of [...this.#listeners.keys()]) listener.end()
    this.tables.close()
    this.#stopMoves()
    clearInterval(this.#expiry)
  }

  #make(definition: LiveQueryDefinition, key: string): LiveQuery {
    const query = new LiveQuery(definition, key, this)
    this.#queries.set(key, query)
    return query
  }

  /** @throws {HttpError} 429 if there are too many live queries */
  #checkLimits(key: string, name: string): void {
    const { answers, byCaller } = this.parts.options
    const places = this.#byCaller.get(name)?.places
    const isOver = places !== undefined && places.size >= byCaller && !places.has(key)
    if (!isOver && (this.#queries.has(key) || this.#queries.size < answers)) return
    const reached = isOver ? `this caller has ${byCaller}` : `there are ${answers}`
    throw new HttpError(429, 'Too many live queries are open.', {
      headers: { 'Retry-After': '5' },
      reason: `${reached} different live queries, the limit of live.${isOver ? 'byCaller' : 'answers'}`,
    })
  }

  /** Counts a listener. */
  #placeOf(name: string, query: LiveQuery): Place {
    const caller = this.#byCaller.get(name) ?? { name, places: new Map<string, Place>() }
    this.#byCaller.set(name, caller)
    const place = caller.places.get(query.key) ?? { caller, query, listeners: 0 }
    caller.places.set(query.key, place)
    place.listeners++
    return place
  }

  #uncount(place: Place): void {
    const { caller, query } = place
    place.listeners--
    if (place.listeners === 0) caller.places.delete(query.key)
    if (caller.places.size === 0) this.#byCaller.delete(caller.name)
  }

  #add(listener: LiveListener, place: Place): void {
    this.#listeners.set(listener, place)
    this.counts.listeners++
    const { claims } = listener.caller
    if (claims === undefined || claims === null) return
    listener.unwatch = this.parts.watch?.(claims, () => {
      listener.close(401)
    })
    if (typeof claims.exp === 'number') {
      this.#expiry ??= setInterval(() => {
        this.#endExpired()
      }, 250).unref()
    }
  }

  removeListener(listener: LiveListener): void {
    const place = this.#listeners.get(listener)
    if (place === undefined) return
    this.#listeners.delete(listener)
    this.counts.listeners--
    this.#uncount(place)
    place.query.remove(listener)
    if (this.#listeners.size > 0) return
    clearInterval(this.#expiry)
    this.#expiry = undefined
  }

  #endExpired(): void {
    const now = this.parts.clock.now()
    for (const listener of [...this.#listeners.keys()]) listener.closeIfOver(now)
  }
}

/** The caller's name for counting live queries. */
function nameOf({ claims, byKey, request }: LiveCaller): string {
  if (byKey) return 'key'
  const sub = claims?.sub
  if (typeof sub === 'string' && sub !== '') return `sub ${sub}`
  if (claims !== undefined && claims !== null) return `claims ${JSON.stringify(claims)}`
  return request === undefined ? 'program' : `address ${addressKey(request.ip)}`
}
