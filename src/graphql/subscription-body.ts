/** Recognizes requests for subscriptions and live queries by their body. */
import type { GraphQL } from './graphql.js'
import { graphqlLibrary } from './library.js'
import { Refusal } from './operations.js'
import { readRequestParts } from './request-parts.js'

/** @returns false for invalid requests too */
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
