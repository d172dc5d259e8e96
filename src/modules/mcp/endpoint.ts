/**
 * The protocol over HTTP (Streamable HTTP): one message per POST. The response is JSON, or a stream of events if the call takes
 * long or reports progress. The steps, in order:
 *
 *   allowed hosts → caller → message → revision → headers → method → response
 *
 * In revision 2026-07-28, headers repeat parts of the body, so that proxies can read them. A message whose headers differ from its
 * body is rejected. In older revisions a client cancels with a separate message, and identifies its calls by the session id that
 * `initialize` returned. The server stores nothing for it. Source: the specification of 2026-07-28, Streamable HTTP.
 */
import { randomUUID } from 'node:crypto'
import {
  HttpError,
  type HttpRequest,
  PublicUrl,
  clip,
  Controller,
  createDecorator,
  currentRequest,
  Doc,
  events,
  Get,
  NoAuth,
  Post,
  reply,
  type ModuleOptions,
  type Reply,
  type RequestAuth,
} from '../../index.js'
import { isLoopback, type McpOptions } from './options.js'
import type { MessageSender } from './calls.js'
import {
  MessageStream,
  sessionHeader,
  CancellableCalls,
  type CancellableCall,
} from './long-calls.js'
import {
  andThen,
  respond,
  codes,
  idOf,
  isModernMessage,
  metaNames,
  notification,
  openExchange,
  ProtocolError,
  readMessage,
  errorResponse,
  type ProtocolResponse,
  type MaybePromise,
  type JsonObject,
  type Message,
  type Transport,
} from './protocol.js'
import { McpServer } from './server.js'

/**
 * Rejects DNS rebinding: a page of another site can make a browser send requests here under that site's name. `Host` and `Origin` must
 * be the public URL, one of `hosts`, or, for requests from this machine, a loopback name with the same port.
 */
class AllowedHosts {
  readonly #publicUrl: PublicUrl
  /** Names with a port, and names that are allowed with every port. */
  readonly #hosts: ReadonlySet<string>

  /** Cached for the current public URL, because the port may be known only after the start. */
  #publicHosts: { readonly href: string; readonly hosts: readonly string[] } | undefined

  constructor(publicUrl: PublicUrl, hosts: readonly string[]) {
    this.#publicUrl = publicUrl
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()))
  }

  /** @throws {HttpError} 403 for another host name, or for a page of another origin */
  check(request: HttpRequest): void {
    const { host = '', origin } = request.incoming.headers
    const isLocal = this.#isLocal(request, host)
    if (!isLocal && !this.#isAllowed(host)) throw forbiddenHost('Host', host)
    if (origin === undefined) return
    const originHost = hostOf(origin)
    if (
      originHost === undefined ||
      !(this.#isAllowed(originHost) || (isLocal && isSameLocalPort(originHost, host)))
    )
      throw forbiddenHost('Origin', origin)
  }

  /** A request from this machine to a loopback name. */
  #isLocal({ incoming }: HttpRequest, host: string): boolean {
    return isLoopbackAddress(incoming.socket.remoteAddress ?? '') && isLoopback(nameOf(host))
  }

  #isAllowed(host: string): boolean {
    const requestedHost = host.toLowerCase()
    if (this.#hosts.has(requestedHost) || this.#hosts.has(nameOf(requestedHost))) return true
    const { href } = this.#publicUrl
    if (this.#publicHosts?.href !== href) this.#publicHosts = { href, hosts: hostsOf(href) }
    return this.#publicHosts.hosts.includes(requestedHost)
  }
}

/** Browsers omit the default port; other clients may send it. */
function hostsOf(href: string): string[] {
  const { host, protocol } = new URL(href)
  return [host, `${host}:${protocol === 'https:' ? 443 : 80}`]
}

/** `desk.example:8080` → `desk.example`. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '')
}

/** A page on another local port belongs to another application. */
function isSameLocalPort(origin: string, host: string): boolean {
  return isLoopback(nameOf(origin)) && portOf(origin) === portOf(host)
}

function portOf(host: string): string {
  return /:(\d+)$/.exec(host)?.[1] ?? ''
}

function hostOf(origin: string): string | undefined {
  if (!/^https?:\/\/[^/?#@]+$/i.test(origin) || !URL.canParse(origin)) return undefined
  return new URL(origin).host
}

function isLoopbackAddress(address: string): boolean {
  return /^(?:::ffff:)?127\.|^::1$/.test(address)
}

function forbiddenHost(header: string, value: string): HttpError {
  return new HttpError(403, 'Forbidden', {
    reason: `${header} ${JSON.stringify(clip(value))} is neither the public address nor one of mcp's hosts`,
  })
}

type ControllerClass = NonNullable<ModuleOptions['controllers']>[number]

const json = 'application/json'

/** The controller of the protocol, and of the document that tells agents where to get a token. */
export function endpoint(options: McpOptions): ControllerClass {
  const { path = '/mcp', hosts = [], authorizationServers = [], limit } = options
  const metadataPath = `/.well-known/oauth-protected-resource${path}`

  /** Runs before all other interceptors, so that a page of another origin reaches nothing. */
  const CheckAllowedHosts = createDecorator('CheckAllowedHosts', () => ({
    before: 'gate' as const,
    inject: [PublicUrl],
    enter: (_route: unknown, publicUrl: PublicUrl) => {
      const allowedHosts = new AllowedHosts(publicUrl, hosts)
      return (request: HttpRequest): void => {
        allowedHosts.check(request)
      }
    },
  }))

  @Controller()
  @NoAuth
  @CheckAllowedHosts
  class McpController {
    static readonly inject = [McpServer, PublicUrl]
    private readonly cancellableCalls = new CancellableCalls()

    constructor(
      private readonly server: McpServer,
      private readonly publicUrl: PublicUrl,
    ) {}

    @Post(path, { args: ['body'], body: Object, ...(limit !== undefined && { limit }) })
    @Doc({ summary: 'Messages of the Model Context Protocol', tags: ['agents'] })
    take(body: unknown): MaybePromise<Reply> {
      // As an argument, the request would start a session, which agents do not use.
      const request = currentRequest()
      if (request === undefined) throw new Error('mcp: this route was called outside a request.')
      return andThen(this.server.callerOf(request), (auth) => this.handle(body, request, auth))
    }

    @Get(metadataPath)
    @Doc({ summary: 'Where tokens for agents come from (RFC 9728)', tags: ['agents'] })
    metadata(): JsonObject {
      return {
        resource: this.publicUrl.to(path),
        ...(authorizationServers.length > 0 && { authorization_servers: authorizationServers }),
        bearer_methods_supported: ['header'],
      }
    }

    private handle(
      body: unknown,
      request: HttpRequest,
      auth: RequestAuth | undefined | 'bad',
    ): MaybePromise<Reply> {
      if (auth === 'bad') throw this.unauthorized(true)
      if (auth === undefined && !this.server.isOpen) throw this.unauthorized(false)
      checkContentType(request)
      try {
        return this.respondTo(readMessage(body), request, auth)
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error
        return this.toReply(errorResponse(error, idOf(body)), auth !== undefined)
      }
    }

    private respondTo(
      message: Message,
      request: HttpRequest,
      auth: RequestAuth | undefined,
    ): MaybePromise<Reply> {
      const revision = headerOf(request, 'mcp-protocol-version')
      const isModern = isModernMessage(message, revision)
      if (message.id === undefined) {
        this.cancellableCalls.cancel(message, request)
        return reply(null, 202)
      }
      if (isModern) checkHeaders(request, message, revision)
      const cancellable = isModern ? undefined : this.cancellableCalls.start(message.id, request)
      const caller = { request, auth, cancelled: cancellable?.signal }
      const transport = new HttpTransport(caller, revision)
      const result = respond(this.server.definition, message, openExchange(message, transport))
      const startsSession = message.method === 'initialize' && !isModern
      return replyOrStream(endAfter(result, cancellable), transport, (response) => {
        if (response === undefined) return reply(null, 202)
        const httpReply = this.toReply(response, auth !== undefined)
        return startsSession && response.status === 200
          ? httpReply.header(sessionHeader, randomUUID())
          : httpReply
      })
    }

    private toReply({ text, status }: ProtocolResponse, hasToken: boolean): Reply {
      const httpReply = reply(text, status).type(json)
      return status === 401
        ? httpReply.header('WWW-Authenticate', this.challenge(hasToken))
        : httpReply
    }

    private unauthorized(isBad: boolean): HttpError {
      return new HttpError(401, 'Unauthorized', {
        headers: { 'WWW-Authenticate': this.challenge(isBad) },
        reason: isBad ? 'mcp: the token was refused' : 'mcp: nothing is available without a token',
      })
    }

    /** Tells the client where to get a token (RFC 9728 §5.1). */
    private challenge(isBad: boolean): string {
      const where = `resource_metadata="${this.publicUrl.to(metadataPath)}"`
      return isBad ? `Bearer error="invalid_token", ${where}` : `Bearer ${where}`
    }
  }
  return McpController
}

/** Clients of older revisions can cancel the call until it has ended. */
function endAfter<T>(
  result: MaybePromise<T>,
  cancellable: CancellableCall | undefined,
): MaybePromise<T> {
  if (cancellable === undefined) return result
  if (result instanceof Promise) return result.finally(cancellable.end)
  cancellable.end()
  return result
}

/** Replies at once if the response is ready soon and no message is sent before it. Otherwise it replies with a stream of events. */
function replyOrStream(
  pending: MaybePromise<ProtocolResponse | undefined>,
  transport: HttpTransport,
  toReply: (response: ProtocolResponse | undefined) => Reply,
): MaybePromise<Reply> {
  const isReady = !(pending instanceof Promise) && transport.stream === undefined
  if (isReady || !acceptsEvents(transport.context.request)) return andThen(pending, toReply)
  const stream = (transport.stream ??= new MessageStream())
  const response = Promise.resolve(pending)
  return stream
    .waitForResponse(response)
    .then((early) =>
      early === undefined
        ? events(stream.items(response)).header('X-Accel-Buffering', 'no')
        : toReply(early),
    )
}

/** The transport of a message that came by HTTP. */
class HttpTransport implements Transport<MessageSender> {
  readonly context: MessageSender
  readonly revision: string | undefined
  /** Set once a message must be sent before the response. */
  stream: MessageStream | undefined

  constructor(context: MessageSender, revision: string | undefined) {
    this.context = context
    this.revision = revision
  }

  /** Aborts when the client leaves or cancels. */
  get signal(): AbortSignal {
    const { request, cancelled } = this.context
    return cancelled === undefined ? request.signal : AbortSignal.any([cancelled, request.signal])
  }

  notify(method: string, params: JsonObject): void {
    if (!acceptsEvents(this.context.request)) return
    this.stream ??= new MessageStream()
    this.stream.send(notification(method, params))
  }
}

/** @throws {HttpError} 415, because a page of any site could send a form */
function checkContentType(request: HttpRequest): void {
  if (!/^application\/json\b/i.test(headerOf(request, 'content-type') ?? ''))
    throw new HttpError(415, `Send ${json}.`, { headers: { accept: json } })
}

function headerOf({ incoming }: HttpRequest, name: string): string | undefined {
  const value = incoming.headers[name]
  return typeof value === 'string' ? value : undefined
}

function acceptsEvents(request: HttpRequest): boolean {
  return headerOf(request, 'accept')?.includes('text/event-stream') === true
}

/** The parameter that `Mcp-Name` repeats. */
const nameMembers: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

/** @throws {ProtocolError} a header is missing, or differs from the body */
function checkHeaders(
  request: HttpRequest,
  { method, params, meta }: Message,
  revision: string | undefined,
): void {
  const bodyRevision = meta?.[metaNames.revision]
  if (revision === undefined) throw headerMismatch('MCP-Protocol-Version is missing')
  if (typeof bodyRevision === 'string' && bodyRevision !== revision)
    throw headerMismatch(`MCP-Protocol-Version '${clip(revision)}' differs from the body`)
  // Errors in the body itself are reported by a later step.
  if (bodyRevision === undefined) return
  const methodHeader = headerOf(request, 'mcp-method')
  if (methodHeader !== method)
    throw headerMismatch(`Mcp-Method '${clip(methodHeader ?? '')}' differs from the body`)
  const member = nameMembers.get(method)
  if (member === undefined) return
  const name = decodeName(headerOf(request, 'mcp-name'))
  const expectedName = params[member]
  if (name === undefined || name !== expectedName)
    throw headerMismatch(`Mcp-Name '${clip(name ?? '')}' differs from the body`)
}

const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

/** Decodes a header value that is not plain ASCII and was sent as Base64. */
function decodeName(header: string | undefined): string | undefined {
  const inside = header === undefined ? null : encoded.exec(header)
  return inside === null ? header : Buffer.from(inside[1] ?? '', 'base64').toString('utf8')
}

function headerMismatch(problem: string): ProtocolError {
  return new ProtocolError(codes.headers, `Header mismatch: ${problem}`, { status: 400 })
}
