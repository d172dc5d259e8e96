/** The request as handlers, guards and interceptors see it. Its internal state is in `server-request.ts`. */
import type { RouteInfo } from '../routing/route-info.js'
import type { ChildLog } from './request-log.js'
import type { Incoming, Outgoing } from './node-messages.js'
import type { TextValues } from './query.js'
import type { UploadedFile } from './upload.js'

/** A path parameter after conversion: a number for `int` and `float`, else the decoded text. */
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

/** How the caller of a secured route was let in. */
export interface RequestAuth {
  /** `'key'`: the operator's static key; `'token'`: a verified JWT. */
  readonly by: 'key' | 'token'
  /** The verified claims; null for the static key. */
  readonly claims: Claims | null
}

/** A mapping that belongs to one visitor. It is saved when the handler has changed it. */
export interface Session {
  user?: unknown
  [key: string]: unknown
  /**
   * Keeps the data under a new id: call it after a login.
   *
   * @param options `{ crossSite: true }`: a form of another site may begin the session, as an identity provider's does. Write
   *   it only where the request proves that this visitor wanted it. Default: the response becomes 403
   */
  regenerate(options?: { readonly crossSite?: boolean }): void
  /** Forgets the data and the cookie. */
  destroy(): void
}

/** One value is a scalar, a repeated name is a list. */
export type UploadedFiles = Record<string, UploadedFile | UploadedFile[]>

/**
 * A request. Its members are computed when they are first read: query, cookies, headers, id and session are made on
 * first reading.
 */
export interface HttpRequest {
  /** Upper case; a HEAD request says `HEAD` though its GET route answers. */
  readonly method: string
  /** The request target as sent, with the query. */
  readonly url: string
  /**
   * The path that the router decided by, in one form: `/%70rivate/` is `/private`. What is no sign of a path stays
   * percent-encoded, in upper case (`/caf%C3%A9`); `url` is as sent.
   */
  readonly path: string
  /** The route that it came to; undefined where there is none (404, 405). */
  readonly route: RouteInfo | undefined
  /** Path parameters by name, converted. */
  readonly params: Readonly<Record<string, PathValue>>
  /** The query by name: text, or a list of texts where a key repeats; where the route declares a class, an instance of it. */
  readonly query: TextValues
  /**
   * Headers by lower-case name; values that came more than once are joined with commas. They are read-only: a write throws
   * TypeError. For tokens elsewhere than in `Authorization: Bearer …` there are `auth.scheme` and `auth.read`.
   */
  readonly headers: Readonly<Record<string, string>>
  /** Cookies by name (RFC 6265), decoded. */
  readonly cookies: Record<string, string>
  /** The parsed body, or `undefined` where there is none, the route reads none, or it is not read yet. */
  body: unknown
  readonly files: UploadedFiles
  /** The `formToken` that was taken out of the body; no credential unless the application says so. */
  readonly formToken: string | undefined
  /** The request within which this one was made, by a module such as `filigree/mcp`; undefined for those of clients. */
  readonly parentRequest?: HttpRequest | undefined
  /** Claims of the verified token; null for the static key and on routes without a gate. */
  readonly user: Claims | null
  /** How the caller was let in; undefined where nobody asked. */
  readonly auth: RequestAuth | undefined
  /**
   * The visitor's session.
   *
   * @throws {Error} on routes whose handler names neither `session` nor `request`: there it was not opened
   */
  readonly session: Session
  /** The client's address, IPv4 in its own form; out of `X-Forwarded-For` where the application trusts its proxies. */
  readonly ip: string
  /** True over https, also behind a trusted proxy that says so. */
  readonly secure: boolean
  /** Names the request in logs: a sane incoming `X-Request-Id`, else a new UUID. Sent back once it was read. */
  readonly id: string
  /** The application's log; each line has `requestId`, and what modules add: `request.log.info({ item: 7 }, 'found')`. */
  readonly log: ChildLog
  /**
   * Aborted when the client goes away before the response is complete, and when the application closes: at once where
   * the answer has begun, else after `times.linger`, with an HttpError of status 503 as its reason. Aborted too when the time
   * of the route is over, with an HttpError of status 503 as its reason.
   */
  readonly signal: AbortSignal
  /** Node's request, or its stand-in. */
  readonly incoming: Incoming
  /** Node's response, or its stand-in. Handlers answer by returning; only the framework writes to it. */
  readonly outgoing: Outgoing
  /**
   * Adds a header to whatever answers this request, errors included. One that the answer brings itself stays.
   *
   * @throws {TypeError} when the name or the value cannot be sent
   */
  addHeader(name: string, value: string): void
  /**
   * As `addHeader`, in place of one that was added by that name before. Call it before the answer is there: later,
   * interceptors change the answer's own headers.
   */
  setHeader(name: string, value: string): void
  /** Runs `cleanup` once, after the response was sent or the connection was lost. It must not throw. */
  onFinished(cleanup: () => void): void
}
