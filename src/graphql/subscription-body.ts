/** Whether a request asks for a stream, a subscription or a live query, told by its body alone. */
import type { GraphQL } from './graphql.js'
import { graphqlLibrary } from './library.js'
import { Refusal } from './operations.js'
import { readRequestParts } from './request-parts.js'

/** False for what is no request, and for what is refused. */
export function isSubscription(graphql: GraphQL, body: unknown): boolean {
  try {
    const { query, operationName } = readRequestParts(body, graphql.documents())
    const operation = graphql.executor().find(query, operationName)
    if (operation instanceof Refusal) return false
    const isLive = operation.node.directives?.some(({ name }) => name.value === 'live') === true
    return isLive || operation.node.operation === graphqlLibrary().OperationTypeNode.SUBSCRIPTION
  } catch {
    return false
  }
}
