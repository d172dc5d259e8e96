/** Somebody who asks a tested application: with a token, with the static key, or with nothing. Keeps cookies. */
import {
  rejectUnknownOptions,
  type Application,
  type InjectRequest,
  type InjectResponse,
} from '../../index.js'
import { CookieJar } from './cookie-jar.js'
import { readEvents, type TestEvent } from './read-events.js'

/** A file of a request, or several under one name. */
export type TestFile = Blob | Uint8Array | readonly (Blob | Uint8Array)[]

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Added to the path; lists repeat their key, null and undefined are left out. */
  readonly query?: Readonly<Record<string, unknown>>
  /** Sends `multipart/form-data`: these files beside the fields of the body. A `File` keeps its name and type. */
  readonly files?: Readonly<Record<string, TestFile>>
}

export interface TestAnswer {
  readonly status: number
  /** By lower-case name; repeated values are joined with commas, those of `set-cookie` with line feeds. */
  readonly headers: Readonly<Record<string, string>>
  /** Parsed if it is JSON, null if it is empty, else the text. */
  // Only the test knows what a route answers.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
  readonly text: string
  readonly bytes: Uint8Array
}

/** The answer of a GraphQL operation. */
export interface TestResult {
  // Only the test knows what it has asked for.
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
  /** The token of the first request; `undefined` sends none. */
  readonly token: (() => string | Promise<string>) | undefined
  /** Takes the `FreshToken` of answers, as the client does. */
  readonly rotates: boolean
}

const callNames: Readonly<Record<keyof CallOptions, true>> = {
  headers: true,
  query: true,
  files: true,
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

  /** Runs an operation; the status of its answer is not looked at. */
  async graphql(
    query: string,
    variables: Readonly<Record<string, unknown>> = {},
    options?: Omit<CallOptions, 'files'>,
  ): Promise<TestResult> {
    const path = this.#parts.graphqlPath()
    const answer = await this.post(path, { query, variables }, options)
    const body = answer.body as unknown
    if (typeof body === 'object' && body !== null && 'data' in body) return body
    throw new Error(`graphql: POST ${path} answered ${answer.status}: ${answer.text.slice(0, 500)}`)
  }

  /**
   * The events of a stream; leaving the loop ends it.
   *
   * @throws {Error} where the answer is no event stream
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

  /** Forgets its cookies, and a token that rotation has brought. */
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
    refuseUnknown(options)
    const request = {
      method,
      url: withQuery(path, options.query),
      headers: await this.#headers(method, options.headers),
      ...toContent(body, options.files),
    }
    const answer = await this.#parts.app.inject(request)
    this.#keep(answer.headers)
    return toAnswer(answer)
  }

  async #stream(
    method: string,
    path: string,
    body: string | undefined,
    options: Omit<CallOptions, 'files'>,
  ): Promise<AsyncGenerator<TestEvent, void, undefined>> {
    refuseUnknown(options)
    const headers = new Headers(await this.#headers(method, options.headers))
    headers.set('accept', 'text/event-stream')
    if (body !== undefined) headers.set('content-type', 'application/json')
    const url = `http://localhost${withQuery(path, options.query)}`
    const answer = await this.#parts.app.handle(
      new Request(url, { method, headers, ...(body === undefined ? {} : { body }) }),
    )
    this.#cookies.take(answer.headers.getSetCookie())
    const type = answer.headers.get('content-type') ?? ''
    if (!type.startsWith('text/event-stream') || answer.body === null) {
      const text = await answer.text()
      throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 500)}`)
    }
    return readEvents(answer.body)
  }

  async #headers(
    method: string,
    given: Readonly<Record<string, string>> = {},
  ): Promise<Record<string, string>> {
    const headers: Record<string, string> = {}
    this.#token ??= await this.#parts.token?.()
    if (this.#token !== undefined) headers.authorization = `Bearer ${this.#token}`
    const cookie = this.#cookies.header
    if (cookie !== undefined) {
      headers.cookie = cookie
      // What a browser says of a page of the application itself.
      if (method !== 'GET' && method !== 'HEAD') headers['sec-fetch-site'] = 'same-origin'
    }
    for (const [name, value] of Object.entries(given)) headers[name.toLowerCase()] = value
    return headers
  }

  #keep(headers: Readonly<Record<string, string>>): void {
    const { 'set-cookie': cookies, freshtoken } = headers
    if (cookies !== undefined) this.#cookies.take(cookies.split('\n'))
    if (this.#parts.rotates && freshtoken !== undefined) this.#token = freshtoken
  }
}

function refuseUnknown(options: object): void {
  for (const { message, remedy } of rejectUnknownOptions(
    options,
    Object.keys(callNames),
    'A request',
  ))
    throw new TypeError(`${message} ${remedy} The body stands before them.`)
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

/** As the client writes it. */
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
  for (const [name, given] of Object.entries(files)) {
    for (const one of Array.isArray(given) ? (given as (Blob | Uint8Array)[]) : [given]) {
      const blob = one instanceof Blob ? one : new Blob([new Uint8Array(one as Uint8Array)])
      form.append(name, blob, blob instanceof File ? blob.name : name)
    }
  }
  return form
}

function toAnswer({ status, headers, body: text, bytes }: InjectResponse): TestAnswer {
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(headers['content-type'] ?? '')
  const body: unknown = text === '' ? null : isJson ? (JSON.parse(text) as unknown) : text
  return { status, headers, body, text, bytes }
}
