/** The request with its internal state, which the steps of its route use. Source: specification, Request object. */

import { randomFillSync } from 'node:crypto'
import type { RouteInfo } from '../routing/route-info.js'
import { readsIdentity, readsSent, watchHeaders } from './caller-access.js'
import { clientAddress, readAddress, readForwarded } from './client-address.js'
import { readCookies } from './cookies.js'
import type { Cors } from './cors.js'
import type { End, Ending } from './ending.js'
import { toTextHeaders, type Incoming, type Outgoing } from './node-messages.js'
import type { Log } from '../core/log.js'
import { RequestLog, type ChildLog } from './request-log.js'
import { toOriginForm } from './head.js'
import { assertHeader, setHeader } from './header-list.js'
import { onCookie } from './cache-privacy.js'
import { readQuery, type TextValues } from './query.js'
import { readPath } from './request-path.js'
import type { RequestObservers } from './request-observers.js'
import type { StoredValue } from './request-value.js'
import { closingRefusal, timeoutRefusal } from './refusals.js'
import type {
  Claims,
  HttpRequest,
  PathValue,
  RequestAuth,
  Session,
  UploadedFiles,
} from './request.js'

/** Random UUIDs for requests, many at a time: one alone is made of twenty pieces, which costs as much as its answer's head. */

/** UUIDs that are made together, and letters of one. */
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

/** What the application decides for all its requests. */
export interface RequestSettings {
  /** Believe `X-Forwarded-For` and `X-Forwarded-Proto`. Default false. */
  readonly trustProxy: boolean | number
  /** Where `request.log` goes. Default: nowhere. */
  readonly log?: Log
  /** Before every path: `/api`, or nothing. Default nothing. */
  readonly basePath?: string
  /** Tokens that a handler hands out go into a cookie too. Default false. */
  readonly tokenCookie?: boolean
  /** Tells whether pages of another origin may send cookies. Default: they may not. */
  readonly cors?: Pick<Cors, 'allowsCredentials'>
  /** Scheme, name and port by which browsers come, where somebody has said it. Default: as the request looks. */
  readonly publicOrigin?: string | undefined
  /** Milliseconds since 1970, for rules that go by the time. Default the system's clock. */
  readonly now?: () => number
  /** Aborts the signals of requests when the application closes. Default: nothing does. */
  readonly ending?: Ending
}

/** Names the request in its answer, once somebody has read its id. */
export const requestIdHeader = 'X-Request-Id'

const noBytes = Buffer.alloc(0)

const noSession =
  'request.session is not open on this route. Name `session` or `request` among the arguments of the handler.'

/** A change that has begun, or waits; its end is told to `ended`. */
export interface UnderWay {
  stop(): void
}

/** A form brings texts, which are converted; an upload is a form with files, and has its own time. */
export type BodyForm = 'whole' | 'form' | 'upload'

/** Milliseconds since 1970 by the clock of the request's application; by the system's where there is no request. */
export function timestampOf(request: HttpRequest | undefined): number {
  return request instanceof ServerRequest ? request.now() : Date.now()
}

const warned = new WeakSet<RequestSettings>()

/** Once for each application: its proxy writes the same with every request. */
function warnOfAddress(settings: RequestSettings, entry: string): void {
  if (warned.has(settings)) return
  warned.add(settings)
  settings.log?.warn(
    { entry: entry.slice(0, 100) },
    'The proxy forwards a client that is not an address, so request.ip is the address of the proxy. Limits by address count all such clients together. Logged once.',
  )
}

export class ServerRequest implements HttpRequest {
  /** Set by the dispatcher. */
  route: RouteInfo | undefined = undefined
  /** Upper case; a HEAD request says `HEAD` though its GET route answers. */
  readonly method: string
  /** The request target as sent, with the query. */
  readonly url: string
  /** `url` without the query, as sent; the router reads it segment by segment. */
  readonly sentPath: string
  /** Values of the path's parameters, in the order of the pattern. */
  readonly pathValues: PathValue[] = []
  /** The parsed body, or `undefined` where there is none or the route reads none. */
  body: unknown = undefined
  /** The body before the check that made an instance of it; `undefined` where there was none. */
  sentBody: unknown = undefined
  /** The bytes of the body, kept where the handler names `rawBody`; empty where none came. */
  rawBody: Buffer = noBytes
  /** True once the body is being read, so that it is not read twice. */
  bodyRead = false
  /** How it is read, which its media type decides once, when the reading begins. */
  bodyForm: BodyForm = 'whole'
  /** Milliseconds in which the body has to arrive, while it is waited for. */
  bodyTime: number | undefined = undefined
  files: UploadedFiles = {}
  /** The `formToken` that was taken out of the body; no credential unless the application says so. */
  formToken: string | undefined = undefined
  /** How the caller was let in, for the framework: nobody notes that it is read. */
  admitted: RequestAuth | undefined = undefined
  /** Until when its caller is let in: the token runs out, or its sign-in is not recent enough for the route. Milliseconds since 1970. */
  admittedUntil = Infinity
  /** What was read of the caller: bits of `caller-reads.ts`. */
  callerReads = 0
  /** Somebody wants to know it: reading of the headers is noted too. */
  isWatched = false
  /** The token came in the cookie: the next one goes there too. */
  byCookie = false
  /** The headers that the answer depends on: bits of `private-answers.ts`. */
  dependsOn = 0
  /** The request within which this one was made. */
  parentRequest: HttpRequest | undefined = undefined
  /** Names of the route's path parameters; set by the router. */
  pathNames: readonly string[] = []
  /** Response headers collected on the way, names and values in turn; sent with whatever answers. */
  responseHeaders: string[] | undefined = undefined
  /** True once something has answered: whatever comes later is dropped. */
  answered = false
  /** Its answer stays true: the handler is asked again and again. */
  isLive = false
  /** True once its answer is a stream, which may go on reading for it. */
  streams = false
  /** True once the request exceeded its route's time: nothing is written for it any more. */
  isTimedOut = false
  /** What the answer's 5xx is for; undefined where there is none. */
  failure: unknown = undefined
  /** True once the steps after the handler have begun: they run only once. */
  finishing = false
  /** Streams that interceptors have seen: those that are not sent are let go. */
  flows: object[] | undefined = undefined
  /** Runs once the response is finished or the client is gone, whichever comes first. */
  cleanups: (() => void)[] | undefined = undefined
  /** What `requestValue` keeps with it. */
  values: StoredValue | undefined = undefined
  /** By what its database reads for it. */
  reads: object | undefined = undefined

  /** Node's request, or its stand-in. */
  readonly incoming: Incoming
  /** Node's response, or its stand-in. Handlers answer by returning; only the framework writes to it. */
  readonly outgoing: Outgoing

  readonly #settings: RequestSettings
  #query: TextValues | undefined
  #cookies: Record<string, string> | undefined
  #headers: Readonly<Record<string, string>> | undefined
  #watchedHeaders: Readonly<Record<string, string>> | undefined
  #params: Record<string, PathValue> | undefined
  #id: string | undefined
  #session: Session | undefined
  #log: ChildLog | undefined
  sentBytes = 0
  /** When it began, by the steady clock, and who wants to know of its end; set where there are observers. */
  startTime = 0
  observers: RequestObservers | undefined = undefined
  #isKnownVisitor = false
  #hasLooked = false
  #abort: AbortController | undefined
  /** Changes that have begun, or wait. */
  #writes: Set<UnderWay> | undefined
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

  /** What is before every path of the application; `''` where nothing is. */
  get basePath(): string {
    return this.#settings.basePath ?? ''
  }

  /** The path that the router decided by: `readPath`. */
  get path(): string {
    return readPath(this.sentPath, this.route?.path)
  }

  /** Nobody waits for what is still read for it. */
  get isOver(): boolean {
    return (this.answered && !this.streams) || this.outgoing.destroyed
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

  /** The query by name: text, or a list of texts where a key repeats. An object without a prototype. */
  get query(): TextValues {
    this.#query ??= readQuery(this.url.slice(this.sentPath.length + 1))
    return this.#query
  }

  /** The query as it came, whatever became of `query`. */
  get sentQuery(): TextValues {
    return readQuery(this.url.slice(this.sentPath.length + 1))
  }

  /** Set where the route declares a class: then it is an instance of it, checked and converted. */
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

  /** Replaces a header for everybody who reads it from now on: `filigree/compress` restores the tags of conditions. */
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

  /** The client's address, IPv4 in its own form; the first of `X-Forwarded-For` where the application trusts its proxy. */
  get ip(): string {
    const remote = this.incoming.socket.remoteAddress
    const forwarded = this.#forwarded('for')
    if (forwarded === undefined) return clientAddress(remote)
    const address = readAddress(forwarded)
    if (address === undefined) warnOfAddress(this.#settings, forwarded)
    return clientAddress(address ?? remote)
  }

  /** True over https, also behind a trusted proxy that says so. */
  get secure(): boolean {
    return this.incoming.socket.encrypted === true || this.#forwarded('proto') === 'https'
  }

  /** True where browsers come by https, so that our cookies are for it alone. */
  get cookieSecure(): boolean {
    return this.secure || this.#settings.publicOrigin?.startsWith('https:') === true
  }

  get publicOrigin(): string | undefined {
    return this.#settings.publicOrigin
  }

  /** Names the request in logs: a sane incoming `X-Request-Id`, else a new UUID. Sent back once it was read. */
  get id(): string {
    if (this.#id === undefined) {
      const requestedId = this.incoming.headers['x-request-id']
      this.#id =
        typeof requestedId === 'string' && /^[\w.:@-]{1,128}$/.test(requestedId)
          ? requestedId
          : newRequestId()
      // Known to be a sound value.
      ;(this.responseHeaders ??= []).push(requestIdHeader, this.#id)
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
    if (this.#session === undefined) throw new Error(noSession)
    this.dependsOn |= onCookie
    this.callerReads |= readsSent
    this.#hasLooked = true
    return this.#session
  }

  /** The session that was opened, for those who keep it; undefined on routes that have no use for one, and before the gate. */
  get openedSession(): Session | undefined {
    return this.#session
  }

  /** @param isKnownVisitor the visitor had one already: an answer that looks at it is for this visitor alone */
  openSession(session: Session, isKnownVisitor: boolean): void {
    this.#session = session
    this.#isKnownVisitor = isKnownVisitor
  }

  /** True once somebody has looked at the session of a visitor who has one. */
  get hasVisitor(): boolean {
    return this.#isKnownVisitor && this.#hasLooked
  }

  /** Milliseconds since 1970. */
  now(): number {
    return (this.#settings.now ?? Date.now)()
  }

  /** Tokens that a handler hands out go into a cookie too. */
  get setsTokenCookie(): boolean {
    return this.#settings.tokenCookie === true
  }

  /** CORS lets pages of its origin send cookies. */
  get allowsCredentials(): boolean {
    return this.#settings.cors?.allowsCredentials(this) === true
  }

  /** Aborted when the client goes away before the response is complete, and when the time of the route is over. */
  get signal(): AbortSignal {
    this.#abort ??= this.#createAbort()
    return this.#abort.signal
  }

  /**
   * Adds a header to whatever answers this request, errors included. One that the answer brings itself stays.
   *
   * @throws {TypeError} when the name or the value cannot be sent
   */
  addHeader(name: string, value: string): void {
    assertHeader(name, value)
    this.responseHeaders ??= []
    this.responseHeaders.push(name, value)
  }

  /** The same, in place of what was added by that name; names that may repeat are added. */
  setHeader(name: string, value: string): void {
    assertHeader(name, value)
    setHeader((this.responseHeaders ??= []), name, value)
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
        // What is added from now on runs immediately.
        this.cleanups = undefined
        for (const run of cleanups) run()
      })
    }
    this.cleanups.push(cleanup)
  }

  writeStarted(write: UnderWay): void {
    this.#writes ??= new Set()
    this.#writes.add(write)
  }

  writeEnded(write: UnderWay, isDone: boolean): void {
    if (this.#writes?.delete(write) !== true || this.#onWritten === undefined) return
    this.#isWritten ||= isDone
    if (this.#writes.size === 0) this.#onWritten(this.#isWritten)
  }

  /**
   * Its time is over: ends what it writes.
   *
   * @param onWritten called once it is known what became of what was under way, and whether something of it was done;
   * perhaps at once
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
    // Somebody may ask for the signal only after its reason to abort.
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
