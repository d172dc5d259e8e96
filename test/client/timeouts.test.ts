import { describe, expect, it } from '@jest/globals'
import { createClient, type Fetch } from '../../client/index.js'
import { recordFetch } from './recording-fetch.js'

/** Answers never, or with a body that never ends, but hears the signal like the platform's fetch. */
const hang: Fetch = (_, { signal }) =>
  new Promise((_, reject) => {
    signal!.addEventListener('abort', () => {
      reject(signal!.reason as Error)
    })
  })
/** Chromium rejects like this when a body is cut by a timeout. */
const hangInBody: Fetch = async (_, { signal }) => {
  const body = new ReadableStream({
    start: (controller) => {
      signal!.addEventListener('abort', () => {
        controller.error(new DOMException('The user aborted a request.', 'AbortError'))
      })
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/plain' } })
}

describe.each([
  ['before the answer', hang],
  ['in the middle of its body', hangInBody],
])('%s', (_, fetch) => {
  it('timeout rejects with TimeoutError', async () => {
    const call = createClient({ fetch }).get('/x', { timeout: 1 })
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  it('a signal rejects with its reason', async () => {
    const controller = new AbortController()
    const call = createClient({ fetch }).get('/x', { signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
  })

  it('a signal without a reason rejects with AbortError', async () => {
    const controller = new AbortController()
    const call = createClient({ fetch }).get('/x', { signal: controller.signal, timeout: 60_000 })
    controller.abort()
    await expect(call).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('a timeout beside a signal rejects with TimeoutError', async () => {
    const { signal } = new AbortController()
    const call = createClient({ fetch }).get('/x', { signal, timeout: 1 })
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})

describe('a call', () => {
  it('with an aborted signal rejects with its reason', async () => {
    const call = createClient({ fetch: globalThis.fetch, baseUrl: 'http://127.0.0.1:9' }).get(
      '/x',
      {
        signal: AbortSignal.abort(new Error('before')),
      },
    )
    await expect(call).rejects.toThrow('before')
  })

  it('keeps its answer when the signal is aborted afterwards', async () => {
    const controller = new AbortController()
    const { fetch } = recordFetch(new Response('late'))
    const data = await createClient({ fetch }).get('/x', { signal: controller.signal })
    controller.abort()
    expect(data).toBe('late')
  })

  it('refuses a timeout below zero', async () => {
    const { fetch, calls } = recordFetch()
    const call = createClient({ fetch }).get('/x', { timeout: -1 })
    await expect(call).rejects.toMatchObject({ name: 'RangeError' })
    expect(calls).toEqual([])
  })

  it('takes a timeout of 0 for none', async () => {
    const { fetch, calls } = recordFetch()
    await createClient({ fetch }).get('/x', { timeout: 0 })
    expect(calls[0]!.init.signal!.aborted).toBe(false)
  })
})
