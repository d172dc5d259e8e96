/** Source: decisions, Responses. Titles begin with the statement that they check. */
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { html, reply, type Application } from '../../src/index.js'
import {
  requestWith,
  setResult,
  Item,
  jsonType,
  startAnswers,
  textType,
} from './result-application.js'

let app: Application

beforeAll(async () => {
  app = await startAnswers()
})
afterAll(() => app.close())

const binaryType = 'application/octet-stream'

describe('Responses, values', () => {
  it.each<[unknown, string]>([
    [{ a: 1 }, '{"a":1}'],
    [{}, '{}'],
    [[1, 'ä'], '[1,"ä"]'],
    [[], '[]'],
    [7, '7'],
    [0, '0'],
    [true, 'true'],
    [false, 'false'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [Object.create(null), '{}'],
    [Object.assign(new Item(), { id: 3 }), '{"id":3}'],
    [Promise.resolve({ delayed: 1 }), '{"delayed":1}'],
  ])('Responses, object, list, number, boolean: %j is 200 JSON', async (value, body) => {
    const answer = await requestWith(app, value)
    expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([
      200,
      jsonType,
      body,
    ])
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(body)))
  })

  it.each(['hello', 'Grüße', '', '<b>', '{"a":1}'])(
    'Responses, string: %j is 200 text/plain',
    async (text) => {
      const answer = await requestWith(app, text)
      expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([
        200,
        textType,
        text,
      ])
    },
  )

  it('Responses, html: the page is sent as text/html', async () => {
    const answer = await requestWith(app, html('<h1>Grüße</h1>', 202))
    expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([
      202,
      'text/html; charset=utf-8',
      '<h1>Grüße</h1>',
    ])
  })

  it.each([undefined, null])('Responses, %p: 204, without a body', async (value) => {
    const answer = await requestWith(app, value)
    expect([answer.status, answer.body, answer.headers['content-type']]).toEqual([
      204,
      '',
      undefined,
    ])
  })

  it.each([undefined, null])('Responses, %p: 404 if the route declares returns', async (value) => {
    const answer = await requestWith(app, value, { url: '/declared' })
    expect([answer.status, answer.json()]).toEqual([404, { error: 'Not found', code: 'NOT_FOUND' }])
  })

  it("Responses, status: plain values get the route's status, and a reply overrides it", async () => {
    expect((await requestWith(app, { a: 1 }, { method: 'POST', url: '/made' })).status).toBe(201)
    const moved = await requestWith(app, reply({ a: 1 }, 202), { method: 'POST', url: '/made' })
    expect(moved.status).toBe(202)
  })

  it.each<[string, () => unknown]>([
    ['bytes', () => Buffer.from('abc')],
    ['a view', () => new DataView(new TextEncoder().encode('abc').buffer)],
    ['a buffer', () => new TextEncoder().encode('abc').buffer],
    ['a Node stream', () => Readable.from(['a', 'bc'])],
    ['a web stream', () => new Response('abc').body],
    [
      'an async iterable',
      () =>
        (async function* () {
          yield* ['ab', 'c']
        })(),
    ],
    [
      'a generator',
      () =>
        (function* () {
          yield* ['ab', Buffer.from('c')]
        })(),
    ],
    ['a Blob', () => new Blob(['abc'])],
  ])('Responses, bytes / stream / async iterable: %s', async (_, make) => {
    const plain = await requestWith(app, make())
    expect([plain.status, plain.headers['content-type'], plain.body]).toEqual([
      200,
      binaryType,
      'abc',
    ])
    const typed = await requestWith(app, reply(make(), 203).type('text/csv'))
    expect([typed.status, typed.headers['content-type'], typed.body]).toEqual([
      203,
      'text/csv',
      'abc',
    ])
  })

  it('Responses, stream: a large stream arrives completely over a socket', async () => {
    const chunk = Buffer.alloc(65_536, 'x')
    setResult(() => Readable.from(Array.from({ length: 64 }, () => chunk)))
    const answer = await fetch(`${app.url}/given`)
    expect((await answer.arrayBuffer()).byteLength).toBe(64 * 65_536)
  })

  it('Responses, stream: a stream that fails before its first byte is a 500, later it is cut off', async () => {
    const early = await requestWith(app, () =>
      (async function* () {
        await Promise.reject(new Error('secret'))
        yield 'never'
      })(),
    )
    expect([early.status, early.json()]).toEqual([
      500,
      { error: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' },
    ])
    setResult(() =>
      (async function* () {
        yield 'some'
        await Promise.reject(new Error('secret'))
      })(),
    )
    const brokenStream = fetch(`${app.url}/given`).then((answer) => answer.text())
    await expect(brokenStream).rejects.toThrow('terminated')
  })

  it.each<[string, unknown]>([
    [
      'a circle',
      (() => {
        const a: unknown[] = []
        a.push(a)
        return a
      })(),
    ],
    ['a bigint', { n: 1n }],
    ['a symbol', Symbol('x')],
    [
      'a toJSON that throws',
      {
        toJSON: () => {
          throw new Error('secret')
        },
      },
    ],
  ])('Responses, values without JSON: %s is a masked 500', async (_, value) => {
    const answer = await requestWith(app, () => value)
    expect([answer.status, answer.json()]).toEqual([
      500,
      { error: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' },
    ])
  })
})

describe('HEAD', () => {
  it.each([
    '/given',
    '/file/a.txt',
    '/redirect',
    '/stream',
    '/events',
    '/taken',
    '/nothing',
    '/crash',
  ])('%s has the status and headers of GET without a body', async (url) => {
    setResult({ a: 1 })
    const headers = { 'x-request-id': 'same' }
    const get = await app.inject({ url, headers })
    const head = await app.inject({ method: 'HEAD', url, headers })
    expect([head.status, head.headers, head.body]).toEqual([get.status, get.headers, ''])
  })
})
