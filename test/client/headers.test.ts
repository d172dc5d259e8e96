import { describe, expect, it } from '@jest/globals'
import { createClient, type HeaderValues } from '../../client/index.js'
import { openStore, recordFetch } from './recording-fetch.js'

async function headersOf(
  configured: HeaderValues | undefined,
  given: HeaderValues | undefined,
  body?: unknown,
): Promise<Record<string, string>> {
  const { fetch, calls } = recordFetch()
  await createClient({ fetch, headers: configured }).post('/x', body, { headers: given })
  return calls[0]!.headers
}

describe('headers', () => {
  it.each<[string, HeaderValues | undefined, HeaderValues | undefined, Record<string, string>]>([
    ['sends the configured ones', { 'X-A': '1' }, undefined, { 'x-a': '1' }],
    ['adds those of the call', { 'X-A': '1' }, { 'X-B': '2' }, { 'x-a': '1', 'x-b': '2' }],
    ['lets the call win', { 'X-A': '1' }, { 'X-A': '2' }, { 'x-a': '2' }],
    ['lets the call win in another case', { 'X-A': '1' }, { 'x-a': '2' }, { 'x-a': '2' }],
    ['keeps a default over undefined', { 'X-A': '1' }, { 'X-A': undefined }, { 'x-a': '1' }],
    ['leaves out what is undefined', { 'X-A': undefined }, { 'X-B': undefined }, {}],
    ['lets a call empty one', { 'X-A': '1' }, { 'x-a': '' }, { 'x-a': '' }],
  ])('%s', async (_, configured, given, sent) => {
    expect(await headersOf(configured, given)).toEqual(sent)
  })

  it('does not change the objects it was given', async () => {
    const configured = Object.freeze({ 'X-A': '1' })
    const given = Object.freeze({ 'x-a': '2' })
    await headersOf(configured, given, { a: 1 })
    expect([configured, given]).toEqual([{ 'X-A': '1' }, { 'x-a': '2' }])
  })

  it('gives GET no Content-Type, whoever asks for it', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch, headers: { 'content-type': 'application/json' } })
    await client.get('/x', { headers: { 'Content-Type': 'text/plain' } })
    expect(calls[0]!.headers).toEqual({})
  })

  it('lets a call replace the Content-Type of JSON', async () => {
    const given = { 'content-type': 'application/vnd.item+json' }
    expect(await headersOf(undefined, given, { a: 1 })).toEqual(given)
  })

  it('lets a call replace the token', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch, auth: true, storage: openStore('t') })
    await client.get('/x', { headers: { authorization: 'Basic x' } })
    expect(calls[0]!.headers).toEqual({ authorization: 'Basic x' })
  })

  it('lets the token replace a configured Authorization', async () => {
    const { fetch, calls } = recordFetch()
    const headers = { authorization: 'Basic x' }
    const client = createClient({ fetch, auth: true, storage: openStore('t'), headers })
    await client.get('/x')
    expect(calls[0]!.headers).toEqual({ authorization: 'Bearer t' })
  })
})

describe('configure', () => {
  it('replaces the settings given and keeps the others', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch, baseUrl: '/a', headers: { 'X-A': '1', 'X-B': '1' } })
    client.configure({ headers: { 'X-A': '2' } })
    await client.get('/x')
    client.configure({ baseUrl: '/b' })
    await client.get('/x')
    expect(calls.map((call) => [call.url, call.headers])).toEqual([
      ['/a/x', { 'x-a': '2' }],
      ['/b/x', { 'x-a': '2' }],
    ])
  })

  it('binds requests that start later', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch, baseUrl: '/a', headers: { 'X-A': '1' } })
    client.intercept('request', async (config) => config)
    const running = client.get('/x')
    client.configure({ baseUrl: '/b', headers: {} })
    await running
    expect([calls[0]!.url, calls[0]!.headers]).toEqual(['/a/x', { 'x-a': '1' }])
  })

  it('keeps clients apart', async () => {
    const first = recordFetch()
    const second = recordFetch()
    const one = createClient({ fetch: first.fetch, baseUrl: '/one' })
    createClient({ fetch: second.fetch }).configure({ baseUrl: '/two' })
    await one.get('/x')
    expect([first.calls.map((call) => call.url), second.calls]).toEqual([['/one/x'], []])
  })

  it('hands everything else on to fetch', async () => {
    const { fetch, calls } = recordFetch()
    await createClient({ fetch }).get('/x', { credentials: 'include', cache: 'no-store' })
    expect(calls[0]!.init).toMatchObject({ credentials: 'include', cache: 'no-store' })
  })
})
