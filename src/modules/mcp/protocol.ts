/**
 * The Model Context Protocol without a transport: from one JSON-RPC message to its answer. Nothing here knows of HTTP, of
 * standard input or of an application.
 *
 *   value (parsed JSON) → readMessage → Message → openExchange → Exchange → answer(offer, …) → Answered
 *
 * In goes a parsed value and what the transport knows (its context, a signal that aborts, a way to send notifications before the
 * answer). Out comes the JSON text of the answer with the status that HTTP gives it, or `undefined` for a notification. What is
 * offered is a table of methods (`Offer`), each a function from checked parameters to a result; `methods.ts` makes those of
 * tools, resources, prompts and completion.
 *
 * Two eras are spoken: revision 2026-07-28, where each request says its revision and its client's capabilities in `_meta`, and
 * those before it, which begin with `initialize`. No state is kept in either: what `initialize` agrees on is not needed again.
 * Source: decisions, "Third storey: admin and agents"; the specification of 2026-07-28, Overview, Versioning.
 */
import { clip } from '../../index.js'

const modernRevision = '2026-07-28'
/** Those that begin with `initialize`, the latest first. */
const olderRevisions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const supportedRevisions: readonly string[] = [modernRevision, ...olderRevisions]

const metaPrefix = 'io.modelcontextprotocol/'
export const metaNames = {
  revision: `${metaPrefix}protocolVersion`,
  client: `${metaPrefix}clientInfo`,
  capabilities: `${metaPrefix}clientCapabilities`,
  server: `${metaPrefix}serverInfo`,
} as const

/** JSON-RPC's codes and those of the protocol. */
export const codes = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  headers: -32020,
  capability: -32021,
  revision: -32022,
  /** Resources that are not there, in older revisions; later `params`. */
  resource: -32002,
} as const

/** Refuses a message: its answer has an `error` instead of a `result`. */
export class ProtocolError extends Error {
  readonly code: number
  readonly data: unknown
  /** What HTTP answers with. Default 200: the message was understood, and what it asks for refused. */
  readonly status: number

  constructor(
    code: number,
    message: string,
    { status = 200, data }: { status?: number; data?: unknown } = {},
  ) {
    super(message)
    this.code = code
    this.status = status
    this.data = data
  }
}

export type MessageId = string | number
export type JsonObject = Readonly<Record<string, unknown>>

/** A request, or a notification where it has no id. */
export interface Message {
  readonly id: MessageId | undefined
  readonly method: string
  readonly params: JsonObject
  /** `params._meta`; undefined where there is none. */
  readonly meta: JsonObject | undefined
}

/**
 * @throws {ProtocolError} with status 400 for batches, answers and whatever is no message. Its `id` is unknown then: `idOf`
 * finds what can be found
 */
export function readMessage(value: unknown): Message {
  if (Array.isArray(value))
    throw invalidRequest('Batches are not taken: send one message at a time')
  if (!isJsonObject(value)) throw invalidRequest('A message is an object')
  const { jsonrpc, method, params = {} } = value
  if (jsonrpc !== '2.0') throw invalidRequest('jsonrpc has to be "2.0"')
  if (typeof method !== 'string')
    throw invalidRequest(
      'A message names its method; answers are not taken, since nothing was asked',
    )
  if ('id' in value && idOf(value) === undefined)
    throw invalidRequest('An id is a text or a whole number')
  if (!isJsonObject(params)) throw invalidRequest('params is an object')
  const { _meta: meta } = params
  if (meta !== undefined && !isJsonObject(meta)) throw invalidParams('_meta is an object', 400)
  return { id: idOf(value), method, params, meta }
}

/** The id of what may be a request, for its answer. */
export function idOf(value: unknown): MessageId | undefined {
  if (!isJsonObject(value)) return undefined
  const { id } = value
  return typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? id : undefined
}

/** A message within its transport: what its method may know and do. */
export interface Exchange<Context> {
  readonly context: Context
  readonly revision: string
  /** The revision says its capabilities with each request, and takes rounds of questions. */
  readonly isModern: boolean
  /** What the client can do, `{ elicitation: {} }`; empty in older revisions, where it was said to nobody in particular. */
  readonly capabilities: JsonObject
  /** Where progress is told; undefined where nobody wants to hear. */
  readonly progressToken: MessageId | undefined
  /** Aborts when the client leaves or cancels; made when it is first read. */
  readonly signal: AbortSignal | undefined
  /** Sends a notification ahead of the answer. */
  notify(method: string, params: JsonObject): void
}

/** What a transport knows of a message. */
export interface Transport<Context> {
  readonly context: Context
  /** What the connection says: HTTP's header `MCP-Protocol-Version`. Default: nothing. */
  readonly revision?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Default: notifications are dropped. */
  notify?(method: string, params: JsonObject): void
}

/** True if the message is of the revision that has no `initialize`, or claims to be. */
export function isModernMessage({ meta }: Message, revision: string | undefined): boolean {
  if (meta !== undefined && Object.hasOwn(meta, metaNames.revision)) return true
  return revision !== undefined && !olderRevisions.includes(revision)
}

/**
 * @throws {ProtocolError} with status 400 where a request of the modern revision lacks what each of them says, or where
 * the revision is none that is spoken here
 */
export function openExchange<Context>(
  message: Message,
  transport: Transport<Context>,
): Exchange<Context> {
  return new OpenExchange(message, transport)
}

/** A class, since a getter in an object that is made for each message gives each a shape of its own, which stays for long. */
class OpenExchange<Context> implements Exchange<Context> {
  readonly context: Context
  readonly revision: string
  readonly isModern: boolean
  readonly capabilities: JsonObject
  readonly progressToken: MessageId | undefined
  readonly #transport: Transport<Context>

  constructor(message: Message, transport: Transport<Context>) {
    const { context, revision } = transport
    const { meta = {} } = message
    this.context = context
    this.isModern = isModernMessage(message, revision)
    const sessionProperties = this.isModern
      ? readModern(meta, revision)
      : { revision: revision ?? '2025-03-26', capabilities: {} }
    this.revision = sessionProperties.revision
    this.capabilities = sessionProperties.capabilities
    this.progressToken = readToken(meta.progressToken)
    this.#transport = transport
  }

  notify(method: string, params: JsonObject): void {
    this.#transport.notify?.(method, params)
  }

  // Not every call wants one, and making it costs.
  get signal(): AbortSignal | undefined {
    return this.#transport.signal
  }
}

function readModern(
  meta: JsonObject,
  revision: string | undefined,
): { readonly revision: string; readonly capabilities: JsonObject } {
  const requestedRevision =
    meta[metaNames.revision] ?? (revision === modernRevision ? undefined : revision)
  if (typeof requestedRevision !== 'string')
    throw invalidParams(`_meta lacks ${metaNames.revision}, a text`, 400)
  if (requestedRevision !== modernRevision)
    throw new ProtocolError(codes.revision, 'Unsupported protocol version', {
      status: 400,
      data: { supported: supportedRevisions, requested: requestedRevision },
    })
  const capabilities = meta[metaNames.capabilities]
  if (!isJsonObject(capabilities))
    throw invalidParams(`_meta lacks ${metaNames.capabilities}, an object`, 400)
  return { revision: requestedRevision, capabilities }
}

/** There now, or later: no promise is made where nothing waits. */
export type MaybePromise<T> = T | Promise<T>

export function andThen<T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** A result: an object, or the JSON text of one that is complete as it is, kept from before. */
export type Result = JsonObject | string

/** @throws {ProtocolError} what the answer says instead; anything else is told as an internal error */
export type Method<Context> = (
  params: JsonObject,
  exchange: Exchange<Context>,
) => MaybePromise<Result>

export interface ServerInfo {
  readonly name: string
  readonly version: string
  readonly title?: string
}

/** What a server offers. */
export interface ServerDefinition<Context> {
  readonly info: ServerInfo
  /** For the model: how to use this server. */
  readonly instructions?: string
  /** What there is: `{ tools: {} }`. */
  readonly capabilities: JsonObject
  /** By name: `tools/list`. */
  readonly methods: ReadonlyMap<string, Method<Context>>
  /** Called with what is no `ProtocolError`; the client is told nothing of it. */
  readonly onError?: (error: unknown, context: Context) => void
}

/** The answer to a request. */
export interface ProtocolResponse {
  /** JSON-RPC, whole. */
  readonly text: string
  /** What HTTP answers with. */
  readonly status: number
}

/**
 * @returns at once where the method does not wait; `undefined` for a notification, which nobody answers. Never throws nor
 * rejects
 */
export function respond<Context>(
  offer: ServerDefinition<Context>,
  message: Message,
  exchange: Exchange<Context>,
): MaybePromise<ProtocolResponse | undefined> {
  const { id, method, params } = message
  if (id === undefined) return undefined
  const failed = (error: unknown): ProtocolResponse => {
    try {
      if (!(error instanceof ProtocolError)) offer.onError?.(error, exchange.context)
      return errorResponse(error, id)
    } catch {
      // A revoked proxy throws at whoever asks what it is.
      const unreadable = new Error(`${method} has thrown what cannot be looked at.`)
      offer.onError?.(unreadable, exchange.context)
      return errorResponse(unreadable, id)
    }
  }
  const response = (result: Result): ProtocolResponse => {
    try {
      return { text: responseText(id, toResultText(offer, result)), status: 200 }
    } catch (error) {
      return failed(error)
    }
  }
  try {
    const run = offer.methods.get(method) ?? builtInMethod(offer, method, exchange.isModern)
    if (run === undefined)
      throw new ProtocolError(codes.method, `Method not found: ${clip(method)}`, {
        status: exchange.isModern ? 404 : 200,
      })
    const result = run(params, exchange)
    return result instanceof Promise ? result.then(response, failed) : response(result)
  } catch (error) {
    return failed(error)
  }
}

/** The answer that says what is wrong; without an id where it could not be read. */
export function errorResponse(error: unknown, id?: MessageId): ProtocolResponse {
  const response =
    error instanceof ProtocolError
      ? error
      : new ProtocolError(codes.internal, 'Internal server error', { status: 500 })
  const { code, message, data, status } = response
  const text = JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } })
  return { text, status }
}

/** A notification as text. */
export function notification(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}

/** What every server has, whatever it offers. */
function builtInMethod<Context>(
  offer: ServerDefinition<Context>,
  method: string,
  isModern: boolean,
): Method<Context> | undefined {
  if (isModern) return method === 'server/discover' ? () => discovery(offer) : undefined
  if (method === 'initialize') return (params) => initialization(offer, params)
  if (method === 'ping') return () => '{}'
  return undefined
}

/** It depends on the server alone, until it is started anew. */
function discovery<Context>({ capabilities, instructions }: ServerDefinition<Context>): JsonObject {
  const response = { supportedVersions: supportedRevisions, capabilities, instructions }
  return { ...response, ttlMs: discoveryTtlMs, cacheScope: 'public' }
}

const discoveryTtlMs = 3_600_000

function initialization<Context>(
  { capabilities, info, instructions }: ServerDefinition<Context>,
  { protocolVersion }: JsonObject,
): string {
  const agreedRevision = olderRevisions.find((revision) => revision === protocolVersion)
  const [latest] = olderRevisions
  const response = {
    protocolVersion: agreedRevision ?? latest,
    capabilities,
    serverInfo: info,
    instructions,
  }
  return JSON.stringify(response)
}

/** Adds who answers, and that the answer is whole where it does not say so. */
function toResultText<Context>({ info }: ServerDefinition<Context>, result: Result): string {
  if (typeof result === 'string') return result
  return completeText(result, info)
}

/** The text of a result with what all of them say. */
export function completeText(result: JsonObject, info: ServerInfo): string {
  const { _meta: sessionProperties } = result
  const meta = {
    ...(isJsonObject(sessionProperties) ? sessionProperties : {}),
    [metaNames.server]: info,
  }
  return JSON.stringify({ resultType: 'complete', ...result, _meta: meta })
}

function responseText(id: MessageId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
}

function readToken(value: unknown): MessageId | undefined {
  return typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))
    ? value
    : undefined
}

/** Parameters that a method cannot take. */
export function invalidParams(message: string, status = 200, data?: unknown): ProtocolError {
  return new ProtocolError(codes.params, message, { status, data })
}

function invalidRequest(message: string): ProtocolError {
  return new ProtocolError(codes.request, message, { status: 400 })
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
