/**
 * The contract between the executor and the planner. A root field that has a plan is answered by the plan's JSON text,
 * untouched: when every root field of an operation has one, the response is `{"data":{"a":<json>,"b":<json>}}` without a
 * value of it ever being made. Root fields without a plan go through graphql-js, in the same response and order.
 */
import type { FieldNode, FragmentDefinitionNode, GraphQLField, OperationTypeNode } from 'graphql'
import type { MaybePromise } from '../core/maybe-promise.js'

/** One root field of a validated operation, as one combination of its `@skip` and `@include` values sees it. */
export interface PlanRequest {
  readonly kind: OperationTypeNode
  /** The definition in the schema; `extensions` are those of its declaration. */
  readonly field: GraphQLField<unknown, unknown>
  /** The nodes that share the response key, to be merged; at least one. Root fragments are expanded already. */
  readonly nodes: readonly [FieldNode, ...FieldNode[]]
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  /**
   * Values of the boolean variables that `@skip(if: $x)` and `@include(if: $x)` name anywhere in the operation: every
   * nested directive can be decided now. The plan is kept for this combination and never run with another.
   */
  readonly conditions: Readonly<Record<string, boolean>>
}

/** A compiled root field. Kept with the document; runs many times, concurrently too. */
export interface RootPlan {
  /**
   * Gives the JSON text of the field's value, e.g. `[{"id":"1"}]` or `null`. Synchronous where the database is.
   *
   * Throw (or reject with) a `GraphQLError` or an `HttpError` to make the field null with an error entry whose path is
   * the response key; anything else is masked and logged. `undefined` hands this one run to graphql-js and its
   * resolvers: before anything ran, or for answers that the statement cannot give (an Int beyond 32 bits). What failed for
   * another reason (its time, an outage, a missing table) is told as it is and not asked again, and nothing is after it
   * was written.
   *
   * @param context what the caller gave; see `declarations.ts`
   * @param variables coerced by graphql-js, defaults applied
   */
  run(
    context: unknown,
    variables: Readonly<Record<string, unknown>>,
  ): MaybePromise<string | undefined>
}

/** A mutation whose statements can be batched with other mutations: each begins when the one before it has ended. */
export interface BatchablePlan extends RootPlan {
  /** Opens a line; `undefined` where each has to be waited for. Whoever opens it ends it before waiting for an answer. */
  openBatch(context: unknown): MaybePromise<MutationBatch | undefined>
  /**
   * Reads a run's arguments. @returns `undefined` where it has to be waited for, or is at fault: then it is run by `run`
   */
  prepare(
    context: unknown,
    variables: Readonly<Record<string, unknown>>,
  ): (() => MaybePromise<string | undefined>) | undefined
}

export interface MutationBatch {
  /** What the work gives to the database before it returns stands in the line. */
  run<T>(work: () => T): T
  end(): void
}

export function isBatchable(plan: RootPlan | undefined): plan is BatchablePlan {
  return plan !== undefined && 'openBatch' in plan
}

export interface Planner {
  /** `undefined` where a selected field needs a resolver or something else that a statement cannot do. */
  plan(request: PlanRequest): RootPlan | undefined
}
