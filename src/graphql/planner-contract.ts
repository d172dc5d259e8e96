/**
 * The interface between the executor and the planner. The plan of a root field returns its value as JSON text, which is
 * copied to the response: `{"data":{"a":<json>,"b":<json>}}`. Root fields without a plan are run by graphql-js, in the
 * same response and order.
 */
import type { FieldNode, FragmentDefinitionNode, GraphQLField, OperationTypeNode } from 'graphql'
import type { MaybePromise } from '../core/maybe-promise.js'
import { HttpError } from '../errors/http-error.js'
import type { RunInSequence } from '../records/statements/pipelined-writes.js'
import { graphqlLibrary } from './library.js'

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

/** Why graphql-js and the resolvers run a root field, in place of one statement. */
export interface Unplannable {
  readonly kind: 'unplannable'
  /** For developers: `Product.margin has a resolver.` */
  readonly reason: string
}

export function unplannable(reason: string): Unplannable {
  return { kind: 'unplannable', reason }
}

/** @param value the result of a function that plans something, or the reason why it cannot */
export function isUnplannable(value: unknown): value is Unplannable {
  return (
    typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'unplannable'
  )
}

/** A mistake of the planner. Nothing has run yet, so resolvers can still run the field. */
export class PlanningFailure extends Error {
  constructor(cause: unknown) {
    super('The planner of GraphQL failed.', { cause })
  }
}

/** Whether an error refuses the arguments or the access of a client. Every other error is a mistake of the program. */
export function isRefusal(error: unknown): boolean {
  return error instanceof HttpError || error instanceof graphqlLibrary().GraphQLError
}

/** A compiled root field. Cached with the document. May run many times at the same time. */
export interface RootPlan {
  readonly kind: 'plan'
  /**
   * Returns the field's value as JSON text, such as `[{"id":"1"}]` or `null`. Synchronous if the database is.
   *
   * `Unplannable` lets graphql-js and the resolvers run this field instead: before any statement has run, or for a value
   * that the statement cannot represent, such as an Int beyond 32 bits. After a write it must not return `Unplannable`.
   *
   * @param context the context of `execute`
   * @param variables coerced, with defaults
   * @throws {GraphQLError | HttpError} to make the field null, with an error at its response key. Any other error is
   * logged and may be hidden from the client.
   * @throws {PlanningFailure} before any statement has run
   */
  run(
    context: unknown,
    variables: Readonly<Record<string, unknown>>,
  ): MaybePromise<string | Unplannable>
}

/** A mutation whose statements can be sent in one batch with other mutations. They still run one after the other. */
export interface BatchablePlan extends RootPlan {
  /**
   * Opens a batch, and sends it when `fill` returns. Does nothing if the database cannot batch.
   *
   * @param fill receives `prepare` for all mutations of the batch
   */
  sendBatch(
    context: unknown,
    fill: (run: RunInSequence, prepare: PrepareInBatch) => void,
  ): MaybePromise<void>
}

/**
 * Reads the arguments of a mutation in a batch.
 *
 * @returns the function to call in the batch; `undefined` if the mutation must run alone, by `run`
 * @throws {GraphQLError | HttpError} as `run`
 */
export type PrepareInBatch = (
  plan: BatchablePlan,
  variables: Readonly<Record<string, unknown>>,
) => (() => MaybePromise<string>) | undefined

export function isBatchable(plan: RootPlan | Unplannable): plan is BatchablePlan {
  return 'sendBatch' in plan
}

export interface Planner {
  plan(request: PlanRequest): RootPlan | Unplannable
}
