/**
 * Calls the routes behind tools, resources and prompts, for the caller of the request that brought the message. A handler that asks
 * ends its round here. Source: decisions, "Third storey: admin and agents", Tools and Beyond tools.
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
  Watched,
  type ToolEvent,
} from '../../index.js'
import type { Round } from './methods.js'
import {
  after,
  codes,
  completeText,
  ProtocolError,
  wrongParams,
  type Exchange,
  type Later,
  type Members,
  type ServerInfo,
} from './protocol.js'
import { refused, type Rounds, Call, toolCallOf, unanswered } from './tool-call.js'
import type { ToolResults } from './results.js'
import { dottedPath, type Place, type RouteTool } from './tool-schema.js'

/** Who brought the message. */
export interface Caller {
  readonly request: HttpRequest
  /** Undefined: nobody in particular. */
  readonly auth: RequestAuth | undefined
  /** Aborts where the client cancels by a message; leaving is known of the request. */
  readonly cancelled?: AbortSignal | undefined
}

/** What is called, and what came along when it is called again. */
export interface Calling {
  readonly method: string
  readonly name: string
  readonly given: Members
  readonly round: Round
}

/** The caller needs a token, or another one. */
class NeedsToken extends ProtocolError {
  constructor() {
    super(401, 'Unauthorized', { status: 401 })
  }
}

const toolEvents = new Watched<ToolEvent>('filigree:tool')

export class Calls {
  readonly #routes: Routes
  readonly #rounds: Rounds
  readonly #info: ServerInfo
  readonly results: ToolResults

  constructor(parts: { routes: Routes; rounds: Rounds; info: ServerInfo; results: ToolResults }) {
    this.#routes = parts.routes
    this.#rounds = parts.rounds
    this.#info = parts.info
    this.results = parts.results
  }

  /** The text of the tool's result. */
  tool(tool: RouteTool, calling: Calling, exchange: Exchange<Caller>): Later<string> {
    const faults = faultsOf(tool, calling.given)
    if (faults !== undefined)
      return after(this.#refuseStrangers(tool, exchange), () =>
        this.results.failed(inputFaults(faults)),
      )
    const call = toCall(tool, calling, exchange.context)
    if (!toolEvents.heard) return this.#run(tool, call, calling, exchange)
    const work = { tool: tool.name, route: tool.route.name, ms: 0, error: undefined }
    return toolEvents.around(work, () => this.#run(tool, call, calling, exchange))
  }

  #run(
    tool: RouteTool,
    call: RouteCall,
    calling: Calling,
    exchange: Exchange<Caller>,
  ): Later<string> {
    return after(this.route(tool.route, call, calling, exchange), (answer) => {
      if (typeof answer === 'string') return answer
      if (answer.status === 403 && !this.#isPlain(tool.route)) throw unknownTool(tool.name)
      return this.results.of(answer, exchange.isModern)
    })
  }

  /** What a tool takes is told to those alone who may call it. The walk asks all others. */
  #refuseStrangers({ route, name }: RouteTool, { context }: Exchange<Caller>): Later<void> {
    const { request, auth } = context
    return after(this.#routes.admits(route, request, auth), (admits) => {
      if (admits) return
      tellClosed(route, request)
      throw auth === undefined ? new NeedsToken() : unknownTool(name)
    })
  }

  /**
   * What the route answered, or the text of a result that asks the client.
   *
   * @throws {NeedsToken} where the gate wants another token
   * @throws {ProtocolError} for a state that no call of this route has given
   */
  route(
    route: RouteInfo,
    call: RouteCall,
    calling: Calling,
    exchange: Exchange<Caller>,
  ): Later<InternalResponse | string> {
    if (route.arguments.includes('toolCall'))
      return this.#askingRoute(route, call, calling, exchange)
    if (calling.round.state !== undefined) throw refused('is of a call that asks')
    return this.#send(exchange.context, route, call)
  }

  /** Of a handler that may ask the client. */
  async #askingRoute(
    route: RouteInfo,
    call: RouteCall,
    calling: Calling,
    exchange: Exchange<Caller>,
  ): Promise<InternalResponse | string> {
    const { context } = exchange
    const own = await this.#begin(calling, exchange)
    const prepare = (request: HttpRequest): void => {
      toolCallOf.set(request, own)
    }
    const answer = await this.#send(context, route, { ...call, prepare })
    const asked =
      answer.status === unanswered ? await this.#asked(own, calling, context) : undefined
    return asked ?? answer
  }

  #send(
    { request, cancelled }: Caller,
    route: RouteInfo,
    call: RouteCall,
  ): Later<InternalResponse> {
    const failed = (error: unknown): InternalResponse => {
      const isTold = error instanceof NeedsToken || error instanceof HttpError
      // Who has left or cancelled gets no answer, and nothing is wrong.
      if (!isTold && cancelled?.aborted !== true && !request.outgoing.destroyed)
        request.log.error({ err: error, route: route.name }, 'mcp: a call has no answer')
      return toAnswer(error)
    }
    try {
      const whole = cancelled === undefined ? call : { ...call, signal: cancelled }
      const answer = this.#routes.call(request, route, whole)
      return answer instanceof Promise ? answer.then(admitted, failed) : admitted(answer)
    } catch (error) {
      return failed(error)
    }
  }

  async #begin({ round, method, name, given }: Calling, exchange: Exchange<Caller>): Promise<Call> {
    if (round.state === undefined) return new Call(exchange, {})
    const caller = exchange.context.auth?.claims
    const { answers, asked } = await this.#rounds.open(round.state, { caller, method, name, given })
    const fresh = Object.entries(round.answers).filter(([one]) => asked.includes(one))
    return new Call(exchange, { ...answers, ...Object.fromEntries(fresh) })
  }

  /** @throws {ProtocolError} where the client could not answer */
  async #asked(call: Call, calling: Calling, { auth }: Caller): Promise<string | undefined> {
    if (call.refusal !== undefined) throw call.refusal
    const asked = Object.keys(call.asked)
    if (asked.length === 0) return undefined
    const { method, name, given } = calling
    const requestState = await this.#rounds.seal(
      { caller: auth?.claims, method, name, given },
      { answers: call.answers, asked },
    )
    const result = { resultType: 'input_required', inputRequests: call.asked, requestState }
    return completeText(result, this.#info)
  }

  /** Whether nobody is asked but the rule's roles. */
  #isPlain(route: RouteInfo): boolean {
    return !this.#routes.asksGuard(route)
  }
}

/** The client hears of nothing that is closed to it; the log says why. */
export function tellClosed({ name }: RouteInfo, { log }: HttpRequest): void {
  log.debug({ reason: `mcp: the rule of ${name} does not admit the caller` }, 'request refused')
}

export function unknownTool(name: string): ProtocolError {
  return wrongParams(`Unknown tool: ${clip(name)}`)
}

/** @throws {NeedsToken} where the gate wants another token */
function admitted(answer: InternalResponse): InternalResponse {
  if (answer.status === 401) throw new NeedsToken()
  return answer
}

/** @throws {ProtocolError} where a token is needed, the client has left, or the answer is none that a tool can give */
function toAnswer(error: unknown): InternalResponse {
  if (error instanceof NeedsToken) throw error
  if (!(error instanceof HttpError))
    throw new ProtocolError(
      codes.internal,
      error instanceof Error ? error.message : 'The answer was cut off.',
    )
  const { status, message, errors } = error
  return { status, header: () => undefined, body: JSON.stringify({ error: message, errors }) }
}

interface InputFault {
  readonly path: string
  readonly message: string
}

function inputFaults(faults: readonly InputFault[]): string {
  return [
    '400 The input does not fit.',
    ...faults.map(({ path, message }) => `${path}: ${message}`),
  ].join('\n')
}

/** What the route's own checks cannot see: arguments that go nowhere, and parts of the path. */
function faultsOf(tool: RouteTool, given: Members): InputFault[] | undefined {
  const { places, required } = tool
  let faults: InputFault[] | undefined
  for (const path of Object.keys(given)) {
    if (placeOf(tool, path) === undefined)
      (faults ??= []).push({ path, message: 'is no argument of this tool' })
  }
  for (const path of required) {
    if (places.get(path) === 'path' && !Object.hasOwn(given, path))
      (faults ??= []).push({ path, message: 'is required' })
  }
  return faults
}

function placeOf({ places, takesPaths }: RouteTool, name: string): Place | undefined {
  return places.get(name) ?? (takesPaths && dottedPath.test(name) ? 'query' : undefined)
}

function toCall(tool: RouteTool, calling: Calling, { auth }: Caller): RouteCall {
  const { given } = calling
  const params: Record<string, string> = {}
  const body: Record<string, unknown> = {}
  let query: URLSearchParams | undefined
  for (const name of Object.keys(given)) {
    const value = given[name]
    const place = placeOf(tool, name)
    if (place === 'body') body[name] = value
    else if (place === 'path') params[name] = toText(value)
    else addQuery((query ??= new URLSearchParams()), name, value)
  }
  return {
    params,
    query: query?.toString(),
    body: tool.wholeBody ? body.body : tool.hasBody ? body : undefined,
    headers: tool.isKeyed
      ? // What is kept for nobody in particular is not for the next who asks the same.
        { 'idempotency-key': auth === undefined ? randomUUID() : keyOf(calling) }
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

/** One for the same call of the same tool: what is asked twice is done once. */
function keyOf({ name, given }: Calling): string {
  return createHash('sha256')
    .update(JSON.stringify([name, given]))
    .digest('base64url')
}
