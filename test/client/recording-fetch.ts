/** A fetch that keeps what it was given and answers what the test says. */
import type { Fetch, TokenStore } from '../../client/index.js'

export interface RecordedCall {
  readonly url: string
  readonly init: RequestInit & { readonly headers: Record<string, string> }
  /** The headers as they would be sent: lower-case names, none twice. */
  readonly headers: Record<string, string>
  readonly body: unknown
}

export interface RecordingFetch {
  readonly fetch: Fetch
  readonly calls: RecordedCall[]
}

export type Reply =
  Response | Error | DOMException | Promise<Response> | ((call: RecordedCall) => Response)

/** Answers the calls one by one; the last answer stays, none at all means an empty 204. */
export function recordFetch(...replies: Reply[]): RecordingFetch {
  const calls: RecordedCall[] = []
  return {
    calls,
    fetch: async (url, init) => {
      const headers = init.headers as Record<string, string>
      const call: RecordedCall = {
        url,
        init: { ...init, headers },
        headers: Object.fromEntries(new Headers(headers)),
        body: init.body,
      }
      calls.push(call)
      const reply = replies[Math.min(calls.length, replies.length) - 1]
      if (reply instanceof Error || reply instanceof DOMException) throw reply
      if (typeof reply === 'function') return reply(call)
      return (await reply)?.clone() ?? new Response(null, { status: 204 })
    },
  }
}

/** A JSON answer. */
export function json(data: unknown, init: ResponseInit = {}): Response {
  const headers = new Headers(init.headers)
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
  return new Response(typeof data === 'string' ? data : JSON.stringify(data), { ...init, headers })
}

/** An answer to be given later. */
export function defer(): { promise: Promise<Response>; answer: (response: Response) => void } {
  let answer: (response: Response) => void = () => undefined
  const promise = new Promise<Response>((resolve) => {
    answer = resolve
  })
  return { promise, answer }
}

/** A token store like `localStorage`, open to the test. */
export function openStore(
  token?: string,
  key = 'app_token',
): TokenStore & { values: Map<string, string> } {
  const values = new Map<string, string>(token === undefined ? [] : [[key, token]])
  return {
    values,
    getItem: (name) => values.get(name) ?? null,
    setItem: (name, value) => {
      values.set(name, value)
    },
  }
}
