/**
 * The interface between the executor and the planner. The plan of a root field returns its value as JSON text, which is
 * copied to the response: `{"data":{"a":<json>,"b":<json>}}`. Root fields without a plan are run by graphql-js, in the
 * same response and order.
 */
import type { FieldNode, FragmentDefinitionNode, GraphQLField, OperationTypeNode } from 'graphql'
import type { MaybePromise } from '../core/maybe-promise.js'

/** A root field of a validated operation, for one combination of the values of `@skip` and `@include`. */
export interface PlanRequest {
  readonly kind: OperationTypeNode
  /** The field of the schema. Its `extensions` come from its declaration. */
  readonly field: GraphQLField<unknown, unknown>
  /** The nodes with the same response key, whose selections are merged. Fragments at the root are expanded. */
  readonly nodes: readonly [FieldNode, ...FieldNode[]]
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  /**
   * Values of the boolean variables in all `@skip(if: $x)` and `@include(if: $x)` of the operation. The plan is cached
   * for these values and never runs with other values.
   */
  readonly conditions: Readonly<Record<string, boolean>>
}

/** A compiled root field. Cached with the document. May run many times at the same time. */
export interface RootPlan {
  /**
   * Returns the field's value as JSON text, such as `[{"id":"1"}]` or `null`. Synchronous if the database is.
   *
   * `undefined` lets graphql-js and the resolvers run this field instead: before any statement has run, or for a value
   * that the statement cannot represent, such as an Int beyond 32 bits. After a write it must not return `undefined`.
   *
   * @param context the context of `execute`
   * @param variables coerced, with defaults
   * @throws {GraphQLError | HttpError} to make the field null, with an error at its response key. Any other error is
   * logged and may be hidden from the client.
   */
  run(
    context: unknown,
    variables: Readonly<Record<string, unknown>>,
  ): MaybePromise<string | undefined>
}

/** A mutation whose statements can be sent in one batch with other mutations. They still run one after the other. */
export interface BatchablePlan extends RootPlan {
  /**
   * Opens a batch, which the caller must end before it waits for a result.
   *
   * @returns `undefined` if the database cannot batch
   */
  openBatch(context: unknown): MaybePromise<MutationBatch | undefined>
  /**
   * Reads the arguments of a run.
   *
   * @returns the function to call in the batch; `undefined` if the mutation must run alone, by `run`
   */
  prepare(
    context: unknown,
    variables: Readonly<Record<string, unknown>>,
  ): (() => MaybePromise<string | undefined>) | undefined
}

export interface MutationBatch {
  /** Adds the statements that `work` sends before it returns to the batch. */
  run<T>(work: () => T): T
  end(): void
}

export function isBatchable(plan: RootPlan | undefined): plan is BatchablePlan {
  return plan !== undefined && 'openBatch' in plan
}

export interface Planner {
  /** @returns `undefined` if a selected field needs a resolver, or anything else that a statement cannot do */
  plan(request: PlanRequest): RootPlan | undefined
}
