/**
 * Runs operations: root fields with a plan by their plan, the others by graphql-js, in one response. Results that are
 * available at once are answered at once.
 */
import type { ExecutionResult, GraphQLError } from 'graphql'
import {
  requireBoth,
  endOfAccess,
  openAccess,
  tokenAccess,
  type AccessRule,
} from '../auth/access.js'
import { isThenable, type MaybePromise, after } from '../core/maybe-promise.js'
import { accessOf, type BuiltSchema } from './build-schema.js'
import { admission, type Admission } from '../records/rights/caller.js'
import { callerOf, writingOf } from './caller.js'
import { ServerRequest } from '../http/server-request.js'
import type { Database } from '../records/database.js'
import { graphqlCodes, withoutSuggestion } from './errors.js'
import { findExcessValues, errorOptions } from './variables.js'
import { isGenerated } from './declarations.js'
import { graphqlLibrary } from './library.js'
import type { GraphqlLimits } from './limits.js'
import { mapIterator, OpenStreams } from './open-streams.js'
import type { Operation } from './operation.js'
import { graphqlEvents, type GraphqlEvent } from './operation-events.js'
import { excessCost, Operations, Refusal } from './operations.js'
import { notRun, type Outcome, type Variables } from './outcome.js'
import { resolveKey, runRoots } from './run-roots.js'

/** The access rules for root fields without their own. */
export interface DefaultAccess {
  /** Queries and subscriptions. */
  readonly read: AccessRule
  readonly write: AccessRule
  /** The access rules of the endpoint, which apply to every caller in addition to the rules of records. */
  readonly secured?: AccessRule
}

export const defaultAccess: DefaultAccess = Object.freeze({ read: openAccess, write: tokenAccess })
/** Where everything needs a token. */
export const closedAccess: DefaultAccess = Object.freeze({ ...defaultAccess, read: tokenAccess })

export interface ExecutorOptions {
  readonly built: BuiltSchema
  readonly limits: GraphqlLimits
  /** Bytes of kept documents. */
  readonly cacheBytes: number
  /** Gets the subscriptions that are opened. */
  readonly streams?: OpenStreams
  /** Whose operations these are, for those who listen. */
  readonly owner?: object
  /** Called before each operation runs; absent if it is not needed. */
  readonly onRun?: ((type: OperationType, context: unknown) => void) | undefined
  /** Runs a request's work so that its changes end with the request's time; absent without a database. */
  readonly runWithin?: Database['runForRequest'] | undefined
}

type OperationType = Operation['node']['operation']

interface GuardedRoot {
  readonly key: string
  readonly rule: AccessRule
}

export class Executor {
  readonly built: BuiltSchema
  readonly #operations: Operations
  readonly #limits: GraphqlLimits
  readonly #streams: OpenStreams
  readonly #owner: object | undefined
  readonly #onRun: ExecutorOptions['onRun']
  readonly #runWithin: ExecutorOptions['runWithin']
  /** The root fields of an operation that need a check of the caller; one list for each pair of default rules. */
  readonly #guarded = new WeakMap<DefaultAccess, WeakMap<Operation, readonly GuardedRoot[]>>()

  constructor(options: ExecutorOptions) {
    const { built, limits, cacheBytes, streams = new OpenStreams() } = options
    this.#owner = options.owner
    this.#onRun = options.onRun
    this.#runWithin = options.runWithin
    this.built = built
    this.#streams = streams
    this.#limits = limits
    this.#operations = new Operations({ ...built, limits, cacheBytes })
  }

  find(text: string, name: string | null | undefined): Operation | Refusal {
    return this.#operations.find(text, name)
  }

  /** Runs a query or a mutation; what is wrong with it is in the outcome. @param isLive it is asked again and again */
  run(
    operation: Operation,
    variables: Variables,
    context: unknown,
    access: DefaultAccess,
    isLive = false,
  ): MaybePromise<Outcome> {
    // With replicas, a live query reads the latest writes, as subscriptions do.
    if (!isLive) this.#onRun?.(operation.node.operation, context)
    if (!graphqlEvents.hasSubscribers) return this.#run(operation, variables, context, access)
    return this.#publish(operation, () => this.#run(operation, variables, context, access))
  }

  /** Each of its root fields has a plan, so that records alone are read, by their rules. */
  isPlanned(operation: Operation, variables: Variables): boolean {
    if (!operation.canPlan) return false
    const coerced = this.#coerce(operation, variables)
    return (
      isVariables(coerced) &&
      operation.roots(coerced.variables).every(({ plan }) => plan !== undefined)
    )
  }

  #run(
    operation: Operation,
    variables: Variables,
    context: unknown,
    access: DefaultAccess,
  ): MaybePromise<Outcome> {
    const admitted = this.admit(operation, context, access)
    if (admitted === undefined) return this.#runAdmitted(operation, variables, context)
    return after(admitted, (refusal) => refusal ?? this.#runAdmitted(operation, variables, context))
  }

  /** Opens a subscription: outcomes as they come, or the one that says why there are none. */
  subscribe(
    operation: Operation,
    variables: Variables,
    context: unknown,
    access: DefaultAccess,
  ): Promise<Outcome | AsyncIterableIterator<Outcome>> {
    if (!graphqlEvents.hasSubscribers) return this.#subscribe(operation, variables, context, access)
    return this.#publish(operation, () => this.#subscribe(operation, variables, context, access))
  }

  /** Tells of an operation. */
  #publish<T extends MaybePromise<Outcome | AsyncIterableIterator<Outcome>>>(
    operation: Operation,
    run: () => T,
  ): T {
    const { node } = operation
    const event: GraphqlEvent = {
      graphql: this.#owner,
      type: node.operation,
      name: node.name?.value,
      cost: operation.measuredCost,
      failed: false,
      ms: 0,
      error: undefined,
    }
    const recordOutcome = <O extends object>(outcome: O): O => {
      event.failed = 'errors' in outcome && outcome.errors !== undefined
      return outcome
    }
    return graphqlEvents.around(event, () => after(run(), recordOutcome) as T)
  }

  async #subscribe(
    operation: Operation,
    variables: Variables,
    context: unknown,
    access: DefaultAccess,
  ): Promise<Outcome | AsyncIterableIterator<Outcome>> {
    this.#onRun?.(operation.node.operation, context)
    const refusal = await this.admit(operation, context, access)
    if (refusal !== undefined) return refusal
    this.boundStream(operation, context, access)
    const coerced = this.#coerce(operation, variables)
    if (!isVariables(coerced)) return coerced
    const results = await graphqlLibrary().subscribe({
      schema: this.built.schema,
      document: operation.document,
      contextValue: context,
      variableValues: variables,
      operationName: operation.node.name?.value,
      fieldResolver: resolveKey,
    })
    if (!(Symbol.asyncIterator in results)) return toOutcome(results)
    return this.#streams.track(mapIterator(results, toOutcome))
  }

  /** `undefined` if every caller may run it, otherwise the error for other callers. */
  admit(
    operation: Operation,
    context: unknown,
    access: DefaultAccess,
  ): MaybePromise<Outcome | undefined> | undefined {
    const guarded = this.guardedRoots(operation, access)
    if (guarded.length === 0) return undefined
    const caller = callerOf(context)
    const checkFrom = (from: number): MaybePromise<Outcome | undefined> => {
      const root = guarded[from]
      if (root === undefined) return undefined
      return after(admission(root.rule, caller), (result) =>
        result === 'admitted' ? checkFrom(from + 1) : refuse(result, root.key),
      )
    }
    return checkFrom(0)
  }

  /** What stays open for a request ends when its caller's sign-in is too old for one of the root fields. */
  boundStream(operation: Operation, context: unknown, access: DefaultAccess): void {
    const { request, user } = callerOf(context)
    if (!(request instanceof ServerRequest)) return
    for (const { rule } of this.guardedRoots(operation, access))
      request.admittedUntil = Math.min(request.admittedUntil, endOfAccess(rule, user))
  }

  /** The root fields that need a token, with their rules; skipped ones too. */
  guardedRoots(operation: Operation, access: DefaultAccess): readonly GuardedRoot[] {
    let byOperation = this.#guarded.get(access)
    if (byOperation === undefined) this.#guarded.set(access, (byOperation = new WeakMap()))
    let guarded = byOperation.get(operation)
    if (guarded === undefined) {
      const isWrite = operation.node.operation === graphqlLibrary().OperationTypeNode.MUTATION
      const defaultRule = isWrite ? access.write : access.read
      guarded = [...operation.everyRoot()].flatMap(([key, [node]]) => {
        const rule = ruleOf(operation.definition(node), access) ?? defaultRule
        return rule.open ? [] : [{ key, rule }]
      })
      byOperation.set(operation, guarded)
    }
    return guarded
  }

  #runAdmitted(
    operation: Operation,
    variables: Variables,
    context: unknown,
  ): MaybePromise<Outcome> {
    if (!operation.canPlan && !operation.costVaries && !operation.hasVariables) {
      return this.#runResolvers(operation, variables, context)
    }
    const coerced = this.#coerce(operation, variables)
    if (!isVariables(coerced)) return coerced
    if (!operation.canPlan) return this.#runResolvers(operation, variables, context)
    const roots = operation.roots(coerced.variables)
    if (roots.every(({ plan }) => plan === undefined)) {
      return this.#runResolvers(operation, variables, context)
    }
    const { schema } = this.built
    const input = {
      schema,
      operation,
      rawVariables: variables,
      variables: coerced.variables,
      context,
    }
    const run = (): MaybePromise<Outcome> => runRoots(roots, input)
    return roots.some(({ plan }) => plan === undefined)
      ? this.#runWithinRequestTime(operation, context, run)
      : run()
  }

  #runResolvers(
    operation: Operation,
    variables: Variables,
    context: unknown,
  ): MaybePromise<Outcome> {
    return this.#runWithinRequestTime(operation, context, () =>
      this.#executeAll(operation, variables, context),
    )
  }

  /** What resolvers of mutations write is not done any more once the request's time is over, whichever repository they use. */
  #runWithinRequestTime<T>({ node }: Operation, context: unknown, run: () => T): T {
    const isWrite = node.operation === graphqlLibrary().OperationTypeNode.MUTATION
    const writing = isWrite ? writingOf(callerOf(context)) : undefined
    return writing === undefined || this.#runWithin === undefined
      ? run()
      : this.#runWithin(writing, run)
  }

  /** Variables as their types make them, their cost within the limit. */
  #coerce(operation: Operation, input: Variables): { readonly variables: Variables } | Outcome {
    if (!operation.hasVariables) return this.#checkCost(operation, noVariables)
    const excess = findExcessValues(input, this.#limits)
    if (excess !== undefined) return notRun([excess])
    let variables = operation.readVariables(input)
    if (variables === undefined) {
      const definitions = operation.node.variableDefinitions ?? []
      const { schema } = this.built
      const read = graphqlLibrary().getVariableValues(
        schema,
        definitions,
        input,
        errorOptions(input),
      )
      if (read.errors !== undefined)
        return notRun(withVariableCode(read.errors, this.built.securedNames))
      variables = read.coerced
    }
    return this.#checkCost(operation, { variables })
  }

  #checkCost(
    operation: Operation,
    coerced: { readonly variables: Variables },
  ): { readonly variables: Variables } | Outcome {
    if (!operation.costVaries) return coerced
    const excess = excessCost(operation.cost(coerced.variables), this.#limits)
    return excess === undefined ? coerced : notRun([excess])
  }

  #executeAll(operation: Operation, variables: Variables, context: unknown): MaybePromise<Outcome> {
    const result = graphqlLibrary().execute({
      schema: this.built.schema,
      document: operation.document,
      contextValue: context,
      variableValues: variables,
      operationName: operation.node.name?.value,
      fieldResolver: resolveKey,
    })
    return isThenable(result) ? result.then(toOutcome) : toOutcome(result)
  }
}

const noNames: ReadonlySet<string> = new Set()

const noVariables: { readonly variables: Variables } = Object.freeze({
  variables: Object.freeze({}),
})

/** Its own rule, if it has one. A field of a record cannot loosen what the endpoint asks for; one written by hand can. */
function ruleOf(
  field: ReturnType<Operation['definition']>,
  { secured }: DefaultAccess,
): AccessRule | undefined {
  if (field === undefined) return undefined
  const declaredRule = accessOf(field.extensions)
  if (declaredRule === undefined || secured === undefined) return declaredRule
  return isGenerated(field) ? requireBoth(secured, declaredRule) : declaredRule
}

function isVariables(
  coerced: { readonly variables: Variables } | Outcome,
): coerced is { readonly variables: Variables } {
  return 'variables' in coerced
}

function toOutcome({ data, errors }: ExecutionResult): Outcome {
  // graphql-js gives no data where nothing ran, which past validation are faulty variables alone.
  if (data === undefined) return notRun(withVariableCode(errors ?? []))
  return { data, text: undefined, errors, refused: undefined }
}

/** Whole, as graphql-js words them: the fault underneath names no variable. What has a path was thrown by a field. */
function withVariableCode(
  errors: readonly GraphQLError[],
  securedNames: ReadonlySet<string> = noNames,
): GraphQLError[] {
  const { GraphQLError } = graphqlLibrary()
  const extensions = { code: graphqlCodes.variables }
  return errors.map((error) => {
    const { message, nodes, path } = error
    if (path !== undefined) return error
    return new GraphQLError(withoutSuggestion(message, securedNames), { nodes, extensions })
  })
}

function refuse(refused: Exclude<Admission, 'admitted'>, key: string): Outcome {
  const { GraphQLError } = graphqlLibrary()
  const message = refused === 'unauthenticated' ? 'Unauthorized' : 'Forbidden'
  const error = new GraphQLError(message, {
    path: [key],
    extensions: { code: graphqlCodes[refused] },
  })
  return { ...notRun([error]), refused }
}
