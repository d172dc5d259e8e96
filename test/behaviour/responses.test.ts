/** Source: decisions, Responses and "Errors"; specification, Authentication 8. Titles begin with the statement they show. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  events,
  Field,
  file,
  Get,
  html,
  HttpError,
  Module,
  NoAuth,
  Post,
  redirect,
  reply,
  type Application,
  type InjectRequest,
  type InjectResponse,
} from '../../src/index.js'
import { exchange } from '../bootstrap/raw-client.js'

class Item {
  @Field('integer') id!: number
}

let root = ''
let given: unknown

@Controller
class AnswerController {
  /** Answers with whatever the test says. */
  @Get('/given')
  given() {
    return typeof given === 'function' ? (given as () => unknown)() : given
  }

  @Get('/declared', { returns: Item })
  declared() {
    return given
  }

  @Post('/made', { status: 201 })
  @NoAuth
  made() {
    return given
  }

  @Get('/file/<path:path>')
  file(path: string) {
    return file(path, { root })
  }

  @Get('/named')
  named(query: { name: string }) {
    return file(query.name, { root })
  }

  @Get('/redirect')
  away() {
    return redirect('/given')
  }

  @Get('/stream')
  async *stream() {
    yield 'one,'
    yield Buffer.from('two')
  }

  @Get('/events')
  events() {
    return events(['hello', { data: { eur: 3 }, event: 'price', id: 7, retry: 100 }])
  }

  @Get('/crash')
  crash() {
    throw new Error('secret: /etc/passwd at line 7')
  }

  @Get('/reject')
  async reject() {
    await Promise.reject(new TypeError('secret'))
  }

  @Get('/taken')
  taken() {
    throw new HttpError(409, 'Taken.', { headers: { 'Retry-After': '5' } })
  }

  @Post('/item')
  @NoAuth
  item(body: Item) {
    return body
  }

  @Post('/secret')
  secret() {
    return {}
  }
}

@Module({ controllers: [AnswerController] })
class AnswerModule {}

const logged: { details: Record<string, unknown>; message: string }[] = []
const keep = (details: object, message: string): void => {
  logged.push({ details: details as Record<string, unknown>, message })
}
const logger = { error: keep, warn: keep, info: () => undefined, debug: () => undefined }

let app: Application

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'filigree-root-'))
  await mkdir(join(root, 'sub'))
  await writeFile(join(root, 'a.txt'), '0123456789')
  await writeFile(join(root, 'sub', 'page.html'), '<p>Hi')
  await writeFile(join(root, '.env'), 'SECRET')
  await symlink('/etc/hosts', join(root, 'link.txt'))
  app = await bootstrap(AnswerModule, { port: 0, host: '127.0.0.1', logger, env: {} })
})
afterAll(async () => {
  await app.close()
  await rm(root, { recursive: true })
})

function ask(value: unknown, request: Partial<InjectRequest> = {}): Promise<InjectResponse> {
  given = value
  return app.inject({ url: '/given', ...request })
}

const jsonType = 'application/json; charset=utf-8'
const textType = 'text/plain; charset=utf-8'
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
    [Promise.resolve({ later: 1 }), '{"later":1}'],
  ])('Responses, object, list, number, boolean: %j is 200 JSON', async (value, body) => {
    const answer = await ask(value)
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
      const answer = await ask(text)
      expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([
        200,
        textType,
        text,
      ])
    },
  )

  it('Responses, html: it is sent as text/html', async () => {
    const answer = await ask(html('<h1>Grüße</h1>', 202))
    expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([
      202,
      'text/html; charset=utf-8',
      '<h1>Grüße</h1>',
    ])
  })

  it.each([undefined, null])('Responses, %p: 204, without a body', async (value) => {
    const answer = await ask(value)
    expect([answer.status, answer.body, answer.headers['content-type']]).toEqual([
      204,
      '',
      undefined,
    ])
  })

  it.each([undefined, null])(
    'Responses, %p: 404 where the route declares returns',
    async (value) => {
      const answer = await ask(value, { url: '/declared' })
      expect([answer.status, answer.json()]).toEqual([404, { error: 'Not found' }])
    },
  )

  it("Responses, status: the route's own is taken for plain values, a reply's wins", async () => {
    expect((await ask({ a: 1 }, { method: 'POST', url: '/made' })).status).toBe(201)
    const moved = await ask(reply({ a: 1 }, 202), { method: 'POST', url: '/made' })
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
    const plain = await ask(make())
    expect([plain.status, plain.headers['content-type'], plain.body]).toEqual([
      200,
      binaryType,
      'abc',
    ])
    const typed = await ask(reply(make(), 203).type('text/csv'))
    expect([typed.status, typed.headers['content-type'], typed.body]).toEqual([
      203,
      'text/csv',
      'abc',
    ])
  })

  it('Responses, stream: a large one arrives whole over a socket', async () => {
    const chunk = Buffer.alloc(65_536, 'x')
    given = () => Readable.from(Array.from({ length: 64 }, () => chunk))
    const answer = await fetch(`${app.url}/given`)
    expect((await answer.arrayBuffer()).byteLength).toBe(64 * 65_536)
  })

  it('Responses, stream: one that fails before its first byte is a 500, later it is cut off', async () => {
    const early = await ask(() =>
      (async function* () {
        await Promise.reject(new Error('secret'))
        yield 'never'
      })(),
    )
    expect([early.status, early.json()]).toEqual([500, { error: 'Internal server error' }])
    given = () =>
      (async function* () {
        yield 'some'
        await Promise.reject(new Error('secret'))
      })()
    const late = fetch(`${app.url}/given`).then((answer) => answer.text())
    await expect(late).rejects.toThrow('terminated')
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
    const answer = await ask(() => value)
    expect([answer.status, answer.json()]).toEqual([500, { error: 'Internal server error' }])
  })
})

describe('Responses, reply', () => {
  it('Responses, reply: status, headers, type, cookies and token are sent', async () => {
    const answer = await ask(
      reply({ a: 1 }, 201)
        .header('X-Shelf', '3')
        .type('application/vnd.shop+json')
        .cookie('theme', 'dark mode')
        .cookie('id', '7', { httpOnly: false, sameSite: 'strict', maxAge: 60 })
        .freshToken('t.o.k'),
    )
    expect(answer.status).toBe(201)
    expect(answer.headers).toMatchObject({
      'x-shelf': '3',
      'content-type': 'application/vnd.shop+json',
      freshtoken: 't.o.k',
      'set-cookie':
        'theme=dark%20mode; Path=/; HttpOnly; SameSite=Lax\nid=7; Max-Age=60; Path=/; SameSite=Strict',
    })
  })

  it.each([
    ['X-A', 'a\r\nX-Evil: 1'],
    ['X-A', 'a\nX-Evil: 1'],
    ['X-A', 'a\rX-Evil: 1'],
    ['X-A', 'a\0'],
    ['X-A\r\nX-Evil', '1'],
    ['X-A: 1\r\nX-Evil', '1'],
    ['Transfer-Encoding', 'chunked'],
    ['Access-Control-Allow-Origin', 'https://evil.example'],
  ])('Responses, CR or LF: the header %j: %j is refused', async (name, value) => {
    const answer = await ask(() => reply({}).header(name, value))
    expect([answer.status, answer.json()]).toEqual([500, { error: 'Internal server error' }])
    expect(answer.headers['x-evil']).toBeUndefined()
    expect(answer.headers['access-control-allow-origin']).toBe('*')
  })

  it.each<[string, () => unknown]>([
    ['type', () => reply({}).type('text/x\r\nX-Evil: 1')],
    ['cookie', () => reply({}).cookie('a\r\nX-Evil: 1', 'x')],
    ['freshToken', () => reply({}).freshToken('a\r\nX-Evil: 1')],
    ['redirect', () => redirect('/a\r\nX-Evil: 1')],
    [
      'the header of an error',
      () => {
        throw new HttpError(409, 'Taken.', { headers: { 'X-A': 'a\r\nX-Evil: 1' } })
      },
    ],
  ])('Responses, CR or LF: in %s it is refused', async (_, make) => {
    given = make
    const answer = await exchange(
      app.url,
      'GET /given HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 500 /)
    expect(answer).not.toMatch(/x-evil/i)
  })

  it('Responses, cookie: CR and LF in a value are encoded', async () => {
    const answer = await ask(reply({}).cookie('a', 'x\r\nX-Evil: 1'))
    expect(answer.headers['set-cookie']).toBe(
      'a=x%0D%0AX-Evil%3A%201; Path=/; HttpOnly; SameSite=Lax',
    )
  })

  it.each([301, 302, 303, 307, 308] as const)('Responses, redirect: %d', async (status) => {
    const answer = await ask(redirect('/Grüße?a=b c', status))
    expect([answer.status, answer.headers.location, answer.body]).toEqual([
      status,
      '/Gr%C3%BC%C3%9Fe?a=b%20c',
      '',
    ])
  })

  it('Responses, events: text/event-stream', async () => {
    const answer = await app.inject('/events')
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
    })
    expect(answer.body.replaceAll(':\n\n', '')).toBe(
      'data: hello\n\nevent: price\nid: 7\nretry: 100\ndata: {"eur":3}\n\n',
    )
  })
})

describe('Responses, file', () => {
  it('Responses, file: type, ETag, Last-Modified and length are sent', async () => {
    const answer = await app.inject('/file/a.txt')
    expect([answer.status, answer.body]).toEqual([200, '0123456789'])
    expect(answer.headers).toMatchObject({
      'content-type': textType,
      'content-length': '10',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      etag: expect.stringMatching(/^W?\/?"/),
      'last-modified': expect.stringMatching(/GMT$/),
    })
    const page = await app.inject('/file/sub/page.html')
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  })

  it('Responses, file: a Range is 206, one that cannot be met 416', async () => {
    const part = await app.inject({ url: '/file/a.txt', headers: { range: 'bytes=2-4' } })
    expect([part.status, part.body, part.headers['content-range']]).toEqual([
      206,
      '234',
      'bytes 2-4/10',
    ])
    const none = await app.inject({ url: '/file/a.txt', headers: { range: 'bytes=99-' } })
    expect([none.status, none.json(), none.headers['content-range']]).toEqual([
      416,
      { error: 'Range not satisfiable' },
      'bytes */10',
    ])
  })

  it('Responses, file: 304 for what the client has', async () => {
    const { headers } = await app.inject('/file/a.txt')
    const known: Record<string, string>[] = [
      { 'if-none-match': headers.etag! },
      { 'if-modified-since': headers['last-modified']! },
    ]
    for (const condition of known) {
      const answer = await app.inject({ url: '/file/a.txt', headers: condition })
      expect([answer.status, answer.body, answer.headers['content-type']]).toEqual([
        304,
        '',
        undefined,
      ])
    }
  })

  it.each([
    '/file/none.txt',
    '/file/sub',
    '/file/.env',
    '/file/link.txt',
    '/file/..%2f..%2fetc%2fpasswd',
    '/file/%2e%2e/%2e%2e/etc/hosts',
    '/file/../../../../etc/hosts',
    '/file/sub/../a.txt',
    '/file/./a.txt',
    '/file/..%5c..%5cetc%5chosts',
    '/file/%2fetc/hosts',
    '/file//etc/hosts',
    '/file/%252e%252e%252fetc',
    '/file/a.txt%2500',
    '/named?name=/etc/hosts',
    '/named?name=../../etc/hosts',
    '/named?name=a.txt%00',
    '/named?name=.env',
    '/named?name=',
    '/named?name=sub/',
    '/named?name=a.txt/',
  ])('Responses, file: %s is 404', async (url) => {
    const answer = await app.inject(url)
    expect([answer.status, answer.json()]).toEqual([404, { error: 'Not found' }])
  })

  it('Responses, file: dots that a URL parser would fold are not followed over a socket', async () => {
    const answer = await exchange(
      app.url,
      'GET /file/../../../../etc/hosts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 404 [^]*\{"error":"Not found"\}$/)
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
  ])('HEAD: %s has the status and headers of GET, and no body', async (url) => {
    given = { a: 1 }
    const headers = { 'x-request-id': 'same' }
    const get = await app.inject({ url, headers })
    const head = await app.inject({ method: 'HEAD', url, headers })
    expect([head.status, head.headers, head.body]).toEqual([get.status, get.headers, ''])
  })
})

describe('CORS on every response', () => {
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

  it.each(kinds)('Authentication 8: %s (%d) carries the headers', async (_, status, request) => {
    given = { a: 1 }
    const answer = await app.inject(request)
    expect([answer.status, answer.headers]).toEqual([status, expect.objectContaining(cors)])
  })

  it('Authentication 8: a 304 carries the headers', async () => {
    const { headers } = await app.inject('/file/a.txt')
    const condition = { 'if-none-match': headers.etag! }
    const answer = await app.inject({ url: '/file/a.txt', headers: condition })
    expect([answer.status, answer.headers]).toEqual([304, expect.objectContaining(cors)])
  })

  it('OPTIONS: a malformed path is 400, and its pre-flight 204 as on every path', async () => {
    const plain = await app.inject({ method: 'OPTIONS', url: '/file/%ZZ' })
    expect([plain.status, plain.headers]).toEqual([400, expect.objectContaining(cors)])
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'PUT' }
    for (const url of ['/file/%ZZ', '/%00', '/nothing', '*']) {
      const preflight = await app.inject({ method: 'OPTIONS', url, headers })
      expect([url, preflight.status]).toEqual([url, 204])
    }
  })

  it('CORS, an allow-list: listed origins are named, others are not, and Vary says so', async () => {
    const origins = ['https://shop.example']
    await using listed = await bootstrap(AnswerModule, {
      listen: false,
      logger: false,
      env: {},
      cors: { origins },
    })
    for (const [url, status] of [
      ['/taken', 409],
      ['/nothing', 404],
      ['/redirect', 302],
      ['/file/a.txt', 200],
    ] as const) {
      const known = await listed.inject({ url, headers: { origin: 'https://shop.example' } })
      expect([known.status, known.headers['access-control-allow-origin']]).toEqual([
        status,
        'https://shop.example',
      ])
      expect(known.headers.vary).toBe('Origin')
      const other = await listed.inject({ url, headers: { origin: 'https://evil.example' } })
      expect([other.headers['access-control-allow-origin'], other.headers.vary]).toEqual([
        undefined,
        'Origin',
      ])
    }
  })
})

describe('Errors', () => {
  it('Errors: a thrown HttpError is its status, its message and its headers', async () => {
    const answer = await app.inject('/taken')
    expect([answer.status, answer.json()]).toEqual([409, { error: 'Taken.' }])
    expect(answer.headers).toMatchObject({ 'content-type': jsonType, 'retry-after': '5' })
  })

  it('Errors: one that is returned is the same', async () => {
    const answer = await ask(new HttpError(404, 'Record not found'))
    expect([answer.status, answer.json()]).toEqual([404, { error: 'Record not found' }])
  })

  it.each<[string, unknown]>([
    ['an Error', new Error('secret')],
    ['a text', 'secret'],
    ['nothing', undefined],
    ['an object that looks like an HttpError', { status: 404, message: 'secret' }],
    [
      'an error with a status',
      Object.assign(new Error('secret'), { status: 404, statusCode: 404 }),
    ],
  ])('Errors: %s that is thrown is a masked 500', async (_, thrown) => {
    const answer = await ask(() => {
      throw thrown
    })
    expect([answer.status, answer.json()]).toEqual([500, { error: 'Internal server error' }])
    expect(JSON.stringify([answer.headers, answer.body])).not.toContain('secret')
  })

  it.each(['/crash', '/reject'])('Errors: the cause of %s is logged with the id', async (url) => {
    logged.length = 0
    const answer = await app.inject(url)
    expect([answer.status, answer.json()]).toEqual([500, { error: 'Internal server error' }])
    const id = answer.headers['x-request-id']
    expect(id).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/)
    expect(logged).toHaveLength(1)
    expect(logged[0]).toMatchObject({
      details: { requestId: id, method: 'GET', path: url, err: expect.any(Error) },
      message: 'request failed',
    })
  })

  it.each<[string, boolean]>([
    ['order-7:a.b@c', true],
    ['a'.repeat(128), true],
    ['a'.repeat(129), false],
    ['two words', false],
    ['<script>', false],
    ['', false],
    ['id\u007f', false],
  ])('Errors: the incoming X-Request-Id %j is kept: %p', async (id, kept) => {
    const answer = await app.inject({ url: '/crash', headers: { 'x-request-id': id } })
    const sent = answer.headers['x-request-id']
    expect(sent === id).toBe(kept)
    expect(sent).toMatch(kept ? /^[\w.:@-]+$/ : /^[\da-f-]{36}$/)
  })

  const problems: [number, InjectRequest][] = [
    [400, { url: '/item', json: {} }],
    [400, { url: '/%ZZ' }],
    [401, { method: 'POST', url: '/secret' }],
    [404, { url: '/nothing' }],
    [405, { method: 'DELETE', url: '/given' }],
    [409, { url: '/taken' }],
    [413, { url: '/item', json: 'x'.repeat(2 ** 20) }],
    [414, { url: `/${'a'.repeat(9000)}` }],
    [415, { method: 'POST', url: '/item', body: 'x', headers: { 'content-type': 'a/b' } }],
    [416, { url: '/file/a.txt', headers: { range: 'bytes=99-' } }],
    [500, { url: '/crash' }],
  ]

  it.each(problems)(
    'Errors, problem+json: %d is an RFC 9457 body with error',
    async (status, request) => {
      const headers = { ...request.headers, accept: 'application/problem+json' }
      const answer = await app.inject({ ...request, headers })
      expect(answer.status).toBe(status)
      expect(answer.headers['content-type']).toBe('application/problem+json')
      const body = answer.json() as Record<string, unknown>
      expect(body).toMatchObject({
        type: 'about:blank',
        status,
        title: expect.stringMatching(/^[A-Z]/),
        detail: body.error,
        error: expect.any(String),
        code: expect.stringMatching(/^[A-Z_\d]+$/),
      })
      const plain = await app.inject(request)
      expect((plain.json() as { error: string }).error).toBe(body.error)
    },
  )

  it('Errors, problem+json: errors are in it too', async () => {
    const headers = { accept: 'application/json;q=0.5, application/problem+json' }
    const answer = await app.inject({ url: '/item', json: { id: 'x' }, headers })
    expect(answer.json()).toMatchObject({
      error: 'id must be an integer',
      errors: [{ path: 'id', code: 'type', message: 'id must be an integer' }],
    })
  })

  it.each([
    '*/*',
    'application/json',
    'text/html, application/*;q=0.9',
    'application/problem+json;q=0',
  ])('Errors: with Accept %s an error is application/json', async (accept) => {
    const answer = await app.inject({ url: '/nothing', headers: { accept } })
    expect([answer.headers['content-type'], answer.json()]).toEqual([
      jsonType,
      { error: 'Not found' },
    ])
  })
})
