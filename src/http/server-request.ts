/** The request with its internal state, which the steps of its route use. Source: specification, Request object. */
import { randomFillSync } from 'node:crypto'
import type { RouteInfo } from '../routing/route.js'
import { addressKey } from '../core/address-counts.js'
import { readsIdentity, readsSent, watchHeaders } from './caller-access.js'
import { clientAddress, readAddress, readForwarded } from './client-address.js'
import { CookieNames, readCookies } from './cookies.js'
import type { Cors } from './cors.js'
import type { End, Ending } from './ending.js'
import { toTextHeaders, type Incoming, type Outgoing } from './node-messages.js'
import type { Log } from '../core/log.js'
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
import type { RotationHeader } from './route-response.js'
import { toOriginForm, readPath } from './request-path.js'
import { readQuery, type TextValues } from './query-string.js'
import { onCookie } from './cache-headers.js'
import { checkHeader } from './header-checks.js'
import { HeaderList } from './header-list.js'
import type { RequestObservers } from './request-observers.js'
import { closingRefusal, timeoutRefusal } from './refusals.js'

/**
 * The number of UUIDs that are generated together, and the length of one. A single UUID costs as much as the head of
 * its response.
 */
const [batch, length] = [128, 36]

const random = Buffer.allocUnsafeSlow(16 * batch)
const letters = Buffer.allocUnsafeSlow(length * batch)
const digits = Buffer.from('0123456789abcdef', 'latin1')
const dash = 0x2d

let texts = ''
let next = batch

/** @returns a UUID of version 4 (RFC 9562 §5.4) */
function newRequestId(): string {
  if (next === batch) {
    texts = writeBatch()
    next = 0
  }
  const at = length * next++
  return texts.slice(at, at + length)
}

function writeBatch(): string {
  randomFillSync(random)
  let at = 0
  for (let index = 0; index < random.length; index++) {
    const byteIndex = index % 16
    let byte = random[index] ?? 0
    if (byteIndex === 6) byte = (byte & 0x0f) | 0x40
    else if (byteIndex === 8) byte = (byte & 0x3f) | 0x80
    if (byteIndex === 4 || byteIndex === 6 || byteIndex === 8 || byteIndex === 10)
      letters[at++] = dash
    letters[at++] = digits[byte >> 4] ?? 0
    letters[at++] = digits[byte & 15] ?? 0
  }
  return letters.toString('latin1', 0, at)
}

/** The settings of the application for all its requests. */
export interface RequestSettings {
  /** Whether to trust `X-Forwarded-For` and `X-Forwarded-Proto`, or the number of proxies to trust. Default false. */
  readonly trustProxy: boolean | number
  /** The log of `request.log`. Default: none. */
  readonly log?: Log
  /** The prefix of all paths, such as `/api`. Default none. */
  readonly basePath?: string
  /** The maximum bytes of the rows that one read of a client returns. Default: no limit. */
  readonly maxReadBytes?: number
  /** Whether fresh tokens of replies are set as a cookie too. Default false. */
  readonly tokenCookie?: boolean
  /** Default: the names without a suffix. */
  readonly cookieNames?: CookieNames
  /** Decides whether pages of another origin may send cookies. Default: they may not. */
  readonly cors?: Pick<Cors, 'allowsCredentials'>
  /** The public scheme, host and port, if configured. Default: as in the request. */
  readonly publicOrigin?: string | undefined
  /** Milliseconds since 1970, for rules that depend on the time. Default: the system clock. */
  readonly now?: () => number
  /** Aborts the signals of requests when the application closes. Default: they are not aborted. */
  readonly ending?: Ending
}

/** The response header with the request's id, sent if the id was read. */
export const requestIdHeader = 'X-Request-Id'

const noBytes = Buffer.alloc(0)
const plainCookieNames = new CookieNames()

const noSession =
  'request.session is not open on this route. Name `session` or `request` among the arguments of the handler.'

/** A write to the database that waits or runs. */
export interface PendingWrite {
  stop(): void
}

/**
 * `form`: texts, which are converted. `upload`: a form with files, which has its own time limit. `plain`: any other body.
 */
export type BodyForm = 'plain' | 'form' | 'upload'

/** Milliseconds since 1970 by the clock of the request's application; without a request by the system's clock. */
export function timestampOf(request: HttpRequest | undefined): number {
  return request instanceof ServerRequest ? request.now() : Date.now()
}

const warned = new WeakSet<RequestSettings>()

/** Warns once for each application, because its proxy sends the same with every request. */
function warnOfAddress(settings: RequestSettings, entry: string): void {
  if (warned.has(settings)) return
  warned.add(settings)
  settings.log?.warn(
    { entry: entry.slice(0, 100) },
    'The proxy forwards a client that is not an address, so request.ip is the address of the proxy. Limits by address count all such clients together. Logged once.',
  )
}

/** A stream in the result of a handler or an interceptor. */
export interface ReturnedStream {
  readonly body: object
  /** Runs work in the asynchronous context in which the stream was returned. */
  readonly runInContext: (work: () => void) => void
}

/**
 * What happens with a request: its steps and its handler run, then the steps after the handler, then it has its
 * response, complete or as a stream. A request whose time is over passes through the same phases.
 */
export type RequestPhase = 'handling' | 'finishing' | 'answered' | 'streaming'

export class ServerRequest implements HttpRequest {
  /** Set by the dispatcher. */
  route: RouteInfo | undefined = undefined
  /** Upper case. `HEAD` for a HEAD request, although a GET route serves it. */
  readonly method: string
  /** The request target as sent, with the query. */
  readonly url: string
  /** `url` without the query, as sent. The router reads its segments. */
  readonly sentPath: string
  /** Values of the path's parameters, in the order of the pattern. */
  readonly pathValues: PathValue[] = []
  /** The parsed body; `undefined` if there is none or the route reads none. */
  body: unknown = undefined
  /** The body before it was checked; `undefined` without a check. */
  sentBody: unknown = undefined
  /** The bytes of the body, stored if the handler has the argument `rawBody`. */
  rawBody: Buffer = noBytes
  /** The header with the caller's next token, once rotation has added it. */
  rotation: RotationHeader | undefined = undefined
  /** True once the body is being read, so that it is not read twice. */
  bodyRead = false
  /** How it is read, determined by its media type when reading begins. */
  bodyForm: BodyForm = 'plain'
  /** Milliseconds within which the body must arrive; set while the request waits for it. */
  bodyTime: number | undefined = undefined
  files: UploadedFiles = {}
  /** The `formToken` that was removed from the body. It is a credential only if the application treats it as one. */
  formToken: string | undefined = undefined
  /** The authentication of the caller, for the framework, without tracking. */
  admitted: RequestAuth | undefined = undefined
  /**
   * The time until which the caller is admitted: the token expires, or the sign-in becomes too old for the route.
   * Milliseconds since 1970.
   */
  admittedUntil = Infinity
  /** The tracked caller access: bits of `caller-access.ts`. */
  callerReads = 0
  /** Whether access is tracked, including headers. */
  isWatched = false
  /** Whether the token came in the cookie, so that the next one is set there too. */
  byCookie = false
  /** The request headers that the response depends on: bits of `cache-headers.ts`. */
  dependsOn = 0
  /** The request within which a module created this one. */
  parentRequest: HttpRequest | undefined = undefined
  /** Names of the route's path parameters; set by the router. */
  pathNames: readonly string[] = []
  /** Collected response headers, which are sent with any response. */
  responseHeaders: HeaderList | undefined = undefined
  /** True after JSON that depends on the caller was written for it. */
  jsonDependsOnCaller = false
  /** True after the request exceeded its route's time. Nothing may be written for it any more. */
  isTimedOut = false
  /** The error of a 5xx response, if there is one. */
  failure: unknown = undefined
  /** Streams in results of handlers and interceptors. Streams that are not sent are released. */
  returnedStreams: ReturnedStream[] | undefined = undefined
  /** Functions that run after the response was sent or the client has disconnected. */
  cleanups: (() => void)[] | undefined = undefined
  /** Values of `requestValue`. */
  values: StoredValue | undefined = undefined
  /** The runner of its database for reads. */
  reads: object | undefined = undefined

  /** Node's request, or a fake request. */
  readonly incoming: Incoming
  /** Node's response, or a fake response. Handlers return their result; only the framework writes to this object. */
  readonly outgoing: Outgoing

  readonly #settings: RequestSettings
  #query: TextValues | undefined
  #cookies: Record<string, string> | undefined
  #headers: Readonly<Record<string, string>> | undefined
  #watchedHeaders: Readonly<Record<string, string>> | undefined
  #params: Record<string, PathValue> | undefined
  #id: string | undefined
  #session: Session | undefined
  /** Creates the session when it is first used. Set on routes with sessions, for a visitor without a cookie. */
  createSession: (() => Session) | undefined = undefined
  #log: ChildLog | undefined
  sentBytes = 0
  /** The start time by the monotonic clock, and the observers of its end; set if there are observers. */
  startTime = 0
  observers: RequestObservers | undefined = undefined
  #phase: RequestPhase = 'handling'
  #isKnownVisitor = false
  #isSessionRead = false
  #abort: AbortController | undefined
  /** Writes that wait or run. */
  #writes: Set<PendingWrite> | undefined
  #onWritten: ((isDone: boolean) => void) | undefined
  #isWritten = false

  constructor(incoming: Incoming, outgoing: Outgoing, settings: RequestSettings) {
    this.incoming = incoming
    this.outgoing = outgoing
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
      for (const [index, name] of this.pathNames.entries()) {
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

  /** Claims of the verified token; null for the static key and on routes without a gate. */
  get user(): Claims | null {
    this.callerReads |= readsIdentity
    return this.admitted?.claims ?? null
  }

  get auth(): RequestAuth | undefined {
    this.callerReads |= readsIdentity
    return this.admitted
  }

  /** Headers by lower-case name; values that came more than once are joined with commas. Frozen. */
  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= Object.freeze(toTextHeaders(this.incoming))
    if (!this.isWatched) return this.#headers
    return (this.#watchedHeaders ??= watchHeaders(this.#headers, () => {
      this.callerReads |= readsSent
    }))
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
    const remote = this.incoming.socket.remoteAddress
    const forwarded = this.#forwarded('for')
    if (forwarded === undefined) return clientAddress(remote)
    const address = readAddress(forwarded)
    if (address === undefined) warnOfAddress(this.#settings, forwarded)
    return clientAddress(address ?? remote)
  }

  /** The name of the client: its user if the token was verified, otherwise its address. Without tracking. */
  get client(): string {
    const sub = this.admitted?.claims?.sub
    return sub === undefined ? `address ${addressKey(this.ip)}` : `user ${sub}`
  }

  /** The maximum bytes of the rows that one read of the database may return for this request. */
  get maxReadBytes(): number | undefined {
    return this.#settings.maxReadBytes
  }

  /** True over https, also behind a trusted proxy that reports it. */
  get secure(): boolean {
    return this.incoming.socket.encrypted === true || this.#forwarded('proto') === 'https'
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
      const requestedId = this.incoming.headers['x-request-id']
      this.#id =
        typeof requestedId === 'string' && /^[\w.:@-]{1,128}$/.test(requestedId)
          ? requestedId
          : newRequestId()
      // The value is valid for a header.
      this.#collected.add(requestIdHeader, this.#id)
    }
    return this.#id
  }

  get #collected(): HeaderList {
    return (this.responseHeaders ??= new HeaderList())
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
    if (this.#session === undefined) {
      if (this.createSession === undefined) throw new Error(noSession)
      this.#session = this.createSession()
    }
    this.dependsOn |= onCookie
    this.callerReads |= readsSent
    this.#isSessionRead = true
    return this.#session
  }

  /** The opened session, for saving it; undefined if none was opened, or if an empty one was never used. */
  get openedSession(): Session | undefined {
    return this.#session
  }

  /** @param isKnownVisitor whether the session existed already, so that a response that reads it is personal */
  openSession(session: Session, isKnownVisitor: boolean): void {
    this.#session = session
    this.#isKnownVisitor = isKnownVisitor
  }

  /** Whether an existing session was read. */
  get hasVisitor(): boolean {
    return this.#isKnownVisitor && this.#isSessionRead
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
    this.#abort ??= this.#createAbort()
    return this.#abort.signal
  }

  /**
   * Adds a header to any response to this request, including errors. A header of the response itself takes precedence.
   *
   * @throws {TypeError} if the name or the value cannot be sent
   */
  addHeader(name: string, value: string): void {
    checkHeader(name, value)
    this.#collected.add(name, value)
  }

  /** As `addHeader`, but replaces a header that was added by that name, unless it may repeat. */
  setHeader(name: string, value: string): void {
    checkHeader(name, value)
    this.#collected.set(name, value)
  }

  /** Runs `cleanup` once, after the response was sent or the connection was lost. It must not throw. */
  onFinished(cleanup: () => void): void {
    if (this.cleanups === undefined) {
      if (this.outgoing.destroyed) {
        cleanup()
        return
      }
      this.cleanups = []
      this.outgoing.once('close', () => {
        const cleanups = this.cleanups ?? []
        // Functions that are added from now on run immediately.
        this.cleanups = undefined
        for (const run of cleanups) run()
      })
    }
    this.cleanups.push(cleanup)
  }

  writeStarted(write: PendingWrite): void {
    this.#writes ??= new Set()
    this.#writes.add(write)
  }

  writeEnded(write: PendingWrite, isDone: boolean): void {
    if (this.#writes?.delete(write) !== true || this.#onWritten === undefined) return
    this.#isWritten ||= isDone
    if (this.#writes.size === 0) this.#onWritten(this.#isWritten)
  }

  /**
   * Stops its writes after the time-out.
   *
   * @param onWritten called when the outcome of running writes is known, possibly immediately, with whether anything
   * was written
   */
  stop(onWritten: (isDone: boolean) => void): void {
    this.isTimedOut = true
    this.#abort?.abort(timeoutRefusal())
    for (const write of this.#writes ?? []) write.stop()
    if (this.#writes === undefined || this.#writes.size === 0) onWritten(false)
    else this.#onWritten = onWritten
  }

  #forwarded(field: 'for' | 'proto'): string | undefined {
    const { trustProxy } = this.#settings
    if (trustProxy === false || trustProxy === 0) return undefined
    return readForwarded(this.incoming.headers, field, trustProxy)
  }

  #createAbort(): AbortController {
    const abort = new AbortController()
    // The signal may be read after the reason for its abort.
    if (this.isTimedOut) {
      abort.abort(timeoutRefusal())
      return abort
    }
    if (this.outgoing.destroyed) {
      if (!this.outgoing.writableFinished) abort.abort()
      return abort
    }
    const { ending } = this.#settings
    const end: End = (all) => {
      if (!all && !this.outgoing.headersSent) return
      ending?.delete(end)
      abort.abort(closingRefusal())
    }
    this.outgoing.once('close', () => {
      ending?.delete(end)
      if (!this.outgoing.writableFinished) abort.abort()
    })
    ending?.add(end)
    return abort
  }
}
