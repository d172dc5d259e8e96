/** The operation of a GraphQL request, as custom decorators at root fields see it. */
import { requestValue } from '../http/request-value.js'
import type { RouteInfo } from '../routing/route-info.js'

export interface RequestedOperation {
  readonly kind: 'query' | 'mutation' | 'subscription'
  /** The document, also where the request names it by an id or a hash. */
  readonly text: string
  /** Which operation of the document runs; undefined where it has one. */
  readonly name: string | undefined
  readonly variables: Readonly<Record<string, unknown>>
  /** One for each root field and alias that is asked for; undefined where it has no decorators. */
  readonly roots: readonly (RouteInfo | undefined)[]
}

/** Set on requests for operations of which a root field has a decorator; malformed ones have none. */
export const requestedOperation = requestValue<RequestedOperation>('GraphQL operation')
