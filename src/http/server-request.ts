/** The request with its internal state, which the steps of its route use. Source: specification, Request object. */
import { addressKey } from '../core/address-counts.js'
import type { RouteInfo } from '../routing/route.js'
import { ReceivedBody } from './bodies/received-body.js'
import { unknownCaller, type CallerIdentity } from './caller-identity.js'
import { readsIdentity, readsSent, watchHeaders, watchIncoming } from './caller-access.js'
import { clientAddressOf, readForwarded } from './client-address.js'
import { CookieNames } from './cookie-names.js'
import { readCookies } from './cookies.js'
import { toTextHeaders, type Incoming, type Outgoing } from './node-messages.js'
import { PendingWrites, type StoppableWrite } from './pending-writes.js'
import { readQuery, type TextValues } from './query-string.js'
import { timeoutRefusal } from './refusals.js'
import {
  RequestLog,
  type ChildLog,
  type Claims,
  type HttpRequest,
  type PathValue,
  type RequestAuth,
  type Session,
  type UploadedFiles,
  type StoredValue,
} from './request.js'
import { requestId } from './request-ids.js'
import { toOriginForm, readPath } from './request-path.js'
import type { RequestSettings } from './request-settings.js'
import { createAbort } from './request-signal.js'
import { onCookie } from './cache-headers.js'
import { PendingResponse } from './pending-response.js'
import type { Visitor } from './visitor.js'

/** The response header with the request's id, sent if the id was read. */
export const requestIdHeader = 'X-Request-Id'

const noBytes = Buffer.alloc(0)
const plainCookieNames = new CookieNames()

const noSession =
  'request.session is not open on this route. Name `session` or `request` among the arguments of the handler.'

/** Milliseconds since 1970 by the clock of the request's application; without a request by the system's clock. */
export function timestampOf(request: HttpRequest | undefined): number {
  return request instanceof ServerRequest ? request.now() : Date.now()
}

/**
 * What happens with a request: its steps and its handler run, then the steps after the handler, then it has its
 * response, complete or as a stream. A request whose time is over passes through the same phases.
 */
export type RequestPhase = 'handling' | 'finishing' | 'answered' | 'streaming'

/** The part of a route that its requests show. */
interface MatchedRoute {
  readonly info: RouteInfo | undefined
  /** Names of the path parameters. */
  readonly pathNames: readonly string[]
}

export class ServerRequest implements HttpRequest {
  // What came.
  /** Upper case. `HEAD` for a HEAD request, although a GET route serves it. */
  readonly method: string
  /** The request target as sent, with the query. */
  readonly url: string
  /** `url` without the query, as sent. The router reads its segments. */
  readonly sentPath: string
  /** Node's request, or a fake request. */
  readonly incoming: Incoming
  /** Node's response, or a fake response. Handlers return their result; only the framework writes to this object. */
  readonly outgoing: Outgoing
  /** The request within which a module created this one. */
  readonly parentRequest: HttpRequest | undefined
  /** Values of the path's parameters, in the order of the pattern. The router fills it. */
  readonly pathValues: PathValue[] = []

  // Its parts. Each is written by one folder.
  /** What is collected for the response. Written by `http/`. */
  readonly response = new PendingResponse()
  /** Set by the pipeline in `serving/`. */
  matchedRoute: MatchedRoute | undefined = undefined
  /** Who sent it. Set by `auth/`. */
  caller: CallerIdentity = unknownCaller
  /** Its session. Set by `auth/`; undefined if none was opened. */
  visitor: Visitor | undefined = undefined
  /** Set by `http/bodies/`; undefined before the body is read. */
  receivedBody: ReceivedBody | undefined = undefined
  /** The runner of its database for reads. Set by `records/`. */
  reads: object | undefined = undefined
  /** Values of `requestValue`. */
  values: StoredValue | undefined = undefined
  /** The tracked caller access: bits of `caller-access.ts`. */
  callerReads = 0

  readonly #settings: RequestSettings
  #query: TextValues | undefined
  #cookies: Record<string, string> | undefined
  #headers: Readonly<Record<string, string>> | undefined
  #watchedHeaders: Readonly<Record<string, string>> | undefined
  #params: Record<string, PathValue> | undefined
  #id: string | undefined
  #log: ChildLog | undefined
  #phase: RequestPhase = 'handling'
  #isWatched = false
  #abort: AbortController | undefined
  #writes: PendingWrites | undefined
  /** Functions that run after the response was sent or the client has disconnected. */
  #cleanups: (() => void)[] | undefined

  constructor(
    incoming: Incoming,
    outgoing: Outgoing,
    settings: RequestSettings,
    parentRequest?: HttpRequest,
  ) {
    this.incoming = incoming
    this.outgoing = outgoing
    this.parentRequest = parentRequest
    this.#settings = settings
    const url = toOriginForm(incoming.url ?? '/')
    const mark = url.indexOf('?')
    this.method = incoming.method ?? 'GET'
    this.url = url
    this.sentPath = mark === -1 ? url : url.slice(0, mark)
  }

  /** The prefix of all paths of the application; `''` if there is none. */
  get basePath(): string {
    return this.#settings.basePath ?? ''
  }

  get route(): RouteInfo | undefined {
    return this.matchedRoute?.info
  }

  /** The path that the router has matched: `readPath`. */
  get path(): string {
    return readPath(this.sentPath, this.route?.path)
  }

  get phase(): RequestPhase {
    return this.#phase
  }

  /** Whether the response has begun. Later ones are dropped. */
  get answered(): boolean {
    return this.#phase === 'answered' || this.#phase === 'streaming'
  }

  /** Whether the response was sent or the client has disconnected. */
  get isOver(): boolean {
    return this.#phase === 'answered' || this.outgoing.destroyed
  }

  /**
   * Whether new work for it is useless: it has its complete response, or its time is over. A stream, such as a live
   * query, may still need work.
   */
  get refusesWork(): boolean {
    return this.#phase === 'answered' || this.isTimedOut
  }

  /** The steps after the handler begin. They run only once. */
  beginFinish(): void {
    this.#phase = 'finishing'
  }

  /** The response begins. @returns false if there was one before */
  beginResponse(): boolean {
    if (this.answered) return false
    this.#phase = 'answered'
    return true
  }

  /** The response is a stream, which may still read for the request. */
  beginStream(): void {
    this.#phase = 'streaming'
  }

  /** Path parameters by name, converted. */
  get params(): Readonly<Record<string, PathValue>> {
    if (this.#params === undefined) {
      this.#params = {}
      for (const [index, name] of (this.matchedRoute?.pathNames ?? []).entries()) {
        const value = this.pathValues[index]
        if (value !== undefined) this.#params[name] = value
      }
    }
    return this.#params
  }

  /** The query by name: text, or a list of texts if a key repeats. An object without a prototype. */
  get query(): TextValues {
    this.#query ??= readQuery(this.url.slice(this.sentPath.length + 1))
    return this.#query
  }

  /** The query as sent, before it was checked. */
  get sentQuery(): TextValues {
    return readQuery(this.url.slice(this.sentPath.length + 1))
  }

  /** Set if the route declares a class, to a checked and converted instance of it. */
  set query(checked: TextValues) {
    this.#query = checked
  }

  /** The body for the handler; `undefined` if there is none or the route reads none. */
  get body(): unknown {
    return this.receivedBody?.value
  }

  set body(value: unknown) {
    this.receivedBody ??= new ReceivedBody()
    this.receivedBody.value = value
  }

  get sentBody(): unknown {
    return this.receivedBody?.sent
  }

  get rawBody(): Buffer {
    return this.receivedBody?.bytes ?? noBytes
  }

  get files(): UploadedFiles {
    return this.receivedBody?.files ?? {}
  }

  /** The `formToken` that was removed from the body. It is a credential only if the application treats it as one. */
  get formToken(): string | undefined {
    return this.receivedBody?.formToken
  }

  /** Claims of the verified token; null for the static key and on routes without a gate. */
  get user(): Claims | null {
    this.callerReads |= readsIdentity
    return this.caller.auth?.claims ?? null
  }

  get auth(): RequestAuth | undefined {
    this.callerReads |= readsIdentity
    return this.caller.auth
  }

  /** Headers by lower-case name; values that came more than once are joined with commas. Frozen. */
  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= Object.freeze(toTextHeaders(this.incoming))
    if (!this.#isWatched) return this.#headers
    return (this.#watchedHeaders ??= watchHeaders(this.#headers, () => {
      this.callerReads |= readsSent
    }))
  }

  /** Whether access to the caller is tracked, including headers. */
  get isWatched(): boolean {
    return this.#isWatched
  }

  /** Tracks access to headers from now on. */
  watch(): void {
    if (this.#isWatched) return
    watchIncoming(this)
    this.#isWatched = true
  }

  /** Replaces a header for all later reads: `filigree/compress` restores the tags of conditions. */
  replaceHeader(name: 'if-match' | 'if-none-match', value: string): void {
    this.incoming.headers[name] = value
    this.#headers = undefined
    this.#watchedHeaders = undefined
  }

  /** Cookies by name (RFC 6265), decoded. */
  get cookies(): Record<string, string> {
    this.callerReads |= readsSent
    this.#cookies ??= readCookies(this.incoming.headers.cookie ?? '')
    return this.#cookies
  }

  /** The client's address, with IPv4 in its own form. Taken from `X-Forwarded-For` if the application trusts its proxies. */
  get ip(): string {
    return clientAddressOf(this.incoming, this.#settings)
  }

  /** The name of the client: its user if the token was verified, otherwise its address. Without tracking. */
  get client(): string {
    const sub = this.caller.auth?.claims?.sub
    return sub === undefined ? `address ${addressKey(this.ip)}` : `user ${sub}`
  }

  /** The maximum bytes of the rows that one read of the database may return for this request. */
  get maxReadBytes(): number | undefined {
    return this.#settings.maxReadBytes
  }

  /** True over https, also behind a trusted proxy that reports it. */
  get secure(): boolean {
    if (this.incoming.socket.encrypted === true) return true
    return readForwarded(this.incoming.headers, 'proto', this.#settings.trustProxy) === 'https'
  }

  /** True if browsers use https, so that cookies can be secure. */
  get cookieSecure(): boolean {
    return this.secure || this.#settings.publicOrigin?.startsWith('https:') === true
  }

  get publicOrigin(): string | undefined {
    return this.#settings.publicOrigin
  }

  /**
   * Identifies the request in logs: a valid incoming `X-Request-Id`, otherwise a new UUID. Sent back if it was read.
   */
  get id(): string {
    if (this.#id === undefined) {
      this.#id = requestId(this.incoming.headers['x-request-id'])
      // The value is valid for a header.
      this.response.addUnchecked(requestIdHeader, this.#id)
    }
    return this.#id
  }

  get log(): ChildLog {
    return (this.#log ??= new RequestLog(this.#settings.log, this))
  }

  /**
   * The visitor's session.
   *
   * @throws {Error} on routes whose handler names neither `session` nor `request`: there it was not opened
   */
  get session(): Session {
    const session = this.visitor?.read()
    if (session === undefined) throw new Error(noSession)
    this.response.varyOn(onCookie)
    this.callerReads |= readsSent
    return session
  }

  /** Whether its response is for one caller: the caller was admitted, or an existing session was read. */
  get isPersonal(): boolean {
    return this.caller.auth !== undefined || this.visitor?.isRead === true
  }

  /** Milliseconds since 1970. */
  now(): number {
    return (this.#settings.now ?? Date.now)()
  }

  get cookieNames(): CookieNames {
    return this.#settings.cookieNames ?? plainCookieNames
  }

  /** Whether fresh tokens of replies are set as a cookie too. */
  get setsTokenCookie(): boolean {
    return this.#settings.tokenCookie === true
  }

  /** Whether CORS permits pages of its origin to send cookies. */
  get allowsCredentials(): boolean {
    return this.#settings.cors?.allowsCredentials(this) === true
  }

  /** Aborted if the client disconnects before the response is complete, or if the route's time is over. */
  get signal(): AbortSignal {
    this.#abort ??= createAbort(this.outgoing, this.isTimedOut, this.#settings.ending)
    return this.#abort.signal
  }

  /**
   * Adds a header to any response to this request, including errors. A header of the response itself takes precedence.
   *
   * @throws {TypeError} if the name or the value cannot be sent
   */
  addHeader(name: string, value: string): void {
    this.response.addHeader(name, value)
  }

  /** As `addHeader`, but replaces a header that was added by that name, unless it may repeat. */
  setHeader(name: string, value: string): void {
    this.response.setHeader(name, value)
  }

  /** Runs `cleanup` once, after the response was sent or the connection was lost. It must not throw. */
  onFinished(cleanup: () => void): void {
    if (this.#cleanups === undefined) {
      if (this.outgoing.destroyed) {
        cleanup()
        return
      }
      this.#cleanups = []
      this.outgoing.once('close', () => {
        const cleanups = this.#cleanups ?? []
        // Functions that are added from now on run immediately.
        this.#cleanups = undefined
        for (const run of cleanups) run()
      })
    }
    this.#cleanups.push(cleanup)
  }

  /** True after it exceeded the time of its route. Nothing may be written for it any more. */
  get isTimedOut(): boolean {
    return this.#writes?.isStopped === true
  }

  writeStarted(write: StoppableWrite): void {
    this.#writes ??= new PendingWrites()
    this.#writes.add(write)
  }

  writeEnded(write: StoppableWrite, isDone: boolean): void {
    this.#writes?.end(write, isDone)
  }

  /** Stops its writes after the time-out. @param onWritten as for `PendingWrites.stop` */
  stop(onWritten: (isDone: boolean) => void): void {
    this.#writes ??= new PendingWrites()
    this.#writes.isStopped = true
    this.#abort?.abort(timeoutRefusal())
    this.#writes.stop(onWritten)
  }
}
