/**
 * The protocol over HTTP (Streamable HTTP): one message a POST, answered by JSON or, where it takes long or tells its progress, by a stream
 * of events that ends with the answer. Its steps, in order:
 *
 *   addresses → caller → message → revision → headers → method → answer
 *
 * Revision 2026-07-28 repeats in headers what stands in the body, for those between; where they differ nobody is believed. In older
 * revisions a client cancels by a message of its own: it names its calls by the label that `initialize` has given it, which stands for nothing
 * here. Source: decisions, "Third storey: admin and agents", Codes; the specification of 2026-07-28, Streamable HTTP.
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
import type { Caller } from './calls.js'
import { Conversation, label, RunningCalls, type Running } from './long-calls.js'
import {
  after,
  answer,
  codes,
  idOf,
  isModernMessage,
  metaNames,
  notification,
  openExchange,
  ProtocolError,
  readMessage,
  refusal,
  type Answered,
  type Later,
  type Members,
  type Message,
  type Transport,
} from './protocol.js'
import { McpServer } from './server.js'

/**
 * Which addresses the endpoint answers at. A page elsewhere can make a browser send requests to it under a name of its own
 * (DNS rebinding): `Host` says that name, `Origin` where the page came from. Both have to be the public address, one of `hosts`, or
 * this machine at the same port, where the request comes from this machine. Source: decisions, "Third storey: admin and agents".
 */

class Addresses {
  readonly #publicUrl: PublicUrl
  /** Names with a port, and those for every port. */
  readonly #hosts: ReadonlySet<string>

  /** The port may be known later than this. */
  #own: { readonly href: string; readonly hosts: readonly string[] } | undefined

  constructor(publicUrl: PublicUrl, hosts: readonly string[]) {
    this.#publicUrl = publicUrl
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()))
  }

  /** @throws {HttpError} 403 where the request came under another name, or from a page of another place */
  admit(request: HttpRequest): void {
    const { host = '', origin } = request.incoming.headers
    const isHere = this.#isLocal(request, host)
    if (!isHere && !this.#isOurs(host)) throw foreign('Host', host)
    if (origin === undefined) return
    const from = hostOf(origin)
    if (from === undefined || !(this.#isOurs(from) || (isHere && isSamePlace(from, host))))
      throw foreign('Origin', origin)
  }

  /** By a name of this machine, from this machine. */
  #isLocal({ incoming }: HttpRequest, host: string): boolean {
    return isLoopbackAddress(incoming.socket.remoteAddress ?? '') && isLoopback(nameOf(host))
  }

  #isOurs(host: string): boolean {
    const asked = host.toLowerCase()
    if (this.#hosts.has(asked) || this.#hosts.has(nameOf(asked))) return true
    const { href } = this.#publicUrl
    if (this.#own?.href !== href) this.#own = { href, hosts: hostsOf(href) }
    return this.#own.hosts.includes(asked)
  }
}

/** Browsers leave out the usual port, other clients may say it. */
function hostsOf(href: string): string[] {
  const { host, protocol } = new URL(href)
  return [host, `${host}:${protocol === 'https:' ? 443 : 80}`]
}

/** `desk.example:8080` → `desk.example`. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '')
}

/** A page of this machine at another port is of another application. */
function isSamePlace(origin: string, host: string): boolean {
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

function foreign(header: string, value: string): HttpError {
  return new HttpError(403, 'Forbidden', {
    reason: `${header} ${JSON.stringify(value)} is neither the public address nor one of mcp's hosts`,
  })
}

type ControllerClass = NonNullable<ModuleOptions['controllers']>[number]

const json = 'application/json'
export function endpoint(options: McpOptions): ControllerClass {
  const { path = '/mcp', hosts = [], authorizationServers = [], limit } = options
  const metadataPath = `/.well-known/oauth-protected-resource${path}`

  /** Before anything else of the route, so that nothing runs for a page of another place. */
  const OwnAddresses = createDecorator('OwnAddresses', () => ({
    before: 'gate' as const,
    inject: [PublicUrl],
    enter: (_route: unknown, publicUrl: PublicUrl) => {
      const addresses = new Addresses(publicUrl, hosts)
      return (request: HttpRequest): void => {
        addresses.admit(request)
      }
    },
  }))

  @Controller()
  @NoAuth
  @OwnAddresses
  class McpController {
    static readonly inject = [McpServer, PublicUrl]
    private readonly running = new RunningCalls()

    constructor(
      private readonly server: McpServer,
      private readonly publicUrl: PublicUrl,
    ) {}

    @Post(path, { args: ['body'], body: Object, ...(limit !== undefined && { limit }) })
    @Doc({ summary: 'Messages of the Model Context Protocol', tags: ['agents'] })
    take(body: unknown): Later<Reply> {
      // Named among the arguments it would bring a session, which no agent has.
      const request = currentRequest()
      if (request === undefined) throw new Error('mcp: there is no request.')
      return after(this.server.callerOf(request), (auth) => this.heed(body, request, auth))
    }

    @Get(metadataPath)
    @Doc({ summary: 'Where tokens for agents come from (RFC 9728)', tags: ['agents'] })
    metadata(): Members {
      return {
        resource: this.publicUrl.to(path),
        ...(authorizationServers.length > 0 && { authorization_servers: authorizationServers }),
        bearer_methods_supported: ['header'],
      }
    }

    private heed(
      body: unknown,
      request: HttpRequest,
      auth: RequestAuth | undefined | 'bad',
    ): Later<Reply> {
      if (auth === 'bad') throw this.unauthorized(true)
      if (auth === undefined && !this.server.isOpen) throw this.unauthorized(false)
      refuseOtherMedia(request)
      try {
        return this.answer(readMessage(body), request, auth)
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error
        return this.toReply(refusal(error, idOf(body)), auth !== undefined)
      }
    }

    private answer(
      message: Message,
      request: HttpRequest,
      auth: RequestAuth | undefined,
    ): Later<Reply> {
      const revision = headerOf(request, 'mcp-protocol-version')
      const isModern = isModernMessage(message, revision)
      if (message.id === undefined) {
        this.running.cancelled(message, request)
        return reply(null, 202)
      }
      if (isModern) checkHeaders(request, message, revision)
      const own = isModern ? undefined : this.running.begin(message.id, request)
      const caller = { request, auth, cancelled: own?.cancelled }
      const transport = new HttpTransport(caller, revision)
      const answering = answer(this.server.offer, message, openExchange(message, transport))
      const running = endingWith(answering, own)
      const finish = (given: Answered | undefined): Reply => {
        if (given === undefined) return reply(null, 202)
        const told = this.toReply(given, auth !== undefined)
        const isGreeted = message.method === 'initialize' && !isModern && given.status === 200
        return isGreeted ? told.header(label, randomUUID()) : told
      }
      const isThere = !(running instanceof Promise) && transport.conversation === undefined
      if (isThere || !takesEvents(request)) return after(running, finish)
      const talk = (transport.conversation ??= new Conversation())
      const whole = Promise.resolve(running)
      return talk
        .first(whole)
        .then((given) =>
          given === undefined
            ? events(talk.items(whole)).header('X-Accel-Buffering', 'no')
            : finish(given),
        )
    }

    private toReply({ text, status }: Answered, hasToken: boolean): Reply {
      const told = reply(text, status).type(json)
      return status === 401 ? told.header('WWW-Authenticate', this.challenge(hasToken)) : told
    }

    private unauthorized(isBad: boolean): HttpError {
      return new HttpError(401, 'Unauthorized', {
        headers: { 'WWW-Authenticate': this.challenge(isBad) },
        reason: isBad ? 'mcp: the token was refused' : 'mcp: nothing is open without a token',
      })
    }

    /** Where a client learns how to get a token (RFC 9728 §5.1). */
    private challenge(isBad: boolean): string {
      const where = `resource_metadata="${this.publicUrl.to(metadataPath)}"`
      return isBad ? `Bearer error="invalid_token", ${where}` : `Bearer ${where}`
    }
  }
  return McpController
}

/** An older client can cancel it until there is an answer. */
function endingWith<T>(answering: Later<T>, own: Running | undefined): Later<T> {
  if (own === undefined) return answering
  if (answering instanceof Promise) return answering.finally(own.end)
  own.end()
  return answering
}

/** What an HTTP request knows of its message. */
class HttpTransport implements Transport<Caller> {
  readonly context: Caller
  readonly revision: string | undefined
  /** Where something is said ahead of the answer. */
  conversation: Conversation | undefined

  constructor(context: Caller, revision: string | undefined) {
    this.context = context
    this.revision = revision
  }

  /** Aborts when the client leaves or cancels. */
  get signal(): AbortSignal {
    const { request, cancelled } = this.context
    return cancelled === undefined ? request.signal : AbortSignal.any([cancelled, request.signal])
  }

  notify(method: string, params: Members): void {
    if (!takesEvents(this.context.request)) return
    this.conversation ??= new Conversation()
    this.conversation.say(notification(method, params))
  }
}

/** @throws {HttpError} 415: a form would come from any page */
function refuseOtherMedia(request: HttpRequest): void {
  if (!/^application\/json\b/i.test(headerOf(request, 'content-type') ?? ''))
    throw new HttpError(415, `Send ${json}.`, { headers: { accept: json } })
}

function headerOf({ incoming }: HttpRequest, name: string): string | undefined {
  const value = incoming.headers[name]
  return typeof value === 'string' ? value : undefined
}

function takesEvents(request: HttpRequest): boolean {
  return headerOf(request, 'accept')?.includes('text/event-stream') === true
}

/** Which member of the parameters `Mcp-Name` repeats. */
const named: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

/** @throws {ProtocolError} where a header is missing, or says something else than the message */
function checkHeaders(
  request: HttpRequest,
  { method, params, meta }: Message,
  revision: string | undefined,
): void {
  const said = meta?.[metaNames.revision]
  if (revision === undefined) throw mismatch('MCP-Protocol-Version is missing')
  if (typeof said === 'string' && said !== revision)
    throw mismatch(`MCP-Protocol-Version '${clip(revision)}' is not that of the body`)
  // What is wrong with the body itself is told first.
  if (said === undefined) return
  const ofMethod = headerOf(request, 'mcp-method')
  if (ofMethod !== method)
    throw mismatch(`Mcp-Method '${clip(ofMethod ?? '')}' is not that of the body`)
  const member = named.get(method)
  if (member === undefined) return
  const name = decodeName(headerOf(request, 'mcp-name'))
  const wanted = params[member]
  if (name === undefined || name !== wanted)
    throw mismatch(`Mcp-Name '${clip(name ?? '')}' is not that of the body`)
}

const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

/** What is not plain ASCII comes as Base64 between marks. */
function decodeName(header: string | undefined): string | undefined {
  const inside = header === undefined ? null : encoded.exec(header)
  return inside === null ? header : Buffer.from(inside[1] ?? '', 'base64').toString('utf8')
}

function mismatch(what: string): ProtocolError {
  return new ProtocolError(codes.headers, `Header mismatch: ${what}`, { status: 400 })
}
