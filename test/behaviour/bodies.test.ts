/** Source: decisions, Requests. Titles begin with the statement that they check. Uploads have their own file. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application, InjectRequest, InjectResponse } from '../../src/index.js'
import { bodyOf, exchange, statusOf } from '../bootstrap/raw-client.js'
import { expectError } from './error-responses.js'
import { form, json, startBodies } from './body-application.js'

let app: Application

beforeAll(async () => {
  app = await startBodies()
})
afterAll(() => app.close())

function post(type: string, body: string | Uint8Array, url = '/any'): Promise<InjectResponse> {
  return app.inject({ method: 'POST', url, headers: { 'content-type': type }, body })
}

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

describe('Request body parsing', () => {
  it.each<[string, string, unknown]>([
    [json, '{"a":[1,null]}', { body: { a: [1, null] } }],
    [json, '[1,2]', { body: [1, 2] }],
    [json, '"text"', { body: 'text' }],
    [json, 'null', { body: null }],
    [json, '\ufeff{"a":1}', { body: { a: 1 } }],
    ['Application/JSON; charset="UTF-8"', '{"a":1}', { body: { a: 1 } }],
    ['application/json;charset=us-ascii', '{"a":1}', { body: { a: 1 } }],
    ['application/vnd.shop+json', '{"a":1}', { body: { a: 1 } }],
    ['application/merge-patch+json', '{"a":null}', { body: { a: null } }],
    [form, 'a=1&b=x+y%C3%A4&a=2&c', { body: { a: ['1', '2'], b: 'x yä', c: '' } }],
    ['text/plain', 'Grüße', { body: 'Grüße' }],
    ['text/plain; charset=utf-8', '{"a":1}', { body: '{"a":1}' }],
    ['application/octet-stream', 'a\0b', { bytes: 'a\0b' }],
    ['text/csv', 'a,b', { bytes: 'a,b' }],
    ['no type at all', 'x', { bytes: 'x' }],
  ])('Requests, media type: %s of %j is parsed', async (type, body, expected) => {
    const answer = await post(type, body)
    expect([answer.status, answer.json()]).toEqual([200, expected])
  })

  it('Requests, media type: a body without a media type is passed as bytes', async () => {
    const answer = await app.inject({ method: 'POST', url: '/any', body: '{}' })
    expect(answer.json()).toEqual({ bytes: '{}' })
  })

  it.each(['image/png', 'text/csv', 'application/jsonx', 'text/json', 'json', ''])(
    'Requests, any other type: %j is 415 where the route declares a body',
    async (type) => {
      const answer = await post(type, '{"name":"Lamp"}', '/item')
      expectError(answer, 415, /^Send application\/json, .*multipart\/form-data\.$/)
    },
  )

  it('Requests, media type: every type that ends with +json is JSON', async () => {
    const answer = await post(`${form}+json`, '{"name":"Lamp","qty":"3"}', '/item')
    expect([answer.status, answer.json()]).toMatchObject([
      400,
      { error: 'qty must be an integer', errors: [{ path: 'qty', code: 'type' }] },
    ])
  })
})

describe('Requests, JSON', () => {
  it.each<[string, string | Uint8Array, RegExp]>([
    ['a body that breaks off', '{"a":', /^The body is not valid JSON/],
    ['a trailing comma', '[1,]', /^The body is not valid JSON/],
    ['a single quote', "{'a':1}", /^The body is not valid JSON/],
    ['NaN', '{"a":NaN}', /^The body is not valid JSON/],
    ['two values', '{}{}', /^The body is not valid JSON/],
    ['blanks only', '  \n', /^The body is not valid JSON/],
    ['invalid UTF-8', Buffer.from([0x22, 0xc3, 0x28, 0x22]), /not valid UTF-8/],
    ['an overlong encoding', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), /not valid UTF-8/],
    ['65 levels', nested(65), /more than 64 levels/],
    ['500,000 levels', nested(500_000), /more than 64 levels/],
    ['500,000 levels that never end', '['.repeat(500_000), /more than 64 levels/],
    ['__proto__', '{"__proto__":{"admin":true}}', /"__proto__"/],
    ['__proto__ deep inside', '{"a":[{"b":{"__proto__":1}}]}', /"__proto__"/],
    ['__proto__ with an escape', '{"\\u005f_proto__":1}', /"__proto__"/],
    ['constructor.prototype', '{"constructor":{"prototype":{}}}', /"constructor\.prototype"/],
  ])('%s is 400', async (_, body, message) => {
    expectError(await post(json, body), 400, message)
    expectError(await post('application/x+json', body, '/item'), 400, message)
    expect({}).not.toHaveProperty('admin')
  })

  it.each(['latin1', 'utf-16', 'iso-8859-1', 'utf-7', ''])(
    'the charset %j is 415',
    async (charset) => {
      const answer = await post(`application/json; charset="${charset}"`, '{}')
      expectError(answer, 415, /^Only UTF-8/)
    },
  )

  it('64 levels, and a key named constructor, are accepted', async () => {
    expect((await post(json, nested(64))).status).toBe(200)
    const named = await post(json, '{"constructor":"Bauhaus","prototype":1}')
    expect(named.json()).toEqual({ body: { constructor: 'Bauhaus', prototype: 1 } })
  })
})

describe('Requests, urlencoded', () => {
  it.each<[string, string, RegExp]>([
    ['__proto__', '__proto__=1', /"__proto__"/],
    ['an escaped __proto__', '%5F_proto__=1', /"__proto__"/],
    ['constructor', 'constructor=1', /"constructor"/],
    ['a broken escape', 'a=%ZZ', /percent-encoding/],
    ['invalid UTF-8 in an escape', 'a=%C3%28', /percent-encoding/],
    ['1,001 pairs', Array.from({ length: 1001 }, () => 'a=1').join('&'), /More than 1000/],
  ])('%s is 400', async (_, body, message) => {
    expectError(await post(form, body), 400, message)
  })

  it('a charset other than UTF-8 is 415', async () => {
    expectError(await post(`${form}; charset=latin1`, 'a=1'), 415, /^Only UTF-8/)
  })

  it('brackets in names have no meaning', async () => {
    const answer = await post(form, 'a[b]=1&a[__proto__][x]=2')
    expect(answer.json()).toEqual({ body: { 'a[b]': '1', 'a[__proto__][x]': '2' } })
  })

  it('a form is 400 where a list is declared', async () => {
    const answer = await app.inject({ url: '/items', form: { name: 'Lamp' } })
    expect([answer.status, answer.json()]).toMatchObject([
      400,
      { error: 'the body must be a list', errors: [{ path: '', code: 'type' }] },
    ])
  })
})

describe('Requests, empty body', () => {
  const empty: [string, Partial<InjectRequest>][] = [
    ['none', {}],
    ['an empty JSON body', { body: '', headers: { 'content-type': json } }],
    ['an empty text', { text: '' }],
    ['an empty form', { form: {} }],
    ['an empty body of an unknown type', { body: '', headers: { 'content-type': 'a/b' } }],
  ]

  it.each(empty)('%s is undefined for the handler', async (_, request) => {
    const answer = await app.inject({ method: 'POST', url: '/any', ...request })
    expect(answer.json()).toEqual({ nothing: true })
  })

  it.each(empty)('%s is 400 where the route declares a body', async (_, request) => {
    const answer = await app.inject({ method: 'POST', url: '/item', ...request })
    expectError(answer, 400, /^A body is required\.$/)
  })

  it('a chunked body without bytes is empty', async () => {
    const head = `Host: x\r\nContent-Type: ${json}\r\nTransfer-Encoding: chunked\r\nConnection: close`
    const any = await exchange(app.url, `POST /any HTTP/1.1\r\n${head}\r\n\r\n0\r\n\r\n`)
    expect(any).toContain('"nothing":true')
    const item = await exchange(app.url, `POST /item HTTP/1.1\r\n${head}\r\n\r\n0\r\n\r\n`)
    expect([statusOf(item), JSON.parse(bodyOf(item))]).toEqual([
      400,
      { error: 'A body is required.', code: 'BODY_REQUIRED' },
    ])
  })
})
