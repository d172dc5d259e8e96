/**
 * The request as handlers, guards and interceptors see it, with its log and the values that programs store with it. Its
 * internal state is in `server-request.ts`.
 */

import { fieldsOf, silentLog, type Log, type LogLevel } from '../core/log.js'
import type { RouteInfo } from '../routing/route.js'
import type { Incoming, Outgoing } from './node-messages.js'
import type { TextValues } from './query-string.js'
import type { UploadedFile } from './upload.js'

/** A path parameter after conversion: a number for `int` and `float`, otherwise the decoded text. */
export type PathValue = string | number

/** A token's payload (RFC 7519 §4). */
export interface Claims {
  readonly sub?: string
  readonly iss?: string
  readonly aud?: string | readonly string[]
  readonly exp?: number
  readonly nbf?: number
  readonly iat?: number
  readonly jti?: string
  readonly roles?: readonly string[]
  readonly [claim: string]: unknown
}

/** How the caller of a secured route was authenticated. */
export interface RequestAuth {
  /** `'key'`: the operator's static key; `'token'`: a verified JWT. */
  readonly by: 'key' | 'token'
  /** The verified claims; null for the static key. */
  readonly claims: Claims | null
}

/** Data of one visitor by key. It is saved if the handler has changed it. */
export interface Session {
  user?: unknown
  [key: string]: unknown
  /**
   * Stores the data under a new ID. Call it after a login.
   *
   * @param options `{ crossSite: true }`: a form of another site may begin the session, as an identity provider's does.
   * Set it only if the request proves the visitor's intent. Default: the response becomes 403
   */
  regenerate(options?: { readonly crossSite?: boolean }): void
  /** Deletes the data and the cookie. */
  destroy(): void
}

/** A single file is a value. A repeated name is a list. */
export type UploadedFiles = Record<string, UploadedFile | UploadedFile[]>

/** A request. Query, cookies, headers, ID and session are computed when they are first read. */
export interface HttpRequest {
  /** Upper case. A HEAD request has `HEAD`, although a GET route serves it. */
  readonly method: string
  /** The request target as sent, with the query. */
  readonly url: string
  /**
   * The normalized path that the router matched: `/%70rivate/` is `/private`. Characters that are not allowed in a path
   * stay percent-encoded, in upper case (`/caf%C3%A9`). `url` is as sent.
   */
  readonly path: string
  /** The matched route; undefined if there is none (404, 405). */
  readonly route: RouteInfo | undefined
  /** Path parameters by name, converted. */
  readonly params: Readonly<Record<string, PathValue>>
  /** The query by name: text, or a list of texts if a key repeats. If the route declares a class, an instance of it. */
  readonly query: TextValues
  /**
   * Headers by lower-case name. Repeated values are joined with commas. They are read-only: a write throws TypeError.
   * To read tokens from places other than `Authorization: Bearer …`, use `auth.scheme` and `auth.read`.
   */
  readonly headers: Readonly<Record<string, string>>
  /** Cookies by name (RFC 6265), decoded. */
  readonly cookies: Record<string, string>
  /** The parsed body. `undefined` if there is none, the route reads none, or it has not been read yet. */
  body: unknown
  /** The parsed body as sent, before a class checked it and set defaults. `undefined` where `body` is. */
  readonly sentBody: unknown
  readonly files: UploadedFiles
  /** The `formToken` that was removed from the body. It is a credential only if the application treats it as one. */
  readonly formToken: string | undefined
  /** The request within which a module such as `filigree/mcp` made this one; undefined for client requests. */
  readonly parentRequest?: HttpRequest | undefined
  /** Claims of the verified token; null for the static key and on routes without a gate. */
  readonly user: Claims | null
  /** How the caller was authenticated; undefined if the route required no authentication. */
  readonly auth: RequestAuth | undefined
  /**
   * The visitor's session.
   *
   * @throws {Error} on routes whose handler names neither `session` nor `request`, because no session was opened
   */
  readonly session: Session
  /**
   * The client's address, with IPv4 in its own form. Taken from `X-Forwarded-For` if the application trusts its
   * proxies.
   */
  readonly ip: string
  /** True over HTTPS, including behind a trusted proxy that reports it. */
  readonly secure: boolean
  /**
   * Identifies the request in logs: a valid incoming `X-Request-Id`, otherwise a new UUID. Sent back once it was read.
   */
  readonly id: string
  /**
   * The application's log. Each line has `requestId` and fields that modules add: `request.log.info({ item: 7 },
   * 'found')`.
   */
  readonly log: ChildLog
  /**
   * Aborted if the client disconnects before the response is complete, if the application closes, or if the route's
   * time is over. When the application closes, the abort is immediate for responses that have begun, otherwise after
   * `times.linger`. Closing and time-outs give an HttpError of status 503 as the reason.
   */
  readonly signal: AbortSignal
  /** Node's request, or a fake request. */
  readonly incoming: Incoming
  /** Node's response, or a fake response. Handlers return their result; only the framework writes to this object. */
  readonly outgoing: Outgoing
  /**
   * Adds a header to any response to this request, including errors. A header that the response itself sets takes
   * precedence.
   *
   * @throws {TypeError} if the name or the value cannot be sent
   */
  addHeader(name: string, value: string): void
  /**
   * Like `addHeader`, but replaces a header that was added by that name before. Call it before the response exists.
   * Later, interceptors change the response's own headers.
   */
  setHeader(name: string, value: string): void
  /** Runs `cleanup` once, after the response was sent or the connection was lost. It must not throw. */
  onFinished(cleanup: () => void): void
}

/**
 * A value that a program stores with a request: an interceptor sets it, later code reads it. It is identified by this
 * object and not by its name.
 */
export interface RequestValue<T> {
  readonly name: string
  set(request: HttpRequest, value: T): void
  /** `undefined` if it was not set. */
  get(request: HttpRequest): T | undefined
}

/**
 * Creates a value of requests. It is released with the request.
 *
 * @param name for debuggers; values with the same name are independent
 */
export function requestValue<T>(name: string): RequestValue<T> {
  const key = Object.freeze({ name })
  return Object.freeze({
    name,
    set: (request: HttpRequest, value: T): void => {
      const holder = request as ValueHolder
      const existing = find(holder, key)
      const reads = holder.callerReads ?? 0
      if (existing === undefined) holder.values = { key, value, reads, next: holder.values }
      else Object.assign(existing, { value, reads })
    },
    get: (request: HttpRequest): T | undefined => {
      const holder = request as ValueHolder
      const stored = find(holder, key)
      if (stored === undefined) return undefined
      // A value that was computed from the caller makes the response depend on the caller.
      if (stored.reads !== 0) holder.callerReads = (holder.callerReads ?? 0) | stored.reads
      return stored.value as T
    },
  })
}

/** A stored value, in a linked list, because searching a short list is faster than creating a map. */
export interface StoredValue {
  readonly key: object
  value: unknown
  /** The caller access when it was set. */
  reads: number
  readonly next: StoredValue | undefined
}

interface ValueHolder {
  values?: StoredValue | undefined
  callerReads?: number
}

function find({ values }: ValueHolder, key: object): StoredValue | undefined {
  let stored = values
  while (stored !== undefined && stored.key !== key) stored = stored.next
  return stored
}

/** Writes a line with fields and a message. Either may be omitted. */
export interface WriteLine {
  (details: object, message?: string): void
  (message: string): void
}

/** A log whose lines have additional fields. */
export interface ChildLog {
  readonly error: WriteLine
  readonly warn: WriteLine
  readonly info: WriteLine
  readonly debug: WriteLine
  /** The same log with more fields in each line. */
  child(fields: object): ChildLog
}

/** A log whose lines have the request's id and fields that modules add, such as the id of its trace. */
export class RequestLog implements ChildLog {
  readonly #log: Log
  readonly #request: HttpRequest
  readonly #more: object | undefined

  /** @param log undefined: lines are discarded */
  constructor(log: Log | undefined, request: HttpRequest, more?: object) {
    this.#log = log ?? silentLog
    this.#request = request
    this.#more = more
  }

  error(details: object | string, message?: string): void {
    this.#write('error', details, message)
  }

  warn(details: object | string, message?: string): void {
    this.#write('warn', details, message)
  }

  info(details: object | string, message?: string): void {
    this.#write('info', details, message)
  }

  debug(details: object | string, message?: string): void {
    this.#write('debug', details, message)
  }

  child(fields: object): ChildLog {
    return new RequestLog(this.#log, this.#request, { ...this.#more, ...fields })
  }

  #write(level: LogLevel, details: object | string, message = ''): void {
    const fields = { requestId: this.#request.id, ...fieldsOf(this.#request), ...this.#more }
    if (typeof details === 'string') this.#log[level](fields, details)
    else this.#log[level](Object.assign(fields, toFields(details)), message)
  }
}

/** The fields of an error are not enumerable, so a copy would not include them. */
function toFields(details: object): object {
  return details instanceof Error ? { err: details } : details
}
