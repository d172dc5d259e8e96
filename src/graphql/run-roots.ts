/** Runs the root fields of an operation of which at least one has a plan, and writes the JSON text of their values. */

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
import type { Operation, RootField } from './operation.js'
import type { Outcome, Variables } from './outcome.js'
import { isBatchable, type BatchablePlan, type MutationBatch } from './planner-contract.js'

/** Resolves fields that have no resolver. Source: specification, Hand-built GraphQL schema and Errors, GraphQL 4. */

/**
 * Reads the parent's key of the field's name, or calls it where it is a method. What every object inherits is no key.
 *
 * @throws {GraphQLError} code `FIELD_NOT_RESOLVED` when there is no such key: the field is null, with this entry
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
  throw new GraphQLError(`${info.parentType.name}.${fieldName}: the value has no such key.`, {
    extensions: { code: graphqlCodes.unresolved },
  })
}

export interface RunInput {
  readonly schema: GraphQLSchema
  readonly operation: Operation
  /** As they came, for graphql-js. */
  readonly rawVariables: Variables
  /** As their types make them, for plans. */
  readonly variables: Variables
  readonly context: unknown
}

/** A root field's JSON text, or why there is none; undefined is left to graphql-js. */
type RootResult = string | GraphQLError | undefined

export function runRoots(roots: readonly RootField[], input: RunInput): MaybePromise<Outcome> {
  const [only] = roots
  if (only !== undefined && roots.length === 1) return runOne(only, roots, input)
  const { OperationTypeNode } = graphqlLibrary()
  if (input.operation.node.operation === OperationTypeNode.MUTATION)
    return runSequentially(roots, input)
  const results = roots.map((root) => runPlan(root, input))
  return results.some(isThenable)
    ? Promise.all(results.map((rootResult) => Promise.resolve(rootResult))).then((all) =>
        complete(roots, all, input),
      )
    : complete(roots, results as RootResult[], input)
}

/** Nearly every operation has one root field: one promise for all that is done with its answer. */
function runOne(
  root: RootField,
  roots: readonly RootField[],
  input: RunInput,
): MaybePromise<Outcome> {
  const { plan, key, nodes } = root
  if (plan === undefined) return complete(roots, [undefined], input)
  return settle(
    () => plan.run(input.context, input.variables),
    (rootResult) => complete(roots, [rootResult], input),
    (error) => complete(roots, [graphqlLibrary().locatedError(error, nodes, [key])], input),
  )
}

function runPlan(root: RootField, input: RunInput): MaybePromise<RootResult> {
  const { plan } = root
  if (plan === undefined) return undefined
  return withLocation(root, () => plan.run(input.context, input.variables))
}

function withLocation(
  { key, nodes }: RootField,
  run: () => MaybePromise<RootResult>,
): MaybePromise<RootResult> {
  return attempt<RootResult>(run, (error) => graphqlLibrary().locatedError(error, nodes, [key]))
}

/** Has graphql-js run what the plans left, and puts all together. */
function complete(
  roots: readonly RootField[],
  results: readonly RootResult[],
  input: RunInput,
): MaybePromise<Outcome> {
  if (!results.includes(undefined)) return assemble(roots, results, undefined)
  const remaining = roots.filter((_, index) => results[index] === undefined)
  return after(executeRemaining(remaining, input), (result) => assemble(roots, results, result))
}

/** The fields of a mutation run one after the other; one that makes `data` null is the last. */
async function runSequentially(roots: readonly RootField[], input: RunInput): Promise<Outcome> {
  const texts: string[] = []
  const errors: GraphQLError[] = []
  let batched: RootResult[] = []
  for (const [index, root] of roots.entries()) {
    if (batched.length === 0) batched = await runBatch(roots.slice(index), input)
    const rootResult = batched.length > 0 ? batched.shift() : await runPlan(root, input)
    const { text, errors: fieldErrors } = await complete([root], [rootResult], input)
    errors.push(...(fieldErrors ?? []))
    if (text === undefined || text === 'null') return toOutcome('null', errors)
    texts.push(text.slice(1, -1))
  }
  return toOutcome(`{${texts.join(',')}}`, errors)
}

/** Runs as many fields as can go to the database one behind the other without a wait for the answers between. */
async function runBatch(roots: readonly RootField[], input: RunInput): Promise<RootResult[]> {
  const [first, second] = roots
  if (!canBatch(first) || !canBatch(second)) return []
  // A database that is gone is told by each field that asks it.
  const opening = attempt<MutationBatch | undefined>(
    () => first.plan.openBatch(input.context),
    () => undefined,
  )
  const batch = await opening
  if (batch === undefined) return []
  const results: MaybePromise<RootResult>[] = []
  try {
    for (const root of roots) {
      const run = canBatch(root) ? tryPrepare(root.plan, input) : undefined
      if (run === undefined) break
      results.push(batch.run(() => withLocation(root, run)))
    }
  } finally {
    batch.end()
  }
  return Promise.all(results.map((rootResult) => Promise.resolve(rootResult)))
}

/** One that makes `data` null ends what follows: it is waited for. */
function canBatch(root: RootField | undefined): root is RootField & { plan: BatchablePlan } {
  return root !== undefined && !root.required && isBatchable(root.plan)
}

/** What is at fault is told by running it. */
function tryPrepare(plan: BatchablePlan, input: RunInput): ReturnType<BatchablePlan['prepare']> {
  try {
    return plan.prepare(input.context, input.variables)
  } catch {
    return undefined
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

/** The document with one operation, which selects these root fields alone. */
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
    else if (rootResult === undefined) value = JSON.stringify(result?.data?.[key] ?? null)
    else errors.push(rootResult)
    if (required && value === 'null') isNull = true
    text += `${index === 0 ? '' : ','}"${key}":${value}`
  }
  return toOutcome(isNull ? 'null' : `{${text}}`, errors)
}

function toOutcome(text: string, errors: readonly GraphQLError[]): Outcome {
  return {
    data: undefined,
    text,
    errors: errors.length === 0 ? undefined : errors,
    refused: undefined,
  }
}
