/** The options of the client, and its responses and errors. Source: specification, "Browser fetch client". */

/** Names can have any case. A value of `undefined` keeps the value of the layer below. */
export type HeaderValues = Readonly<Record<string, string | undefined>>

/** One value of a query string. `undefined` and `null` are left out, dates are sent as ISO 8601. */
export type ParamValue = string | number | boolean | Date | null | undefined

/** A list repeats its key: `{ tag: ['a', 'b'] }` is `tag=a&tag=b`. */
export type Params = Readonly<Record<string, ParamValue | readonly ParamValue[]>>

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Where the token is stored. `localStorage` and `sessionStorage` fit. */
export interface TokenStore {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

export interface ClientOptions {
  /** Prefix of every path that is not an absolute address; only its origin gets the token. Default: the page's. */
  baseUrl?: string
  /**
   * Sends the token as Bearer and as `formToken`, and stores the token of `FreshToken`. Default `false`: no token is used.
   */
  auth?: boolean
  /** The token's key in the store. Default `app_token`. */
  tokenKey?: string
  /**
   * Sent with every request. `Authorization` is only sent to baseUrl's origin, `Content-Type` not with GET. Default:
   * none.
   */
  headers?: HeaderValues
  /** Default: `localStorage`, or the client's own memory if that is missing or blocked. */
  storage?: TokenStore
  /** Used instead of the platform's `fetch`, e.g. `retry()`. Default: `fetch`, looked up at each call. */
  fetch?: Fetch
}

/** The tokens by their keys, in the memory of the client. Used if the store is missing, blocked or full. */
export type StoredTokens = Record<string, string | undefined>

/** The current options of a client, and its memory. */
export interface ClientSettings extends ClientOptions {
  tokens: StoredTokens
}

/**
 * The options of all calls. Other options of `fetch` (`credentials`, `cache`, `keepalive` …) are passed on unchanged.
 */
export interface CommonOptions extends Omit<RequestInit, 'headers' | 'method' | 'body'> {
  /** Override the configured headers and the token. */
  headers?: HeaderValues
  /** Milliseconds until the call rejects with `TimeoutError`, including the time for the body. Default: none. */
  timeout?: number
}

/** The options of a call without known routes. */
export interface RequestOptions extends CommonOptions, Pick<RequestInit, 'body'> {
  /** Added to the query string of the path. */
  params?: Params
  /** Values for the `<name>` and `{name}` parts of the path, each percent-encoded. Without it the path is sent as written. */
  path?: Readonly<Record<string, string | number>>
}

/** The argument of a request interceptor. */
export interface RequestConfig extends Omit<RequestOptions, 'headers' | 'body'> {
  method: string
  url: string
  /** Contains `Authorization` already. */
  headers: Record<string, string>
  /**
   * The value as given; for objects and lists a copy, which is encoded as JSON (and gets its `formToken`) afterwards.
   */
  body?: unknown
}

/** The argument of a response interceptor. */
export interface ApiResponse {
  status: number
  /** Parsed JSON, a string, a Blob, or null for an empty body. */
  data: unknown
  /** False for every status outside 200–299 and for malformed JSON: then the call will reject. */
  ok: boolean
  headers: Headers
}

/** An invalid value of the input. */
export interface FieldError {
  /** Dotted, from the root of the body or query: `lines.0.qty`. */
  path: string
  /** The name of the rule: `min`. */
  code: string
  message: string
}

/** The JSON of an error in the standard form. */
export interface ErrorBody {
  /** For people. */
  error: string
  /** The stable name of the error, for programs: `NOT_FOUND`. */
  code: string
  /** Only of an error about fields. */
  errors?: FieldError[]
  // Applications choose other members with `errors: { form }`, or throw errors with members of their own.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  [member: string]: any
}

/** The error of a call whose response is not successful. */
export interface ApiError extends Error, ApiResponse {
  /** The body of the response. The raw text if its JSON is malformed. */
  data: ErrorBody
}

/** May be async. Its result replaces the argument; without a result the argument stays. */
// `void` belongs here: an interceptor that only observes returns nothing.
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type
export type Interceptor<T> = (value: T) => T | void | Promise<T | void>
