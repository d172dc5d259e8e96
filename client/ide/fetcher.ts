/** Sends the operations of the IDE. Subscriptions and live queries return their results as they arrive. */
import type { Fetcher } from '@graphiql/toolkit'
import type { ExecutionResult } from 'graphql'
import { events, type ServerEvent } from '../events.js'
import { completeResults } from '../live-graphql.js'

/** The server sends an event stream only for subscriptions and live queries. */
const accepted = 'application/json, text/event-stream'

export function createFetcher(endpoint: string): Fetcher {
  return async (operation, { headers } = {}) => {
    const controller = new AbortController()
    const { signal } = controller
    const post = (url: string | URL | Request, init: RequestInit) =>
      fetch(url, { ...init, method: 'POST', body: JSON.stringify(operation), signal })
    const ownHeaders = { 'Content-Type': 'application/json', ...headers }
    const first = await post(endpoint, { headers: { ...ownHeaders, Accept: accepted } })
    if (!/^text\/event-stream\b/.test(first.headers.get('Content-Type') ?? ''))
      return readResult(first)
    // After a lost connection, `events` sends the operation again, with the id of the last result.
    let opened: Response | undefined = first
    const stream = events(endpoint, {
      headers: ownHeaders,
      signal,
      fetch: async (url, init = {}) => {
        const response = opened ?? (await post(url, init))
        opened = undefined
        return response
      },
    })
    return new StreamedResults(stream, controller)
  }
}

/** Responses without JSON, for example of a proxy, are shown as text. */
async function readResult(response: Response): Promise<ExecutionResult> {
  const text = await response.text()
  try {
    return JSON.parse(text) as ExecutionResult
  } catch {
    throw new Error(`${response.status} ${response.statusText}\n${text}`)
  }
}

/** The results of a stream. Of live queries, each result is complete, although the server sends only changes. */
class StreamedResults implements AsyncIterableIterator<ExecutionResult> {
  readonly #results: AsyncGenerator<ExecutionResult, void>
  readonly #controller: AbortController

  constructor(stream: AsyncIterable<ServerEvent>, controller: AbortController) {
    this.#controller = controller
    this.#results = readResults(stream, controller.signal)
  }

  next(): Promise<IteratorResult<ExecutionResult, void>> {
    return this.#results.next()
  }

  /** Aborts the request, because a generator that waits for the next event cannot return. */
  return(): Promise<IteratorResult<ExecutionResult, void>> {
    this.#controller.abort()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

async function* readResults(
  stream: AsyncIterable<ServerEvent>,
  signal: AbortSignal,
): AsyncGenerator<ExecutionResult, void> {
  const toComplete = completeResults()
  try {
    for await (const { event, data } of stream) {
      if (event === 'complete') return
      if (event === 'next') yield toComplete(data as ExecutionResult)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
