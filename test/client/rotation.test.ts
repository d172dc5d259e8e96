import { afterEach, describe, expect, it } from '@jest/globals'
import { createClient, type ClientOptions } from '../../client/index.js'
import { defer, openStore, recordFetch } from './recording-fetch.js'

const fresh = (token: string, status = 200) =>
  new Response('', { status, headers: { FreshToken: token } })

/** A client whose answers come when the test gives them. */
function startClient(token?: string, settings: ClientOptions = {}) {
  const store = openStore(token)
  const pending = Array.from({ length: 5 }, defer)
  const { fetch, calls } = recordFetch(...pending.map(({ promise }) => promise))
  const client = createClient({ fetch, auth: true, storage: store, ...settings })
  return {
    client,
    calls,
    store,
    stored: () => store.values.get('app_token'),
    answer: (index: number, response: Response) => {
      pending[index]!.answer(response)
    },
  }
}

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

describe('FreshToken', () => {
  it('of a login is stored and sent from then on', async () => {
    const { fetch, calls } = recordFetch(fresh('new'))
    const client = createClient({ fetch, auth: true, storage: openStore() })
    await client.post('/login', { name: 'Ann' })
    await client.get('/x')
    expect(calls[0]!.body).toBe('{"name":"Ann"}')
    expect(calls[1]!.headers.authorization).toBe('Bearer new')
  })

  it.each([200, 201, 400, 401, 404, 500])('is stored on status %i', async (status) => {
    const { fetch } = recordFetch(fresh('new', status))
    const store = openStore('old')
    const client = createClient({ fetch, auth: true, storage: store })
    await client.get('/x').catch(() => undefined)
    expect(store.values.get('app_token')).toBe('new')
  })

  it('is not stored for a request with an Authorization of its own', async () => {
    const { fetch } = recordFetch(fresh('new'))
    const store = openStore('old')
    const client = createClient({ fetch, auth: true, storage: store })
    await client.get('/x', { headers: { authorization: 'Bearer other' } })
    expect(store.values.get('app_token')).toBe('old')
  })

  it('is not stored where an interceptor put another Authorization', async () => {
    const { fetch } = recordFetch(fresh('new'))
    const store = openStore('old')
    const client = createClient({ fetch, auth: true, storage: store })
    client.intercept('request', (config) => {
      config.headers.Authorization = 'Bearer other'
    })
    await client.get('/x')
    expect(store.values.get('app_token')).toBe('old')
  })

  it('is not stored over that of a request sent later', async () => {
    const { client, stored, answer } = startClient('old')
    const [first, second] = [client.get('/1'), client.get('/2')]
    answer(1, fresh('second'))
    await second
    answer(0, fresh('first'))
    await first
    expect(stored()).toBe('second')
  })

  it('is stored over that of a request sent earlier', async () => {
    const { client, stored, answer } = startClient('old')
    const [first, second] = [client.get('/1'), client.get('/2')]
    answer(0, fresh('first'))
    await first
    answer(1, fresh('second'))
    await second
    expect(stored()).toBe('second')
  })

  it('goes on rotating through many answers, whatever their order', async () => {
    const { client, stored, answer } = startClient('old')
    const calls = [0, 1, 2, 3].map((index) => client.get(`/${index}`))
    for (const [index, kept] of [
      [1, 'token 1'],
      [0, 'token 1'],
      [3, 'token 3'],
      [2, 'token 3'],
    ] as const) {
      answer(index, fresh(`token ${index}`))
      await calls[index]
      expect(stored()).toBe(kept)
    }
  })

  it('does not undo a logout while the request ran', async () => {
    const { client, store, stored, answer } = startClient('old')
    const running = client.get('/1')
    store.values.clear()
    answer(0, fresh('new'))
    await running
    expect(stored()).toBeUndefined()
  })

  it('does not undo a logout after a rotation of this client', async () => {
    const { client, store, stored, answer } = startClient('old')
    const first = client.get('/1')
    answer(0, fresh('new'))
    await first
    const second = client.get('/2')
    store.values.clear()
    answer(1, fresh('newer'))
    await second
    expect(stored()).toBeUndefined()
  })

  it('does not replace the token of another user or tab', async () => {
    const { client, store, stored, answer } = startClient('old')
    const running = client.get('/1')
    store.setItem('app_token', 'other')
    answer(0, fresh('new'))
    await running
    expect(stored()).toBe('other')
  })

  it('of an old request does not replace that of a login after a logout', async () => {
    const { client, store, stored, answer } = startClient('old')
    const late = client.get('/1')
    store.values.clear()
    const login = client.post('/login', {})
    answer(1, fresh('login'))
    await login
    answer(0, fresh('late'))
    await late
    expect(stored()).toBe('login')
  })

  it('of a login is not stored when somebody else logged in meanwhile', async () => {
    const { client, store, stored, answer } = startClient()
    const login = client.post('/login', {})
    store.setItem('app_token', 'other')
    answer(0, fresh('login'))
    await login
    expect(stored()).toBe('other')
  })

  it('follows a change of tokenKey only for requests that start later', async () => {
    const { client, store, answer } = startClient('old')
    const running = client.get('/1')
    client.configure({ tokenKey: 'shop' })
    answer(0, fresh('new'))
    await running
    expect([...store.values]).toEqual([['app_token', 'new']])
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
    const settings = { auth: false, headers: { Authorization: 'Basic x', 'X-App': 'shop' } }
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
