/**
 * Calls the routes behind tools, resources and prompts, with the rights of the caller of the message. If a handler asks the client
 * for input, the call ends with an `input_required` result.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  clip,
  HttpError,
  type InternalResponse,
  type HttpRequest,
  type RequestAuth,
  type RouteCall,
  type RouteInfo,
  type Routes,
  WorkChannel,
  type ToolEvent,
} from '../../index.js'
import type { RoundInput } from './methods.js'
import {
  andThen,
  codes,
  completeText,
  ProtocolError,
  invalidParams,
  type MessageExchange,
  type MaybePromise,
  type JsonObject,
  type ServerInfo,
} from './protocol.js'
import {
  invalidState,
  type RoundStates,
  ActiveToolCall,
  toolCallOf,
  inputRequiredStatus,
} from './tool-call.js'
import type { ToolResults } from './results.js'
import { dottedPath, type ArgumentLocation, type RouteTool } from './tool-schema.js'

/** The sender of a message. */
export interface MessageSender {
  readonly request: HttpRequest
  /** Undefined: an anonymous caller. */
  readonly auth: RequestAuth | undefined
  /** Aborts when the client cancels with a message. A closed connection aborts the signal of the request instead. */
  readonly cancelled?: AbortSignal | undefined
}

/** A call, with the input of earlier rounds if it is repeated. */
export interface CallRequest {
  readonly method: string
  readonly name: string
  readonly input: JsonObject
  readonly round: RoundInput
}

/** The call requires a token, or another one. */
class TokenRequired extends ProtocolError {
  constructor() {
    super(401, 'Unauthorized', { status: 401 })
  }
}

const toolEvents = new WorkChannel<ToolEvent>('filigree:tool')

export class RouteCaller {
  readonly #routes: Routes
  readonly #roundStates: RoundStates
  readonly #info: ServerInfo
  readonly results: ToolResults

  constructor(options: {
    routes: Routes
    roundStates: RoundStates
    info: ServerInfo
    results: ToolResults
  }) {
    this.#routes = options.routes
    this.#roundStates = options.roundStates
    this.#info = options.info
    this.results = options.results
  }

  /** @returns the text of the tool's result */
  tool(
    tool: RouteTool,
    request: CallRequest,
    exchange: MessageExchange<MessageSender>,
  ): MaybePromise<string> {
    const inputProblems = findInputProblems(tool, request.input)
    if (inputProblems !== undefined)
      return andThen(this.#checkAccess(tool, exchange), () =>
        this.results.failed(inputProblemText(inputProblems)),
      )
    const call = toCall(tool, request, exchange.context)
    if (!toolEvents.hasSubscribers) return this.#callTool(tool, call, request, exchange)
    const work = { tool: tool.name, route: tool.route.name, ms: 0, error: undefined }
    return toolEvents.around(work, () => this.#callTool(tool, call, request, exchange))
  }

  #callTool(
    tool: RouteTool,
    call: RouteCall,
    request: CallRequest,
    exchange: MessageExchange<MessageSender>,
  ): MaybePromise<string> {
    return andThen(this.route(tool.route, call, request, exchange), (response) => {
      if (typeof response === 'string') return response
      if (response.status === 403 && !this.#hasNoGuard(tool.route)) throw unknownTool(tool.name)
      return this.results.fromResponse(response, exchange.isModern)
    })
  }

  /**
   * Input problems are reported only to callers who may call the tool. All other calls are checked by the pipeline of the route.
   */
  #checkAccess(
    { route, name }: RouteTool,
    { context }: MessageExchange<MessageSender>,
  ): MaybePromise<void> {
    const { request, auth } = context
    return andThen(this.#routes.admits(route, request, auth), (admits) => {
      if (admits) return
      logRefusal(route, request)
      throw auth === undefined ? new TokenRequired() : unknownTool(name)
    })
  }

  /**
   * Calls a route.
   *
   * @returns the response, or the text of a result that asks the client for input
   * @throws {TokenRequired} the route requires another token
   * @throws {ProtocolError} the state is not of a call of this route
   */
  route(
    route: RouteInfo,
    call: RouteCall,
    request: CallRequest,
    exchange: MessageExchange<MessageSender>,
  ): MaybePromise<InternalResponse | string> {
    if (route.arguments.includes('toolCall'))
      return this.#callInteractiveRoute(route, call, request, exchange)
    if (request.round.state !== undefined)
      throw invalidState('belongs to a call that asks for input')
    return this.#send(exchange.context, route, call)
  }

  /** Calls a route whose handler may ask the client for input. */
  async #callInteractiveRoute(
    route: RouteInfo,
    call: RouteCall,
    request: CallRequest,
    exchange: MessageExchange<MessageSender>,
  ): Promise<InternalResponse | string> {
    const { context } = exchange
    const toolCall = await this.#createToolCall(request, exchange)
    const prepare = (request: HttpRequest): void => {
      toolCallOf.set(request, toolCall)
    }
    const response = await this.#send(context, route, { ...call, prepare })
    const inputRequired =
      response.status === inputRequiredStatus
        ? await this.#inputRequiredText(toolCall, request, context)
        : undefined
    return inputRequired ?? response
  }

  #send(
    { request, cancelled }: MessageSender,
    route: RouteInfo,
    call: RouteCall,
  ): MaybePromise<InternalResponse> {
    const failed = (error: unknown): InternalResponse => {
      const isExpected = error instanceof TokenRequired || error instanceof HttpError
      // No error is logged if the client has left or cancelled.
      if (!isExpected && cancelled?.aborted !== true && !request.outgoing.destroyed)
        request.log.error(
          { err: error, route: route.name },
          'mcp: a call failed without a response',
        )
      return toErrorResponse(error)
    }
    try {
      const callWithSignal = cancelled === undefined ? call : { ...call, signal: cancelled }
      const response = this.#routes.call(request, route, callWithSignal)
      return response instanceof Promise ? response.then(checkToken, failed) : checkToken(response)
    } catch (error) {
      return failed(error)
    }
  }

  async #createToolCall(
    { round, method, name, input }: CallRequest,
    exchange: MessageExchange<MessageSender>,
  ): Promise<ActiveToolCall> {
    if (round.state === undefined) return new ActiveToolCall(exchange, {})
    const caller = exchange.context.auth?.claims
    const { responses: earlierResponses, requestNames } = await this.#roundStates.open(
      round.state,
      {
        caller,
        method,
        name,
        input,
      },
    )
    const newResponses = Object.entries(round.responses).filter(([key]) =>
      requestNames.includes(key),
    )
    return new ActiveToolCall(exchange, {
      ...earlierResponses,
      ...Object.fromEntries(newResponses),
    })
  }

  /** @throws {ProtocolError} the client does not support what the handler asks for */
  async #inputRequiredText(
    call: ActiveToolCall,
    request: CallRequest,
    { auth }: MessageSender,
  ): Promise<string | undefined> {
    if (call.refusal !== undefined) throw call.refusal
    const requestNames = Object.keys(call.inputRequests)
    if (requestNames.length === 0) return undefined
    const { method, name, input } = request
    const requestState = await this.#roundStates.seal(
      { caller: auth?.claims, method, name, input },
      { responses: call.responses, requestNames },
    )
    const result = { resultType: 'input_required', inputRequests: call.inputRequests, requestState }
    return completeText(result, this.#info)
  }

  /** True if only the roles of the route decide. */
  #hasNoGuard(route: RouteInfo): boolean {
    return !this.#routes.usesGuard(route)
  }
}

/** Clients get no details about routes that they may not call. The log has the reason. */
export function logRefusal({ name }: RouteInfo, { log }: HttpRequest): void {
  log.debug({ reason: `mcp: the rule of ${name} does not admit the caller` }, 'request refused')
}

export function unknownTool(name: string): ProtocolError {
  return invalidParams(`Unknown tool: ${clip(name)}`)
}

/** @throws {TokenRequired} the route requires another token */
function checkToken(response: InternalResponse): InternalResponse {
  if (response.status === 401) throw new TokenRequired()
  return response
}

/** @throws {ProtocolError} a token is required, the client has left, or the response cannot be a result */
function toErrorResponse(error: unknown): InternalResponse {
  if (error instanceof TokenRequired) throw error
  if (!(error instanceof HttpError))
    throw new ProtocolError(
      codes.internal,
      error instanceof Error ? error.message : 'The response was interrupted.',
    )
  const { status, message, code, errors } = error.forClient()
  const body = JSON.stringify({ error: message, code, errors })
  return { status, header: () => undefined, body }
}

/** As many as the checks of a route report. */
const maxInputProblems = 50

interface InputProblem {
  readonly path: string
  readonly message: string
}

function inputProblemText(inputProblems: readonly InputProblem[]): string {
  return [
    '400 The input is invalid.',
    ...inputProblems
      .slice(0, maxInputProblems)
      .map(({ path, message }) => `${clip(path)}: ${message}`),
  ].join('\n')
}

/** Finds problems that the checks of the route cannot see: unknown arguments, and missing parts of the path. */
function findInputProblems(tool: RouteTool, input: JsonObject): InputProblem[] | undefined {
  const { locations, required } = tool
  let inputProblems: InputProblem[] | undefined
  for (const path of Object.keys(input)) {
    if (locationOf(tool, path) === undefined)
      (inputProblems ??= []).push({ path, message: 'is not an argument of this tool' })
  }
  for (const path of required) {
    if (locations.get(path) === 'path' && !Object.hasOwn(input, path))
      (inputProblems ??= []).push({ path, message: 'is required' })
  }
  return inputProblems
}

function locationOf(
  { locations, takesDottedPaths }: RouteTool,
  name: string,
): ArgumentLocation | undefined {
  return locations.get(name) ?? (takesDottedPaths && dottedPath.test(name) ? 'query' : undefined)
}

function toCall(tool: RouteTool, request: CallRequest, { auth }: MessageSender): RouteCall {
  const { input } = request
  const params: Record<string, string> = {}
  const body: Record<string, unknown> = {}
  let query: URLSearchParams | undefined
  for (const name of Object.keys(input)) {
    const value = input[name]
    const location = locationOf(tool, name)
    if (location === 'body' || tool.key?.inBody.has(name) === true) body[name] = value
    if (location === 'body' || tool.key?.parts.includes(name) === true) continue
    if (location === 'path') params[name] = toText(value)
    else addQuery((query ??= new URLSearchParams()), name, value)
  }
  const { key } = tool
  if (key !== undefined)
    params[key.parameter] = key.parts
      .map((part) => encodeURIComponent(toText(input[part])))
      .join(',')
  return {
    params,
    query: query?.toString(),
    body: tool.hasBodyArgument ? body.body : tool.hasBody ? body : undefined,
    headers: tool.takesIdempotencyKey
      ? // Anonymous callers must not get the stored responses of each other.
        { 'idempotency-key': auth === undefined ? randomUUID() : idempotencyKeyOf(request) }
      : undefined,
  }
}

function addQuery(query: URLSearchParams, name: string, value: unknown): void {
  if (value === null || value === undefined) return
  if (Array.isArray(value)) for (const item of value) query.append(name, toText(item))
  else query.append(name, toText(value))
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Repeated calls with the same arguments get the same key, so they run once. */
function idempotencyKeyOf({ name, input }: CallRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([name, input]))
    .digest('base64url')
}
