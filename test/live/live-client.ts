/** A client of live queries over server-sent events: its events, and the rows that result from them. */
import { waitUntil } from '../wait-until.js'

export interface LiveEvent {
  readonly event: string
  readonly id: string | undefined
  readonly data: string
}

export interface Row {
  readonly id: string | number
}

/** The content of messages of rows and of GraphQL. */
export interface Message {
  readonly version: number
  readonly data?: unknown
  readonly set?: readonly Row[]
  readonly gone?: readonly Row['id'][]
  readonly order?: readonly Row['id'][]
  readonly lost?: boolean
}

export interface OpenOptions {
  readonly token?: string | undefined
  readonly lastId?: string
  readonly headers?: Record<string, string>
  /** A GraphQL document, which is sent with POST. */
  readonly query?: string
  readonly variables?: object
}

/** The server refused the query before the first message. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
    readonly headers: Headers,
  ) {
    super(`${status} ${body}`)
  }
}

export class LiveClient {
  readonly response: Response
  /** In the order of arrival, without heartbeats. */
  readonly events: LiveEvent[] = []
  isOver = false
  readonly #abort: AbortController
  #read = 0
  #wake: () => void = () => undefined

  constructor(response: Response, abort: AbortController) {
    this.response = response
    this.#abort = abort
    void this.#follow()
  }

  /** The next event, or undefined at the end. */
  async next(): Promise<LiveEvent | undefined> {
    while (this.#read >= this.events.length && !this.isOver) await this.#change()
    return this.events[this.#read++]
  }

  /** The next message of rows. */
  async message(): Promise<Message> {
    const event = await this.next()
    if (event === undefined) throw new Error('The stream has ended.')
    return JSON.parse(event.data) as Message
  }

  /** Resolves once the received events make this true. */
  until(isSo: () => boolean, timeout?: number): Promise<void> {
    return waitUntil(isSo, timeout)
  }

  leave(): void {
    this.#abort.abort()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  async #follow(): Promise<void> {
    let text = ''
    try {
      for await (const bytes of this.response.body as unknown as AsyncIterable<Uint8Array>) {
        text += Buffer.from(bytes).toString()
        const parts = text.split('\n\n')
        text = parts.pop() ?? ''
        for (const part of parts) if (part !== ':') this.events.push(toEvent(part))
        this.#wake()
      }
    } catch {
      // The client has disconnected.
    }
    this.isOver = true
    this.#wake()
  }
}

function toEvent(part: string): LiveEvent {
  const lines = part.split('\n').map((line) => {
    const mark = line.indexOf(': ')
    return [line.slice(0, mark), line.slice(mark + 2)] as const
  })
  const of = (name: string): string | undefined => lines.find(([field]) => field === name)?.[1]
  const data = lines.flatMap(([field, value]) => (field === 'data' ? [value] : [])).join('\n')
  return { event: of('event') ?? 'message', id: of('id'), data }
}

/** @throws {Refused} the response is not a stream */
export async function openLive(url: string, options: OpenOptions = {}): Promise<LiveClient> {
  const abort = new AbortController()
  const { token, lastId, query, variables } = options
  const headers = new Headers({ accept: 'text/event-stream', ...options.headers })
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  if (lastId !== undefined) headers.set('last-event-id', lastId)
  const init =
    query === undefined ? {} : { method: 'POST', body: JSON.stringify({ query, variables }) }
  if (query !== undefined) headers.set('content-type', 'application/json')
  const response = await fetch(url, { ...init, headers, signal: abort.signal })
  if (response.headers.get('content-type') !== 'text/event-stream')
    throw new Refused(response.status, await response.text(), response.headers)
  return new LiveClient(response, abort)
}

/** The rows that result from the messages of a list. @throws {Error} a version is missing */
export function holdRows(messages: readonly Message[]): readonly Row[] {
  let rows: readonly Row[] = []
  let version: number | undefined
  for (const message of messages) {
    if (version !== undefined && message.data === undefined && message.version !== version + 1)
      throw new Error(`Version ${message.version} came after ${version}.`)
    version = message.version
    rows = message.data === undefined ? applyRows(rows, message) : (message.data as readonly Row[])
  }
  return rows
}

/** Existing rows keep their positions and new ones are appended, unless `order` has all positions. */
export function applyRows(
  rows: readonly Row[],
  { set = [], gone = [], order }: Pick<Message, 'set' | 'gone' | 'order'>,
): readonly Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  for (const id of gone) byId.delete(id)
  for (const row of set) byId.set(row.id, row)
  return order === undefined
    ? [...byId.values()]
    : order.map((id) => {
        const row = byId.get(id)
        if (row === undefined)
          throw new Error(`The order contains ${id}, which is not in the list.`)
        return row
      })
}
