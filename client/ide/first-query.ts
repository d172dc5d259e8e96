/** Writes the query that an empty editor of the GraphQL IDE starts with. */
import {
  getNamedType,
  getNullableType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
  isRequiredArgument,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
} from 'graphql'

type QueryField = GraphQLField<unknown, unknown>

/** A selection has at most this many leaf fields. */
const maxLeaves = 6
/** The limit of a list. */
const rowLimit = 5
/** The levels of selections. Rows in a connection of Relay need three: `items { edges { node { … } } }`. */
const maxDepth = 3

/** So many queries are tried for the one that the visitor may run. */
const maxTries = 5

/**
 * A query that the visitor may run as it is, preferably for a list of rows, with their first fields. Comments say how to run it
 * and how to send a token, and that the query requires one if the visitor may run none.
 *
 * @param isAllowed runs a query as the visitor, and returns whether its response has no errors
 */
export async function createFirstQuery(
  schema: GraphQLSchema,
  isAllowed: (query: string) => Promise<boolean>,
): Promise<string> {
  const queries = rootFields(schema).map((field) => `query {\n${writeField(field, 1)}\n}\n`)
  for (const query of queries.slice(0, maxTries)) {
    if (await isAllowed(query)) return withComments(query)
  }
  const [query] = queries
  if (query === undefined) return withComments('query {\n  __typename\n}\n')
  return withComments(query, '# This query needs a token, or another one than yours.\n')
}

function withComments(query: string, more = ''): string {
  return `# Ctrl+Enter runs this, Ctrl+Space suggests fields.
${more}# To send a token, write into "Headers":
# { "Authorization": "Bearer …" }
${query}`
}

/** The root fields of the query type that need no arguments: lists first, then objects. */
function rootFields(schema: GraphQLSchema): readonly QueryField[] {
  const fields = usableFields(schema.getQueryType()).filter((field) => hasLeaf(field, 1))
  const rank = ({ type }: QueryField): number => {
    if (isLeafType(getNamedType(type))) return 2
    return isList(type) ? 0 : 1
  }
  return fields.sort((one, other) => rank(one) - rank(other))
}

function isList(type: GraphQLOutputType): boolean {
  return isListType(getNullableType(type))
}

/** Fields that are not deprecated and need no arguments. */
function usableFields(type: GraphQLNamedType | undefined | null): QueryField[] {
  if (!isObjectType(type) && !isInterfaceType(type)) return []
  return Object.values(type.getFields()).filter(
    ({ deprecationReason, args }) => deprecationReason == null && !args.some(isRequiredArgument),
  )
}

/** The usable fields that have a scalar or an enum as their type. */
function leavesOf(type: GraphQLNamedType): QueryField[] {
  return usableFields(type).filter((field) => isLeafType(getNamedType(field.type)))
}

/** Whether the field is a leaf, or leads to one within the depth. Otherwise a selection of it would be empty. */
function hasLeaf({ type }: QueryField, depth: number): boolean {
  const named = getNamedType(type)
  return isLeafType(named) || leavesOf(named).length > 0 || parentsOfLeaves(named, depth).length > 0
}

/** The usable fields with an object that leads to a leaf. */
function parentsOfLeaves(type: GraphQLNamedType, depth: number): QueryField[] {
  if (depth >= maxDepth) return []
  return usableFields(type).filter(
    (field) => !isLeafType(getNamedType(field.type)) && hasLeaf(field, depth + 1),
  )
}

function writeField(field: QueryField, depth: number): string {
  const { name, args, type } = field
  const indent = '  '.repeat(depth)
  const limit = isList(type)
    ? args.find((arg) => ['limit', 'first'].includes(arg.name) && String(arg.type) === 'Int')
    : undefined
  const head = `${indent}${name}${limit === undefined ? '' : `(${limit.name}: ${rowLimit})`}`
  const named = getNamedType(type)
  if (isLeafType(named)) return head
  const leaves = leavesOf(named).slice(0, maxLeaves)
  const fields = leaves.length > 0 ? leaves : parentsOfLeaves(named, depth).slice(0, 1)
  const lines = fields.map((child) => writeField(child, depth + 1))
  return `${head} {\n${lines.join('\n')}\n${indent}}`
}
