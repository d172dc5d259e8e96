/**
 * Opens a `query @live` as a live query of `live/live-queries.ts`, for SSE and graphql-transport-ws. The `text` of each
 * message is an execution result, to be sent unchanged. Source: decisions, Live queries.
 */

import { graphqlLibrary } from './library.js'
import { liveDirective } from './build-schema.js'
import type { Operation } from './operations.js'
import type { VariableValues } from './variables.js'
import { type Outcome, hasRun, toResultText, findOutage } from './outcome.js'
import { callerOf } from './operation-caller.js'
import { hasGuard } from '../auth/access.js'
import { HttpError } from '../errors/http-error.js'
import { resultEvents, resultForm, completeResultForm } from '../live/live-format.js'
import { type LiveQueries, rightsKey } from '../live/live-queries.js'
import type { RightsDepth } from '../live/live-query.js'
import type { LiveCaller, LiveListener } from '../live/live-listener.js'
import { policyOf } from '../records/rights/record-policy.js'
import type { DefaultAccess } from './executor.js'
import type { GraphQL } from './graphql.js'
import { generatedOf } from './records/model.js'
import { hasKeyParts, keyNames } from './records/row-keys.js'

/** The arguments of `@live`. */
interface LiveQueryOptions {
  /** Send the complete result each time, for clients that cannot apply diffs. */
  readonly sendsCompleteResults: boolean
}

/** @returns undefined for operations that are not live */
export function readLive(
  { node }: Operation,
  variables: VariableValues,
): LiveQueryOptions | undefined {
  const liveNode = node.directives?.find(({ name }) => name.value === 'live')
  if (liveNode === undefined) return undefined
  const { getDirectiveValues } = graphqlLibrary()
  const { whole } = getDirectiveValues(liveDirective(), node, booleansOf(variables)) ?? {}
  return { sendsCompleteResults: whole === true }
}

/** The boolean variables. With any other value as an argument of `@live`, the operation is rejected anyway. */
function booleansOf(variables: VariableValues): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(variables).filter(([, value]) => typeof value === 'boolean'),
  )
}

export interface LiveOperation {
  readonly operation: Operation
  /** The text of the document. */
  readonly text: string
  readonly variables: VariableValues
  /** The context of resolvers: `{ request, user }`. */
  readonly context: unknown
  readonly access: DefaultAccess
  readonly options: LiveQueryOptions
}

/** Thrown if the first run has no result. The outcome has its errors. */
export class LiveQueryRefused extends HttpError {
  readonly outcome: Outcome

  constructor(status: number, outcome: Outcome) {
    super(status)
    this.outcome = outcome
  }
}

/** By root field: the fields that are the key of its rows together. Lists of other records have the key `id`. */
function keysOf(operation: Operation): ReadonlyMap<string, readonly string[]> {
  const keys = new Map<string, readonly string[]>()
  for (const [name, [node]] of operation.everyRoot()) {
    const field = operation.definition(node)
    const generated = field && generatedOf(field)
    if (generated?.kind === 'list' && hasKeyParts(generated.model))
      keys.set(name, keyNames(generated.model))
  }
  return keys
}

const numberByObject = new WeakMap<object, number>()
let lastNumber = 0

/**
 * @param connection the last event id of the client, and its request
 * @throws {HttpError} 429 if there are too many live queries
 * @throws {LiveQueryRefused} if the first run has no result
 */
export function openLive(
  graphql: GraphQL,
  live: LiveQueries,
  liveOperation: LiveOperation,
  connection: Pick<LiveCaller, 'lastId' | 'request'>,
): Promise<LiveListener> {
  const { operation, text, variables, access, options } = liveOperation
  const caller = callerOf(liveOperation.context)
  const executor = graphql.executor()
  executor.limitStream(operation, liveOperation.context, access)
  const byKey = caller.auth?.by === 'key'
  const claims = caller.user
  const depth = depthOf(graphql, liveOperation)
  const name = operation.node.name?.value
  const key = [
    'graphql',
    numberOf(graphql),
    numberOf(access),
    text,
    name,
    variables,
    options.sendsCompleteResults,
  ]
  return live.open(
    {
      owner: graphql,
      depth,
      // Of all listeners with equal keys, the first one's definition is used, so it reads nothing of its own caller.
      key: (by, listening) => {
        const rights = callerOf(listening.context).trusted
          ? [numberOf(listening.context ?? graphql)]
          : rightsKey(listening, by)
        return JSON.stringify([...key, rights])
      },
      form: options.sendsCompleteResults ? completeResultForm : resultForm(keysOf(operation)),
      events: resultEvents,
      run: async (listener, runForCaller) => {
        const context = listener.caller.context
        const outcome = await runForCaller(() =>
          executor.run(operation, variables, context, access, true),
        )
        const outage = outcome.errors && findOutage(outcome, operation)
        if (outage !== undefined) throw new LiveQueryRefused(outage.status, outcome)
        if (outcome.refused !== undefined)
          throw new LiveQueryRefused(outcome.refused === 'unauthenticated' ? 401 : 403, outcome)
        if (!hasRun(outcome)) throw new LiveQueryRefused(400, outcome)
        return toResultText(outcome, graphql.entryOptionsOf(context), false)
      },
    },
    { claims, byKey, context: liveOperation.context, ...connection },
  )
}

/**
 * Decides how much of the caller a run can read, so that equal callers share a result: resolvers and guards may read
 * the complete request, rules of records only the claims of the token.
 */
function depthOf(graphql: GraphQL, { operation, variables, access }: LiveOperation): RightsDepth {
  const executor = graphql.executor()
  const guarded = executor.guardedRoots(operation, access)
  if (!executor.isPlanned(operation, variables) || graphql.usesGuards) return 'all'
  if (guarded.some(({ rule }) => hasGuard(rule))) return 'all'
  const isForAll = [...operation.everyRoot().values()].every(([node]) => {
    const field = operation.definition(node)
    const generated = field && generatedOf(field)
    return (
      generated !== undefined && 'model' in generated && !policyOf(generated.model.table).isPersonal
    )
  })
  return guarded.length === 0 && isForAll ? 'nothing' : 'claims'
}

/** A number that identifies an object. */
function numberOf(object: unknown): number {
  if (typeof object !== 'object' || object === null) return 0
  let number = numberByObject.get(object)
  if (number === undefined) numberByObject.set(object, (number = ++lastNumber))
  return number
}
