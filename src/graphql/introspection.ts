/**
 * What a document may ask of the schema itself. Tools ask for all of it, once; a document of aliases would have it written
 * out many times over while everybody else waits.
 */
import type { GraphQLError, GraphQLSchema } from 'graphql'
import { graphqlLibrary } from './library.js'
import { measureOperation, type Measure } from './measure.js'
import { overLimit } from './read-document.js'

/** What tools ask for, and half as much again. */
const allowance = 1.5

const allowed = new WeakMap<GraphQLSchema, number>()

/** What is wrong with the introspection of an operation, if anything. */
export function excessIntrospection(
  { introspection }: Measure,
  schema: GraphQLSchema,
): GraphQLError | undefined {
  if (introspection === 0) return undefined
  let most = allowed.get(schema)
  if (most === undefined) allowed.set(schema, (most = allowance * measureTools(schema)))
  if (introspection <= most) return undefined
  return overLimit('cost', 'The operation asks for more of the schema than tools do. Ask for less.')
}

/** The query of tools, with everything that it can ask for. */
function measureTools(schema: GraphQLSchema): number {
  const { getIntrospectionQuery, Kind, parse } = graphqlLibrary()
  const text = getIntrospectionQuery({
    schemaDescription: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    inputValueDeprecation: true,
    oneOf: true,
  })
  const { definitions } = parse(text)
  const operation = definitions.find((one) => one.kind === Kind.OPERATION_DEFINITION)
  if (operation === undefined) return 0
  const fragments = Object.fromEntries(
    definitions.flatMap((one) =>
      one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one] as const] : [],
    ),
  )
  return measureOperation({ schema, operation, fragments }).introspection
}
