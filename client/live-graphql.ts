/**
 * GraphQL's live queries for clients that keep whole results: the server sends what differs, and these put it together.
 * Links for Apollo Client and urql; `wholeResults` for others. Source: docs/client.md, "Apollo Client and urql".
 */
import { applied, type RowChanges } from './row-changes.js'

/** A result of `query @live`: the whole one, or what has changed in its root fields since. */
export interface LiveResult {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  data?: any
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  errors?: any
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  extensions?: any
}

/** A source of results, as Apollo's links and urql's `forwardSubscription` give it. */
export interface Results<T> {
  subscribe(sink: Sink<T>): unknown
}

export interface Sink<T> {
  next(result: T): void
  error(error: unknown): void
  complete(): void
}

/** One for each operation: gives the whole result for each that comes; those that are no live ones as they are. */
export const wholeResults = (): (<T extends LiveResult>(result: T) => T) => {
  let data: Record<string, unknown> | undefined
  return (result) => {
    const live = (
      result.extensions as { live?: { changes?: Record<string, RowChanges> } } | undefined
    )?.live
    if (!live?.changes) {
      if (live) data = result.data as typeof data
      return result
    }
    data = { ...data }
    for (const [field, changes] of Object.entries(live.changes)) {
      data[field] = applied(data[field] as Parameters<typeof applied>[0], changes)
    }
    return { ...result, data }
  }
}

/** True for documents with a live query: they go over the link that streams, as subscriptions do. */
export const isLive = (document: { readonly definitions: readonly object[] }): boolean =>
  document.definitions.some((definition) =>
    (definition as { directives?: { name: { value: string } }[] }).directives?.some(
      ({ name }) => name.value == 'live',
    ),
  )

/**
 * A link for Apollo Client, before the one that streams.
 *
 * ```ts
 * ApolloLink.split(({ query }) => isLive(query), liveLink(ApolloLink).concat(new GraphQLWsLink(client)), http)
 * ```
 *
 * @param Link `ApolloLink`, which this file does not import
 */
export const liveLink = <L>(Link: new (handler: never) => L): L => {
  const handler = (operation: unknown, forward: (operation: unknown) => object) => {
    const source = forward(operation)
    // Apollo's own Observable, of whichever library it takes it from.
    const Observable = source.constructor as new (
      subscribe: (sink: Sink<LiveResult>) => unknown,
    ) => object
    return new Observable((sink) => wholeSource(source as Results<LiveResult>).subscribe(sink))
  }
  return new Link(handler as never)
}

/**
 * For urql's `subscriptionExchange`, around `forwardSubscription`; live queries reach it with
 * `isSubscriptionOperation: ({ kind, query }) => kind === 'subscription' || isLive(query)`.
 */
export const liveSource =
  <A extends unknown[], T extends LiveResult>(
    forward: (...request: A) => Results<T>,
  ): ((...request: A) => Results<T>) =>
  (...request) =>
    wholeSource(forward(...request))

const wholeSource = <T extends LiveResult>(source: Results<T>): Results<T> => ({
  subscribe: (sink) => {
    const whole = wholeResults()
    return source.subscribe({
      next: (result) => {
        sink.next(whole(result))
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
