/** The messages of `filigree:graphql`. See docs/monitoring.md. */
import { WorkChannel, type WatchedWork } from '../core/diagnostics.js'

/** An operation that ran; of a subscription, its opening. */
export interface GraphqlEvent extends WatchedWork {
  /** The `GraphQL` that it belongs to. */
  readonly graphql: object | undefined
  readonly type: 'query' | 'mutation' | 'subscription'
  /** As its client names it; `undefined` where it has no name. */
  readonly name: string | undefined
  /** Its cost for variables that are not known. */
  readonly cost: number
  /** The outcome has errors. */
  failed: boolean
}

export const graphqlEvents = new WorkChannel<GraphqlEvent>('filigree:graphql')
