/** @jest-environment node */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { createClient } from '../../client/index.js'
import { retry, type RetryOptions } from '../../client/retry.js'
import { openStore, recordFetch, type Reply } from './recording-fetch.js'

const now = Date.UTC(2026, 10, 20, 10)
const failed = (status = 503, headers: Record<string, string> = {}) =>
  new Response('busy', { status, headers })
const network = new TypeError('fetch failed')

beforeEach(() => {
  jest.useFakeTimers({ now })
  jest.spyOn(Math, 'random').mockReturnValue(0.5)
})
afterEach(() => {
  jest.useRealTimers()
  jest.restoreAllMocks()
})

/** Sends once, lets all waits pass, and gives the outcome with the waits between the tries. */
async function run(replies: Reply[], init: RequestInit = {}, options: RetryOptions = {}) {
  const { fetch, calls } = recordFetch(...replies)
  const times: number[] = []
  const timed: typeof fetch = (url, given) => {
    times.push(Date.now())
    return fetch(url, given)
  }
  const outcome = retry({ fetch: timed, ...options })('/x', { headers: {}, ...init }).then(
    (response) => response.status,
    (error: unknown) => (error as Error).name,
  )
  await jest.runAllTimersAsync()
  return {
    outcome: await outcome,
    calls,
    waits: times.slice(1).map((time, index) => time - times[index]!),
  }
}

describe('retry', () => {
  it('gives the first success', async () => {
    const { outcome, waits } = await run([failed(), failed(), new Response('ok')])
    expect([outcome, waits]).toEqual([200, [150, 300]])
  })

  it('gives the last failure after three tries', async () => {
    const { outcome, calls } = await run([failed()])
    expect([outcome, calls.length]).toEqual([503, 3])
  })

  it('tries as often as it is told', async () => {
    expect((await run([failed()], {}, { tries: 5 })).calls.length).toBe(5)
    expect((await run([failed()], {}, { tries: 1 })).calls.length).toBe(1)
  })

  it.each([408, 429, 500, 502, 503, 504])('repeats after %i', async (status) => {
    expect((await run([failed(status), new Response()])).outcome).toBe(200)
  })

  it.each([200, 204, 304, 400, 401, 404, 409, 501])('does not repeat after %i', async (status) => {
    const { outcome, calls } = await run([new Response(null, { status }), new Response()])
    expect([outcome, calls.length]).toEqual([status, 1])
  })

  it.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'delete'])('repeats %s', async (method) => {
    expect((await run([failed(), new Response()], { method })).outcome).toBe(200)
  })

  it.each(['POST', 'PATCH'])('does not repeat %s, unless told to', async (method) => {
    expect((await run([failed(), new Response()], { method })).outcome).toBe(503)
    const options = { methods: [method] }
    expect((await run([failed(), new Response()], { method }, options)).outcome).toBe(200)
  })

  it('repeats after network failures and gives the last one', async () => {
    expect((await run([network, new Response()])).outcome).toBe(200)
    expect((await run([network])).outcome).toBe('TypeError')
    expect((await run([network], { method: 'POST' })).calls.length).toBe(1)
  })

  it.each(['AbortError', 'TimeoutError'])('does not repeat after %s', async (name) => {
    const { outcome, calls } = await run([new DOMException('', name), new Response()])
    expect([outcome, calls.length]).toEqual([name, 1])
  })

  it('does not repeat a streamed body', async () => {
    const { calls } = await run([failed()], { method: 'PUT', body: new ReadableStream() })
    expect(calls.length).toBe(1)
  })

  it('sends the same body again', async () => {
    const { calls } = await run([failed()], { method: 'PUT', body: '{"a":1}' })
    expect(calls.map((call) => call.body)).toEqual(['{"a":1}', '{"a":1}', '{"a":1}'])
  })

  it('lets go of the answers it does not give', async () => {
    const busy = failed()
    const { outcome } = await run([() => busy, new Response('ok')])
    expect(outcome).toBe(200)
    await expect(busy.text()).rejects.toThrow()
  })
})

describe('the waits', () => {
  it('double up to maxDelay', async () => {
    const { waits } = await run([failed()], {}, { tries: 6, delay: 1000, maxDelay: 5000 })
    expect(waits).toEqual([500, 1000, 2000, 2500, 2500])
  })

  it('are random between nothing and their limit', async () => {
    jest.spyOn(Math, 'random').mockReturnValueOnce(0).mockReturnValueOnce(0.999)
    expect((await run([failed()], {}, { delay: 1000 })).waits).toEqual([0, 1998])
  })

  it.each([
    ['seconds', '2', 2000],
    ['no seconds', '0', 0],
    ['a date', 'Fri, 20 Nov 2026 10:00:07 GMT', 7000],
    ['a date gone by', 'Fri, 20 Nov 2026 09:00:00 GMT', 0],
    ['nonsense', 'soon', 150],
  ])('obey Retry-After: %s', async (_, value, wait) => {
    const { waits } = await run([failed(503, { 'Retry-After': value }), new Response()])
    expect(waits).toEqual([wait])
  })

  it('end the tries where Retry-After asks for more than maxDelay', async () => {
    const late = failed(429, { 'Retry-After': '31' })
    const { outcome, calls } = await run([late, new Response()])
    expect([outcome, calls.length]).toEqual([429, 1])
  })

  it('end with the signal, with its reason and no further try', async () => {
    const { fetch, calls } = recordFetch(failed())
    const controller = new AbortController()
    const call = retry({ fetch })('/x', { headers: {}, signal: controller.signal })
    const outcome = expect(call).rejects.toThrow('enough')
    await jest.advanceTimersByTimeAsync(100)
    controller.abort(new Error('enough'))
    await outcome
    await jest.runAllTimersAsync()
    expect([calls.length, jest.getTimerCount()]).toEqual([1, 0])
  })

  it('do not begin when the signal is aborted with the answer', async () => {
    const controller = new AbortController()
    const { fetch, calls } = recordFetch(() => {
      controller.abort(new Error('enough'))
      return failed()
    })
    const call = retry({ fetch })('/x', { headers: {}, signal: controller.signal })
    await expect(call).rejects.toThrow('enough')
    expect(calls.length).toBe(1)
  })
})

describe('a client with retry', () => {
  it('resolves to the data of the try that succeeded', async () => {
    const { fetch, calls } = recordFetch(failed(), new Response('"ok"'))
    const client = createClient({ fetch: retry({ fetch }), auth: true, storage: openStore('t') })
    const call = client.get('/x')
    await jest.runAllTimersAsync()
    expect(await call).toBe('"ok"')
    expect(calls.map((sent) => sent.headers.authorization)).toEqual(['Bearer t', 'Bearer t'])
  })

  it('rejects with the last answer', async () => {
    const { fetch } = recordFetch(failed())
    const call = createClient({ fetch: retry({ fetch }) }).get('/x')
    const outcome = expect(call).rejects.toMatchObject({ status: 503, data: 'busy' })
    await jest.runAllTimersAsync()
    await outcome
  })

  it('uses the platform’s fetch unless told otherwise', async () => {
    const { fetch, calls } = recordFetch(new Response('"ok"'))
    jest.spyOn(globalThis, 'fetch').mockImplementation(fetch as typeof globalThis.fetch)
    await createClient({ fetch: retry() }).get('/x')
    expect(calls.length).toBe(1)
  })
})
