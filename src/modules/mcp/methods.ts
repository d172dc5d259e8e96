/**
 * The methods of tools, resources, prompts and completion: their parameters are read here, once for every server. What stands
 * behind them gives lists as kept texts and runs what is called. Source: the specification of 2026-07-28, Server features.
 */
import {
  isMembers,
  wrongParams,
  type Exchange,
  type Later,
  type Members,
  type Method,
  type Result,
} from './protocol.js'

/** A list for one caller: the whole result (`{ tools: […], ttlMs, cacheScope }`), or its complete text. */
type ReadList<Context> = (exchange: Exchange<Context>) => Later<Result>

/** What the client sends along when it asks again, with answers to what it was asked. */
export interface Round {
  readonly answers: Members
  readonly state: string | undefined
}

export interface Tools<Context> {
  readonly list: ReadList<Context>
  /** @throws {ProtocolError} for a tool that is not there */
  readonly call: (
    name: string,
    given: Members,
    exchange: Exchange<Context>,
    round: Round,
  ) => Later<Result>
}

export interface Resources<Context> {
  readonly list: ReadList<Context>
  readonly templates: ReadList<Context>
  readonly read: (uri: string, exchange: Exchange<Context>, round: Round) => Later<Result>
}

export interface Prompts<Context> {
  readonly list: ReadList<Context>
  readonly get: (
    name: string,
    given: Members,
    exchange: Exchange<Context>,
    round: Round,
  ) => Later<Result>
}

/** What is completed: an argument of a prompt or of a resource's template. */
export interface Completing {
  readonly of: 'prompt' | 'resource'
  /** The prompt's name, or the template. */
  readonly name: string
  readonly argument: string
  /** What is written so far. */
  readonly text: string
  /** Arguments that are known already. */
  readonly known: Members
}

/** @returns all that fit; the first hundred are sent */
export type Complete<Context> = (
  asked: Completing,
  exchange: Exchange<Context>,
) => Later<readonly string[]>

export interface Features<Context> {
  readonly tools?: Tools<Context> | undefined
  readonly resources?: Resources<Context> | undefined
  readonly prompts?: Prompts<Context> | undefined
  readonly complete?: Complete<Context> | undefined
}

/** What `Offer` needs of them. */
export function methodsOf<Context>({ tools, resources, prompts, complete }: Features<Context>): {
  readonly capabilities: Members
  readonly methods: ReadonlyMap<string, Method<Context>>
} {
  const methods = new Map<string, Method<Context>>()
  if (tools !== undefined) {
    methods.set('tools/list', listing(tools.list))
    methods.set('tools/call', (params, exchange) =>
      tools.call(textOf(params, 'name'), givenOf(params), exchange, roundOf(params)),
    )
  }
  if (resources !== undefined) {
    methods.set('resources/list', listing(resources.list))
    methods.set('resources/templates/list', listing(resources.templates))
    methods.set('resources/read', (params, exchange) =>
      resources.read(textOf(params, 'uri'), exchange, roundOf(params)),
    )
  }
  if (prompts !== undefined) {
    methods.set('prompts/list', listing(prompts.list))
    methods.set('prompts/get', (params, exchange) =>
      prompts.get(textOf(params, 'name'), givenOf(params), exchange, roundOf(params)),
    )
  }
  if (complete !== undefined) methods.set('completion/complete', completing(complete))
  const capabilities = {
    ...(tools && { tools: {} }),
    ...(resources && { resources: {} }),
    ...(prompts && { prompts: {} }),
    ...(complete && { completions: {} }),
  }
  return { capabilities, methods }
}

/** Lists are sent whole, so there is no place in one to go on from. */
function listing<Context>(read: ReadList<Context>): Method<Context> {
  return ({ cursor }, exchange) => {
    if (cursor !== undefined) throw wrongParams('Invalid cursor: lists are sent whole')
    return read(exchange)
  }
}

/** The most that one answer may hold. */
const mostCompletions = 100

function completing<Context>(complete: Complete<Context>): Method<Context> {
  return async (params, exchange) => {
    const { ref, argument, context } = params
    if (!isMembers(ref) || !isMembers(argument))
      throw wrongParams('A completion has ref and argument, both objects')
    const of = ref.type === 'ref/prompt' ? 'prompt' : 'resource'
    if (of === 'resource' && ref.type !== 'ref/resource')
      throw wrongParams('ref.type is ref/prompt or ref/resource')
    const known = isMembers(context) && isMembers(context.arguments) ? context.arguments : {}
    const found = await complete(
      {
        of,
        name: textOf(ref, of === 'prompt' ? 'name' : 'uri'),
        argument: textOf(argument, 'name'),
        text: textOf(argument, 'value'),
        known,
      },
      exchange,
    )
    const values = found.slice(0, mostCompletions)
    const { length: total } = found
    return { completion: { values, total, hasMore: total > values.length } }
  }
}

function textOf(params: Members, name: string): string {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  if (typeof value !== 'string') throw wrongParams(`${name} is missing, or no text`)
  return value
}

function givenOf({ arguments: given = {} }: Members): Members {
  if (!isMembers(given)) throw wrongParams('arguments is an object')
  return given
}

/** What nobody has asked for is no answer: what was asked stands in the state. */
function roundOf({ inputResponses: answers = {}, requestState: state }: Members): Round {
  if (!isMembers(answers)) throw wrongParams('inputResponses is an object')
  if (state !== undefined && typeof state !== 'string') throw wrongParams('requestState is a text')
  if (state === undefined && Object.keys(answers).length > 0)
    throw wrongParams('inputResponses without requestState: nothing was asked')
  return { answers, state }
}
