/** A `fetch` that tries again. Source: decisions, Browser client; RFC 9110 §9.2.2 (idempotent methods) and §10.2.3 (Retry-After). */
import type { Fetch } from './options.js'
import { readRetryAfter, wait } from './wait.js'

export interface RetryOptions {
  /** The maximum number of attempts, including the first one. Default 3. */
  tries?: number
  /** The limit of the first wait, in milliseconds. Waits are random up to their limit, which doubles each time. Default 300. */
  delay?: number
  /** The highest limit of a wait, in milliseconds. If `Retry-After` is longer, the response is returned. Default 30,000. */
  maxDelay?: number
  /** Methods that may be sent again. Default GET, HEAD, OPTIONS, PUT and DELETE, which are idempotent. */
  methods?: readonly string[]
  /** Statuses that cause another attempt. Default 408, 429, 500, 502, 503 and 504. */
  statuses?: readonly number[]
  /** Sends each attempt. Default: the platform's `fetch`, looked up at each call. */
  fetch?: Fetch
}

const idempotentMethods = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']
const temporaryStatuses = [408, 429, 500, 502, 503, 504]

/**
 * Makes a `fetch` that tries again after temporary failures: `createClient({ fetch: retry() })`.
 *
 * Temporary failures are network failures and the `statuses` of the options. After an abort or a timeout, and with a
 * streamed body, there is no further attempt. Waits are random, so that many clients do not come back at the same time,
 * unless the response has `Retry-After`. The call's `timeout` and `signal` cover all attempts and waits.
 */
export function retry(options: RetryOptions = {}): Fetch {
  const { tries = 3, delay = 300, maxDelay = 30_000 } = options
  const { methods = idempotentMethods, statuses = temporaryStatuses } = options

  return async (url, init) => {
    const send = options.fetch ?? fetch
    const canRepeat =
      methods.includes((init.method ?? 'GET').toUpperCase()) &&
      !(init.body instanceof ReadableStream)
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= tries || !canRepeat
      const response = await sendOnce(send, url, init, isLast)
      if (response && (isLast || !statuses.includes(response.status))) return response

      const retryAfter = response && readRetryAfter(response.headers)
      if (response && retryAfter !== undefined && retryAfter > maxDelay) return response
      // Cancelling the unread body frees the connection for the next attempt.
      response?.body?.cancel().catch(() => undefined)
      const limit = Math.min(maxDelay, delay * 2 ** (attempt - 1))
      await wait(retryAfter ?? Math.random() * limit, init.signal)
    }
  }
}

/** @returns undefined after a network failure that can be tried again */
async function sendOnce(send: Fetch, url: string, init: RequestInit, isLast: boolean) {
  try {
    return await send(url, init)
  } catch (error) {
    // fetch reports network failures as a TypeError, aborts and timeouts otherwise.
    if (isLast || init.signal?.aborted || (error as Error).name !== 'TypeError') {
      throw error
    }
    return undefined
  }
}
