import { afterEach, describe, expect, it } from '@jest/globals'
import { createClient, type ClientOptions } from '../../client/index.js'
import { openStore, recordFetch } from './recording-fetch.js'

const fresh = (token: string, status = 200) =>
  new Response('', { status, headers: { FreshToken: token } })

describe('the token', () => {
  it('is read anew for each request', async () => {
    const { fetch, calls } = recordFetch()
    const store = openStore('one')
    const client = createClient({ fetch, auth: true, storage: store })
    await client.get('/x')
    store.setItem('app_token', 'two')
    await client.get('/x')
    store.values.clear()
    await client.get('/x')
    expect(calls.map((call) => call.headers.authorization)).toEqual([
      'Bearer one',
      'Bearer two',
      undefined,
    ])
  })

  it('is kept under tokenKey', async () => {
    const { fetch, calls } = recordFetch(fresh('two'))
    const store = openStore('one', 'shop')
    await createClient({ fetch, auth: true, storage: store, tokenKey: 'shop' }).get('/x')
    expect(calls[0]!.headers.authorization).toBe('Bearer one')
    expect([...store.values]).toEqual([['shop', 'two']])
  })

  it('is left alone without auth', async () => {
    const { fetch, calls } = recordFetch(fresh('two'))
    const store = openStore('one')
    await createClient({ fetch, storage: store }).get('/x')
    expect([calls[0]!.headers, store.values.get('app_token')]).toEqual([{}, 'one'])
  })
})

describe('the token’s reach', () => {
  const home = 'https://shop.example/api'

  async function sent(path: string, body?: unknown, settings: ClientOptions = {}) {
    const store = openStore('t')
    const { fetch, calls } = recordFetch(fresh('new'))
    const client = createClient({ fetch, auth: true, storage: store, baseUrl: home, ...settings })
    await client.post(path, body)
    return { call: calls[0]!, stored: store.values.get('app_token') }
  }

  it.each([
    'https://other.example/items',
    'https://shop.example:8443/items',
    'http://shop.example/items',
    'https://shop.example.other.example/',
    'https://shop.example@other.example/',
    'https://api.shop.example/',
  ])('ends at %s: no token, no formToken, no FreshToken', async (address) => {
    const { call, stored } = await sent(address, { a: 1 })
    expect(call.url).toBe(address)
    expect(call.headers).toEqual({ 'content-type': 'application/json' })
    expect(call.body).toBe('{"a":1}')
    expect(stored).toBe('t')
  })

  it.each(['https://shop.example/other', 'https://SHOP.example:443/other'])(
    'includes %s',
    async (address) => {
      const { call, stored } = await sent(address)
      expect(call.headers.authorization).toBe('Bearer t')
      expect(stored).toBe('new')
    },
  )

  it('covers a configured Authorization, but not one of the call', async () => {
    const settings = { auth: false, headers: { authorization: 'Basic x', 'X-App': 'shop' } }
    const { call } = await sent('https://other.example', undefined, settings)
    expect(call.headers).toEqual({ 'x-app': 'shop' })
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch, baseUrl: home, ...settings })
    await client.get('https://other.example', { headers: { Authorization: 'Basic y' } })
    expect(calls[0]!.headers).toMatchObject({ authorization: 'Basic y' })
  })

  it('ends when an interceptor moves the request', async () => {
    const { fetch, calls } = recordFetch(fresh('new'))
    const store = openStore('t')
    const client = createClient({ fetch, auth: true, storage: store, baseUrl: home })
    client.intercept('request', (config) => ({ ...config, url: 'https://other.example' }))
    await client.post('/x', { a: 1 })
    expect([calls[0]!.headers.authorization, calls[0]!.body]).toEqual([undefined, '{"a":1}'])
    expect(store.values.get('app_token')).toBe('t')
  })

  it('does not begin with a redirect from elsewhere', async () => {
    const response = fresh('newer')
    Object.defineProperty(response, 'url', { value: home })
    const { fetch } = recordFetch(fresh('new'), () => response)
    const store = openStore('t')
    const client = createClient({ fetch, auth: true, storage: store, baseUrl: home })
    await client.get('/x')
    await client.get('https://other.example/x')
    expect(store.values.get('app_token')).toBe('new')
  })

  it.each([
    ['https://shop.example/elsewhere', 'new'],
    ['https://other.example/x', 't'],
  ])('counts where the answer came from after redirects: %s', async (url, stored) => {
    const response = fresh('new')
    Object.defineProperty(response, 'url', { value: url })
    const { fetch } = recordFetch(() => response)
    const store = openStore('t')
    await createClient({ fetch, auth: true, storage: store, baseUrl: home }).get('/x')
    expect(store.values.get('app_token')).toBe(stored)
  })
})

describe('the store', () => {
  const scope = globalThis as { localStorage?: unknown }
  const original = Object.getOwnPropertyDescriptor(scope, 'localStorage')

  function setLocalStorage(descriptor: PropertyDescriptor) {
    Object.defineProperty(scope, 'localStorage', { configurable: true, ...descriptor })
  }

  afterEach(() => {
    if (original) setLocalStorage(original)
    else delete scope.localStorage
  })

  /** Logs in, then calls: the Authorization of the call. */
  async function callAfterLogin() {
    const { fetch, calls } = recordFetch(fresh('new'))
    const client = createClient({ fetch, auth: true })
    await client.post('/login')
    await client.get('/x')
    return calls[1]!.headers.authorization
  }

  it('is localStorage', async () => {
    const store = openStore()
    setLocalStorage({ value: store })
    expect(await callAfterLogin()).toBe('Bearer new')
    expect([...store.values]).toEqual([['app_token', 'new']])
  })

  it('is memory where there is none', async () => {
    delete scope.localStorage
    expect(await callAfterLogin()).toBe('Bearer new')
  })

  it('is memory where it is blocked', async () => {
    setLocalStorage({
      get() {
        throw new DOMException('Access is denied', 'SecurityError')
      },
    })
    expect(await callAfterLogin()).toBe('Bearer new')
  })

  it('is memory where it is full', async () => {
    const setItem = () => {
      throw new DOMException('Quota exceeded', 'QuotaExceededError')
    }
    setLocalStorage({ value: { ...openStore(), setItem } })
    expect(await callAfterLogin()).toBe('Bearer new')
  })

  it('is a memory for each client', async () => {
    delete scope.localStorage
    const { fetch, calls } = recordFetch(fresh('new'))
    await createClient({ fetch, auth: true }).post('/login')
    await createClient({ fetch, auth: true }).get('/x')
    expect(calls[1]!.headers.authorization).toBeUndefined()
  })

  it('is not looked at when the client is imported or made, nor without auth', async () => {
    let reads = 0
    setLocalStorage({
      get() {
        reads++
        return openStore()
      },
    })
    const { fetch } = recordFetch(fresh('new'))
    await createClient({ fetch }).get('/x')
    expect(reads).toBe(0)
  })
})
