/** The diagnostics channel `filigree:graphql`. See docs/monitoring.md. */
import { WorkChannel, type WatchedWork } from '../core/diagnostics.js'

/** An operation that ran, or a subscription that was opened. */
export interface GraphqlEvent extends WatchedWork {
  /** The `GraphQL` instance. */
  readonly graphql: object | undefined
  readonly type: 'query' | 'mutation' | 'subscription'
  /** The name in the document, if any. */
  readonly name: string | undefined
  /** Its cost without the values of variables. */
  readonly cost: number
  /** Whether the result has errors. */
  failed: boolean
}

export const graphqlEvents = new WorkChannel<GraphqlEvent>('filigree:graphql')
