/**
 * Runs operations: checks access and costs, runs root fields that have a plan with their plan and all other root fields
 * with graphql-js. Synchronous if every resolver and the database are.
 */
import type { ExecutionArgs, ExecutionResult, GraphQLError } from 'graphql'
import {
  combineRules,
  endAccess,
  openAccess,
  tokenAccess,
  type AccessRule,
} from '../auth/access.js'
import { isThenable, type MaybePromise, after } from '../core/maybe-promise.js'
import { accessOf, type BuiltSchema } from './build-schema.js'
import { checkAccess, type AccessResult } from '../records/rights/caller.js'
import { callerOf, writingOf } from './operation-caller.js'
import { graphqlEvents, type GraphqlEvent, notRun, type Outcome } from './outcome.js'
import type { VariableValues } from './variables.js'
import { ServerRequest } from '../http/server-request.js'
import type { Database } from '../records/database.js'
import { graphqlCodes } from './errors.js'
import { describeVariableErrors } from './variable-errors.js'
import { findExcessValues, errorOptions } from './variables.js'
import { isGenerated, resultGuardOf } from './declarations.js'
import { graphqlLibrary } from './library.js'
import type { FieldGroups } from './collect-fields.js'
import type { GraphqlLimits } from './limits.js'
import { mapIterator, OpenStreams } from './open-streams.js'
import { type Operation, findExcessCost, Operations, RefusedDocument } from './operations.js'
import { resolveKey, type RunInput, runRoots } from './run-roots.js'

/** The access rules of root fields that have no rule of their own. */
export interface DefaultAccess {
  /** Queries and subscriptions. */
  readonly read: AccessRule
  readonly write: AccessRule
  /** The access rule of the endpoint, which applies in addition to the rules of records. */
  readonly secured?: AccessRule
}

export const defaultAccess: DefaultAccess = Object.freeze({ read: openAccess, write: tokenAccess })
/** Requires a token for queries too. */
export const closedAccess: DefaultAccess = Object.freeze({ ...defaultAccess, read: tokenAccess })

export interface ExecutorOptions {
  readonly built: BuiltSchema
  readonly limits: GraphqlLimits
  /** The maximum size of cached documents in bytes. */
  readonly cacheBytes: number
  /** Refuses introspection with this advice. */
  readonly insteadOfIntrospection?: string | undefined
  /** Tracks open subscriptions. */
  readonly streams?: OpenStreams
  /** The `GraphQL` instance that diagnostics events name. */
  readonly graphql?: object
  /** Called before each operation runs. */
  readonly onRun?: ((type: OperationType, context: unknown) => void) | undefined
  /**
   * Runs a resolver so that its writes stop when the time limit of the request is over. Undefined without a database.
   */
  readonly runWithin?: Database['runForRequest'] | undefined
  /** Default: the field fails. */
  readonly onPlanningFailure?: RunInput['onPlanningFailure'] | undefined
}

type OperationType = Operation['node']['operation']

/** Variables converted to the values of their types. */
interface CoercedVariables {
  readonly variables: VariableValues
}

interface GuardedRoot {
  readonly key: string
  readonly rule: AccessRule
  /** The message for a caller with another token. Default: `Forbidden`. */
  readonly message?: string | undefined
}

export class Executor {
  readonly built: BuiltSchema
  readonly #operations: Operations
  readonly #limits: GraphqlLimits
  readonly #streams: OpenStreams
  readonly #graphql: object | undefined
  readonly #onRun: ExecutorOptions['onRun']
  readonly #runWithin: ExecutorOptions['runWithin']
  readonly #onPlanningFailure: RunInput['onPlanningFailure']
  /** Cached root fields that require a check of the caller. */
  readonly #guarded = new WeakMap<DefaultAccess, WeakMap<Operation, readonly GuardedRoot[]>>()

  constructor(options: ExecutorOptions) {
    const {
      built,
      limits,
      cacheBytes,
      insteadOfIntrospection,
      streams = new OpenStreams(),
    } = options
    this.#graphql = options.graphql
    this.#onRun = options.onRun
    this.#runWithin = options.runWithin
    this.#onPlanningFailure = options.onPlanningFailure ?? (() => false)
    this.built = built
    this.#streams = streams
    this.#limits = limits
    this.#operations = new Operations({ ...built, limits, cacheBytes, insteadOfIntrospection })
  }

  find(text: string, name: string | null | undefined): Operation | RefusedDocument {
    return this.#operations.find(text, name)
  }

  /**
   * Runs a query or a mutation. Errors are in the outcome.
   *
   * @param isLive true for a live query, which runs repeatedly
   */
  run(
    operation: Operation,
    variables: VariableValues,
    context: unknown,
    access: DefaultAccess,
    isLive = false,
  ): MaybePromise<Outcome> {
    // With replicas, a live query reads the latest writes, as subscriptions do.
    if (!isLive) this.#onRun?.(operation.node.operation, context)
    if (!graphqlEvents.hasSubscribers) return this.#run(operation, variables, context, access)
    return this.#publish(operation, () => this.#run(operation, variables, context, access))
  }

  /** Whether every root field has a plan, so that the operation only reads records, by the rules of their policies. */
  isPlanned(operation: Operation, variables: VariableValues): boolean {
    if (!operation.canPlan) return false
    const coerced = this.#coerce(operation, variables)
    return (
      isCoerced(coerced) &&
      operation.roots(coerced.variables).every(({ plan }) => plan.kind === 'plan')
    )
  }

  /** The errors of the variables of an operation, and of its cost with them. */
  findVariableErrors(operation: Operation, variables: VariableValues): readonly GraphQLError[] {
    const coerced = this.#coerce(operation, variables)
    return isCoerced(coerced) ? [] : (coerced.errors ?? [])
  }

  #run(
    operation: Operation,
    variables: VariableValues,
    context: unknown,
    access: DefaultAccess,
  ): MaybePromise<Outcome> {
    const admitted = this.admit(operation, context, access)
    if (admitted === undefined) return this.#runAdmitted(operation, variables, context)
    return after(admitted, (refusal) => refusal ?? this.#runAdmitted(operation, variables, context))
  }

  /** Opens a subscription. @returns an iterator of outcomes, or one outcome with errors */
  subscribe(
    operation: Operation,
    variables: VariableValues,
    context: unknown,
    access: DefaultAccess,
  ): Promise<Outcome | AsyncIterableIterator<Outcome>> {
    if (!graphqlEvents.hasSubscribers) return this.#subscribe(operation, variables, context, access)
    return this.#publish(operation, () => this.#subscribe(operation, variables, context, access))
  }

  /** Runs an operation and publishes a diagnostics event about it. */
  #publish<T extends MaybePromise<Outcome | AsyncIterableIterator<Outcome>>>(
    operation: Operation,
    run: () => T,
  ): T {
    const { node } = operation
    const event: GraphqlEvent = {
      graphql: this.#graphql,
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
    variables: VariableValues,
    context: unknown,
    access: DefaultAccess,
  ): Promise<Outcome | AsyncIterableIterator<Outcome>> {
    this.#onRun?.(operation.node.operation, context)
    const refusal = await this.admit(operation, context, access)
    if (refusal !== undefined) return refusal
    this.limitStream(operation, context, access)
    const coerced = this.#coerce(operation, variables)
    if (!isCoerced(coerced)) return coerced
    const input = this.#executionInput(operation, variables, context)
    const results = await graphqlLibrary().subscribe(input)
    if (!(Symbol.asyncIterator in results)) return toOutcome(results)
    return this.#streams.track(mapIterator(results, toOutcome))
  }

  /**
   * Checks the caller. @returns `undefined` if the caller may run the operation, otherwise the outcome with the error
   */
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
      return after(checkAccess(root.rule, caller), (result) =>
        result === 'admitted' ? checkFrom(from + 1) : refuse(result, root),
      )
    }
    return checkFrom(0)
  }

  /** Limits the stream of a request to the time for which the caller's sign-in is recent enough for all root fields. */
  limitStream(operation: Operation, context: unknown, access: DefaultAccess): void {
    const { request, user } = callerOf(context)
    if (!(request instanceof ServerRequest)) return
    for (const { rule } of this.guardedRoots(operation, access)) endAccess(request, rule, user)
  }

  /** The root fields that are not open to every caller, with their rules, including skipped fields. */
  guardedRoots(operation: Operation, access: DefaultAccess): readonly GuardedRoot[] {
    let byOperation = this.#guarded.get(access)
    if (byOperation === undefined) this.#guarded.set(access, (byOperation = new WeakMap()))
    let guarded = byOperation.get(operation)
    if (guarded === undefined) {
      const isWrite = operation.kind === 'mutation'
      const defaultRule = isWrite ? access.write : access.read
      guarded = [...operation.everyRoot()].flatMap(([key, nodes]) => {
        const field = operation.definition(nodes[0])
        const rule = ruleOf(field, access) ?? defaultRule
        const resultGuard = field && resultGuardOf(field)
        // The right to read the result of a write is checked before it, because a selected field may not be nullable.
        const isResultGuarded =
          resultGuard !== undefined &&
          selectsMore(operation.everyFieldBelow(nodes), resultGuard.keys)
        return [
          ...(rule.open ? [] : [{ key, rule }]),
          ...(isResultGuarded
            ? [{ key, rule: resultGuard.rule, message: resultGuard.message }]
            : []),
        ]
      })
      byOperation.set(operation, guarded)
    }
    return guarded
  }

  #runAdmitted(
    operation: Operation,
    variables: VariableValues,
    context: unknown,
  ): MaybePromise<Outcome> {
    if (!operation.canPlan && !operation.costVaries && !operation.hasVariables) {
      return this.#runResolvers(operation, variables, context)
    }
    const coerced = this.#coerce(operation, variables)
    if (!isCoerced(coerced)) return coerced
    if (!operation.canPlan) return this.#runResolvers(operation, variables, context)
    const roots = operation.roots(coerced.variables)
    if (roots.every(({ plan }) => plan.kind === 'unplannable')) {
      return this.#runResolvers(operation, variables, context)
    }
    const { schema } = this.built
    const input = {
      schema,
      operation,
      rawVariables: variables,
      variables: coerced.variables,
      context,
      onPlanningFailure: this.#onPlanningFailure,
    }
    const run = (): MaybePromise<Outcome> => runRoots(roots, input)
    return roots.some(({ plan }) => plan.kind === 'unplannable')
      ? this.#runWithinRequestTime(operation, context, run)
      : run()
  }

  #runResolvers(
    operation: Operation,
    variables: VariableValues,
    context: unknown,
  ): MaybePromise<Outcome> {
    return this.#runWithinRequestTime(operation, context, () =>
      this.#executeAll(operation, variables, context),
    )
  }

  /**
   * Stops the writes of a mutation's resolvers when the time limit of the request is over, whichever repository they
   * use.
   */
  #runWithinRequestTime<T>({ kind }: Operation, context: unknown, run: () => T): T {
    const writing = kind === 'mutation' ? writingOf(callerOf(context)) : undefined
    return writing === undefined || this.#runWithin === undefined
      ? run()
      : this.#runWithin(writing, run)
  }

  /** Converts variables to the values of their types, and checks the cost of the operation with them. */
  #coerce(operation: Operation, input: VariableValues): CoercedVariables | Outcome {
    if (!operation.hasVariables) return this.#limitCost(operation, noVariables)
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
      if (read.errors !== undefined) {
        const { securedNames } = this.built
        const sent = { schema, definitions, input, securedNames }
        return notRun(describeVariableErrors(read.errors, sent))
      }
      variables = read.coerced
    }
    return this.#limitCost(operation, { variables })
  }

  /** @returns the variables, or the error if the operation costs too much with them */
  #limitCost(operation: Operation, coerced: CoercedVariables): CoercedVariables | Outcome {
    if (!operation.costVaries) return coerced
    const excess = findExcessCost(operation.cost(coerced.variables), this.#limits)
    return excess === undefined ? coerced : notRun([excess])
  }

  #executeAll(
    operation: Operation,
    variables: VariableValues,
    context: unknown,
  ): MaybePromise<Outcome> {
    const result = graphqlLibrary().execute(this.#executionInput(operation, variables, context))
    return isThenable(result) ? result.then(toOutcome) : toOutcome(result)
  }

  #executionInput(
    operation: Operation,
    variables: VariableValues,
    context: unknown,
  ): ExecutionArgs {
    return {
      schema: this.built.schema,
      document: operation.document,
      contextValue: context,
      variableValues: variables,
      operationName: operation.node.name?.value,
      fieldResolver: resolveKey,
    }
  }
}

const noVariables: CoercedVariables = Object.freeze({
  variables: Object.freeze({}),
})

/**
 * The field's own rule. The rule of a generated field cannot weaken the rule of the endpoint, the rule of a
 * hand-written field can.
 */
function ruleOf(
  field: ReturnType<Operation['definition']>,
  { secured }: DefaultAccess,
): AccessRule | undefined {
  if (field === undefined) return undefined
  const declaredRule = accessOf(field.extensions)
  if (declaredRule === undefined || secured === undefined) return declaredRule
  return isGenerated(field) ? combineRules(secured, declaredRule) : declaredRule
}

/** Whether more than the key and `__typename` is selected. */
function selectsMore(selected: FieldGroups, keys: readonly string[]): boolean {
  return [...selected.values()]
    .flat()
    .some(({ name }) => !keys.includes(name.value) && name.value !== '__typename')
}

function isCoerced(coerced: CoercedVariables | Outcome): coerced is CoercedVariables {
  return 'variables' in coerced
}

function toOutcome({ data, errors }: ExecutionResult): Outcome {
  // After validation, graphql-js returns no data only if variables are invalid.
  if (data === undefined) return notRun(describeVariableErrors(errors ?? []))
  return { data, text: undefined, errors, refused: undefined }
}

function refuse(
  refused: Exclude<AccessResult, 'admitted'>,
  { key, message: forbidden = 'Forbidden' }: GuardedRoot,
): Outcome {
  const { GraphQLError } = graphqlLibrary()
  const message = refused === 'unauthenticated' ? 'Unauthorized' : forbidden
  const error = new GraphQLError(message, {
    path: [key],
    extensions: { code: graphqlCodes[refused] },
  })
  return { ...notRun([error]), refused }
}
