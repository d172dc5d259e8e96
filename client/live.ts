/**
 * Live queries: `api.live(path, draw)` draws the result of a list, a row or a `@Live` handler again whenever it changes. All
 * live queries of a tab use one connection, and tabs with the same sign-in share it. One of them, the leader, holds a lock and
 * the connection, and forwards the events to the other tabs.
 *
 * The built file must fit into 2,048 bytes, gzip -9, which a test checks. Hence the short names of properties.
 */
import { api, createClient } from './index.js'
import type { ApiError } from './options.js'
import type { AddressResult, ClientBase, TypedClient, Untyped } from './routes.js'
import { applyChanges, type ListChanges } from './row-changes.js'
import { tokenAccessor } from './token.js'

// Without routes, only the page knows the type of a result.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type AnyResult = any

/** The change that a call of `draw` shows. */
export interface LiveDetails<Row = AnyResult> {
  /** Increases by one with each result of one server. */
  version: number
  /** The rows that are new or changed. All rows if the complete result was sent. */
  set: Row[]
  /** The keys (`id`, or the JSON list of a key of several fields) of rows that are not in the result any more. */
  gone: (string | number)[]
  /** True if changes were missed, and the complete result was sent instead. */
  lost: boolean
}

export interface LiveOptions {
  /**
   * Called when the server rejects or ends the query or the connection, with 403, 404, or 401 if the token is not valid any
   * more. After 401 a new token in the store starts the query again. Lost connections, 429 and 5xx are tried again instead.
   */
  onClosed?: (status: number) => void
}

/** Called with the current result. Each call gets a new array of a list. */
export type Draw<Result = AnyResult> = (
  result: Result,
  details: LiveDetails<Result extends readonly (infer Row)[] ? Row : AnyResult>,
) => void

/**
 * Starts a live query: `api.live('/tickets?limit=20', (rows) => show(rows))`. @returns a function that ends it
 *
 * @typeParam R the routes, which give the result its type. A path without a route is of type `unknown`
 */
export type Live<R extends object = Untyped> = <Path extends string>(
  path: Path,
  draw: Draw<AddressResult<R, Path>>,
  options?: LiveOptions,
) => () => void

declare module './routes.js' {
  interface PlainClient {
    /** Starts a live query. Requires `import 'filigree/client/live'`. */
    live: Live
  }
}

interface DrawListener {
  draw: Draw
  closed: LiveOptions['onClosed']
}

/** The state of attempts that can fail. */
interface Attempts {
  tries: number
  /** Milliseconds since 1970 of the next attempt. */
  due: number
}

/** A live query, by its path below `baseUrl`. */
interface OpenQuery extends Attempts {
  listeners: Set<DrawListener>
  result?: unknown
  /** `server-life:version` of the result. Empty if the complete result must be requested. */
  id?: string
  /** The token with which the server has rejected the query. Until the token changes, the query is not requested again. */
  shut?: string | false | undefined
}

/** The data of a server event: the complete result, its changes, or the reason why there is no result. */
interface EventData extends ListChanges {
  data?: unknown
  lost?: boolean
  status?: number
  retryAfter?: number
}

/** An event of the server for one query. */
interface QueryEvent {
  event?: string
  path: string
  id?: string
  data?: EventData
}

/** A message between tabs: an event that the leader forwards, `leads` from a new leader, or the paths of a tab's queries. */
interface TabMessage extends Partial<QueryEvent> {
  /** The name of the tab, in a message with `paths`. */
  tab?: number
  paths?: string[]
}

/** The type of browsers. The types of Node.js use other bytes. */
type TextDecoding = { readable: ReadableStream<string>; writable: WritableStream<Uint8Array> }

/** Globals of browsers that the types of Node.js do not have. */
type BrowserGlobals = Partial<Pick<typeof globalThis, 'BroadcastChannel'>> & {
  navigator?: {
    locks?: {
      request(name: string, options: object, lead: () => Promise<unknown>): Promise<unknown>
    }
  }
}

/** Milliseconds between two checks. */
const tickInterval = 1000
/** Milliseconds after which a silent tab counts as closed. */
const tabTimeout = 90_000

/** The types of `createLive`. */
interface CreateLive {
  <R extends object>(client: TypedClient<R, string, string, string, string, string>): Live<R>
  (client: Pick<ClientBase, 'configure'>): Live
}

/** Creates the function `live` for a client of `createClient`. With routes, results have their types. */
export const createLive = ((client: Pick<ClientBase, 'configure'>): Live => {
  const queries = new Map<string, OpenQuery>()
  /** The paths that other tabs use, by the names of the tabs. */
  const otherTabs = new Map<number, { paths: string[]; at: number }>()
  const tabName = Math.random()
  let channelName: string | undefined
  let channel: InstanceType<typeof BroadcastChannel> | undefined
  let leaveChannel: (() => void) | undefined
  let isLeader = false
  let connection: AbortController | undefined
  /** The paths that were requested from the server and have not ended. */
  let requested: string[] = []
  const outage: Attempts = { tries: 0, due: 0 }
  let ticker: ReturnType<typeof setInterval> | undefined

  const readToken = () => {
    const { auth, tokenKey = 'app_token', storage, tokens } = client.configure({})
    return auth && tokenAccessor(tokens, tokenKey, storage)()
  }

  const queryOf = (path: string): OpenQuery => {
    const query = queries.get(path) ?? { listeners: new Set(), tries: 0, due: 0 }
    queries.set(path, query)
    return query
  }

  /** Lets the next connection request a path again. */
  const markUnrequested = (path: string) => {
    requested = requested.filter((other) => other != path)
  }

  const notify = (
    { id, result }: OpenQuery,
    listeners: Iterable<DrawListener>,
    change: object = {},
  ) => {
    const [, version] = parseId(id)
    for (const { draw } of listeners) {
      const rows = Array.isArray(result) && [...(result as unknown[])]
      runSafely(() => {
        draw(rows || result, { set: rows || [], gone: [], lost: false, ...change, version })
      })
    }
  }

  /** Applies a complete result, or its changes if none was missed before. */
  const applyResult = (query: OpenQuery, { path, id, data = {} }: QueryEvent) => {
    const { set, gone = [], lost = false } = data
    const [serverLife, version] = parseId(id)
    const [currentLife, currentVersion] = parseId(query.id)
    const versionsAhead = serverLife == currentLife ? version - currentVersion : 0
    if ('data' in data) {
      // Two connections overlap while one replaces the other.
      if (id == query.id || versionsAhead < 0) return
      query.result = data.data
    } else if (versionsAhead == 1) {
      query.result = applyChanges(query.result as never, data)
    } else {
      if (versionsAhead > 1 || serverLife != currentLife) {
        query.id = ''
        markUnrequested(path)
      }
      return
    }
    query.id = id
    query.tries = 0
    notify(query, query.listeners, set ? { set, gone } : { lost })
  }

  /** Applies an event of the server. */
  const apply = (message: QueryEvent) => {
    const { event, path, data: { status = 500, retryAfter } = {} } = message
    const query = queries.get(path)
    if (!query) return
    if (event == 'live') {
      applyResult(query, message)
      return
    }
    markUnrequested(path)
    if (event == 'ended' || status == 429 || status > 499) retryLater(query, retryAfter)
    else {
      query.shut = readToken()
      for (const { closed } of query.listeners) runSafely(() => closed?.(status))
      if (status != 401) queries.delete(path)
    }
  }

  /** Applies an event, and forwards it to the other tabs. */
  const forward = (message: QueryEvent) => {
    channel?.postMessage(message)
    apply(message)
  }

  /** Connects if this tab is the leader, and other queries are due than were requested. */
  const connect = async () => {
    const token = readToken()
    const now = Date.now()
    const due = [...queries].filter(
      ([, query]) => query.due < now && (!('shut' in query) || query.shut !== token),
    )
    const paths = due.map(([path]) => path)
    if (!isLeader || now < outage.due || (paths[0] && requested.join() == paths.join())) return
    requested = paths
    const previous = connection
    const current = (connection = new AbortController())
    if (!paths[0]) {
      previous?.abort()
      return
    }
    let status = 0
    try {
      const asks = due.map(([path, { id }]) => ({ path, last: id || undefined }))
      const body = await openStream(client, asks, current.signal)
      previous?.abort()
      await readMessages(body, (message) => {
        outage.tries = 0
        forward({ ...message, path: paths[message.ask] as string })
      })
    } catch (error) {
      ;({ status = 0 } = error as Partial<ApiError>)
    }
    previous?.abort()
    if (current != connection) return
    // The server rejected the request, so it rejected each query.
    if (/^4(?!29)/.test(`${status}`)) for (const path of paths) forward({ path, data: { status } })
    requested = []
    retryLater(outage)
  }

  /** Announces the queries of this tab, and connects soon, because pages often start several queries. */
  const announce = () => {
    const paths = [...queries].filter(([, { listeners }]) => listeners.size).map(([path]) => path)
    channel?.postMessage({ tab: tabName, paths } satisfies TabMessage)
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- it never rejects, and this saves nine bytes
    setTimeout(connect, 20)
  }

  /** Handles a message of another tab. */
  const receive = (message: TabMessage) => {
    const { event, tab = 0, paths } = message
    if (event == 'leads') announce()
    else if (!paths) apply(message as QueryEvent)
    else if (isLeader) {
      otherTabs.set(tab, { paths, at: Date.now() })
      for (const path of paths) {
        const { id, result: data } = queryOf(path)
        if (id)
          channel?.postMessage({ event: 'live', path, id, data: { data } } satisfies TabMessage)
      }
      void connect()
    }
  }

  /** Joins the tabs of the same sign-in. The first tab is the leader. */
  const joinChannel = (name: string | undefined) => {
    if (channelName == name) return
    leaveChannel?.()
    connection?.abort()
    otherTabs.clear()
    channelName = name
    requested = []
    // Results of one user must not be drawn for another.
    for (const query of queries.values()) query.id = ''
    // Older browsers have no channels, and pages without https have no locks.
    const { BroadcastChannel: Channel, navigator: { locks } = {} } = globalThis as BrowserGlobals
    isLeader = !Channel || !locks
    if (!name || !Channel || !locks) return
    const joined = (channel = new Channel(name))
    joined.onmessage = ({ data }) => {
      receive(data as TabMessage)
    }
    const leaving = new AbortController()
    const { signal } = leaving
    leaveChannel = () => {
      leaving.abort()
      joined.close()
      channel = leaveChannel = undefined
    }
    const lead = () => {
      isLeader = true
      joined.postMessage({ event: 'leads' } satisfies TabMessage)
      void connect()
      return new Promise((resolve) => {
        signal.addEventListener('abort', resolve)
      })
    }
    locks.request(name, { signal }, lead).catch(() => 0)
  }

  /** Forgets closed tabs and unused queries, and changes the channel after a sign-in or sign-out. */
  const tick = () => {
    const usedPaths = new Set<string>()
    for (const [tab, { paths, at }] of otherTabs) {
      if (Date.now() - at > tabTimeout) otherTabs.delete(tab)
      else for (const path of paths) usedPaths.add(path)
    }
    for (const [path, { listeners }] of queries) {
      if (!listeners.size && !usedPaths.has(path)) queries.delete(path)
    }
    if (!queries.size) {
      clearInterval(ticker)
      ticker = undefined
    }
    joinChannel(
      queries.size
        ? `filigree ${client.configure({}).baseUrl} ${signInOf(readToken())}`
        : undefined,
    )
    announce()
  }

  return (path, draw, { onClosed: closed } = {}) => {
    const listener = { draw, closed }
    const query = queryOf(path)
    query.listeners.add(listener)
    ticker ??= setInterval(tick, tickInterval)
    // Notices a changed sign-in first, because the current result can be another user's.
    tick()
    if (query.id) notify(query, [listener])
    return () => {
      query.listeners.delete(listener)
    }
  }
}) as CreateLive

/** Requests queries from the server. @returns the body of its response, a stream of events that does not end */
const openStream = async (
  client: Pick<ClientBase, 'configure'>,
  asks: object[],
  signal: AbortSignal,
) => {
  const settings = client.configure({})
  const { fetch: runFetch = fetch } = settings
  let body!: ReadableStream<Uint8Array> | null
  const streamClient = createClient(
    {
      ...settings,
      // The client reads the head only, because the body does not end.
      fetch: async (url, init) => {
        const response = await runFetch(url, init)
        if (response.ok) ({ body } = response)
        return new Response(null, response)
      },
    },
    settings.tokens,
  )
  // A constant, because the types of Node.js do not know `cache`.
  const options = {
    signal,
    cache: 'no-store' as const,
    headers: { Accept: 'text/event-stream' },
  }
  await streamClient.post('/filigree/live', { asks }, options)
  return body as ReadableStream<Uint8Array>
}

/** Passes on the messages of a stream until it ends. Without a body it throws, and the request is tried again. */
const readMessages = async (
  body: ReadableStream<Uint8Array>,
  handle: (message: QueryEvent & { ask: number }) => void,
) => {
  const reader = body.pipeThrough(new TextDecoderStream() as TextDecoding).getReader()
  for (let rest = ''; ;) {
    const { value, done } = await reader.read()
    if (done) return
    rest += value
    // The data of an event is one line. A long one arrives in many pieces, which must not be searched again.
    if (!value.includes('\n')) continue
    const blocks = rest.split('\n\n')
    rest = blocks.pop() as string
    for (const block of blocks) {
      const [, data] = block.split('\ndata: ')
      if (data) handle(JSON.parse(data) as QueryEvent & { ask: number })
    }
  }
}

/** Sets the time of the next attempt. Waits double up to 30 seconds, and are random, so that clients do not reconnect together. */
const retryLater = (attempts: Attempts, seconds?: number) => {
  attempts.due =
    Date.now() + (seconds || Math.min(30, 2 ** attempts.tries++ / 2) * (0.5 + Math.random())) * 1000
}

/** `server-life:version` */
const parseId = (id = ''): [serverLife: string | undefined, version: number] => {
  const [serverLife, version] = id.split(':')
  return [serverLife, +(version as string)]
}

/** Logs errors of a listener, so that the other listeners are called too. */
const runSafely = (run: () => void) => {
  try {
    run()
  } catch (error) {
    console.error(error)
  }
}

/** A text that all tokens of one sign-in have in common. */
const signInOf = (token: string | false | undefined) => {
  try {
    const [, claims = ''] = (token as string).split('.')
    const text = atob(claims.replace(/-/g, '+').replace(/_/g, '/'))
    return (JSON.parse(text) as { jti?: string }).jti ?? token
  } catch {
    return token
  }
}

/** The live queries of the client that all scripts of a page share. */
export const live: Live = createLive(api)
api.live = live
