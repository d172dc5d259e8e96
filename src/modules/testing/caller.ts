/** A caller of a tested application: with a token, with the static key, or anonymous. It stores cookies and reads streams of events. */
import { MessageChannel } from 'node:worker_threads'
import {
  declareOptions,
  option,
  type Application,
  type InjectRequest,
  type InjectResponse,
  type OptionsOf,
} from '../../index.js'
import { CookieJar } from './cookie-jar.js'

/** An event stream. Source: WHATWG HTML, "Server-sent events", §9.2.6. */

/** A received event. */
export interface TestEvent {
  /** `message` if the server sets none. */
  readonly event: string
  /** Parsed if it is JSON, else text. */
  // Only the test knows the type of the data.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any
  /** The last id that was sent; `''` if there was none. */
  readonly id: string
}

/** @yields the events; leaving the loop ends the stream */
async function* readEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<TestEvent, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  let id = ''
  const reader = body.getReader()
  try {
    for (;;) {
      const { value: bytes, done } = await keepProcessAlive(reader.read())
      if (done) return
      rest += decoder.decode(bytes, { stream: true }).replaceAll('\r\n', '\n')
      for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
        const fields = readFields(rest.slice(0, end))
        rest = rest.slice(end + 2)
        id = fields.get('id') ?? id
        const data = fields.get('data')
        if (data !== undefined) {
          yield { event: fields.get('event') ?? 'message', data: parseData(data), id }
        }
      }
    }
  } finally {
    await reader.cancel()
  }
}

/**
 * Keeps the process alive until the promise settles. An application without a port has no socket that does, and node:test
 * cancels tests that wait while nothing else runs.
 */
async function keepProcessAlive<T>(promise: Promise<T>): Promise<T> {
  // Not a timer, because a test may replace timers.
  const { port1: port } = new MessageChannel()
  port.ref()
  try {
    return await promise
  } finally {
    port.close()
  }
}

function readFields(block: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const middle = line.indexOf(':')
    // A comment.
    if (middle === 0) continue
    const name = middle === -1 ? line : line.slice(0, middle)
    const value = middle === -1 ? '' : line.slice(middle + 1).replace(/^ /, '')
    const before = name === 'data' ? fields.get(name) : undefined
    fields.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  return fields
}

function parseData(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** A file of a request, or several under one name. */
export type TestFile = Blob | Uint8Array | readonly (Blob | Uint8Array)[]

const callOptions = declareOptions({
  headers: option.of<Readonly<Record<string, string>>>(isObject, "Write { 'x-client': 'a' }."),
  /** Added to the path. Lists repeat their key, null and undefined are omitted. */
  query: option.of<Readonly<Record<string, unknown>>>(isObject, 'Write { limit: 20 }.'),
  /** Sends `multipart/form-data` with these files and the fields of the body. A `File` keeps its name and type. */
  files: option.of<Readonly<Record<string, TestFile>>>(isObject, 'Write { photo: new Blob() }.'),
})

export interface CallOptions extends OptionsOf<typeof callOptions> {}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

export interface TestAnswer {
  readonly status: number
  /** By lower-case name. Repeated values are joined with commas, values of `set-cookie` with line feeds. */
  readonly headers: Readonly<Record<string, string>>
  /** Parsed if it is JSON, null if it is empty, else the text. */
  // Only the test knows the type of the body.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
  readonly text: string
  readonly bytes: Uint8Array
}

/** The result of a GraphQL operation. */
export interface TestResult {
  // Only the test knows the type of the data.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly errors?: readonly any[]
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly extensions?: any
}

export interface CallerParts {
  readonly app: Application
  readonly now: () => number
  /** Path of the GraphQL endpoint, with the application's prefix. */
  readonly graphqlPath: () => string
  /** The token of the first request; undefined sends none. */
  readonly token: (() => string | Promise<string>) | undefined
  /** True: uses the `FreshToken` of responses, like the client. */
  readonly rotates: boolean
}

export class TestCaller {
  readonly #parts: CallerParts
  readonly #cookies: CookieJar
  #token: string | undefined

  /** Use `desk.as(claims)`, `desk.anonymous` or `desk.operator`. */
  constructor(parts: CallerParts) {
    this.#parts = parts
    this.#cookies = new CookieJar(parts.now)
  }

  get(path: string, options?: CallOptions): Promise<TestAnswer> {
    return this.#call('GET', path, undefined, options)
  }

  head(path: string, options?: CallOptions): Promise<TestAnswer> {
    return this.#call('HEAD', path, undefined, options)
  }

  /** @param body objects and lists are sent as JSON, text as text, forms and bytes as they are */
  post(path: string, body?: unknown, options?: CallOptions): Promise<TestAnswer> {
    return this.#call('POST', path, body, options)
  }

  put(path: string, body?: unknown, options?: CallOptions): Promise<TestAnswer> {
    return this.#call('PUT', path, body, options)
  }

  patch(path: string, body?: unknown, options?: CallOptions): Promise<TestAnswer> {
    return this.#call('PATCH', path, body, options)
  }

  delete(path: string, body?: unknown, options?: CallOptions): Promise<TestAnswer> {
    return this.#call('DELETE', path, body, options)
  }

  /** Runs an operation. The status of the response is ignored. */
  async graphql(
    query: string,
    variables: Readonly<Record<string, unknown>> = {},
    options?: Omit<CallOptions, 'files'>,
  ): Promise<TestResult> {
    const path = this.#parts.graphqlPath()
    const response = await this.post(path, { query, variables }, options)
    const body = response.body as unknown
    if (typeof body === 'object' && body !== null && 'data' in body) return body
    throw new Error(
      `graphql: POST ${path} answered ${response.status}: ${response.text.slice(0, 500)}`,
    )
  }

  /**
   * The events of a stream. Leaving the loop ends it.
   *
   * @throws {Error} the response is not an event stream
   */
  async *events(
    path: string,
    options: Omit<CallOptions, 'files'> = {},
  ): AsyncGenerator<TestEvent, void, undefined> {
    yield* await this.#stream('GET', path, undefined, options)
  }

  /** The results of a subscription; leaving the loop ends it. */
  async *subscribe(
    query: string,
    variables: Readonly<Record<string, unknown>> = {},
    options: Omit<CallOptions, 'files'> = {},
  ): AsyncGenerator<TestResult, void, undefined> {
    const body = JSON.stringify({ query, variables })
    const path = this.#parts.graphqlPath()
    for await (const { event, data } of await this.#stream('POST', path, body, options)) {
      if (event === 'complete') return
      if (event === 'next') yield data as TestResult
    }
  }

  /** Deletes the cookies and a rotated token. */
  forget(): void {
    this.#cookies.clear()
    this.#token = undefined
  }

  async #call(
    method: string,
    path: string,
    body: unknown,
    options: CallOptions = {},
  ): Promise<TestAnswer> {
    callOptions.check('The options of a request, after its body', options)
    const request = {
      method,
      url: withQuery(path, options.query),
      headers: await this.#headers(method, options.headers),
      ...toContent(body, options.files),
    }
    const response = await this.#parts.app.inject(request)
    this.#storeCredentials(response.headers)
    return toTestAnswer(response)
  }

  async #stream(
    method: string,
    path: string,
    body: string | undefined,
    options: Omit<CallOptions, 'files'>,
  ): Promise<AsyncGenerator<TestEvent, void, undefined>> {
    callOptions.check('The options of a request, after its body', options)
    const headers = new Headers(await this.#headers(method, options.headers))
    headers.set('accept', 'text/event-stream')
    if (body !== undefined) headers.set('content-type', 'application/json')
    const url = `http://localhost${withQuery(path, options.query)}`
    const request = new Request(url, { method, headers, ...(body === undefined ? {} : { body }) })
    const response = await keepProcessAlive(this.#parts.app.handle(request))
    this.#cookies.take(response.headers.getSetCookie())
    const type = response.headers.get('content-type') ?? ''
    if (!type.startsWith('text/event-stream') || response.body === null) {
      const text = await response.text()
      throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`)
    }
    return readEvents(response.body)
  }

  async #headers(
    method: string,
    custom: Readonly<Record<string, string>> = {},
  ): Promise<Record<string, string>> {
    const headers: Record<string, string> = {}
    this.#token ??= await this.#parts.token?.()
    if (this.#token !== undefined) headers.authorization = `Bearer ${this.#token}`
    const cookie = this.#cookies.header
    if (cookie !== undefined) {
      headers.cookie = cookie
      // Browsers send this from pages of the application itself.
      if (method !== 'GET' && method !== 'HEAD') headers['sec-fetch-site'] = 'same-origin'
    }
    for (const [name, value] of Object.entries(custom)) headers[name.toLowerCase()] = value
    return headers
  }

  #storeCredentials(headers: Readonly<Record<string, string>>): void {
    const { 'set-cookie': cookies, freshtoken } = headers
    if (cookies !== undefined) this.#cookies.take(cookies.split('\n'))
    if (this.#parts.rotates && freshtoken !== undefined) this.#token = freshtoken
  }
}

function withQuery(path: string, query: CallOptions['query'] = {}): string {
  const pairs = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (item === undefined || item === null) continue
      pairs.append(name, toText(item))
    }
  }
  const text = pairs.toString()
  if (text === '') return path
  return `${path}${path.includes('?') ? '&' : '?'}${text}`
}

/** Converts a value in the same way as the client. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value
  return value instanceof Date ? value.toISOString() : JSON.stringify(value)
}

type Content = Pick<InjectRequest, 'json' | 'text' | 'body' | 'multipart'>

function toContent(body: unknown, files: CallOptions['files']): Content {
  if (files !== undefined) return { multipart: toForm(body, files) }
  if (body === undefined) return {}
  if (body instanceof FormData) return { multipart: body }
  if (body instanceof Uint8Array) return { body }
  return typeof body === 'string' ? { text: body } : { json: body }
}

function toForm(fields: unknown, files: NonNullable<CallOptions['files']>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields ?? {})) {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (item === undefined) continue
      form.append(name, toText(item))
    }
  }
  for (const [name, filesOfName] of Object.entries(files)) {
    for (const one of Array.isArray(filesOfName)
      ? (filesOfName as (Blob | Uint8Array)[])
      : [filesOfName]) {
      const blob = one instanceof Blob ? one : new Blob([new Uint8Array(one as Uint8Array)])
      form.append(name, blob, blob instanceof File ? blob.name : name)
    }
  }
  return form
}

function toTestAnswer({ status, headers, body: text, bytes }: InjectResponse): TestAnswer {
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(headers['content-type'] ?? '')
  const body: unknown = text === '' ? null : isJson ? (JSON.parse(text) as unknown) : text
  return { status, headers, body, text, bytes }
}
