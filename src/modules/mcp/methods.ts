/**
 * The protocol's methods for tools, resources, prompts and completion: reads their parameters and calls the functions of a server.
 * Source: the specification of 2026-07-28, Server features.
 */
import {
  isJsonObject,
  invalidParams,
  type MessageExchange,
  type MaybePromise,
  type JsonObject,
  type Method,
  type Result,
} from './protocol.js'

/** A list for one caller: the complete result (`{ tools: […], ttlMs, cacheScope }`), or its text. */
type ReadList<Context> = (exchange: MessageExchange<Context>) => MaybePromise<Result>

/** Sent by a client that repeats a call: its responses, and the state that the server returned. */
export interface RoundInput {
  readonly responses: JsonObject
  readonly state: string | undefined
}

export interface Tools<Context> {
  readonly list: ReadList<Context>
  /** @throws {ProtocolError} the tool does not exist */
  readonly call: (
    name: string,
    input: JsonObject,
    exchange: MessageExchange<Context>,
    round: RoundInput,
  ) => MaybePromise<Result>
}

export interface Resources<Context> {
  readonly list: ReadList<Context>
  readonly templates: ReadList<Context>
  readonly read: (
    uri: string,
    exchange: MessageExchange<Context>,
    round: RoundInput,
  ) => MaybePromise<Result>
}

export interface Prompts<Context> {
  readonly list: ReadList<Context>
  readonly get: (
    name: string,
    input: JsonObject,
    exchange: MessageExchange<Context>,
    round: RoundInput,
  ) => MaybePromise<Result>
}

/** A request to complete an argument of a prompt or of a resource template. */
export interface CompletionRequest {
  readonly kind: 'prompt' | 'resource'
  /** The prompt's name, or the template. */
  readonly name: string
  readonly argument: string
  /** The text so far. */
  readonly text: string
  /** Arguments that are already set. */
  readonly knownArguments: JsonObject
}

/** @returns all matches; the first hundred are sent */
export type CompletionMethod<Context> = (
  request: CompletionRequest,
  exchange: MessageExchange<Context>,
) => MaybePromise<readonly string[]>

export interface Features<Context> {
  readonly tools?: Tools<Context> | undefined
  readonly resources?: Resources<Context> | undefined
  readonly prompts?: Prompts<Context> | undefined
  readonly complete?: CompletionMethod<Context> | undefined
}

/** Creates the capabilities and the method table of a `ServerDefinition`. */
export function methodsOf<Context>({ tools, resources, prompts, complete }: Features<Context>): {
  readonly capabilities: JsonObject
  readonly methods: ReadonlyMap<string, Method<Context>>
} {
  const methods = new Map<string, Method<Context>>()
  if (tools !== undefined) {
    methods.set('tools/list', listMethod(tools.list))
    methods.set('tools/call', (params, exchange) =>
      tools.call(textOf(params, 'name'), argumentsOf(params), exchange, roundInputOf(params)),
    )
  }
  if (resources !== undefined) {
    methods.set('resources/list', listMethod(resources.list))
    methods.set('resources/templates/list', listMethod(resources.templates))
    methods.set('resources/read', (params, exchange) =>
      resources.read(textOf(params, 'uri'), exchange, roundInputOf(params)),
    )
  }
  if (prompts !== undefined) {
    methods.set('prompts/list', listMethod(prompts.list))
    methods.set('prompts/get', (params, exchange) =>
      prompts.get(textOf(params, 'name'), argumentsOf(params), exchange, roundInputOf(params)),
    )
  }
  if (complete !== undefined) methods.set('completion/complete', completionMethod(complete))
  const capabilities = {
    ...(tools && { tools: {} }),
    ...(resources && { resources: {} }),
    ...(prompts && { prompts: {} }),
    ...(complete && { completions: {} }),
  }
  return { capabilities, methods }
}

/** Lists are not paginated, so every cursor is invalid. */
function listMethod<Context>(read: ReadList<Context>): Method<Context> {
  return ({ cursor }, exchange) => {
    if (cursor !== undefined) throw invalidParams('Invalid cursor: lists are not paginated')
    return read(exchange)
  }
}

/** The protocol allows at most 100 values. */
const maxCompletions = 100

function completionMethod<Context>(complete: CompletionMethod<Context>): Method<Context> {
  return async (params, exchange) => {
    const { ref, argument, context } = params
    if (!isJsonObject(ref) || !isJsonObject(argument))
      throw invalidParams('ref and argument must be objects')
    const kind = ref.type === 'ref/prompt' ? 'prompt' : 'resource'
    if (kind === 'resource' && ref.type !== 'ref/resource')
      throw invalidParams('ref.type must be ref/prompt or ref/resource')
    const knownArguments =
      isJsonObject(context) && isJsonObject(context.arguments) ? context.arguments : {}
    const matches = await complete(
      {
        kind,
        name: textOf(ref, kind === 'prompt' ? 'name' : 'uri'),
        argument: textOf(argument, 'name'),
        text: textOf(argument, 'value'),
        knownArguments,
      },
      exchange,
    )
    const values = matches.slice(0, maxCompletions)
    const { length: total } = matches
    return { completion: { values, total, hasMore: total > values.length } }
  }
}

function textOf(params: JsonObject, name: string): string {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  if (typeof value !== 'string') throw invalidParams(`${name} is missing, or is not a string`)
  return value
}

function argumentsOf({ arguments: input = {} }: JsonObject): JsonObject {
  if (!isJsonObject(input)) throw invalidParams('arguments must be an object')
  return input
}

/** The server keeps no state, so responses without a state belong to no request. */
function roundInputOf({
  inputResponses: responses = {},
  requestState: state,
}: JsonObject): RoundInput {
  if (!isJsonObject(responses)) throw invalidParams('inputResponses must be an object')
  if (state !== undefined && typeof state !== 'string')
    throw invalidParams('requestState must be a string')
  if (state === undefined && Object.keys(responses).length > 0)
    throw invalidParams('inputResponses requires requestState')
  return { responses, state }
}
