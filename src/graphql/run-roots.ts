/**
 * Runs the root fields of an operation, at least one of which has a plan, and assembles the JSON text of the result.
 */

import type { RunInSequence } from '../records/statements/pipelined-writes.js'
import type {
  GraphQLFieldResolver,
  DocumentNode,
  ExecutionResult,
  GraphQLError,
  GraphQLSchema,
} from 'graphql'
import { graphqlCodes } from './errors.js'
import { graphqlLibrary } from './library.js'
import { isThenable, type MaybePromise, after, attempt, settle } from '../core/maybe-promise.js'
import type { Operation, RootField } from './operations.js'
import type { Outcome } from './outcome.js'
import type { VariableValues } from './variables.js'
import {
  isBatchable,
  isUnplannable,
  PlanningFailure,
  unplannable,
  type BatchablePlan,
  type PrepareInBatch,
  type Unplannable,
} from './planner-contract.js'

/**
 * Resolves a field without a resolver: reads the parent's property of the field's name, or calls it if it is a method.
 * Members of `Object.prototype` do not count.
 *
 * @throws {GraphQLError} code `FIELD_NOT_RESOLVED` if the parent has no such property
 */
export const resolveKey: GraphQLFieldResolver<unknown, unknown> = (root, args, context, info) => {
  const { fieldName } = info
  if ((typeof root === 'object' && root !== null) || typeof root === 'function') {
    const value: unknown = (root as Record<string, unknown>)[fieldName]
    if (typeof value === 'function' && value !== Object.prototype[fieldName as never]) {
      return (value as (args: unknown, context: unknown, info: unknown) => unknown).call(
        root,
        args,
        context,
        info,
      )
    }
    if (value !== undefined && typeof value !== 'function') return value
    if (value === undefined && fieldName in root) return null
  }
  const { GraphQLError } = graphqlLibrary()
  throw new GraphQLError(
    `${info.parentType.name}.${fieldName}: the parent value has no such property.`,
    {
      extensions: { code: graphqlCodes.unresolved },
    },
  )
}

export interface RunInput {
  readonly schema: GraphQLSchema
  readonly operation: Operation
  /** As the client sent them, for graphql-js. */
  readonly rawVariables: VariableValues
  /** Converted to the values of their types, for plans. */
  readonly variables: VariableValues
  readonly context: unknown
  /** Reports a mistake of the planner. @returns true to run the field by graphql-js, false to let it fail */
  readonly onPlanningFailure: (failure: PlanningFailure, operation: Operation) => boolean
}

/** The JSON text or the error of a root field, or why graphql-js must run it. */
type RootResult = string | GraphQLError | Unplannable

export function runRoots(roots: readonly RootField[], input: RunInput): MaybePromise<Outcome> {
  const [only] = roots
  if (only !== undefined && roots.length === 1) return runOne(only, roots, input)
  if (input.operation.kind === 'mutation') return runSequentially(roots, input)
  const results = roots.map((root) => runPlan(root, input))
  return results.some(isThenable)
    ? Promise.all(results.map((rootResult) => Promise.resolve(rootResult))).then((all) =>
        complete(roots, all, input),
      )
    : complete(roots, results as RootResult[], input)
}

/** The fast path for one root field, which creates only one promise. */
function runOne(
  root: RootField,
  roots: readonly RootField[],
  input: RunInput,
): MaybePromise<Outcome> {
  const { plan } = root
  if (plan.kind === 'unplannable') return complete(roots, [plan], input)
  return settle(
    () => plan.run(input.context, input.variables),
    (rootResult) => complete(roots, [rootResult], input),
    (error) => complete(roots, [toRootResult(root, error, input)], input),
  )
}

function runPlan(root: RootField, input: RunInput): MaybePromise<RootResult> {
  const { plan } = root
  if (plan.kind === 'unplannable') return plan
  return attempt<RootResult>(
    () => plan.run(input.context, input.variables),
    (error) => toRootResult(root, error, input),
  )
}

function toRootResult({ key, nodes }: RootField, error: unknown, input: RunInput): RootResult {
  const isPlanningFailure = error instanceof PlanningFailure
  if (isPlanningFailure && input.onPlanningFailure(error, input.operation))
    return unplannable(error.message)
  return graphqlLibrary().locatedError(isPlanningFailure ? error.cause : error, nodes, [key])
}

/** Lets graphql-js run the remaining fields and assembles the result. */
function complete(
  roots: readonly RootField[],
  results: readonly RootResult[],
  input: RunInput,
): MaybePromise<Outcome> {
  if (!results.some(isUnplannable)) return assemble(roots, results, undefined)
  const remaining = roots.filter((_, index) => isUnplannable(results[index]))
  return after(executeRemaining(remaining, input), (result) => assemble(roots, results, result))
}

/** Runs the fields of a mutation one after the other. Stops if a field makes `data` null. */
async function runSequentially(roots: readonly RootField[], input: RunInput): Promise<Outcome> {
  const texts: string[] = []
  const errors: GraphQLError[] = []
  let batched: RootResult[] = []
  for (const [index, root] of roots.entries()) {
    if (batched.length === 0) batched = await runBatch(roots.slice(index), input)
    const rootResult = batched.shift() ?? (await runPlan(root, input))
    if (typeof rootResult === 'string' && rootResult !== 'null') {
      texts.push(memberText(root.key, rootResult))
      continue
    }
    const { text, errors: fieldErrors } = await complete([root], [rootResult], input)
    errors.push(...(fieldErrors ?? []))
    if (text === undefined || text === 'null') return toOutcome('null', errors)
    texts.push(text.slice(1, -1))
  }
  return toOutcome(`{${texts.join(',')}}`, errors)
}

/**
 * Runs as many of the fields as possible in one batch of statements. @returns their results; empty if they cannot be
 * batched
 */
async function runBatch(roots: readonly RootField[], input: RunInput): Promise<RootResult[]> {
  const [first, second] = roots
  if (!canBatch(first) || !canBatch(second)) return []
  const results: MaybePromise<RootResult>[] = []
  const fill = (runInBatch: RunInSequence, prepareInBatch: PrepareInBatch): void => {
    for (const root of roots) {
      const run = canBatch(root) ? prepare(root.plan, prepareInBatch, input) : undefined
      if (run === undefined) break
      results.push(
        runInBatch(() => attempt<RootResult>(run, (error) => toRootResult(root, error, input))),
      )
    }
  }
  // If the database does not respond, each field reports the error itself.
  await attempt<unknown>(
    () => first.plan.sendBatch(input.context, fill),
    () => undefined,
  )
  return Promise.all(results.map((rootResult) => Promise.resolve(rootResult)))
}

/** A required field cannot be batched, because the fields after it must not run if it is null. */
function canBatch(root: RootField | undefined): root is RootField & { plan: BatchablePlan } {
  return root !== undefined && !root.required && isBatchable(root.plan)
}

/** @returns a function that throws if the arguments are invalid, so that the error belongs to this field alone */
function prepare(
  plan: BatchablePlan,
  prepareInBatch: PrepareInBatch,
  { variables }: RunInput,
): ReturnType<PrepareInBatch> {
  try {
    return prepareInBatch(plan, variables)
  } catch (error) {
    return () => {
      throw error
    }
  }
}

function executeRemaining(
  remaining: readonly RootField[],
  input: RunInput,
): MaybePromise<ExecutionResult> {
  const result = graphqlLibrary().execute({
    schema: input.schema,
    document: reduce(input.operation, remaining),
    contextValue: input.context,
    variableValues: input.rawVariables,
    fieldResolver: resolveKey,
  })
  return isThenable(result) ? Promise.resolve(result) : result
}

/** Reduces the document to one operation that selects only these root fields. */
function reduce({ node, document }: Operation, remaining: readonly RootField[]): DocumentNode {
  const { Kind } = graphqlLibrary()
  const selections = remaining.flatMap(({ nodes }) => nodes)
  const reduced = { ...node, selectionSet: { ...node.selectionSet, selections } }
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
  return { ...document, definitions: [reduced, ...fragments] }
}

function assemble(
  roots: readonly RootField[],
  results: readonly RootResult[],
  result: ExecutionResult | undefined,
): Outcome {
  const errors: GraphQLError[] = result?.errors === undefined ? [] : [...result.errors]
  let isNull = result !== undefined && !result.data
  let text = ''
  for (const [index, { key, required }] of roots.entries()) {
    const rootResult = results[index]
    let value = 'null'
    if (typeof rootResult === 'string') value = rootResult
    else if (rootResult instanceof Error) errors.push(rootResult)
    else value = JSON.stringify(result?.data?.[key] ?? null)
    if (required && value === 'null') isNull = true
    text += `${index === 0 ? '' : ','}${memberText(key, value)}`
  }
  return toOutcome(isNull ? 'null' : `{${text}}`, errors)
}

function memberText(key: string, value: string): string {
  return `"${key}":${value}`
}

function toOutcome(text: string, errors: readonly GraphQLError[]): Outcome {
  return {
    data: undefined,
    text,
    errors: errors.length === 0 ? undefined : errors,
    refused: undefined,
  }
}
