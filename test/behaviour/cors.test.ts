/** Source: specification, Authentication 8; decisions, CORS and cookies. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application, InjectRequest } from '../../src/index.js'
import { setResult, startAnswers } from './result-application.js'

let app: Application

beforeAll(async () => {
  app = await startAnswers()
})
afterAll(() => app.close())

describe('CORS on every response', () => {
  // Responses also expose their headers that pages cannot read by default.
  const named: Readonly<Record<string, string>> = {
    '/file/a.txt 200': 'FreshToken, ETag',
    '/file/a.txt 206': 'FreshToken, ETag, Content-Range',
    '/file/a.txt 416': 'FreshToken, Content-Range',
    '/taken 409': 'FreshToken, Retry-After',
    '/swagger/openapi.json 200': 'FreshToken, ETag',
  }
  const cors = {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    'access-control-allow-headers': 'Origin, X-Requested-With, Content-Type, Accept, Authorization',
    'access-control-expose-headers': 'FreshToken',
  }

  const kinds: [string, number, InjectRequest][] = [
    ['data', 200, { url: '/given' }],
    ['a reply', 201, { method: 'POST', url: '/made' }],
    ['a file', 200, { url: '/file/a.txt' }],
    ['a part of a file', 206, { url: '/file/a.txt', headers: { range: 'bytes=0-1' } }],
    ['a range that cannot be met', 416, { url: '/file/a.txt', headers: { range: 'bytes=99-' } }],
    ['a missing file', 404, { url: '/file/none' }],
    ['a redirect', 302, { url: '/redirect' }],
    ['a stream', 200, { url: '/stream' }],
    ['events', 200, { url: '/events' }],
    ['a HEAD', 200, { method: 'HEAD', url: '/given' }],
    ['an OPTIONS', 204, { method: 'OPTIONS', url: '/given' }],
    ['an OPTIONS of nothing', 404, { method: 'OPTIONS', url: '/nothing' }],
    ['a malformed path', 400, { url: '/%ZZ' }],
    ['an invalid body', 400, { url: '/item', json: {} }],
    ['a refused request', 401, { method: 'POST', url: '/secret' }],
    ['an unknown path', 404, { url: '/nothing' }],
    ['a wrong method', 405, { method: 'DELETE', url: '/given' }],
    ['an unknown method', 405, { method: 'PROPFIND', url: '/given' }],
    ['a conflict', 409, { url: '/taken' }],
    ['a large body', 413, { url: '/item', json: 'x'.repeat(2 ** 20) }],
    ['a long URL', 414, { url: `/${'a'.repeat(9000)}` }],
    [
      'an unknown type',
      415,
      { url: '/item', method: 'POST', body: 'x', headers: { 'content-type': 'a/b' } },
    ],
    ['a crash', 500, { url: '/crash' }],
    ['the documentation', 200, { url: '/swagger/openapi.json' }],
  ]

  it.each(kinds)('Authentication 8: %s (%d) has the CORS headers', async (_, status, request) => {
    setResult({ a: 1 })
    const answer = await app.inject(request)
    const exposed = named[`${request.url} ${status}`] ?? 'FreshToken'
    const headers = { ...cors, 'access-control-expose-headers': exposed }
    expect([answer.status, answer.headers]).toEqual([status, expect.objectContaining(headers)])
  })

  it('Authentication 8: a 304 has the CORS headers', async () => {
    const { headers } = await app.inject('/file/a.txt')
    const condition = { 'if-none-match': headers.etag! }
    const answer = await app.inject({ url: '/file/a.txt', headers: condition })
    const exposed = { ...cors, 'access-control-expose-headers': 'FreshToken, ETag' }
    expect([answer.status, answer.headers]).toEqual([304, expect.objectContaining(exposed)])
  })

  it('OPTIONS: a malformed path is 400, and its preflight is 204', async () => {
    const plain = await app.inject({ method: 'OPTIONS', url: '/file/%ZZ' })
    expect([plain.status, plain.headers]).toEqual([400, expect.objectContaining(cors)])
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'PUT' }
    for (const url of ['/file/%ZZ', '/%00', '/nothing', '*']) {
      const preflight = await app.inject({ method: 'OPTIONS', url, headers })
      expect([url, preflight.status]).toEqual([url, 204])
    }
  })

  it('CORS, an allow-list: only listed origins are allowed, and Vary has Origin', async () => {
    const origins = ['https://shop.example']
    await using listed = await startAnswers({ listen: false, cors: { origins } })
    for (const [url, status] of [
      ['/taken', 409],
      ['/nothing', 404],
      ['/redirect', 302],
      ['/file/a.txt', 200],
    ] as const) {
      const allowed = await listed.inject({ url, headers: { origin: 'https://shop.example' } })
      expect([allowed.status, allowed.headers['access-control-allow-origin']]).toEqual([
        status,
        'https://shop.example',
      ])
      const vary = status < 400 ? 'Origin' : 'Origin, Accept'
      expect(allowed.headers.vary).toBe(vary)
      const other = await listed.inject({ url, headers: { origin: 'https://evil.example' } })
      expect([other.headers['access-control-allow-origin'], other.headers.vary]).toEqual([
        undefined,
        vary,
      ])
    }
  })
})
