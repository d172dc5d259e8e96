import { describe, expect, it } from '@jest/globals'
import { createClient, type Params } from '../../client/index.js'
import { recordFetch } from './recording-fetch.js'

async function addressOf(
  path: string,
  options: { baseUrl?: string; params?: Params; path?: Record<string, string | number> } = {},
): Promise<string> {
  const { fetch, calls } = recordFetch()
  const { baseUrl, ...rest } = options
  await createClient({ fetch, baseUrl }).get(path, rest)
  return calls[0]!.url
}

describe('baseUrl', () => {
  it.each([
    [undefined, '/items', '/items'],
    ['', 'items', 'items'],
    ['/api', '/items', '/api/items'],
    ['/api/', '/items', '/api/items'],
    ['/api', 'items', '/api/items'],
    ['/api//', '//items', '/api/items'],
    ['https://shop.example', '/items', 'https://shop.example/items'],
    ['https://shop.example/v1/', 'items', 'https://shop.example/v1/items'],
    ['/', '/items', '/items'],
    ['https://shop.example/v1/', '', 'https://shop.example/v1/'],
    ['/api', '', '/api'],
    ['/api', 'https://other.example/items', 'https://other.example/items'],
  ])('%s and %s make %s', async (baseUrl, path, address) => {
    expect(await addressOf(path, { baseUrl })).toBe(address)
  })

  it.each([
    ['//other.host/items', '/other.host/items'],
    ['///other.host', '/other.host'],
    ['/\\other.host', '/other.host'],
    ['\\\\other.host', '/other.host'],
    ['/\t/other.host', '/other.host'],
    [' \n//other.host', '/other.host'],
  ])('%s is a path and no host', async (path, address) => {
    expect(await addressOf(path)).toBe(address)
    expect(await addressOf(path, { baseUrl: '/api' })).toBe('/api' + address)
  })

  it('keeps a base of another host apart from what follows it', async () => {
    expect(await addressOf('@other.host', { baseUrl: 'https://shop.example' })).toBe(
      'https://shop.example/@other.host',
    )
  })
})

describe('params', () => {
  it.each<[string, Params, string]>([
    ['a space as %20', { q: 'a b' }, '/x?q=a%20b'],
    ['an ampersand as %26', { q: 'a&b=c' }, '/x?q=a%26b%3Dc'],
    ['names too', { 'a b': 1 }, '/x?a%20b=1'],
    ['a plus, a hash and a dollar', { q: '+#$&' }, '/x?q=%2B%23%24%26'],
    ['numbers and booleans', { a: 0, b: false, c: 1.5 }, '/x?a=0&b=false&c=1.5'],
    ['lists by repeating the key', { tag: ['a', 'b c'] }, '/x?tag=a&tag=b%20c'],
    ['dates as ISO', { at: new Date(0) }, '/x?at=1970-01-01T00%3A00%3A00.000Z'],
    ['empty text', { q: '' }, '/x?q='],
    ['nothing for undefined and null', { a: undefined, b: null, c: [null, undefined] }, '/x'],
    ['nothing for an empty list', { a: [] }, '/x'],
    ['other alphabets', { q: 'é😀' }, '/x?q=%C3%A9%F0%9F%98%80'],
  ])('writes %s', async (_, params, address) => {
    expect(await addressOf('/x', { params })).toBe(address)
  })

  it.each([
    ['/x?a=1', '/x?a=1&q=2'],
    ['/x#part', '/x?q=2#part'],
    ['/x?a=1#part', '/x?a=1&q=2#part'],
    ['/x#part?no=query', '/x?q=2#part?no=query'],
    ['/x#$&', '/x?q=2#$&'],
  ])('are added to %s as %s', async (path, address) => {
    expect(await addressOf(path, { params: { q: 2 } })).toBe(address)
  })

  it('go along with every method', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch })
    const options = { params: { q: 'a b' } }
    await client.get('/x', options)
    await client.post('/x', {}, options)
    await client.put('/x', {}, options)
    await client.patch('/x', {}, options)
    await client.delete('/x', options)
    expect(calls.map(({ url, init }) => `${init.method} ${url}`)).toEqual(
      ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /x?q=a%20b`),
    )
  })

  it('stay as they are for the caller', async () => {
    const params = Object.freeze({ tags: Object.freeze(['a']), at: new Date(0) })
    await addressOf('/x', { params })
    expect(params).toEqual({ tags: ['a'], at: new Date(0) })
  })
})

describe('path', () => {
  it.each<[string, Record<string, string | number>, string]>([
    ['/items/<id:int>', { id: 7 }, '/items/7'],
    ['/items/{id:int}', { id: 7 }, '/items/7'],
    ['/items/<id>/parts/{part}', { id: 'a', part: 'b' }, '/items/a/parts/b'],
    ['/items/<id:int>', { id: 0 }, '/items/0'],
    ['/items/<name>', { name: 'a/b c?d#e' }, '/items/a%2Fb%20c%3Fd%23e'],
    ['/items/<name>', { name: '%2E%2E' }, '/items/%252E%252E'],
    ['/docs/<rest:path>', { rest: 'a b/c//d' }, '/docs/a%20b/c//d'],
    ['/at/<x:float>', { x: -1.5 }, '/at/-1.5'],
  ])('%s with %j is %s', async (pattern, path, address) => {
    expect(await addressOf(pattern, { path })).toBe(address)
  })

  it.each<[string, Record<string, string | number>]>([
    ['/items/<id:int>', {}],
    ['/items/<id>', { id: '' }],
    ['/items/<id>', { id: '.' }],
    ['/items/<id>', { id: '..' }],
    ['/docs/<id:path>', { id: 'a/../../admin' }],
    ['/docs/<id:path>', { id: '..' }],
    ['/docs/<id:path>', { id: 'a/.' }],
  ])('refuses %s with %j, which would be another route', async (pattern, path) => {
    const { fetch, calls } = recordFetch()
    await expect(createClient({ fetch }).get(pattern, { path })).rejects.toThrow(/^No path\.id$/)
    expect(calls).toEqual([])
  })

  it('left out, sends the braces as they are written', async () => {
    expect(await addressOf('/items/{id}')).toBe('/items/{id}')
  })

  it('fills the parts of a key of several fields, between commas', async () => {
    const path = { country: 'a,b/c', line: 2 }
    expect(await addressOf('/lines/<country>,<line:int>', { path })).toBe('/lines/a%2Cb%2Fc,2')
  })

  it('goes together with params', async () => {
    expect(await addressOf('/items/<id:int>', { path: { id: 7 }, params: { full: true } })).toBe(
      '/items/7?full=true',
    )
  })
})
