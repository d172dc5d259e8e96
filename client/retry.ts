/** A `fetch` that tries again. Source: decisions, Browser client; RFC 9110 §9.2.2 (idempotent methods) and §10.2.3 (Retry-After). */
import type { Fetch } from './options.js'
import { wait } from './wait.js'

export interface RetryOptions {
  /** The maximum number of attempts, including the first one. Default 3. */
  tries?: number
  /** The longest first wait, in milliseconds; it doubles with each further wait. Default 300. */
  delay?: number
  /** The longest wait, in milliseconds. If `Retry-After` is longer, the response is returned. Default 30,000. */
  maxDelay?: number
  /** Methods that may be sent again. Default GET, HEAD, OPTIONS, PUT and DELETE, which are idempotent. */
  methods?: readonly string[]
  /** Statuses that cause another attempt. Default 408, 429, 500, 502, 503 and 504. */
  statuses?: readonly number[]
  /** Sends each attempt. Default: the platform's `fetch`, looked up at each call. */
  fetch?: Fetch
}

const idempotent = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']
const temporary = [408, 429, 500, 502, 503, 504]

/**
 * Makes a `fetch` that tries again after temporary failures: `createClient({ fetch: retry() })`.
 *
 * These are network failures and the statuses above; after an abort, a timeout or with a streamed body there is no
 * further attempt. Waits are random between 0 and a limit that doubles, so that many clients do not come back at the
 * same time; `Retry-After`, in seconds or as a date, is obeyed instead. The call's `timeout` and `signal` cover all
 * attempts and waits.
 */
export function retry(options: RetryOptions = {}): Fetch {
  const { tries = 3, delay = 300, maxDelay = 30_000 } = options
  const { methods = idempotent, statuses = temporary } = options

  return async (url, init) => {
    const send = options.fetch ?? fetch
    const canRepeat =
      methods.includes((init.method ?? 'GET').toUpperCase()) &&
      !(init.body instanceof ReadableStream)
    for (let count = 1; ; count++) {
      const isLast = count >= tries || !canRepeat
      const response = await attempt(send, url, init, isLast)
      if (response && (isLast || !statuses.includes(response.status))) return response

      const retryAfter = response && readRetryAfter(response.headers.get('Retry-After'))
      if (response && retryAfter !== undefined && retryAfter > maxDelay) return response
      // The body is not read, so it is cancelled: that frees the connection for the next attempt.
      response?.body?.cancel().catch(() => undefined)
      const limit = Math.min(maxDelay, delay * 2 ** (count - 1))
      await wait(retryAfter ?? Math.random() * limit, init.signal)
    }
  }
}

/** @returns undefined after a network failure that can be tried again */
async function attempt(send: Fetch, url: string, init: RequestInit, isLast: boolean) {
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

/** Milliseconds from now; `undefined` for a missing or unreadable value. */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}
