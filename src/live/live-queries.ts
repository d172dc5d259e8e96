/**
 * Live answers: questions that stay true. One engine behind three doors, GraphQL's `query @live`, `crud` and `@Live`.
 *
 *   door ─ open(question, listener) ─▶ LiveAnswers ─ one LiveAnswer for each key ─▶ run, compare, tell
 *                                          ▲ tables that changed: change feed, statements, other processes
 *
 * A door gives a `LiveQuestion`: its key (equal keys have equal answers: door, text, variables, rights), `run`, which asks
 * it once for one of its listeners and gives JSON text, and `form`, which writes what is told. It gets a `LiveListener`: an
 * async iterable of `LiveMessage`, the same objects for all who listen:
 *
 * - `{ kind: 'data', id, text }`: `text` is the payload's JSON. For GraphQL it is an execution result, to be sent as it is as
 *   the `payload` of graphql-transport-ws' `next`, or as the data of an event; `id` is `life:version`, for `Last-Event-ID`.
 * - `{ kind: 'closed', status, text }`: the last one; the caller may see it no more (401, 403). Then the iterable ends.
 *
 * `open` rejects with an `HttpError` where the first run is refused, or there are too many answers (429). Who stops listening
 * calls `return()`. A door does nothing for a reader that does not read: the engine calls the listener's `abandon`.
 *
 * Source: decisions, Live queries.
 */

import { AsyncResource } from 'node:async_hooks'
import type { Claims, HttpRequest } from '../http/request.js'
import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import { HttpError } from '../errors/http-error.js'
import { addressKey } from '../core/address-counts.js'
import type { ServerRequest } from '../http/server-request.js'
import { DependsOnRequest, LiveQuery } from './live-query.js'
import type { LiveFormat } from './live-format.js'
import { LiveListener } from './live-listener.js'
import type { ResolvedLiveOptions } from './options.js'
import { WatchedTables } from './watched-tables.js'

/** What an answer depends on of its caller: answers of equal questions are one only where this is equal too. */

/** `nothing`: the same for all. `claims`: all that a token says. `all`: whatever code can read of a request. */
export type RightsDepth = 'nothing' | 'claims' | 'all'

interface CallerIdentity {
  readonly claims: Claims | null | undefined
  readonly byKey: boolean
  readonly request: Pick<HttpRequest, 'headers' | 'ip' | 'secure'> | undefined
}

/** Headers of the journey, which say nothing of the caller. */
const transportHeaders: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'cache-control', 'connection', 'content-length'],
  ...['content-type', 'last-event-id', 'pragma', 'transfer-encoding'],
])

export function rightsKey({ claims, byKey, request }: CallerIdentity, depth: RightsDepth): unknown {
  if (depth === 'nothing') return null
  const who = byKey ? 'key' : sorted(claims ?? {}, noNames)
  const isIdentified = byKey || (claims !== undefined && claims !== null)
  if (depth !== 'all' || request === undefined) return [isIdentified, who]
  const { headers, ip, secure } = request
  return [isIdentified, who, ip, secure, sorted(headers, transportHeaders)]
}

const noNames: ReadonlySet<string> = new Set()

function sorted(values: object, without: ReadonlySet<string>): [string, unknown][] {
  return (Object.entries(values) as [string, unknown][])
    .filter(([name]) => !without.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
}

/**
 * The line of runs that are due: a few at a time, each in a turn of the event loop of its own, so that what changes many
 * answers at once holds up nobody else. An answer stands in the line once.
 */

/** Runs that may wait for a database at a time. */
const maxConcurrentRuns = 4

class RunQueue {
  readonly #due: (() => Promise<void>)[] = []
  #running = 0
  #isScheduled = false

  add(run: () => Promise<void>): void {
    this.#due.push(run)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#running >= maxConcurrentRuns || this.#due.length === 0) return
    this.#isScheduled = true
    setImmediate(this.#runNext)
  }

  readonly #runNext = (): void => {
    this.#isScheduled = false
    const run = this.#due.shift()
    if (run === undefined) return
    this.#running++
    void run().finally(() => {
      this.#running--
      this.#schedule()
    })
    this.#schedule()
  }
}

export type { LiveMessage } from './live-listener.js'

/** Characters of a question, its variables among them, that are kept as long as somebody listens. */
const maxKeyLength = 64 * 1024

export type Within = <R>(work: () => R) => R

export interface LiveQueryDefinition {
  /** Whose code it asks: a route, a schema. */
  readonly owner: object
  /** What its answer depends on of its caller, as far as the declarations say. */
  readonly depth: RightsDepth
  /** Who has the same gets the same: the door, the text, the variables, the rights. */
  readonly key: (depth: RightsDepth) => string
  readonly form: LiveFormat
  /**
   * Asks once, for this listener's caller.
   *
   * @param within runs the application's code, with its caller's request as the current one where nobody shares the answer
   * @returns the answer's JSON text; undefined where there is nothing any more
   * @throws {HttpError} 401 and 403 end the listeners; 5xx is asked again later
   */
  readonly run: (listener: LiveListener, within: Within) => Promise<string | undefined>
}

/** Who wants to listen. */
export interface LiveCaller {
  /** Of the verified token; undefined and null: anonymous, or the operator's key. */
  readonly claims: Claims | null | undefined
  /** True for the operator's static key. */
  readonly byKey: boolean
  /** The request that opened it; undefined for the program itself. */
  readonly request: ServerRequest | undefined
  /** What its door needs besides, to ask for it. */
  readonly context?: unknown
  /** What the client had last: `life:version`. */
  readonly lastId: string | undefined
  /** Called if it does not read: its connection is to be closed. */
  readonly abandon: () => void
}

export interface LiveParts {
  readonly options: ResolvedLiveOptions
  readonly clock: Clock
  readonly log: Log
  /** Runs work so that it has a current request. */
  readonly inRequest?: <R>(request: ServerRequest, work: () => R) => R
  /** Calls `end` once when the token is revoked. @returns ends the watch */
  readonly watch: ((claims: Claims, end: () => void) => () => void) | undefined
}

/** What is counted, for metrics. */
export interface LiveCounts {
  readonly listeners: number
  readonly answers: number
  /** Since the start. */
  readonly runs: number
  /** Since the start: to all listeners. */
  readonly messages: number
}

export class LiveQueries {
  readonly parts: LiveParts
  readonly tables: WatchedTables
  readonly runs: RunQueue
  readonly counts = { listeners: 0, runs: 0, messages: 0 }
  readonly #answers = new Map<string, LiveQuery>()
  /** Whose code goes by the current request, though its declarations do not say so: nobody shares its answers. */
  readonly #unsharedOwners = new WeakSet()
  /** Different answers of each caller, each with its number of listeners. */
  readonly #byCaller = new Map<string, Map<string, number>>()
  readonly #listeners = new Set<LiveListener>()
  /** Runs belong to no request and to no transaction, whoever has made them due. */
  readonly #outside = new AsyncResource('live')
  readonly #stopMoves: () => void
  #expiry: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(parts: LiveParts) {
    this.parts = parts
    this.runs = new RunQueue()
    this.tables = new WatchedTables(parts)
    this.#stopMoves = parts.clock.onMove(() => {
      this.#endExpired()
    })
  }

  /**
   * Opens a listener, once there is a first answer.
   *
   * @throws {HttpError} 413 where the question is too long, 429 where there are too many different answers; what the first
   *   run is refused with
   */
  async open(definition: LiveQueryDefinition, caller: LiveCaller): Promise<LiveListener> {
    if (this.#isClosed) throw new HttpError(503)
    const depth = this.#unsharedOwners.has(definition.owner) ? 'all' : definition.depth
    const key = definition.key(depth)
    if (key.length > maxKeyLength)
      throw new HttpError(413, `A live answer is asked for by at most ${maxKeyLength} characters.`)
    const name = nameOf(caller)
    this.#checkLimits(key, name)
    const listener = new LiveListener(caller, (one) => {
      this.#removeListener(one, name, key)
    })
    this.#add(listener, name, key)
    try {
      const query = this.#answers.get(key) ?? this.#make({ ...definition, depth }, key)
      await this.outside(() => query.add(listener))
      return listener
    } catch (error) {
      listener.end()
      if (error instanceof DependsOnRequest) return this.open(definition, caller)
      throw error
    }
  }

  /** From now on each caller is asked for alone. */
  splitByRequest({ owner }: LiveQueryDefinition): void {
    this.#unsharedOwners.add(owner)
  }

  /** Runs work in no request's and no transaction's context. */
  outside<T>(work: () => T): T {
    return this.#outside.runInAsyncScope(work)
  }

  /** Nobody listens to it any more. */
  forget(query: LiveQuery): void {
    if (this.#answers.get(query.key) === query) this.#answers.delete(query.key)
    this.tables.unfollow(query)
  }

  get counted(): LiveCounts {
    return { ...this.counts, answers: this.#answers.size }
  }

  /** Ends all listeners, as if there were nothing more to tell. */
  close(): void {
    this.#isClosed = true
    for (const listener of [...this.#listeners]) listener.end()
    this.tables.close()
    this.#stopMoves()
    clearInterval(this.#expiry)
  }

  #make(definition: LiveQueryDefinition, key: string): LiveQuery {
    const query = new LiveQuery(definition, key, this)
    this.#answers.set(key, query)
    return query
  }

  /** @throws {HttpError} 429 */
  #checkLimits(key: string, name: string): void {
    const { answers, byCaller } = this.parts.options
    const keys = this.#byCaller.get(name)
    const isOver = keys !== undefined && keys.size >= byCaller && !keys.has(key)
    if (!isOver && (this.#answers.has(key) || this.#answers.size < answers)) return
    const reached = isOver ? `this caller has ${byCaller}` : `there are ${answers}`
    throw new HttpError(429, 'Too many live answers are open.', {
      headers: { 'Retry-After': '5' },
      reason: `${reached} different live answers, as live.${isOver ? 'byCaller' : 'answers'} allows`,
    })
  }

  #add(listener: LiveListener, name: string, key: string): void {
    const keys = this.#byCaller.get(name) ?? new Map<string, number>()
    this.#byCaller.set(name, keys)
    keys.set(key, (keys.get(key) ?? 0) + 1)
    this.#listeners.add(listener)
    this.counts.listeners++
    const { claims } = listener.caller
    if (claims === undefined || claims === null) return
    listener.onEnd(
      this.parts.watch?.(claims, () => {
        listener.close(401)
      }),
    )
    if (typeof claims.exp === 'number') {
      this.#expiry ??= setInterval(() => {
        this.#endExpired()
      }, 250).unref()
    }
  }

  #removeListener(listener: LiveListener, name: string, key: string): void {
    if (!this.#listeners.delete(listener)) return
    this.counts.listeners--
    const keys = this.#byCaller.get(name)
    const removeListener = (keys?.get(key) ?? 1) - 1
    if (removeListener > 0) keys?.set(key, removeListener)
    else keys?.delete(key)
    if (keys?.size === 0) this.#byCaller.delete(name)
    this.#answers.get(key)?.remove(listener)
    if (this.#listeners.size > 0) return
    clearInterval(this.#expiry)
    this.#expiry = undefined
  }

  #endExpired(): void {
    const now = this.parts.clock.now()
    for (const listener of [...this.#listeners]) listener.closeIfOver(now)
  }
}

/** By whom answers are counted. */
function nameOf({ claims, byKey, request }: LiveCaller): string {
  if (byKey) return 'key'
  const sub = claims?.sub
  if (typeof sub === 'string' && sub !== '') return `sub ${sub}`
  if (claims !== undefined && claims !== null) return `claims ${JSON.stringify(claims)}`
  return request === undefined ? 'program' : `address ${addressKey(request.ip)}`
}
