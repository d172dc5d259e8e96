/**
 * The Model Context Protocol without a transport: from one JSON-RPC message to its response. This file does not know HTTP, standard
 * input or an application.
 *
 *   value (parsed JSON) → readMessage → Message → openExchange → Exchange → respond(definition, …) → ProtocolResponse
 *
 * The input is a parsed value and the transport: its context, a signal, and a way to send notifications before the response. The
 * output is the JSON text of the response with its HTTP status, or `undefined` for a notification. A `ServerDefinition` is a table of
 * methods, each a function from checked parameters to a result. `methods.ts` creates the methods for tools, resources, prompts and
 * completion.
 *
 * Two generations of the protocol are supported: revision 2026-07-28, where each request has its revision and the capabilities of the
 * client in `_meta`, and older ones, which start with `initialize`. Neither needs state on the server.
 * Source: the specification of 2026-07-28, Overview, Versioning.
 */
import { clip } from '../../index.js'

const modernRevision = '2026-07-28'
/** Revisions that start with `initialize`, the latest first. */
const olderRevisions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const supportedRevisions: readonly string[] = [modernRevision, ...olderRevisions]

const metaPrefix = 'io.modelcontextprotocol/'
export const metaNames = {
  revision: `${metaPrefix}protocolVersion`,
  client: `${metaPrefix}clientInfo`,
  capabilities: `${metaPrefix}clientCapabilities`,
  server: `${metaPrefix}serverInfo`,
} as const

/** Error codes of JSON-RPC and of the protocol. */
export const codes = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  headers: -32020,
  capability: -32021,
  revision: -32022,
  /** Unknown resources in older revisions. Newer ones use `params`. */
  resource: -32002,
} as const

/** Rejects a message: the response has an `error` instead of a `result`. */
export class ProtocolError extends Error {
  readonly code: number
  readonly data: unknown
  /** The HTTP status. Default 200: the message is valid, but the request is rejected. */
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

/** A request, or a notification if it has no id. */
export interface Message {
  readonly id: MessageId | undefined
  readonly method: string
  readonly params: JsonObject
  /** `params._meta`; undefined if there is none. */
  readonly meta: JsonObject | undefined
}

/**
 * @throws {ProtocolError} with status 400 for batches, responses and invalid messages. Use `idOf` for the id of the response
 */
export function readMessage(value: unknown): Message {
  if (Array.isArray(value))
    throw invalidRequest('Batches are not supported: send one message at a time')
  if (!isJsonObject(value)) throw invalidRequest('A message must be an object')
  const { jsonrpc, method, params = {} } = value
  if (jsonrpc !== '2.0') throw invalidRequest('jsonrpc must be "2.0"')
  if (typeof method !== 'string')
    throw invalidRequest(
      'method is missing. Responses are not accepted, because the server sends no requests',
    )
  if ('id' in value && idOf(value) === undefined)
    throw invalidRequest('id must be a string or an integer')
  if (!isJsonObject(params)) throw invalidRequest('params must be an object')
  const { _meta: meta } = params
  if (meta !== undefined && !isJsonObject(meta)) throw invalidParams('_meta must be an object', 400)
  return { id: idOf(value), method, params, meta }
}

/** The id of a possibly invalid request, for its response. */
export function idOf(value: unknown): MessageId | undefined {
  if (!isJsonObject(value)) return undefined
  const { id } = value
  return typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? id : undefined
}

/** A message with its transport, as a method receives it. */
export interface MessageExchange<Context> {
  readonly context: Context
  readonly revision: string
  /** True if each request has its capabilities, and calls may ask for input in rounds. */
  readonly isModern: boolean
  /** The capabilities of the client: `{ elicitation: {} }`. Empty in older revisions, where no state is stored. */
  readonly capabilities: JsonObject
  /** Identifies progress notifications. Undefined if the client does not want them. */
  readonly progressToken: MessageId | undefined
  /** Aborts when the client leaves or cancels. Created when it is first read. */
  readonly signal: AbortSignal | undefined
  /** Sends a notification before the response. */
  notify(method: string, params: JsonObject): void
}

/** The transport of a message. */
export interface Transport<Context> {
  readonly context: Context
  /** The revision of the connection: the HTTP header `MCP-Protocol-Version`. Default none. */
  readonly revision?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Default: notifications are dropped. */
  notify?(method: string, params: JsonObject): void
}

/** True if the message uses the revision without `initialize`, or claims to. */
export function isModernMessage({ meta }: Message, revision: string | undefined): boolean {
  if (meta !== undefined && Object.hasOwn(meta, metaNames.revision)) return true
  return revision !== undefined && !olderRevisions.includes(revision)
}

/**
 * @throws {ProtocolError} with status 400 if a request lacks required members of `_meta`, or if its revision is not supported
 */
export function openExchange<Context>(
  message: Message,
  transport: Transport<Context>,
): MessageExchange<Context> {
  return new OpenExchange(message, transport)
}

/** A class, because an object literal with a getter would have a new hidden class for each message. */
class OpenExchange<Context> implements MessageExchange<Context> {
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
    const clientProperties = this.isModern
      ? readModern(meta, revision)
      : { revision: revision ?? '2025-03-26', capabilities: {} }
    this.revision = clientProperties.revision
    this.capabilities = clientProperties.capabilities
    this.progressToken = readToken(meta.progressToken)
    this.#transport = transport
  }

  notify(method: string, params: JsonObject): void {
    this.#transport.notify?.(method, params)
  }

  // Created on demand, because most calls do not need it.
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
    throw invalidParams(`_meta lacks ${metaNames.revision}, a string`, 400)
  if (requestedRevision !== modernRevision)
    throw new ProtocolError(codes.revision, 'Unsupported protocol version', {
      status: 400,
      data: { supported: supportedRevisions, requested: clip(requestedRevision) },
    })
  const capabilities = meta[metaNames.capabilities]
  if (!isJsonObject(capabilities))
    throw invalidParams(`_meta lacks ${metaNames.capabilities}, an object`, 400)
  return { revision: requestedRevision, capabilities }
}

/** A value, or a promise of it. Synchronous work creates no promise. */
export type MaybePromise<T> = T | Promise<T>

export function andThen<T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** A result: an object, or the JSON text of a complete result. */
export type Result = JsonObject | string

/** @throws {ProtocolError} the error of the response. Any other error becomes an internal error */
export type Method<Context> = (
  params: JsonObject,
  exchange: MessageExchange<Context>,
) => MaybePromise<Result>

export interface ServerInfo {
  readonly name: string
  readonly version: string
  readonly title?: string
}

/** The methods and the description of a server. */
export interface ServerDefinition<Context> {
  readonly info: ServerInfo
  /** For the model: how to use this server. */
  readonly instructions?: string
  /** The capabilities of the server: `{ tools: {} }`. */
  readonly capabilities: JsonObject
  /** By name: `tools/list`. */
  readonly methods: ReadonlyMap<string, Method<Context>>
  /** Called with errors other than `ProtocolError`. The client gets no details. */
  readonly onError?: (error: unknown, context: Context) => void
}

/** The response to a request. */
export interface ProtocolResponse {
  /** The complete JSON-RPC message. */
  readonly text: string
  /** The HTTP status. */
  readonly status: number
}

/**
 * Runs the method of a message. Never throws or rejects.
 *
 * @returns without a promise if the method is synchronous; `undefined` for a notification
 */
export function respond<Context>(
  server: ServerDefinition<Context>,
  message: Message,
  exchange: MessageExchange<Context>,
): MaybePromise<ProtocolResponse | undefined> {
  const { id, method, params } = message
  if (id === undefined) return undefined
  const failed = (error: unknown): ProtocolResponse => {
    try {
      if (!(error instanceof ProtocolError)) server.onError?.(error, exchange.context)
      return errorResponse(error, id)
    } catch {
      // A revoked proxy throws whenever it is read.
      const unreadable = new Error(`${method} threw a value that cannot be read.`)
      server.onError?.(unreadable, exchange.context)
      return errorResponse(unreadable, id)
    }
  }
  const response = (result: Result): ProtocolResponse => {
    try {
      return { text: responseText(id, toResultText(server, result)), status: 200 }
    } catch (error) {
      return failed(error)
    }
  }
  try {
    const run = server.methods.get(method) ?? builtInMethod(server, method, exchange.isModern)
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

/** The response for an error; without an id if it could not be read. */
export function errorResponse(error: unknown, id?: MessageId): ProtocolResponse {
  const response =
    error instanceof ProtocolError
      ? error
      : new ProtocolError(codes.internal, 'Internal server error', { status: 500 })
  const { code, message, data, status } = response
  const text = JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } })
  return { text, status }
}

/** The JSON text of a notification. */
export function notification(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}

/** Methods that every server has. */
function builtInMethod<Context>(
  server: ServerDefinition<Context>,
  method: string,
  isModern: boolean,
): Method<Context> | undefined {
  if (isModern) return method === 'server/discover' ? () => discovery(server) : undefined
  if (method === 'initialize') return (params) => initialization(server, params)
  if (method === 'ping') return () => '{}'
  return undefined
}

/** Constant while the server runs. */
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

/** Adds the server info, and marks the result as complete. */
function toResultText<Context>({ info }: ServerDefinition<Context>, result: Result): string {
  if (typeof result === 'string') return result
  return completeText(result, info)
}

/** The JSON text of a complete result. */
export function completeText(result: JsonObject, info: ServerInfo): string {
  const { _meta: resultMeta } = result
  const meta = { ...(isJsonObject(resultMeta) ? resultMeta : {}), [metaNames.server]: info }
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

/** The error for invalid parameters. */
export function invalidParams(message: string, status = 200, data?: unknown): ProtocolError {
  return new ProtocolError(codes.params, message, { status, data })
}

function invalidRequest(message: string): ProtocolError {
  return new ProtocolError(codes.request, message, { status: 400 })
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
