import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Application } from 'filigree'
import { createClient, type Client } from '../../client/index.js'
import { openStore } from './recording-fetch.js'
import {
  signToken,
  startShop,
  type AccountController,
  type ItemController,
  type NewItem,
} from './shop-application.js'

/** As `filigree types` would write it. */
interface Routes {
  'GET /items': { result: ReturnType<ItemController['list']> }
  'GET /items/<id:int>': { result: ReturnType<ItemController['show']> }
  'GET /items/named/<name>': { result: ReturnType<ItemController['named']> }
  'GET /items/docs/<rest:path>': { result: ReturnType<ItemController['docs']> }
  'POST /items': { body: NewItem; result: ReturnType<ItemController['create']> }
  'POST /items/photos': { body: FormData; result: ReturnType<ItemController['photo']> }
  'GET /me': { result: ReturnType<AccountController['me']> }
}

let shop: Application
let client: Client
let typed: Client<Routes>
let store: ReturnType<typeof openStore>

beforeAll(async () => {
  shop = await startShop()
})
afterAll(() => shop.close())
beforeEach(async () => {
  store = openStore()
  client = createClient({ baseUrl: shop.url, auth: true, storage: store })
  typed = client as unknown as Client<Routes>
  await client.post('/login', { name: 'Ann', password: 'lovelace' })
})

const token = () => store.values.get('app_token')

describe('a client of an application', () => {
  it('Authentication 7: stores the token of the login and sends it from then on', async () => {
    expect(await client.get('/me')).toMatchObject({ name: 'Ann' })
  })

  it('Authentication 6: replaces the token whenever an answer brings a fresh one', async () => {
    const old = signToken('Bob')
    store.setItem('app_token', old)
    const first = await typed.get('/me')
    expect(token()).not.toBe(old)
    const second = await typed.get('/me')
    expect([first.name, second.name]).toEqual(['Bob', 'Bob'])
    expect(second.issuedAt).toBeGreaterThan(first.issuedAt as number)
  })

  it('keeps a token that works through many calls at once', async () => {
    await Promise.all(Array.from({ length: 20 }, () => client.get('/me')))
    expect(await client.get('/me')).toMatchObject({ name: 'Ann' })
  })

  it('rejects a login that fails with its message', async () => {
    const login = createClient({ baseUrl: shop.url }).post('/login', { name: 'Ann' })
    await expect(login).rejects.toMatchObject({
      status: 401,
      ok: false,
      data: { message: 'Wrong name or password' },
    })
  })

  it.each([
    ['/me', 401, 'Unauthorized'],
    ['/items/101', 404, 'Item not found'],
    ['/nowhere', 404, 'Not found'],
  ])('rejects GET %s without a token with %i', async (path, status, error) => {
    const call = createClient({ baseUrl: shop.url }).get(path)
    await expect(call).rejects.toMatchObject({ status, data: { error } })
  })

  it('rejects a missing role with 403, and still rotates', async () => {
    const before = signToken('Bob')
    store.setItem('app_token', before)
    await expect(client.get('/me/forbidden')).rejects.toMatchObject({ status: 403 })
    expect(token()).not.toBe(before)
  })

  it('rejects bad input with its fields', async () => {
    const call = client.post('/items', { name: 'Lamp', price: -1 })
    await expect(call).rejects.toMatchObject({
      status: 400,
      data: { errors: [{ path: 'price', code: 'min' }] },
    })
  })

  it('sends params as the application reads them', async () => {
    const params = { q: 'a b&c', tag: ['x', 'y'], none: undefined }
    expect(await client.get('/items', { params })).toEqual({ q: 'a b&c', tag: ['x', 'y'] })
  })

  it('fills paths as the application reads them', async () => {
    expect(await typed.get('/items/<id:int>', { path: { id: 7 } })).toEqual({
      id: 7,
      soldAt: '1970-01-01T00:00:00.000Z',
    })
    const name = 'a/b c?d#e%'
    expect(await typed.get('/items/named/<name>', { path: { name } })).toEqual({ name })
    const rest = 'a b/c%/d'
    expect(await typed.get('/items/docs/<rest:path>', { path: { rest } })).toBe(rest)
  })

  it('gets text, bytes and nothing', async () => {
    const bytes = await client.get<Blob>('/items/raw')
    expect([...new Uint8Array(await bytes.arrayBuffer())]).toEqual([1, 2, 3])
    expect(await client.get('/items/none')).toBeNull()
  })

  it('sends objects, whose formToken never reaches the handler', async () => {
    expect(await typed.post('/items', { name: 'Lamp', price: 9 })).toEqual({
      id: 8,
      name: 'Lamp',
      price: 9,
    })
    expect(await client.put('/items/7', { a: 1 })).toEqual({
      id: 7,
      body: { a: 1 },
      formToken: true,
    })
    expect(await client.delete('/items/7')).toEqual({ id: 7, formToken: true })
    expect(await client.patch('/items/7', [1])).toEqual({ id: 7, body: [1] })
  })

  it('sends forms with files', async () => {
    const form = new FormData()
    form.append('title', 'Sunset')
    form.append('photo', new File([new Uint8Array(1000)], 'sunset.png', { type: 'image/png' }))
    expect(await typed.post('/items/photos', form)).toEqual({
      body: { title: 'Sunset' },
      name: 'sunset.png',
      size: 1000,
      formToken: true,
    })
  })

  it.each<[string, unknown, unknown, string | null]>([
    ['text', 'a,b', 'a,b', 'text/plain;charset=UTF-8'],
    [
      'search params',
      new URLSearchParams('a=1&b=2&b=3'),
      { a: '1', b: ['2', '3'] },
      'application/x-www-form-urlencoded;charset=UTF-8',
    ],
    ['bytes', new Uint8Array([1, 2]), [1, 2], null],
    ['a list', [1, 2], [1, 2], 'application/json'],
    ['nothing', null, undefined, null],
  ])('sends %s', async (_, body, seen, type) => {
    const plain = createClient({ baseUrl: shop.url })
    expect(await plain.post('/items/echo', body)).toEqual({ body: seen, type })
  })

  it('lets the platform say that nobody listens', async () => {
    const other = await startShop()
    const { url } = other
    await other.close()
    const call = createClient({ baseUrl: url }).get('/items')
    await expect(call).rejects.toMatchObject({ name: 'TypeError', message: 'fetch failed' })
  })
})
