/**
 * Reads event streams, with the client's token, and reconnects after a loss. Source: WHATWG HTML, "Server-sent events".
 */
import { mergeHeaders, originOf, toAddress } from './request.js'
import { readResponse } from './response.js'
import type { ClientOptions, CommonOptions, Params, StoredTokens } from './options.js'
import { tokenAccessor } from './token.js'
import { readRetryAfter, wait } from './wait.js'

export interface EventOptions extends ClientOptions, Pick<CommonOptions, 'signal' | 'credentials'> {
  /** The memory of a client, for its token without a store: `client.configure({}).tokens`. Default: none. */
  tokens?: StoredTokens
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
  const state: StreamState = { lastEventId: options.lastEventId ?? '', delay, tries: 0 }
  for (;;) {
    const { outcome, body, retryAfter }: ConnectionAttempt = await connect(path, options, state)
    if (outcome === 'ended') return
    if (body) yield* readEvents(body, state)
    const limit = Math.min(maxDelay, state.delay * 2 ** state.tries++)
    await wait(retryAfter ?? limit * (0.5 + Math.random() / 2), signal)
  }
}

interface StreamState {
  lastEventId: string
  /** Milliseconds before the first new attempt. */
  delay: number
  /** Attempts since the last event. */
  tries: number
}

interface ConnectionAttempt {
  /** `failed` if another attempt may succeed, `ended` if the server wants no further requests. */
  readonly outcome: 'open' | 'failed' | 'ended'
  readonly body?: ReadableStream<Uint8Array> | null
  /** Milliseconds before the next attempt, if the server has sent them. */
  readonly retryAfter?: number | undefined
}

/** @throws if another attempt would not help */
async function connect(
  path: string,
  options: EventOptions,
  state: StreamState,
): Promise<ConnectionAttempt> {
  const { baseUrl = '', tokenKey = 'app_token', tokens = {}, auth, storage } = options
  const { signal, credentials } = options
  const url = toAddress(baseUrl, path, options)
  const isOwnOrigin = originOf(url) === originOf(baseUrl)
  const storedToken = tokenAccessor(tokens, tokenKey, storage)
  const token = auth && isOwnOrigin ? storedToken() : undefined
  const headers = mergeHeaders(
    { Accept: 'text/event-stream' },
    token && { Authorization: `Bearer ${token}` },
    state.lastEventId !== '' && { 'Last-Event-ID': state.lastEventId },
    options.headers,
  )
  let response: Response
  try {
    const init = { headers, cache: 'no-store', signal: signal ?? null, credentials }
    response = await (options.fetch ?? fetch)(url, init as RequestInit)
  } catch (error) {
    signal?.throwIfAborted()
    // fetch reports network failures as a TypeError, and other failures otherwise.
    if ((error as Error).name === 'TypeError') return { outcome: 'failed' }
    throw error
  }
  const fresh = response.headers.get('FreshToken')
  // Not stored if the user has signed in or out meanwhile.
  if (fresh && token && storedToken() === token) storedToken(fresh)
  if (response.status === 204) return { outcome: 'ended' }
  if (response.status === 429 || response.status >= 500) {
    await response.body?.cancel()
    return { outcome: 'failed', retryAfter: readRetryAfter(response.headers) }
  }
  const type = response.headers.get('Content-Type') ?? ''
  if (response.ok && /^text\/event-stream\b/i.test(type))
    return { outcome: 'open', body: response.body }
  const apiResponse = await readResponse(response)
  throw Object.assign(Error(`${response.status} ${url} is not an event stream`), {
    ...apiResponse,
    ok: false,
  })
}

/** Ends with the stream, also if the connection is lost. */
async function* readEvents(
  body: ReadableStream<Uint8Array>,
  state: StreamState,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const splitter = new LineSplitter()
  let fields: EventFields = { event: '', data: [] }
  try {
    for (;;) {
      const chunk = await reader.read().catch(() => undefined)
      if (chunk === undefined || chunk.done) return
      for (const line of splitter.add(decoder.decode(chunk.value, { stream: true }))) {
        if (line !== '') {
          readLine(line, fields, state)
          continue
        }
        // An empty line ends an event. Without data, it is not an event.
        const { event, data } = fields
        fields = { event: '', data: [] }
        if (data.length === 0) continue
        state.tries = 0
        yield {
          event: event || 'message',
          data: parseJsonOrText(data.join('\n')),
          id: state.lastEventId,
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Splits a text that arrives in chunks into lines, which end with CR LF, LF or CR. */
class LineSplitter {
  /** The pieces of the last line. It can arrive in many pieces, and each is searched only once. */
  #pieces: string[] = []
  /** A CR at the end of the last chunk, which may be the first half of CR LF. */
  #lastCr = ''

  /** @returns the lines that end in this chunk */
  add(chunk: string): string[] {
    const lines = (this.#lastCr + chunk).split(/\r\n|\n|\r(?!$)/)
    const rest = lines.pop() as string
    const [first] = lines
    if (first !== undefined) {
      lines[0] = this.#pieces.join('') + first
      this.#pieces = []
    }
    this.#lastCr = rest.endsWith('\r') ? '\r' : ''
    this.#pieces.push(this.#lastCr === '' ? rest : rest.slice(0, -1))
    return lines
  }
}

/** The fields of an event that has not ended. */
interface EventFields {
  event: string
  data: string[]
}

function readLine(line: string, fields: EventFields, state: StreamState): void {
  const [, name, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
  if (name === 'event') fields.event = value
  else if (name === 'data') fields.data.push(value)
  else if (name === 'id' && !value.includes('\0')) state.lastEventId = value
  else if (name === 'retry' && /^\d+$/.test(value)) state.delay = Number(value)
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
