import { describe, expect, it } from '@jest/globals'
import { createClient, type ApiError, type RequestConfig } from '../../client/index.js'
import { defer, json, openStore, recordFetch } from './recording-fetch.js'

describe('a request interceptor', () => {
  it('sees method, url, headers with Authorization, and body', async () => {
    const { fetch } = recordFetch()
    const client = createClient({
      fetch,
      auth: true,
      storage: openStore('t'),
      baseUrl: '/api',
      headers: { 'X-App': 'shop' },
    })
    let received: RequestConfig | undefined
    client.intercept('request', (config) => {
      received = config
    })
    await client.post('/items', { name: 'Lamp' }, { params: { q: 1 } })
    expect(received).toMatchObject({
      method: 'POST',
      url: '/api/items?q=1',
      headers: { Authorization: 'Bearer t', 'X-App': 'shop' },
      body: { name: 'Lamp' },
    })
  })

  it('changes what is sent', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch })
    client.intercept('request', (config) => {
      config.headers['X-Trace'] = '1'
      return { ...config, url: config.url + '?v=2', body: { wrapped: config.body } }
    })
    await client.post('/items', { name: 'Lamp' })
    expect(calls[0]).toMatchObject({
      url: '/items?v=2',
      headers: { 'x-trace': '1', 'content-type': 'application/json' },
      body: '{"wrapped":{"name":"Lamp"}}',
    })
  })

  it('wins with a header in another case', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch, auth: true, storage: openStore('t') })
    client.intercept('request', (config) => {
      config.headers.authorization = 'Bearer other'
    })
    await client.get('/items')
    expect(calls[0]!.headers).toEqual({ authorization: 'Bearer other' })
  })

  it('does not reach the caller’s objects', async () => {
    const { fetch } = recordFetch()
    const client = createClient({ fetch })
    client.intercept('request', (config) => {
      config.headers['X-A'] = 'changed'
      Object.assign(config.body as object, { name: 'changed' })
    })
    const body = { name: 'Lamp' }
    const headers = { 'X-A': '1' }
    await client.post('/items', body, { headers })
    expect([body, headers]).toEqual([{ name: 'Lamp' }, { 'X-A': '1' }])
  })

  it('may turn an empty body into a form', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch, auth: true, storage: openStore('t') })
    client.intercept('request', (config) => ({ ...config, body: new URLSearchParams('a=1') }))
    await client.post('/items')
    expect(String(calls[0]!.body)).toBe('formToken=t&a=1')
    expect(calls[0]!.headers).toEqual({ authorization: 'Bearer t' })
  })

  it('that throws rejects the call and sends nothing', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch })
    const thrown = new Error('no')
    client.intercept('request', () => {
      throw thrown
    })
    await expect(client.get('/items')).rejects.toBe(thrown)
    expect(calls).toEqual([])
  })
})

describe('a response interceptor', () => {
  it('sees status, data, ok and headers', async () => {
    const { fetch } = recordFetch(json({ a: 1 }, { status: 201, headers: { 'x-id': '7' } }))
    const client = createClient({ fetch })
    const received: unknown[] = []
    client.intercept('response', (response) => {
      const { status, data, ok } = response
      received.push({ status, data, ok }, response.headers.get('x-id'))
    })
    await client.post('/items')
    expect(received).toEqual([{ status: 201, data: { a: 1 }, ok: true }, '7'])
  })

  it('replaces the answer with what it returns', async () => {
    const client = createClient({ fetch: recordFetch(json({ data: 1 })).fetch })
    client.intercept('response', (response) => ({
      ...response,
      data: (response.data as { data: unknown }).data,
    }))
    expect(await client.get('/items')).toBe(1)
  })

  it('runs on errors before they are thrown', async () => {
    const client = createClient({ fetch: recordFetch(json({ a: 1 }, { status: 500 })).fetch })
    client.intercept('response', (response) => ({ ...response, data: 'seen' }))
    await expect(client.get('/items')).rejects.toMatchObject({ status: 500, data: 'seen' })
  })

  it('may turn an error into an answer', async () => {
    const client = createClient({ fetch: recordFetch(new Response(null, { status: 404 })).fetch })
    client.intercept('response', (response) =>
      response.status === 404 ? { ...response, ok: true, data: [] } : response,
    )
    expect(await client.get('/items')).toEqual([])
  })

  it('that throws rejects the call', async () => {
    const client = createClient({ fetch: recordFetch(json({})).fetch })
    const thrown = new Error('no')
    client.intercept('response', async () => {
      throw thrown
    })
    const error: unknown = await client.get('/items').catch((reason: unknown) => reason as ApiError)
    expect(error).toBe(thrown)
  })

  it('does not run when no answer came', async () => {
    const client = createClient({ fetch: recordFetch(new TypeError('fetch failed')).fetch })
    let runs = 0
    client.intercept('response', () => {
      runs++
    })
    await expect(client.get('/items')).rejects.toThrow('fetch failed')
    expect(runs).toBe(0)
  })
})

describe('interceptors', () => {
  it('run in the order they were registered in, each waiting for the one before', async () => {
    const { fetch } = recordFetch(json({}))
    const client = createClient({ fetch })
    const order: string[] = []
    const note = (name: string) => async () => {
      order.push(name)
      await Promise.resolve()
      order.push(name + ' done')
    }
    client.intercept('response', note('response 1'))
    client.intercept('request', note('request 1'))
    client.intercept('request', note('request 2'))
    client.intercept('response', note('response 2'))
    await client.get('/items')
    expect(order).toEqual(
      ['request 1', 'request 2', 'response 1', 'response 2'].flatMap((name) => [
        name,
        name + ' done',
      ]),
    )
  })

  it('hand on what the one before returned, and keep it where one returns nothing', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch })
    client.intercept('request', async (config) => ({ ...config, url: config.url + '/1' }))
    client.intercept('request', () => undefined)
    client.intercept('request', (config) => ({ ...config, url: config.url + '/2' }))
    await client.get('/items')
    expect(calls[0]!.url).toBe('/items/1/2')
  })

  it('end with the function that registering returned', async () => {
    const { fetch } = recordFetch()
    const client = createClient({ fetch })
    let runs = 0
    const count = () => {
      runs++
    }
    const off = client.intercept('request', count)
    client.intercept('request', count)
    await client.get('/items')
    expect(runs).toBe(2)
    off()
    off()
    await client.get('/items')
    expect(runs).toBe(3)
  })

  it('registered while a request runs wait for the next', async () => {
    const { promise, answer } = defer()
    const { fetch } = recordFetch(promise)
    const client = createClient({ fetch })
    const received: string[] = []
    client.intercept('request', () => {
      client.intercept('request', () => {
        received.push('request')
      })
    })
    const running = client.get('/items')
    client.intercept('response', () => {
      received.push('response')
    })
    answer(json({}))
    await running
    expect(received).toEqual([])
    await client.get('/items')
    expect(received).toEqual(['request', 'response'])
  })

  it('of an unknown kind are refused', () => {
    const client = createClient()
    expect(() => client.intercept('answer' as 'request', () => undefined)).toThrow(TypeError)
  })
})
