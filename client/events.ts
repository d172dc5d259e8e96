/**
 * Reads event streams, with the client's token, and reconnects after a loss. Source: WHATWG HTML, "Server-sent events".
 */
import { mergeHeaders, originOf, toAddress } from './request.js'
import { readResponse } from './response.js'
import type { ClientOptions, CommonOptions, Params } from './options.js'
import { accessToken } from './token.js'
import { wait } from './wait.js'

export interface EventOptions extends ClientOptions, Pick<CommonOptions, 'signal' | 'credentials'> {
  /** Added to the query string of the path. */
  params?: Params
  /** Values for the `<name>` and `{name}` parts of the path. */
  path?: Readonly<Record<string, string | number>>
  /**
   * Milliseconds before the first new attempt; each further wait is up to twice as long. The server's `retry:`
   * overrides it. Default 1,000.
   */
  delay?: number
  /** The longest wait, in milliseconds. Default 30,000. */
  maxDelay?: number
  /** The id of the last known event, sent as `Last-Event-ID`. Default: none, then that of the last event read. */
  lastEventId?: string
}

export interface ServerEvent {
  /** `message` if the server sets none. */
  event: string
  /** Parsed if it is JSON, else text. */
  // Only the page knows what a stream sends.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  data: any
  /** The last id that was sent, `''` if there was none. */
  id: string
}

/**
 * The events of a stream, until the signal aborts, the loop ends, or the server responds with 204.
 *
 * ```ts
 * for await (const { event, data } of events('/prices', { baseUrl: '/api', auth: true, signal })) show(event, data)
 * ```
 *
 * With `auth` the stored token is sent to baseUrl's origin, and a `FreshToken` is stored. After a lost connection, the
 * end of a stream, 429 and 5xx it tries again, with the last event's id; `Retry-After` is obeyed.
 *
 * @throws {ApiError} the response is not an event stream, and is not tried again. If the signal aborts: its reason
 */
export async function* events(
  path: string,
  options: EventOptions = {},
): AsyncGenerator<ServerEvent, void, undefined> {
  const { signal, delay = 1000, maxDelay = 30_000 } = options
  const state: StreamState = { id: options.lastEventId ?? '', wait: delay, tries: 0 }
  for (;;) {
    const result = await connect(path, options, state)
    if (result === 'done') return
    if (result instanceof Response && result.body) {
      yield* readEvents(result.body, state)
    }
    const retryAfter = typeof result === 'number' ? result : undefined
    const limit = Math.min(maxDelay, state.wait * 2 ** state.tries++)
    await wait(retryAfter ?? limit * (0.5 + Math.random() / 2), signal)
  }
}

interface StreamState {
  /** The id of the last event. */
  id: string
  /** Milliseconds before the first new attempt. */
  wait: number
  /** Attempts since the last event. */
  tries: number
}

/**
 * @returns the stream, milliseconds to wait, `undefined` after a temporary failure, `done` if the server wants
 * no further requests
 */
async function connect(
  path: string,
  options: EventOptions,
  state: StreamState,
): Promise<Response | number | 'done' | undefined> {
  const { baseUrl = '', tokenKey = 'app_token', auth, storage, signal, credentials } = options
  const url = toAddress(baseUrl, path, options)
  const isOwnOrigin = originOf(url) === originOf(baseUrl)
  const tokenStore = accessToken({}, tokenKey, storage)
  const token = auth && isOwnOrigin ? tokenStore() : undefined
  const headers = mergeHeaders(
    { Accept: 'text/event-stream' },
    token && { Authorization: `Bearer ${token}` },
    state.id !== '' && { 'Last-Event-ID': state.id },
    options.headers,
  )
  let response: Response
  try {
    const init = { headers, cache: 'no-store', signal: signal ?? null, credentials }
    response = await (options.fetch ?? fetch)(url, init as RequestInit)
  } catch (error) {
    signal?.throwIfAborted()
    // fetch reports network failures as a TypeError, and other failures otherwise.
    if ((error as Error).name === 'TypeError') return undefined
    throw error
  }
  const fresh = response.headers.get('FreshToken')
  // Not stored if the user has signed in or out meanwhile.
  if (fresh && token && tokenStore() === token) tokenStore(fresh)
  if (response.status === 204) return 'done'
  if (response.status === 429 || response.status >= 500) {
    await response.body?.cancel()
    const seconds = Number(response.headers.get('Retry-After') ?? NaN)
    return Number.isFinite(seconds) ? seconds * 1000 : undefined
  }
  const type = response.headers.get('Content-Type') ?? ''
  if (response.ok && /^text\/event-stream\b/i.test(type)) return response
  const apiResponse = await readResponse(response)
  throw Object.assign(Error(`${response.status} ${url} is not an event stream`), {
    ...apiResponse,
    ok: false,
  })
}

/** A lost connection ends the events, as the end of a stream does. */
async function* readEvents(
  body: ReadableStream<Uint8Array>,
  state: StreamState,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  // A line can arrive in many pieces, which are searched only once.
  let pieces: string[] = []
  let end = ''
  let fields: EventFields = { event: '', data: [] }
  try {
    for (;;) {
      const chunk = await reader.read().catch(() => undefined)
      if (chunk === undefined || chunk.done) return
      // A line may end with CR LF, LF or CR; a CR at the end of a chunk may be the first half of CR LF.
      const lines = (end + decoder.decode(chunk.value, { stream: true })).split(/\r\n|\n|\r(?!$)/)
      const rest = lines.pop() as string
      const [first] = lines
      if (first !== undefined) {
        lines[0] = pieces.join('') + first
        pieces = []
      }
      end = rest.endsWith('\r') ? '\r' : ''
      pieces.push(end === '' ? rest : rest.slice(0, -1))
      for (const line of lines) {
        if (line !== '') readLine(line, fields, state)
        else {
          const { event, data } = fields
          fields = { event: '', data: [] }
          if (data.length === 0) continue
          state.tries = 0
          yield { event: event || 'message', data: parse(data.join('\n')), id: state.id }
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

interface EventFields {
  event: string
  data: string[]
}

function readLine(line: string, fields: EventFields, state: StreamState): void {
  const [, name, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
  if (name === 'event') fields.event = value
  else if (name === 'data') fields.data.push(value)
  else if (name === 'id' && !value.includes('\0')) state.id = value
  else if (name === 'retry' && /^\d+$/.test(value)) state.wait = Number(value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
