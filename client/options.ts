/** What a program gives the client and gets back from it. Source: specification, "Browser fetch client". */

/** Names may be written in any case; a value of `undefined` leaves the layer below as it is. */
export type HeaderValues = Readonly<Record<string, string | undefined>>

/** One value of a query string. `undefined` and `null` are left out, dates are sent as ISO 8601. */
export type ParamValue = string | number | boolean | Date | null | undefined

/** A list repeats its key: `{ tag: ['a', 'b'] }` is `tag=a&tag=b`. */
export type Params = Readonly<Record<string, ParamValue | readonly ParamValue[]>>

/** The part of `fetch` the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Where the token lives. `localStorage` and `sessionStorage` are such stores. */
export interface TokenStore {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

export interface ClientOptions {
  /** Put in front of every path that is no absolute address; its origin is the only one that sees the token. Default: the page's. */
  baseUrl?: string
  /** Sends the token as Bearer and as `formToken`, and keeps what `FreshToken` brings. Default `false`: none of it. */
  auth?: boolean
  /** The token's key in the store. Default `app_token`. */
  tokenKey?: string
  /** Sent with every request. `Authorization` stays with baseUrl's origin, `Content-Type` is left out of GET. Default: none. */
  headers?: HeaderValues
  /** Default: `localStorage`, and the client's own memory where that is missing or blocked. */
  storage?: TokenStore
  /** Used in place of the platform's `fetch`, e.g. `retry()`. Default: `fetch`, looked up at each call. */
  fetch?: Fetch
}

/** What every call may be given. Everything else `fetch` takes (`credentials`, `cache`, `keepalive` …) is handed on as it is. */
export interface CommonOptions extends Omit<RequestInit, 'headers' | 'method' | 'body'> {
  /** Stands over the configured headers and over the token. */
  headers?: HeaderValues
  /** Milliseconds until the call rejects with `TimeoutError`, the body's arrival included. Default: none. */
  timeout?: number
}

/** The options of a call without known routes. */
export interface RequestOptions extends CommonOptions, Pick<RequestInit, 'body'> {
  /** Added to the query string of the path. */
  params?: Params
  /** Values for the `<name>` and `{name}` parts of the path, each percent-encoded. Without it the path is sent as written. */
  path?: Readonly<Record<string, string | number>>
}

/** What a request interceptor receives. */
export interface RequestConfig extends Omit<RequestOptions, 'headers' | 'body'> {
  method: string
  url: string
  /** Already holds `Authorization`. */
  headers: Record<string, string>
  /** As it was given; of an object or a list a copy, which is made JSON (and gets its `formToken`) afterwards. */
  body?: unknown
}

/** What a response interceptor receives. */
export interface Answer {
  status: number
  /** Parsed JSON, a string, a Blob, or null for an empty body. */
  data: unknown
  /** False for every status outside 200–299 and for malformed JSON: the call will reject. */
  ok: boolean
  headers: Headers
}

/** What a call rejects with when the server answered, but not with success. */
export interface ApiError extends Error, Answer {
  /** The body of the answer; the raw text where its JSON is malformed. */
  // The shape of an error's body is known to the page alone, which reads `error.data.message`.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  data: any
}

/** May be async. What it returns replaces its argument; where it returns nothing the argument stays. */
// `void` belongs here: an interceptor that only looks returns nothing.
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type
export type Interceptor<T> = (value: T) => T | void | Promise<T | void>
