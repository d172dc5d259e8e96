import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'

import { setImmediate as eventLoopTick } from 'node:timers/promises'
import { BodyServer, textOf, type BodyServerOptions, fakeRequest, read } from './body-server.js'
import { seed } from '../../random.js'

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'

async function post(
  body: string | Uint8Array,
  type: string | undefined,
  options: BodyServerOptions & { headers?: Record<string, string> } = {},
) {
  await using server = await BodyServer.start(options)
  return await server.post(body, type, options.headers)
}

const head = (...lines: string[]) =>
  `${['POST / HTTP/1.1', 'Host: a', ...lines].join('\r\n')}\r\n\r\n`
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 100_001) yield bytes.subarray(at, at + 100_001)
}

describe('readBody by media type', () => {
  it.each([
    [json, '{"a":[1]}', { a: [1] }],
    ['APPLICATION/JSON ; charset="UTF-8"', '{"a":1}', { a: 1 }],
    ['application/json; charset=us-ascii', '1', 1],
    ['application/vnd.api+json', '[1]', [1]],
    [form, 'a=1&b=x+y&a=%C3%BC', { a: ['1', 'ü'], b: 'x y' }],
    ['text/plain', 'grüß\0e', 'grüß\0e'],
    ['text/plain;charset=utf-8', '\ufeffa', 'a'],
  ])('reads %s', async (type, sent, body) => {
    const response = await post(sent, type)
    expect(response.status).toBe(200)
    expect(response.body.body).toEqual(body)
    expect(response.body.files).toEqual({})
  })

  it.each([
    ['an unknown type', 'image/png'],
    ['another type that ends in +json', 'text/x+json'],
    ['a type that only contains multipart', 'application/multipart/form-data'],
    ['no multipart form', 'multipart/mixed; boundary=b'],
    ['a list of types', 'application/json, text/plain'],
    ['a malformed parameter', 'application/json; charset'],
    ['no type', undefined],
  ])('keeps the bytes of %s, and returns 415 where a body is required', async (_what, type) => {
    const bytes = Uint8Array.of(0, 255, 10)
    expect((await post(bytes, type)).body).toEqual({ bytes: '00ff0a' })
    expect(await post(bytes, type, { isRequired: true })).toEqual({
      status: 415,
      body: {
        error:
          'Send application/json, application/x-www-form-urlencoded, text/plain, multipart/form-data.',
        code: 'UNSUPPORTED_MEDIA_TYPE',
      },
    })
  })

  it.each([true, false])('keeps 5 MB in order, announced: %s', async (isAnnounced) => {
    const bytes = Buffer.from('Grüße, '.repeat(600_000))
    await using server = await BodyServer.start({ limits: { body: bytes.length } })
    const next = server.next()
    const length = isAnnounced ? { 'content-length': bytes.length } : {}
    const headers = { 'content-type': 'text/plain', ...length }
    const sent = request(server.url, { method: 'POST', headers })
    for (const piece of piecesOf(bytes)) sent.write(piece)
    sent.end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    expect(Buffer.from(String((await next).request.body)).equals(bytes)).toBe(true)
  })

  it.each([
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-16',
    'text/plain; charset=""',
    `${form}; charset=shift_jis`,
    'multipart/form-data; charset=latin1; boundary=b',
  ])('returns 415 for %s', async (type) => {
    const { status, body } = await post('{}', type)
    expect([status, body.code]).toEqual([415, 'UNSUPPORTED_CHARSET'])
  })

  it.each([
    ['gzip', 415],
    ['br, identity', 415],
    ['', 415],
    ['identity', 200],
    ['Identity', 200],
  ])('responds to Content-Encoding %j with %i', async (encoding, status) => {
    await using server = await BodyServer.start()
    const text = await server.raw(
      head(
        'Connection: close',
        `Content-Type: ${json}`,
        `Content-Encoding: ${encoding}`,
        'Content-Length: 2',
      ),
      '{}',
    )
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })

  it.each([
    [json, '{"a":', 'MALFORMED_JSON'],
    [json, '{"__proto__":{}}', 'PROTOTYPE_KEY'],
    [json, '['.repeat(130), 'JSON_TOO_DEEP'],
    [json, Uint8Array.of(0x22, 0xff, 0x22), 'INVALID_UTF8'],
    ['text/plain', Uint8Array.of(0xff), 'INVALID_UTF8'],
    [form, Uint8Array.of(0x61, 0x3d, 0xff), 'INVALID_UTF8'],
    [form, 'a=%ZZ', 'MALFORMED_ENCODING'],
    [form, '__proto__=1', 'PROTOTYPE_KEY'],
    [form, 'a=1&'.repeat(1001), 'BAD_REQUEST'],
  ])('returns 400 for %s %j', async (type, sent, code) => {
    const { status, body } = await post(sent, type)
    expect([status, body.code]).toEqual([400, code])
  })

  it('reads any JSON in any chunks', async () => {
    await using server = await BodyServer.start()
    const sends = fc.tuple(fc.jsonValue(), fc.integer({ min: 1, max: 40 }))
    await fc.assert(
      fc.asyncProperty(sends, async ([value, size]) => {
        const text = JSON.stringify({ value })
        fc.pre(!text.includes('__proto__'))
        const bytes = Buffer.from(text)
        const stream = new ReadableStream<Uint8Array>({
          start(controller) {
            for (let at = 0; at < bytes.length; at += size) {
              controller.enqueue(new Uint8Array(bytes.subarray(at, at + size)))
            }
            controller.close()
          },
        })
        const init = { method: 'POST', headers: { 'content-type': json }, duplex: 'half' as const }
        const response = await fetch(server.url, { ...init, body: stream })
        const got: unknown = JSON.parse(await response.text())
        expect(got).toMatchObject({ body: JSON.parse(text) })
      }),
      { numRuns: 50, seed },
    )
  })
})

describe('readBody of an empty body', () => {
  const empty = [
    ['no length', head('Connection: close', `Content-Type: ${json}`)],
    ['length 0', head('Connection: close', `Content-Type: ${json}`, 'Content-Length: 0')],
    [
      'no chunk',
      `${head('Connection: close', `Content-Type: ${json}`, 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    ],
  ] as const

  it.each(empty)('returns undefined for %s', async (_what, bytes) => {
    await using server = await BodyServer.start()
    expect(await server.raw(bytes)).toContain('{"kind":"undefined","files":{}}')
  })

  it.each(empty)('returns 400 for %s where a body is required', async (_what, bytes) => {
    await using server = await BodyServer.start({ isRequired: true })
    const text = await server.raw(bytes)
    expect(text).toContain('HTTP/1.1 400')
    expect(text).toContain('{"error":"A body is required.","code":"BODY_REQUIRED"}')
  })

  it('reads the body of a DELETE', async () => {
    await using server = await BodyServer.start()
    const request = head('Connection: close', `Content-Type: ${json}`, 'Content-Length: 3')
    const text = await server.raw(request.replace('POST', 'DELETE'), '[1]')
    expect(text).toContain('"body":[1]')
  })
})

describe('readBody and formToken', () => {
  it.each([
    [json, '{"formToken":"t","a":1}', { a: 1 }, 't'],
    [json, '{"formToken":7}', {}, undefined],
    [json, '[{"formToken":"t"}]', [{ formToken: 't' }], undefined],
    [json, '"formToken"', 'formToken', undefined],
    [form, 'a=1&formToken=t', { a: '1' }, 't'],
    [form, 'formToken=t&formToken=u', {}, undefined],
    ['text/plain', 'formToken=t', 'formToken=t', undefined],
  ])('%s %s', async (type, sent, body, formToken) => {
    const response = await post(sent, type)
    expect(response.body.body).toEqual(body)
    expect(response.body.formToken).toBe(formToken)
  })
})

describe('readBody with a limit', () => {
  const limits = { body: 10 }
  const tooLarge = { error: 'The body is larger than 10 bytes.', code: 'PAYLOAD_TOO_LARGE' }

  it.each([json, 'text/plain', form, 'image/png'])('returns 413 for a larger %s', async (type) => {
    expect((await post('"12345678"', type, { limits })).status).toBe(200)
    expect(await post('"123456789"', type, { limits })).toEqual({ status: 413, body: tooLarge })
  })

  it('returns 413 for the announced length, before the body arrives', async () => {
    await using server = await BodyServer.start({ limits })
    const text = await server.raw(head(`Content-Type: ${json}`, 'Content-Length: 10737418240'))
    expect(text).toContain('HTTP/1.1 413')
    const { request } = await server.next()
    expect(request.incoming.listenerCount('data')).toBe(0)
  })

  it('returns 413 while the chunks of a larger body arrive', async () => {
    await using server = await BodyServer.start({ limits })
    const start = head(`Content-Type: ${json}`, 'Transfer-Encoding: chunked')
    const text = await server.raw(start, chunk('"12345'), chunk('67890'))
    expect(text).toContain('HTTP/1.1 413')
    expect(text).toContain(JSON.stringify(tooLarge))
  })

  it('leaves the stream paused and without listeners', async () => {
    await using server = await BodyServer.start({ limits })
    const socket = server.connect()
    socket.on('error', () => undefined)
    socket.write(
      head(`Content-Type: ${json}`, 'Transfer-Encoding: chunked') + chunk('x'.repeat(11)),
    )
    const { request, failure } = await server.next()
    expect(failure).toMatchObject({ status: 413 })
    const { incoming } = request
    expect(['data', 'end', 'close'].map((event) => incoming.listenerCount(event))).toEqual([
      0, 0, 0,
    ])
    // Later errors of the connection are not reported.
    incoming.destroy(new Error('broken'))
    await new Promise((resolve) => incoming.on('close', resolve))
    socket.destroy()
  })
})

describe('readBody and the connection', () => {
  it('sends 100 Continue to a waiting client when it starts to read', async () => {
    await using server = await BodyServer.start()
    const socket = server.connect()
    const lines = [`Content-Type: ${json}`, 'Content-Length: 2', 'Expect: 100-continue']
    socket.write(head('Connection: close', ...lines))
    const [first] = (await once(socket, 'data')) as [Buffer]
    expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('{}')
    expect(await textOf(socket)).toContain('HTTP/1.1 200 OK')
  })

  it.each([
    ['is too large', [`Content-Type: ${json}`, 'Content-Length: 99999999']],
    ['has another charset', [`Content-Type: ${json};charset=x`, 'Content-Length: 2']],
    ['has no boundary', ['Content-Type: multipart/form-data', 'Content-Length: 2']],
  ])('sends no 100 Continue for a body that %s', async (_what, lines) => {
    await using server = await BodyServer.start()
    const text = await server.raw(head('Expect: 100-continue', ...lines))
    expect(text).toMatch(/^HTTP\/1.1 4/)
  })

  it.each([
    ['before the first byte', '', 10],
    ['in the middle', '{"a"', 10],
  ])('rejects with CLIENT_GONE when the client leaves %s', async (_what, part, length) => {
    await using server = await BodyServer.start()
    const socket = server.connect()
    const reading = server.next()
    socket.write(head(`Content-Type: ${json}`, `Content-Length: ${length}`) + part)
    await once(socket, 'ready')
    for (let count = 0; count < 20; count++) await eventLoopTick()
    socket.destroy()
    expect((await reading).failure).toMatchObject({ status: 400, code: 'CLIENT_GONE' })
  })

  const types = [json, 'multipart/form-data; boundary=b']

  it.each(types)('rejects with CLIENT_GONE when %s was lost before reading', async (type) => {
    const request = fakeRequest(type)
    request.incoming.destroy()
    await once(request.incoming, 'close')
    await expect(read(request)).rejects.toMatchObject({ status: 400, code: 'CLIENT_GONE' })
  })

  it.each(types)('leaves a refused %s so that its later error is ignored', async (type) => {
    const request = fakeRequest(type)
    const reading = read(request)
    request.incoming.push('x'.repeat(11))
    await expect(reading).rejects.toMatchObject({ status: 413 })
    expect(request.incoming.isPaused()).toBe(true)
    request.incoming.destroy(new Error('broken'))
    await new Promise((resolve) => request.incoming.on('close', resolve))
  })

  it.each(types)('rejects with CLIENT_GONE and the cause when %s breaks', async (type) => {
    const request = fakeRequest(type)
    const reading = read(request)
    const cause = new Error('broken')
    request.incoming.destroy(cause)
    await expect(reading).rejects.toMatchObject({ code: 'CLIENT_GONE', cause })
  })
})
