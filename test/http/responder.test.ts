import { describe, expect, it } from '@jest/globals'
import { html, HttpError, redirect, reply } from '../../src/index.js'
import { respondWith, corsOf, corsPairs } from './responder-server.js'

/** The log line of a failed request. */
const refused = { level: 'debug', message: 'request refused' }

const json = 'application/json; charset=utf-8'
const text = 'text/plain; charset=utf-8'
const masked = '{"error":"Internal server error","code":"INTERNAL_SERVER_ERROR"}'

class Lamp {
  readonly #secret = 1
  id = 7
  get secret(): number {
    return this.#secret
  }
}

describe('send', () => {
  it.each([
    ['an object', { id: 7, name: 'Lampe für 3 €' }, '{"id":7,"name":"Lampe für 3 €"}'],
    ['a list', [1, 'a', null], '[1,"a",null]'],
    ['an instance', new Lamp(), '{"id":7}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a number', 12.5, '12.5'],
    ['zero', 0, '0'],
    ['true', true, 'true'],
    ['false', false, 'false'],
  ])('sends %s as JSON', async (_what, result, body) => {
    const response = await respondWith(result)
    expect(response.status).toBe(200)
    expect(response.text).toBe(body)
    expect(response.headers['content-type']).toBe(json)
    expect(response.headers['content-length']).toBe(String(Buffer.byteLength(body)))
    expect(corsOf(response)).toEqual(corsPairs)
  })

  it.each(['hello', 'Grüße', ''])('sends the string %j as plain text', async (result) => {
    const response = await respondWith(result)
    expect(response).toMatchObject({ status: 200, text: result })
    expect(response.headers['content-type']).toBe(text)
    expect(response.headers['content-length']).toBe(String(Buffer.byteLength(result)))
  })

  it.each([
    ['a buffer', Buffer.from([0, 255, 128])],
    ['bytes', new Uint8Array([0, 255, 128])],
    ['a part of a buffer', new Uint8Array([9, 0, 255, 128, 9]).subarray(1, 4)],
    ['an ArrayBuffer', new Uint8Array([0, 255, 128]).buffer],
    ['a view', new DataView(new Uint8Array([9, 0, 255, 128]).buffer, 1)],
  ])('sends %s as bytes', async (_what, result) => {
    const response = await respondWith(result)
    expect([...response.bytes]).toEqual([0, 255, 128])
    expect(response.headers['content-type']).toBe('application/octet-stream')
    expect(response.headers['content-length']).toBe('3')
  })

  it.each([undefined, null])('sends %p with 204 and without a body', async (result) => {
    const response = await respondWith(result)
    expect(response).toMatchObject({ status: 204, text: '' })
    expect(response.headers['content-type']).toBeUndefined()
    expect(response.headers['content-length']).toBeUndefined()
    expect(corsOf(response)).toEqual(corsPairs)
  })

  it.each([undefined, null, reply(null)])(
    'sends %p with 404 where the route declares its result',
    async (result) => {
      const response = await respondWith(result, {}, { status: 200, notFoundWhenEmpty: true })
      expect(response).toMatchObject({
        status: 404,
        text: '{"error":"Not found","code":"NOT_FOUND"}',
      })
      expect(response.headers['content-type']).toBe(json)
    },
  )

  it('sends falsy values as values where the route declares its result', async () => {
    const rule = { status: 200, notFoundWhenEmpty: true }
    expect(await respondWith(0, {}, rule)).toMatchObject({ status: 200, text: '0' })
    expect(await respondWith('', {}, rule)).toMatchObject({ status: 200, text: '' })
    expect(await respondWith(false, {}, rule)).toMatchObject({ status: 200, text: 'false' })
  })

  it('uses the status of the route', async () => {
    const rule = { status: 201, notFoundWhenEmpty: false }
    expect((await respondWith({ id: 7 }, {}, rule)).status).toBe(201)
    expect((await respondWith('x', {}, rule)).status).toBe(201)
    expect((await respondWith(reply({ id: 7 }), {}, rule)).status).toBe(201)
    expect((await respondWith(reply({ id: 7 }, 202), {}, rule)).status).toBe(202)
    const empty = await respondWith(undefined, {}, rule)
    expect(empty.status).toBe(201)
    expect(empty.headers['content-length']).toBe('0')
  })

  it('omits the body for a status without one', async () => {
    for (const result of [reply({ id: 7 }, 204), reply('x', 304), reply(Buffer.from('x'), 204)]) {
      const response = await respondWith(result)
      expect(response.status).toBe(result.status)
      expect(response.text).toBe('')
      expect(response.headers['content-type']).toBeUndefined()
    }
    const ruled = await respondWith({ id: 7 }, {}, { status: 204, notFoundWhenEmpty: false })
    expect(ruled).toMatchObject({ status: 204, text: '' })
  })

  it.each([
    ['a cycle', cycle()],
    ['a bigint', 7n],
    ['a bigint inside', { id: 7n }],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    [
      'a toJSON that throws',
      {
        toJSON: () => {
          throw new Error('secret')
        },
      },
    ],
    ['a toJSON that gives nothing', { toJSON: () => undefined }],
    ['an error', new Error('secret')],
    ['a reply with a cycle', reply(cycle(), 201)],
  ])('masks and logs %s', async (_what, result) => {
    const response = await respondWith(result)
    expect(response).toMatchObject({ status: 500, phrase: 'Internal Server Error', text: masked })
    expect(response.log).toHaveLength(1)
    expect(response.log[0]).toMatchObject({ level: 'error', message: 'request failed' })
    expect(response.log[0]?.details['requestId']).toBe(response.headers['x-request-id'])
  })

  it('handles a returned HttpError like a thrown one', async () => {
    const response = await respondWith(new HttpError(404, 'No such item'))
    expect(response).toMatchObject({
      status: 404,
      text: '{"error":"No such item","code":"NOT_FOUND"}',
      log: [refused],
    })
  })
})

describe('send with a reply', () => {
  it('sends status, headers and body', async () => {
    const result = reply({ id: 7 }, 201).header('X-Shelf', '3').freshToken('abc')
    const response = await respondWith(result)
    expect(response).toMatchObject({ status: 201, text: '{"id":7}' })
    expect(response.headers).toMatchObject({
      'x-shelf': '3',
      freshtoken: 'abc',
      'content-type': json,
    })
    expect(corsOf(response)).toEqual(corsPairs)
  })

  it('sends each cookie in a separate header', async () => {
    const response = await respondWith(reply(1).cookie('a', '1').cookie('b', '2'))
    const cookies = response.pairs
      .filter(([name]) => name === 'set-cookie')
      .map(([, value]) => value)
    expect(cookies).toEqual([
      'a=1; Path=/; HttpOnly; SameSite=Lax',
      'b=2; Path=/; HttpOnly; SameSite=Lax',
    ])
  })

  it.each([
    ['text', reply('a,b').type('text/csv'), 'a,b'],
    ['JSON text', reply('{"a":1}').type('text/csv'), '{"a":1}'],
    ['data', reply({ a: 1 }).type('text/csv'), '{"a":1}'],
    ['bytes', reply(Buffer.from('a')).header('Content-Type', 'text/csv'), 'a'],
    ['nothing', reply(null, 200).type('text/csv'), ''],
  ])('sends %s with the given type', async (_what, result, body) => {
    const response = await respondWith(result)
    expect(response.text).toBe(body)
    expect(response.pairs.filter(([name]) => name === 'content-type')).toEqual([
      ['content-type', 'text/csv'],
    ])
  })

  it('sends pages', async () => {
    const response = await respondWith(html('<p>ü</p>'))
    expect(response.text).toBe('<p>ü</p>')
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8')
  })

  it('sends redirects', async () => {
    const response = await respondWith(redirect('/next', 303))
    expect(response).toMatchObject({ status: 303, text: '' })
    expect(response.headers).toMatchObject({ location: '/next', 'content-length': '0' })
    expect(corsOf(response)).toEqual(corsPairs)
  })

  it('counts the bytes itself, whatever the reply has', async () => {
    const response = await respondWith(reply('abc').header('Content-Length', 99))
    expect(response.headers['content-length']).toBe('3')
    expect(response.text).toBe('abc')
  })
})

function cycle(): object {
  const node: { self?: object } = {}
  node.self = node
  return node
}
