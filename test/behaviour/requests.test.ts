/** Source: decisions, Requests and "Bodies". Titles begin with the statement they show; uploads have a file of their own. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Delete,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  type Application,
  type BootstrapOptions,
  type HttpRequest,
  type InjectRequest,
  type InjectResponse,
  type Session,
} from '../../src/index.js'
import { bodyOf, exchange, statusOf } from '../bootstrap/raw-client.js'

class Item {
  @Field('string') name!: string
  @Field('integer', { optional: true }) qty?: number
}

/** What a handler got, so that an answer can show it. */
function seen(body: unknown): object {
  if (body === undefined) return { nothing: true }
  if (body instanceof Uint8Array) return { bytes: Buffer.from(body).toString('latin1') }
  return { body }
}

/** What a handler waits for, and answers with then. */
let late: Promise<void> = Promise.resolve()
let stream = Readable.from([])

@Controller
class BodyController {
  @Post('/any')
  @NoAuth
  any(body: unknown) {
    return seen(body)
  }

  @Get('/any')
  read(body: unknown) {
    return seen(body)
  }

  @Delete('/any')
  @NoAuth
  remove(body: unknown) {
    return seen(body)
  }

  @Post('/item')
  @NoAuth
  item(body: Item) {
    return { isItem: body instanceof Item, body }
  }

  @Post('/items', { body: [Item] })
  @NoAuth
  items(body: Item[]) {
    return { count: body.length }
  }

  @Post('/small', { limit: '16b' })
  @NoAuth
  small(body: unknown) {
    return seen(body)
  }

  @Post('/large', { limit: '2mb' })
  @NoAuth
  large(body: string) {
    return { length: body.length }
  }

  @Post('/unread')
  @NoAuth
  unread() {
    return { unread: true }
  }

  @Post('/token')
  @NoAuth
  token(request: HttpRequest, body: unknown) {
    return { formToken: request.formToken ?? null, ...seen(body) }
  }

  @Post('/secret')
  secret(body: unknown) {
    return seen(body)
  }

  @Get('/late', { timeout: 20 })
  async late() {
    await late
    return stream
  }

  @Get('/session', { timeout: 20 })
  session(session: Session) {
    session.user = 'Ada'
    return {}
  }

  @Get('/who')
  who(request: HttpRequest, headers: Record<string, string>, cookies: object) {
    const { ip, secure } = request
    return { ip, secure, cookies, custom: headers['x-custom-header'] }
  }
}

@Module({ controllers: [BodyController] })
class BodyModule {}

const apiKey = 'operator-0123456789abcdef'
const mebi = 1024 * 1024
const json = 'application/json'
const form = 'application/x-www-form-urlencoded'

function start(options: BootstrapOptions = {}): Promise<Application> {
  const fixed = { port: 0, host: '127.0.0.1', logger: false, env: { APP_API_KEY: apiKey } }
  return bootstrap(BodyModule, { ...fixed, ...options })
}

function expectError(answer: InjectResponse, status: number, message: RegExp): void {
  expect([answer.status, answer.json()]).toEqual([
    status,
    { error: expect.stringMatching(message) },
  ])
  expect(answer.headers['access-control-allow-origin']).toBe('*')
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
}

let app: Application

beforeAll(async () => {
  app = await start()
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

  it('Requests, media type: a body without one is handed over as bytes', async () => {
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

  it('Requests, media type: a +json type is JSON whatever stands before the plus', async () => {
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
  ])('Requests, JSON: %s is 400', async (_, body, message) => {
    expectError(await post(json, body), 400, message)
    expectError(await post('application/x+json', body, '/item'), 400, message)
    expect({}).not.toHaveProperty('admin')
  })

  it.each(['latin1', 'utf-16', 'iso-8859-1', 'utf-7', ''])(
    'Requests, JSON: the charset %j is 415',
    async (charset) => {
      const answer = await post(`application/json; charset="${charset}"`, '{}')
      expectError(answer, 415, /^Only UTF-8/)
    },
  )

  it('Requests, JSON: 64 levels, and a key named constructor, are accepted', async () => {
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
  ])('Requests, urlencoded: %s is 400', async (_, body, message) => {
    expectError(await post(form, body), 400, message)
  })

  it('Requests, urlencoded: a foreign charset is 415', async () => {
    expectError(await post(`${form}; charset=latin1`, 'a=1'), 415, /^Only UTF-8/)
  })

  it('Requests, urlencoded: brackets are letters, nothing is nested', async () => {
    const answer = await post(form, 'a[b]=1&a[__proto__][x]=2')
    expect(answer.json()).toEqual({ body: { 'a[b]': '1', 'a[__proto__][x]': '2' } })
  })

  it('Requests, urlencoded: a form is no list', async () => {
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

  it.each(empty)('Requests, empty body: %s is undefined for the handler', async (_, request) => {
    const answer = await app.inject({ method: 'POST', url: '/any', ...request })
    expect(answer.json()).toEqual({ nothing: true })
  })

  it.each(empty)('Requests, empty body: %s is 400 where one is declared', async (_, request) => {
    const answer = await app.inject({ method: 'POST', url: '/item', ...request })
    expectError(answer, 400, /^A body is required\.$/)
  })

  it('Requests, empty body: chunks without a byte are none', async () => {
    const head = `Host: x\r\nContent-Type: ${json}\r\nTransfer-Encoding: chunked\r\nConnection: close`
    const any = await exchange(app.url, `POST /any HTTP/1.1\r\n${head}\r\n\r\n0\r\n\r\n`)
    expect(any).toContain('"nothing":true')
    const item = await exchange(app.url, `POST /item HTTP/1.1\r\n${head}\r\n\r\n0\r\n\r\n`)
    expect([statusOf(item), JSON.parse(bodyOf(item))]).toEqual([
      400,
      { error: 'A body is required.' },
    ])
  })
})

describe('Requests, Limits', () => {
  const ofLength = (length: number): string => `"${'a'.repeat(length - 2)}"`

  it.each([json, 'text/plain', form, 'application/octet-stream'])(
    'Requests, Limits: %s of 1 MiB is read, a byte more is 413',
    async (type) => {
      const most = ofLength(mebi)
      expect((await post(type, most)).status).toBe(200)
      expectError(await post(type, `${most} `), 413, /^The body is larger than 1048576 bytes\.$/)
    },
  )

  it('Requests, Limits: a route has its own, lower or higher', async () => {
    expect((await post(json, ofLength(16), '/small')).status).toBe(200)
    expectError(await post(json, ofLength(17), '/small'), 413, /larger than 16 bytes/)
    expect((await post('text/plain', ofLength(2 * mebi), '/large')).json()).toEqual({
      length: 2 * mebi,
    })
    expectError(await post('text/plain', ofLength(2 * mebi + 1), '/large'), 413, /larger than/)
  })

  it('Requests, Limits: an application has its own', async () => {
    await using strict = await start({ listen: false, limits: { body: '1kb', url: 100 } })
    const ask = (text: string, url = '/any') => strict.inject({ method: 'POST', url, text })
    expect((await ask('a'.repeat(1024))).status).toBe(200)
    expectError(await ask('a'.repeat(1025)), 413, /larger than 1024 bytes/)
    expect((await ask('a'.repeat(1025), '/large')).status).toBe(200)
    expectError(await strict.inject(`/any?q=${'a'.repeat(100)}`), 414, /longer than 100 bytes/)
  })

  it('Requests, Limits: one that says no size is refused at bootstrap', async () => {
    await expect(start({ listen: false, limits: { body: '1 parsec' } })).rejects.toThrow(
      /limits\.body is 1 parsec\. +Give bytes, or a size such as '10mb'\./,
    )
  })

  const head = `POST /any HTTP/1.1\r\nHost: x\r\nContent-Type: ${json}\r\n`
  const megabyte = 'a'.repeat(mebi)
  const chunk = `100000\r\n${megabyte}\r\n`
  it.each([
    ['announced and sent', `${head}Content-Length: ${3 * mebi}\r\n\r\n${megabyte.repeat(3)}`],
    ['announced and never sent', `${head}Content-Length: ${2 ** 40}\r\n\r\n`],
    ['in chunks', `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}0\r\n\r\n`],
    ['in chunks without end', `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}`],
    ['in one chunk', `${head}Transfer-Encoding: chunked\r\n\r\n40000000\r\n${megabyte.repeat(3)}`],
  ])('Requests, Limits: the client of a body over it, %s, reads the 413', async (_, text) => {
    const answer = await exchange(app.url, text)
    expect(statusOf(answer)).toBe(413)
    expect(JSON.parse(bodyOf(answer))).toEqual({
      error: 'The body is larger than 1048576 bytes.',
    })
    expect(answer).toMatch(/\r\nConnection: close\r\n/)
    expect(answer).toMatch(/\r\nAccess-Control-Allow-Origin: \*\r\n/)
  })

  it('Requests, Limits: a body that nobody asks for does not count', async () => {
    const answer = await exchange(
      app.url,
      `POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 * mebi}\r\nConnection: close\r\n\r\n${megabyte.repeat(2)}`,
    )
    expect([statusOf(answer), bodyOf(answer)]).toEqual([200, '{"unread":true}'])
  })
})

describe('Requests, Head', () => {
  it('Requests, Head: a URL over 8 KiB is 414, one of 8 KiB is not', async () => {
    expect((await app.inject(`/any?${'a'.repeat(8192 - 5)}`)).status).toBe(200)
    expectError(await app.inject(`/any?${'a'.repeat(8192 - 4)}`), 414, /longer than 8192 bytes/)
  })

  it.each(['gzip', 'br', 'deflate', 'identity, gzip', 'x'])(
    'Requests, Head: Content-Encoding %s is 415',
    async (encoding) => {
      for (const type of [json, 'multipart/form-data; boundary=x', 'a/b']) {
        const headers = { 'content-type': type, 'content-encoding': encoding }
        const answer = await app.inject({ method: 'POST', url: '/any', headers, body: '{}' })
        expectError(answer, 415, /^Compressed bodies are not read/)
      }
    },
  )

  it('Requests, Head: Content-Encoding identity says nothing', async () => {
    const headers = { 'content-type': json, 'content-encoding': 'Identity' }
    const answer = await app.inject({ method: 'POST', url: '/any', headers, body: '{}' })
    expect(answer.json()).toEqual({ body: {} })
  })

  it('Requests, headers: keys are lower-case', async () => {
    const answer = await app.inject({ url: '/who', headers: { 'X-Custom-Header': 'Ja' } })
    expect(answer.json()).toMatchObject({ custom: 'Ja' })
  })

  it('Requests, cookies: they are decoded, and the first of a name counts', async () => {
    const cookie = 'a=1; b=%C3%A4; a=2; c=%ZZ; d="q"; e; __proto__=x; =y'
    const answer = await app.inject({ url: '/who', headers: { cookie } })
    expect(answer.status).toBe(200)
    expect(answer.json()).toMatchObject({ cookies: { a: '1', b: 'ä', c: '%ZZ' } })
  })
})

describe('Requests, GET and DELETE bodies', () => {
  it.each(['GET', 'HEAD'])('Requests, GET/HEAD bodies: that of %s is ignored', async (method) => {
    const malformed = `${method} /any HTTP/1.1\r\nHost: x\r\nContent-Type: ${json}\r\nContent-Length: 3\r\n\r\n{"a`
    const next = 'GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const answer = await exchange(app.url, malformed + next)
    expect(answer.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
    expect(answer.includes('{"nothing":true}')).toBe(method === 'GET')
  })

  it('Requests, DELETE bodies: they are read', async () => {
    const answer = await app.inject({ method: 'DELETE', url: '/any', json: { a: 1 } })
    expect(answer.json()).toEqual({ body: { a: 1 } })
    const malformed = { method: 'DELETE', url: '/any', headers: { 'content-type': json } }
    expectError(await app.inject({ ...malformed, body: '{' }), 400, /not valid JSON/)
  })
})

describe('Requests, formToken', () => {
  it.each<[string, Partial<InjectRequest>, object]>([
    ['JSON object', { json: { a: 1, formToken: 't' } }, { formToken: 't', body: { a: 1 } }],
    ['form', { form: { a: '1', formToken: 't' } }, { formToken: 't', body: { a: '1' } }],
    ['multipart', { multipart: { a: '1', formToken: 't' } }, { formToken: 't', body: { a: '1' } }],
    ['object, as no text', { json: { formToken: { x: 1 } } }, { formToken: null, body: {} }],
  ])('Requests, formToken: it is taken out of: %s', async (_, request, expected) => {
    const answer = await app.inject({ url: '/token', method: 'POST', ...request })
    expect(answer.json()).toEqual(expected)
  })

  it.each<[string, Partial<InjectRequest>]>([
    ['list', { json: ['formToken', { formToken: 't' }] }],
    ['text', { text: 'formToken=t' }],
    ['nested object', { json: { a: { formToken: 't' } } }],
  ])('Requests, formToken: it stays in: %s', async (_, request) => {
    const answer = await app.inject({ url: '/token', method: 'POST', ...request })
    expect(answer.json()).toEqual({ formToken: null, body: request.json ?? request.text })
  })

  it('Requests, formToken: it is gone before validation', async () => {
    const answer = await app.inject({ url: '/item', json: { name: 'Lamp', formToken: 't' } })
    expect(answer.json()).toEqual({ isItem: true, body: { name: 'Lamp' } })
  })

  it('Requests, formToken: it is no credential, unless the application says so', async () => {
    const request = { url: '/secret', json: { formToken: apiKey } }
    expectError(await app.inject(request), 401, /^Unauthorized$/)
    await using open = await start({ listen: false, auth: { formToken: true } })
    expect((await open.inject(request)).json()).toEqual({ body: {} })
  })
})

describe('Requests, request.ip', () => {
  const headers = { 'x-forwarded-for': '203.0.113.9, 10.0.0.1', 'x-forwarded-proto': 'https' }

  it('Requests, request.ip: X-Forwarded-For is not believed', async () => {
    const answer = await app.inject({ url: '/who', headers })
    expect(answer.json()).toMatchObject({ ip: '127.0.0.1', secure: false })
  })

  it('Requests, request.ip: with trustProxy it is followed', async () => {
    await using trusting = await start({ listen: false, trustProxy: true })
    const forwarded = await trusting.inject({ url: '/who', headers })
    expect(forwarded.json()).toMatchObject({ ip: '203.0.113.9', secure: true })
    const direct = await trusting.inject('/who')
    expect(direct.json()).toMatchObject({ ip: '127.0.0.1', secure: false })
  })
})

describe('Requests, Times', () => {
  it('Requests, Times: a handler that takes too long is 503, and its late stream is let go', async () => {
    let release: () => void = () => undefined
    late = new Promise((resolve) => {
      release = resolve
    })
    stream = Readable.from(['x'])
    expectError(await app.inject('/late'), 503, /^The request took too long\.$/)
    const closed = once(stream, 'close')
    release()
    await closed
    expect(stream.destroyed).toBe(true)
  })

  it('Requests, Times: a session store that never answers is 503', async () => {
    const never = new Promise<never>(() => undefined)
    const store = { read: () => undefined, write: () => never, remove: () => undefined }
    await using stuck = await start({ listen: false, sessions: { store } })
    expectError(await stuck.inject('/session'), 503, /^The request took too long\.$/)
  })
})
