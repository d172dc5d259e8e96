import { describe, expect, it } from '@jest/globals'
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
