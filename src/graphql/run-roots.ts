/** Runs the root fields of an operation of which at least one has a plan, and writes the JSON text of their values. */
import type { DocumentNode, ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql'
import { isThenable, type Later, after, attempt } from '../core/later.js'
import { graphqlLibrary } from './library.js'
import type { Operation, RootField } from './operation.js'
import type { Outcome, Variables } from './outcome.js'
import { resolveKey } from './resolve-key.js'

export interface RunInput {
  readonly schema: GraphQLSchema
  readonly operation: Operation
  /** As they came, for graphql-js. */
  readonly given: Variables
  /** As their types make them, for plans. */
  readonly variables: Variables
  readonly context: unknown
}

/** A root field's JSON text, or why there is none; undefined is left to graphql-js. */
type Answer = string | GraphQLError | undefined

export function runRoots(roots: readonly RootField[], input: RunInput): Later<Outcome> {
  const { OperationTypeNode } = graphqlLibrary()
  if (input.operation.node.operation === OperationTypeNode.MUTATION) {
    const [only] = roots
    if (only === undefined || roots.length > 1) return runInTurn(roots, input)
    return after(runPlan(only, input), (answer) => complete(roots, [answer], input))
  }
  const answers = roots.map((root) => runPlan(root, input))
  return answers.some(isThenable)
    ? Promise.all(answers.map((answer) => Promise.resolve(answer))).then((all) =>
        complete(roots, all, input),
      )
    : complete(roots, answers as Answer[], input)
}

function runPlan({ plan, key, nodes }: RootField, input: RunInput): Later<Answer> {
  if (plan === undefined) return undefined
  return attempt<Answer>(
    () => plan.run(input.context, input.variables),
    (error) => graphqlLibrary().locatedError(error, nodes, [key]),
  )
}

/** Has graphql-js run what the plans left, and puts all together. */
function complete(
  roots: readonly RootField[],
  answers: readonly Answer[],
  input: RunInput,
): Later<Outcome> {
  if (!answers.includes(undefined)) return assemble(roots, answers, undefined)
  const left = roots.filter((_, index) => answers[index] === undefined)
  return after(runLeft(left, input), (result) => assemble(roots, answers, result))
}

/** The fields of a mutation run one after the other; one that makes `data` null is the last. */
async function runInTurn(roots: readonly RootField[], input: RunInput): Promise<Outcome> {
  const texts: string[] = []
  const errors: GraphQLError[] = []
  for (const root of roots) {
    const answer = await runPlan(root, input)
    const { text, errors: more } = await complete([root], [answer], input)
    errors.push(...(more ?? []))
    if (text === undefined || text === 'null') return toOutcome('null', errors)
    texts.push(text.slice(1, -1))
  }
  return toOutcome(`{${texts.join(',')}}`, errors)
}

function runLeft(left: readonly RootField[], input: RunInput): Later<ExecutionResult> {
  const result = graphqlLibrary().execute({
    schema: input.schema,
    document: reduce(input.operation, left),
    contextValue: input.context,
    variableValues: input.given,
    fieldResolver: resolveKey,
  })
  return isThenable(result) ? Promise.resolve(result) : result
}

/** The document with one operation, which selects these root fields alone. */
function reduce({ node, document }: Operation, left: readonly RootField[]): DocumentNode {
  const { Kind } = graphqlLibrary()
  const selections = left.flatMap(({ nodes }) => nodes)
  const reduced = { ...node, selectionSet: { ...node.selectionSet, selections } }
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
  return { ...document, definitions: [reduced, ...fragments] }
}

function assemble(
  roots: readonly RootField[],
  answers: readonly Answer[],
  result: ExecutionResult | undefined,
): Outcome {
  const errors: GraphQLError[] = result?.errors === undefined ? [] : [...result.errors]
  let isNull = result !== undefined && !result.data
  let text = ''
  for (const [index, { key, required }] of roots.entries()) {
    const answer = answers[index]
    let value = 'null'
    if (typeof answer === 'string') value = answer
    else if (answer === undefined) value = JSON.stringify(result?.data?.[key] ?? null)
    else errors.push(answer)
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
