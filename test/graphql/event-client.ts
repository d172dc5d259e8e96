/** A subscriber over HTTP. */

export interface Result {
  readonly data?: unknown
  readonly errors?: readonly {
    readonly message: string
    readonly path?: readonly unknown[]
    readonly extensions: { readonly code: string }
  }[]
}

export class EventClient {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #abort: AbortController
  readonly #events: string[] = []
  #text = ''

  constructor(response: Response, abort: AbortController) {
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader()
    this.#abort = abort
  }

  /** The next result; undefined once the stream is complete. */
  async next(): Promise<Result | undefined> {
    for (;;) {
      const event = this.#events.shift()
      if (event?.startsWith('event: complete') === true) return undefined
      if (event !== undefined) return JSON.parse(event.split('data: ')[1] ?? '') as Result
      const { value, done } = await this.#reader.read()
      if (done) throw new Error('The stream broke off.')
      this.#text += Buffer.from(value).toString()
      const events = this.#text.split('\n\n')
      this.#text = events.pop() ?? ''
      this.#events.push(...events.filter((one) => one !== ':'))
    }
  }

  /** Disconnects without completing the stream. */
  leave(): void {
    this.#abort.abort()
  }
}

/** Opens a subscription. Resolves once the server has accepted it. */
export async function subscribe(
  url: string,
  query: string,
  { token, variables }: { token?: string | undefined; variables?: object } = {},
): Promise<EventClient> {
  const abort = new AbortController()
  const headers = new Headers({
    accept: 'text/event-stream',
    'content-type': 'application/json',
  })
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  const body = JSON.stringify({ query, variables })
  const response = await fetch(url, { method: 'POST', headers, body, signal: abort.signal })
  if (response.headers.get('content-type') !== 'text/event-stream')
    throw Object.assign(new Error(`${response.status}`), { body: await response.json() })
  return new EventClient(response, abort)
}
