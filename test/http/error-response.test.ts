/** @jest-environment node */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { HttpError } from '../../src/index.js'
import { unreadBody } from '../../src/http/early-response.js'
import { toErrorReply } from '../../src/http/failure-writer.js'
import { FakeResponse } from '../../src/http/in-memory/fake-response.js'
import type { Incoming } from '../../src/http/node-messages.js'
import { ServerRequest } from '../../src/http/server-request.js'
import { createCors } from '../../src/http/cors.js'
import { Responder } from '../../src/http/responder.js'
import { silentLog } from '../silent-log.js'
import { plainRule, startResponderServer, type ResponderServer } from './responder-server.js'

const mebi = 1024 * 1024

function startRefusing(status: number): Promise<ResponderServer> {
  return startResponderServer({
    handle: (request, responder) => {
      if (request.path === '/next') responder.send(request, 'next', plainRule)
      else responder.fail(request, new HttpError(status))
    },
  })
}

/** All received bytes, and whether the connection ended without an error. */
function collect(socket: Socket): Promise<{ text: string; error: string | undefined }> {
  let text = ''
  let error: string | undefined
  socket.on('data', (chunk) => (text += chunk.toString()))
  socket.on('error', (cause: NodeJS.ErrnoException) => (error = cause.code))
  return new Promise((resolve) => {
    socket.on('close', () => {
      resolve({ text, error })
    })
  })
}

describe('unreadBody', () => {
  it.each([
    [{}, 'none'],
    [{ 'content-length': '0' }, 'none'],
    [{ 'content-length': '1' }, 'small'],
    [{ 'content-length': '65536' }, 'small'],
    [{ 'content-length': '65537' }, 'large'],
    [{ 'transfer-encoding': 'chunked' }, 'large'],
  ])('reports %j as %s', (headers, size) => {
    expect(unreadBody(Object.assign(new Readable(), { headers }) as unknown as Incoming)).toBe(size)
  })

  it('recognizes a body that was read', async () => {
    const headers = { 'content-length': '99999' }
    const incoming = Object.assign(Readable.from(['a']), { headers }) as unknown as Incoming
    incoming.resume()
    await once(incoming, 'end')
    expect(unreadBody(incoming)).toBe('none')
  })
})

describe('a response before the body was read', () => {
  it.each([
    [413, `Content-Length: ${64 * mebi}`, Buffer.alloc(512 * 1024, 'x')],
    [401, `Content-Length: ${64 * mebi}`, Buffer.alloc(512 * 1024, 'x')],
    [413, 'Transfer-Encoding: chunked', Buffer.from(`80000\r\n${'x'.repeat(0x80000)}\r\n`)],
  ])('reaches a client that continues to send: %d, %s', async (status, header, body) => {
    await using server = await startRefusing(status)
    const socket = connect(server.port, '127.0.0.1')
    const done = collect(socket)
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`)
    socket.write(body)
    await once(socket, 'data')
    socket.write(body)
    socket.end()
    const { text } = await done
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(text).toContain('Connection: close\r\n')
    expect(text).toContain('Access-Control-Allow-Origin: *')
    expect(text).toMatch(/\r\n\r\n\{"error":"[\w ]+","code":"[A-Z_]+"\}$/)
  })

  it('ends the connection after one unread mebibyte', async () => {
    await using server = await startRefusing(413)
    const socket = connect(server.port, '127.0.0.1')
    const done = collect(socket)
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${64 * mebi}\r\n\r\n`)
    const chunk = Buffer.alloc(256 * 1024)
    const send = () => {
      while (!socket.destroyed && socket.write(chunk));
      if (!socket.destroyed) socket.once('drain', send)
    }
    send()
    const { text } = await done
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    expect(socket.bytesWritten).toBeLessThan(64 * mebi)
  })

  it('keeps the connection when the rest of the body is small', async () => {
    await using server = await startRefusing(401)
    const socket = connect(server.port, '127.0.0.1')
    const done = collect(socket)
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n')
    await once(socket, 'data')
    socket.write('x'.repeat(1000))
    socket.write('GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    const { text } = await done
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200'])
  })

  it.each([408, 413, 431])(
    'ends the connection after %d, with or without a body',
    async (status) => {
      await using server = await startRefusing(status)
      for (const length of [0, 1000]) {
        const socket = connect(server.port, '127.0.0.1')
        const done = collect(socket)
        socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`)
        socket.write('x'.repeat(length))
        const { text, error } = await done
        expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
        expect(text).toContain('Connection: close\r\n')
        expect(error).toBeUndefined()
      }
    },
  )
})

describe('the drain time', () => {
  afterEach(() => {
    jest.useRealTimers()
  })

  it('is one second', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] })
    const incoming = Object.assign(new Readable({ read: () => undefined }), {
      method: 'POST',
      headers: { 'transfer-encoding': 'chunked' },
    }) as unknown as Incoming
    const outgoing = new FakeResponse()
    const responder = new Responder({ cors: createCors(), log: silentLog })
    const request = new ServerRequest(incoming, outgoing, { trustProxy: false })
    responder.fail(request, new HttpError(413))
    expect((await outgoing.head).status).toBe(413)
    jest.advanceTimersByTime(999)
    expect(outgoing.writableEnded).toBe(false)
    jest.advanceTimersByTime(1)
    expect(outgoing.writableEnded).toBe(true)
    expect(jest.getTimerCount()).toBe(0)
    expect(incoming.listenerCount('data')).toBe(0)
  })
})

const json = 'application/json; charset=utf-8'
const problem = 'application/problem+json'

describe('toErrorReply', () => {
  it('returns status and message', () => {
    expect(toErrorReply(new HttpError(404, 'No such item'), undefined)).toMatchObject({
      status: 404,
      mediaType: json,
      headers: { flat: [] },
      body: '{"error":"No such item","code":"NOT_FOUND"}',
    })
  })

  it('returns the field errors', () => {
    const errors = [{ path: 'lines.0.qty', code: 'min', message: 'qty must not be less than 1' }]
    const { body } = toErrorReply(new HttpError(400, 'qty is wrong', { errors }), undefined)
    expect(JSON.parse(body)).toEqual({ error: 'qty is wrong', code: 'BAD_REQUEST', errors })
  })

  it('passes on the headers of the error', () => {
    const error = new HttpError(401, undefined, { headers: { 'WWW-Authenticate': 'Bearer' } })
    expect(toErrorReply(error, undefined)).toMatchObject({
      status: 401,
      mediaType: json,
      headers: { flat: ['WWW-Authenticate', 'Bearer'] },
      body: '{"error":"Unauthorized","code":"UNAUTHENTICATED"}',
    })
  })

  it.each([
    ['an Error', new Error('password is hunter2')],
    ['a TypeError', new TypeError('x is undefined')],
    ['an object with a status', { status: 404, message: 'secret' }],
    ['text', 'secret'],
    ['undefined', undefined],
    ['null', null],
  ])('masks %s', (_what, error) => {
    expect(toErrorReply(error, undefined)).toMatchObject({
      status: 500,
      mediaType: json,
      headers: { flat: [] },
      body: '{"error":"Internal server error","code":"INTERNAL_SERVER_ERROR"}',
    })
  })

  it('never returns the cause', () => {
    const error = new HttpError(400, 'Malformed', { cause: new Error('at /srv/app.js:7') })
    expect(JSON.stringify(toErrorReply(error, problem))).not.toContain('srv')
  })

  it('refuses headers that cannot be sent', () => {
    const error = new HttpError(400, 'x', { headers: { 'X-A': 'a\r\nb' } })
    expect(() => toErrorReply(error, undefined)).toThrow(
      'Header "X-A": the value contains CR or LF',
    )
  })

  it('makes an RFC 9457 body that also has error', () => {
    const errors = [{ path: 'price', code: 'min', message: 'price must not be less than 0' }]
    const error = new HttpError(400, 'price must not be less than 0', { errors, code: 'INVALID' })
    const response = toErrorReply(error, problem)
    expect(response.mediaType).toBe(problem)
    expect(JSON.parse(response.body)).toEqual({
      type: 'about:blank',
      title: 'Bad request',
      status: 400,
      detail: 'price must not be less than 0',
      code: 'INVALID',
      error: 'price must not be less than 0',
      errors,
    })
  })

  it('masks an RFC 9457 body, too', () => {
    expect(JSON.parse(toErrorReply(new Error('secret'), problem).body)).toEqual({
      type: 'about:blank',
      title: 'Internal server error',
      status: 500,
      detail: 'Internal server error',
      code: 'INTERNAL_SERVER_ERROR',
      error: 'Internal server error',
    })
  })

  it.each([
    [undefined, false],
    ['*/*', false],
    ['application/json', false],
    ['application/*', false],
    ['application/problem+json', true],
    ['Application/Problem+JSON', true],
    ['application/problem+json;q=0', false],
    ['application/problem+json; q=0.5', true],
    ['application/problem+json;q=x', true],
    ['text/html, application/problem+json;charset=utf-8;q=0.9, */*;q=0.1', true],
    ['application/json, application/problem+json', true],
    ['application/json, application/problem+json;q=0.5', false],
    ['application/json;q=0.4, application/problem+json;q=0.5', true],
    ['application/problem+jsonx', false],
    ['application/problem+xml', false],
  ])('Accept %p requests problem+json: %p', (accept, expected) => {
    const { mediaType } = toErrorReply(new HttpError(404), accept)
    expect(mediaType === problem).toBe(expected)
  })
})
