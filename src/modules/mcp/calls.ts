/**
 * Calls the routes behind tools, resources and prompts, for the caller of the request that brought the message. A handler that asks
 * ends its round here. Source: decisions, "Third storey: admin and agents", Tools and Beyond tools.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  HttpError,
  type CarriedAnswer,
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
  completeText,
  ProtocolError,
  wrongParams,
  type Exchange,
  type Members,
  type ServerInfo,
} from './protocol.js'
import type { Rounds } from './rounds.js'
import { Call, toolCallOf, unanswered } from './tool-call.js'
import type { ToolResults } from './tool-results.js'
import { dottedPath, type Place, type RouteTool } from './tool-schema.js'

/** Who brought the message. */
export interface Caller {
  readonly request: HttpRequest
  /** Undefined: nobody in particular. */
  readonly auth: RequestAuth | undefined
  /** Aborts where the client cancels by a message; leaving is known of the request. */
  readonly signal?: AbortSignal | undefined
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
  async tool(tool: RouteTool, calling: Calling, exchange: Exchange<Caller>): Promise<string> {
    const faults = faultsOf(tool, calling.given)
    if (faults.length > 0) {
      await this.#refuseStrangers(tool, exchange)
      return this.results.failed(inputFaults(faults))
    }
    const call = toCall(tool, calling, exchange.context)
    const run = async (): Promise<string> => {
      const answer = await this.route(tool.route, call, calling, exchange)
      if (typeof answer === 'string') return answer
      if (answer.status === 403 && !this.#isPlain(tool.route)) throw unknownTool(tool.name)
      return this.results.of(answer, exchange.isModern)
    }
    if (!toolEvents.heard) return run()
    const { name } = tool
    return toolEvents.around({ tool: name, route: tool.route.name, ms: 0, error: undefined }, run)
  }

  /** What a tool takes is told to those alone who may call it. The walk asks all others. */
  async #refuseStrangers({ route, name }: RouteTool, { context }: Exchange<Caller>): Promise<void> {
    const { request, auth } = context
    if (await this.#routes.admits(route, request, auth)) return
    throw auth === undefined ? new NeedsToken() : unknownTool(name)
  }

  /**
   * What the route answered, or the text of a result that asks the client.
   *
   * @throws {NeedsToken} where the gate wants another token
   */
  async route(
    route: RouteInfo,
    call: RouteCall,
    calling: Calling,
    exchange: Exchange<Caller>,
  ): Promise<CarriedAnswer | string> {
    const { context } = exchange
    const { signal } = context
    const asksBack = route.arguments.includes('toolCall')
    const own = asksBack ? await this.#begin(calling, exchange) : undefined
    const prepare =
      own &&
      ((request: HttpRequest): void => {
        toolCallOf.set(request, own)
      })
    const answer = await this.#send(context.request, route, {
      ...call,
      signal,
      ...(prepare && { prepare }),
    })
    if (answer.status === unanswered && own !== undefined) {
      const asked = await this.#asked(own, calling, context)
      if (asked !== undefined) return asked
    }
    if (answer.status === 401) throw new NeedsToken()
    return answer
  }

  async #send(request: HttpRequest, route: RouteInfo, call: RouteCall): Promise<CarriedAnswer> {
    try {
      return await this.#routes.call(request, route, call)
    } catch (error) {
      if (!(error instanceof HttpError)) throw cutOff(error)
      const body = JSON.stringify({ error: error.message })
      return { status: error.status, header: () => undefined, body }
    }
  }

  async #begin({ round, method, name, given }: Calling, exchange: Exchange<Caller>): Promise<Call> {
    const { context } = exchange
    const caller = context.auth?.claims
    const before =
      round.state === undefined
        ? {}
        : await this.#rounds.open(round.state, { caller, method, name, given })
    return new Call(exchange, { ...before, ...round.answers })
  }

  /** @throws {ProtocolError} where the client could not answer */
  async #asked(call: Call, calling: Calling, { auth }: Caller): Promise<string | undefined> {
    if (call.refusal !== undefined) throw call.refusal
    if (Object.keys(call.asked).length === 0) return undefined
    const { method, name, given } = calling
    const requestState = await this.#rounds.seal(
      { caller: auth?.claims, method, name, given },
      call.answers,
    )
    const result = { resultType: 'input_required', inputRequests: call.asked, requestState }
    return completeText(result, this.#info)
  }

  /** Whether nobody is asked but the rule's roles. */
  #isPlain(route: RouteInfo): boolean {
    return !this.#routes.asksGuard(route)
  }
}

export function unknownTool(name: string): ProtocolError {
  return wrongParams(`Unknown tool: ${name}`)
}

/** The client has left, or the answer is none that a tool can give. */
function cutOff(error: unknown): ProtocolError {
  const words = error instanceof Error ? error.message : 'The answer was cut off.'
  return new ProtocolError(-32603, words)
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
function faultsOf(tool: RouteTool, given: Members): InputFault[] {
  const { places, required } = tool
  const faults: InputFault[] = []
  for (const path of Object.keys(given)) {
    if (placeOf(tool, path) === undefined)
      faults.push({ path, message: 'is no argument of this tool' })
  }
  for (const path of required) {
    if (places.get(path) === 'path' && !Object.hasOwn(given, path))
      faults.push({ path, message: 'is required' })
  }
  return faults
}

function placeOf({ places, takesPaths }: RouteTool, name: string): Place | undefined {
  return places.get(name) ?? (takesPaths && dottedPath.test(name) ? 'query' : undefined)
}

function toCall(tool: RouteTool, calling: Calling, { auth }: Caller): RouteCall {
  const { given } = calling
  const params: Record<string, string> = {}
  const query = new URLSearchParams()
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    const place = placeOf(tool, name)
    if (place === 'path') params[name] = toText(value)
    else if (place === 'query') addQuery(query, name, value)
    else if (value !== undefined) body[name] = value
  }
  const sent = tool.wholeBody ? body.body : tool.hasBody ? body : undefined
  const call = { params, query: query.toString(), body: sent }
  if (!tool.isKeyed) return call
  // What is kept for nobody in particular is not for the next who asks the same.
  const key = auth === undefined ? randomUUID() : keyOf(calling)
  return { ...call, headers: { 'idempotency-key': key } }
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
