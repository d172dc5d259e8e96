/**
 * Answers that stay true: lists, rows and `@Live` handlers, drawn again when they change. All of a tab come over one
 * connection, and tabs with the same sign-in share it: the one that holds a lock asks, the others hear from it.
 *
 * It must fit into 2,048 bytes, gzip -9, which a test checks; hence the short names of messages between tabs. Source:
 * decisions, Live queries; docs/client.md, "Live queries".
 */
import { api, createClient } from './index.js'
import type { ApiError } from './options.js'
import type { ClientBase } from './routes.js'
import { applied, type RowChanges } from './row-changes.js'
import { accessToken } from './token.js'

/** What a call of `draw` is about. */
export interface LiveDetails {
  /** Counts up by one from answer to answer of one server. */
  version: number
  /** The rows that are new or have changed; all of them where the whole answer came. */
  // Only the page knows what a route answers.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  set: any[]
  /** The keys (`id`) of rows that are not in the answer any more. */
  gone: (string | number)[]
  /** True where changes were missed, and the whole answer came in their place. */
  lost: boolean
}

export interface LiveOptions {
  /**
   * Called when the server ends or refuses the answer, or the connection for all answers: 401 where the token counts no more (a new one in the store begins
   * again), 403, 404. Not for what passes: lost connections, 429 and 5xx are tried again.
   */
  onClosed?: (status: number) => void
}

/**
 * @param draw gets the answer as it is now; of a list a fresh one at each call
 * @returns ends it
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Draw = (answer: any, details: LiveDetails) => void

/** Keeps an answer up to date: `api.live('/tickets?limit=20', (rows) => show(rows))`. */
export type Live = (path: string, draw: Draw, options?: LiveOptions) => () => void

declare module './routes.js' {
  interface ClientBase {
    /** Keeps an answer up to date; once `filigree/client/live` was imported. */
    live: Live
  }
}

interface Listener {
  draw: Draw
  closed: LiveOptions['onClosed']
}

/** What fails is tried again later. */
interface Tried {
  tries: number
  /** Not before this moment. */
  due: number
}

/** One path that is asked for, below `baseUrl`. */
interface Ask extends Tried {
  listeners: Set<Listener>
  answer?: unknown
  /** `server-life:version` of the answer; empty where the whole is needed. */
  id?: string
  /** The token with which it was closed. */
  shut?: string | false | undefined
}

/** What the server says of an answer: the whole, what has changed, or why there is none. */
interface Said extends RowChanges {
  data?: unknown
  lost?: boolean
  status?: number
  retryAfter?: number
}

/** What the server says of a path, or a tab to the others. */
interface Note {
  event?: string
  path: string
  id?: string
  data?: Said
  /** Which paths the tab `path` wants; nothing else is said then. */
  wants?: string[]
}

/** As pages have it; the types of Node ask for other bytes. */
type TextDecoding = { readable: ReadableStream<string>; writable: WritableStream<Uint8Array> }

/** What the server's types do not know. */
type BrowserGlobals = Partial<Pick<typeof globalThis, 'BroadcastChannel'>> & {
  navigator?: {
    locks?: {
      request(name: string, options: object, lead: () => Promise<unknown>): Promise<unknown>
    }
  }
}

/** Milliseconds: a look at what has changed, and when a tab that says nothing is gone. */
const [everySecond, longSilence] = [1000, 90_000]

/** Makes `live` for a client of one's own. */
export const createLive = (client: Pick<ClientBase, 'configure'>): Live => {
  const asks = new Map<string, Ask>()
  /** What other tabs want, by their names. */
  const others = new Map<string, { wants: string[]; at: number }>()
  const self = `${Math.random()}`
  let name: string | undefined
  let channel: InstanceType<typeof BroadcastChannel> | undefined
  let leave: (() => void) | undefined
  let isLeader = false
  let running: AbortController | undefined
  /** The paths that the server was asked for, and has not ended. */
  let asked: string[] = []
  const outage: Tried = { tries: 0, due: 0 }
  let ticking: ReturnType<typeof setInterval> | undefined

  const token = () => {
    const { auth, tokenKey = 'app_token', storage } = client.configure({})
    return auth && accessToken({}, tokenKey, storage)()
  }

  const askFor = (path: string): Ask => {
    const ask = asks.get(path) ?? { listeners: new Set(), tries: 0, due: 0 }
    asks.set(path, ask)
    return ask
  }

  /** It is to be asked for again. */
  const drop = (path: string) => {
    asked = asked.filter((one) => one != path)
  }

  const tell = ({ id, answer }: Ask, listeners: Iterable<Listener>, change: object = {}) => {
    const [, version] = versionOf(id)
    for (const { draw } of listeners) {
      const rows = Array.isArray(answer) && [...(answer as unknown[])]
      safely(() => {
        draw(rows || answer, { set: rows || [], gone: [], lost: false, ...change, version })
      })
    }
  }

  /** Takes what was said of a path. */
  const take = ({ event, path, id, data = {} }: Note) => {
    const ask = asks.get(path)
    if (!ask) return
    const { status = 500, retryAfter, set, gone = [], lost = false } = data
    if (event == 'live') {
      const [life, version] = versionOf(id)
      const [knownLife, known] = versionOf(ask.id)
      const ahead = life == knownLife ? version - known : 0
      if ('data' in data) {
        // Two connections overlap while one follows the other.
        if (id == ask.id || ahead < 0) return
        ask.answer = data.data
      } else if (ahead == 1) {
        ask.answer = applied(ask.answer as never, data)
      } else {
        if (ahead > 1 || life != knownLife) {
          ask.id = ''
          drop(path)
        }
        return
      }
      ask.id = id
      ask.tries = 0
      tell(ask, ask.listeners, set ? { set, gone } : { lost })
      return
    }
    drop(path)
    if (event == 'ended' || status == 429 || status > 499) again(ask, retryAfter)
    else {
      ask.shut = token()
      for (const { closed } of ask.listeners) safely(() => closed?.(status))
      if (status != 401) asks.delete(path)
    }
  }

  /** Takes it, and tells the other tabs. */
  const pass = (note: Note) => {
    channel?.postMessage(note)
    take(note)
  }

  /** Asks for all that is wanted, if that is not what was asked for. */
  const connect = async () => {
    const own = token()
    const now = Date.now()
    const wanted = [...asks].filter(
      ([, ask]) => ask.due < now && (!('shut' in ask) || ask.shut !== own),
    )
    const paths = wanted.map(([path]) => path)
    if (!isLeader || now < outage.due || (paths[0] && asked.join() == paths.join())) return
    asked = paths
    const old = running
    const mine = (running = new AbortController())
    if (!paths[0]) {
      old?.abort()
      return
    }
    let status = 0
    try {
      const settings = client.configure({})
      const { fetch: run = fetch } = settings
      let body = null as ReadableStream<Uint8Array> | null
      const asker = createClient({
        ...settings,
        // The client reads the head alone: the body goes on.
        fetch: async (url, init) => {
          const response = await run(url, init)
          if (response.ok) ({ body } = response)
          return new Response(null, response)
        },
      })
      // Named first: the server's types know no `cache`.
      const options = {
        signal: mine.signal,
        cache: 'no-store' as const,
        headers: { Accept: 'text/event-stream' },
      }
      await asker.post(
        '/filigree/live',
        { asks: wanted.map(([path, { id }]) => ({ path, last: id || undefined })) },
        options,
      )
      old?.abort()
      // Where there is none it is asked again.
      const reader = (body as ReadableStream<Uint8Array>)
        .pipeThrough(new TextDecoderStream() as TextDecoding)
        .getReader()
      for (let rest = ''; ;) {
        const { value, done } = await reader.read()
        if (done) break
        rest += value
        // A long event comes in many pieces, which are looked at once: its data is one line.
        if (!value.includes('\n')) continue
        const blocks = rest.split('\n\n')
        rest = blocks.pop() as string
        for (const block of blocks) {
          const at = block.indexOf('data: ')
          if (at < 0) continue
          outage.tries = 0
          const note = JSON.parse(block.slice(at + 6)) as Note & { ask: number }
          pass({ ...note, path: paths[note.ask] as string })
        }
      }
    } catch (error) {
      ;({ status = 0 } = error as Partial<ApiError>)
    }
    old?.abort()
    if (mine != running) return
    // Refused as a whole: each path gets to know it.
    if (/^4(?!29)/.test(`${status}`)) for (const path of paths) pass({ path, data: { status } })
    asked = []
    again(outage)
  }

  /** Says what this tab wants, and asks for it soon: often there is more in a moment. */
  const want = () => {
    const wants = [...asks].filter(([, { listeners }]) => listeners.size).map(([path]) => path)
    channel?.postMessage({ path: self, wants } satisfies Note)
    setTimeout(() => void connect(), 20)
  }

  /** Hears another tab. */
  const hear = (note: Note) => {
    const { event, path: tab, wants } = note
    if (event == 'leads') want()
    else if (!wants) take(note)
    else if (isLeader) {
      others.set(tab, { wants, at: Date.now() })
      for (const path of wants) {
        const { id, answer: data } = askFor(path)
        if (id) channel?.postMessage({ event: 'live', path, id, data: { data } } satisfies Note)
      }
      void connect()
    }
  }

  /** Joins the tabs of the same sign-in: the first of them leads. */
  const join = (wanted: string | undefined) => {
    if (name == wanted) return
    leave?.()
    running?.abort()
    others.clear()
    name = wanted
    asked = []
    // What one was told is not for the next.
    for (const ask of asks.values()) ask.id = ''
    // Missing in older browsers, and locks on pages without https.
    const { BroadcastChannel: Channel, navigator: { locks } = {} } = globalThis as BrowserGlobals
    isLeader = !Channel || !locks
    if (!name || !Channel || !locks) return
    const own = (channel = new Channel(name))
    own.onmessage = ({ data }) => {
      hear(data as Note)
    }
    const leaving = new AbortController()
    const { signal } = leaving
    leave = () => {
      leaving.abort()
      own.close()
      channel = leave = undefined
    }
    const lead = () => {
      isLeader = true
      own.postMessage({ event: 'leads', path: self } satisfies Note)
      void connect()
      return new Promise((resolve) => {
        signal.addEventListener('abort', resolve)
      })
    }
    locks.request(name, { signal }, lead).catch(() => 0)
  }

  /** Who signs in or out is somebody else; tabs that say nothing any more are gone. */
  const tick = () => {
    const wanted = new Set<string>()
    for (const [tab, { wants, at }] of others) {
      if (Date.now() - at > longSilence) others.delete(tab)
      else for (const path of wants) wanted.add(path)
    }
    for (const [path, { listeners }] of asks) {
      if (!listeners.size && !wanted.has(path)) asks.delete(path)
    }
    if (!asks.size) {
      clearInterval(ticking)
      ticking = undefined
    }
    join(asks.size ? `filigree ${client.configure({}).baseUrl} ${whose(token())}` : undefined)
    want()
  }

  return (path, draw, { onClosed: closed } = {}) => {
    const listener = { draw, closed }
    const ask = askFor(path)
    ask.listeners.add(listener)
    ticking ??= setInterval(tick, everySecond)
    // First who asks: what is known may be another's.
    tick()
    if (ask.id) tell(ask, [listener])
    return () => {
      ask.listeners.delete(listener)
    }
  }
}

/** Longer each time, up to half a minute, and not all at once. */
const again = (of: Tried, seconds?: number) => {
  of.due =
    Date.now() +
    (seconds || Math.min(30, 2 ** of.tries++ / 2) * (0.5 + Math.random())) * everySecond
}

const versionOf = (id = ''): [life: string | undefined, version: number] => {
  const [life, version] = id.split(':')
  return [life, Number(version)]
}

/** One who fails does not keep it from the others. */
const safely = (run: () => void) => {
  try {
    run()
  } catch (error) {
    console.error(error)
  }
}

/** The same for all tokens of one sign-in. */
const whose = (token: string | false | undefined) => {
  try {
    const [, claims = ''] = (token as string).split('.')
    const text = atob(claims.replace(/-/g, '+').replace(/_/g, '/'))
    return (JSON.parse(text) as { jti?: string }).jti ?? token
  } catch {
    return token
  }
}

/** Of the client that all scripts of a page share. */
export const live: Live = createLive(api)
api.live = live
