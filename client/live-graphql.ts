/**
 * Live queries of GraphQL for clients that store complete results. The server sends changes, and these functions make complete
 * results of them: links for Apollo Client and urql, and `completeResults` for other clients. See docs/client.md.
 */
import { applyChanges, type ListChanges } from './row-changes.js'

/** A result of `query @live`: the complete one, or the changes of its root fields. */
export interface LiveResult {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  data?: any
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  errors?: any
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  extensions?: any
}

/** A source of results: the type that Apollo's links and urql's `forwardSubscription` return. */
export interface Results<T> {
  subscribe(sink: Sink<T>): unknown
}

export interface Sink<T> {
  next(result: T): void
  error(error: unknown): void
  complete(): void
}

/**
 * Creates a function for the results of one operation.
 *
 * @returns a function that makes a complete result of each live result. Other results are returned unchanged
 */
export const completeResults = (): (<T extends LiveResult>(result: T) => T) => {
  let data: Record<string, unknown> | undefined
  return (result) => {
    const live = (
      result.extensions as { live?: { changes?: Record<string, ListChanges> } } | undefined
    )?.live
    if (!live?.changes) {
      if (live) data = result.data as typeof data
      return result
    }
    data = { ...data }
    for (const [field, changes] of Object.entries(live.changes)) {
      data[field] = applyChanges(data[field] as Parameters<typeof applyChanges>[0], changes)
    }
    return { ...result, data }
  }
}

/** True for documents with a live query, which require the streaming link, like subscriptions. */
export const isLive = (document: { readonly definitions: readonly object[] }): boolean =>
  document.definitions.some((definition) =>
    (definition as { directives?: { name: { value: string } }[] }).directives?.some(
      ({ name }) => name.value == 'live',
    ),
  )

/**
 * Creates a link for Apollo Client. It comes before the streaming link.
 *
 * ```ts
 * ApolloLink.split(({ query }) => isLive(query), liveLink(ApolloLink).concat(new GraphQLWsLink(client)), http)
 * ```
 *
 * @param Link the class `ApolloLink`, which this file does not import
 */
export const liveLink = <L>(Link: new (handler: never) => L): L => {
  const handler = (operation: unknown, forward: (operation: unknown) => object) => {
    const source = forward(operation)
    // The Observable that Apollo uses. Its library depends on the version.
    const Observable = source.constructor as new (
      subscribe: (sink: Sink<LiveResult>) => unknown,
    ) => object
    return new Observable((sink) =>
      toCompleteResults(source as Results<LiveResult>).subscribe(sink),
    )
  }
  return new Link(handler as never)
}

/**
 * Wraps `forwardSubscription` of urql's `subscriptionExchange`. Live queries require
 * `isSubscriptionOperation: ({ kind, query }) => kind === 'subscription' || isLive(query)`.
 */
export const liveSource =
  <A extends unknown[], T extends LiveResult>(
    forward: (...request: A) => Results<T>,
  ): ((...request: A) => Results<T>) =>
  (...request) =>
    toCompleteResults(forward(...request))

const toCompleteResults = <T extends LiveResult>(source: Results<T>): Results<T> => ({
  subscribe: (sink) => {
    const toComplete = completeResults()
    return source.subscribe({
      next: (result) => {
        sink.next(toComplete(result))
      },
      error: (error) => {
        sink.error(error)
      },
      complete: () => {
        sink.complete()
      },
    })
  },
})
