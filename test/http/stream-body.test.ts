import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { describe, expect, it } from '@jest/globals'
import { HttpError, reply } from '../../src/index.js'
import { respondBy, respondWith, plainRule, startResponderServer } from './responder-server.js'

/** The log line of a failed request. */
const refused = { level: 'debug', message: 'request refused' }

async function* chunks(...items: unknown[]): AsyncGenerator {
  for (const item of items) yield item
}

function* letters(): Generator<string> {
  yield 'a'
  yield 'b'
}

async function* failingAfter(count: number, error: unknown): AsyncGenerator<string> {
  for (let index = 0; index < count; index++) yield 'x'
  throw error
}

describe('a streamed body', () => {
  it.each([
    ['a Node stream', () => Readable.from([Buffer.from('ab'), Buffer.from('c')])],
    ['a Node stream of text', () => Readable.from(['ab', 'c'])],
    ['a web stream', () => new Response('abc').body],
    ['a web stream of text', () => ReadableStream.from(['a', 'bc'])],
    ['an async generator', () => chunks('a', Buffer.from('b'), new Uint8Array([99]))],
    ['a view', () => chunks(new DataView(new Uint8Array([9, 97, 98, 99]).buffer, 1))],
    ['a generator', () => ['a', 'b', 'c'].values()],
    ['an async iterable object', () => ({ [Symbol.asyncIterator]: () => chunks('abc') })],
    ['empty chunks in between', () => chunks('', 'a', '', 'bc', '')],
  ])('comes from %s', async (_what, make) => {
    const response = await respondBy(make)
    expect(response).toMatchObject({ status: 200, text: 'abc', complete: true, log: [] })
    expect(response.headers['content-type']).toBe('application/octet-stream')
    expect(response.headers['access-control-allow-origin']).toBe('*')
  })

  it('comes from a Blob, with its type and length', async () => {
    const response = await respondWith(new Blob(['abc'], { type: 'text/csv' }))
    expect(response.text).toBe('abc')
    expect(response.headers).toMatchObject({ 'content-type': 'text/csv', 'content-length': '3' })
    const untyped = await respondWith(reply(new Blob(['abc']), 201))
    expect(untyped.status).toBe(201)
    expect(untyped.headers['content-type']).toBe('application/octet-stream')
  })

  it('uses status, type, headers and length of its reply', async () => {
    const result = reply(letters(), 206)
      .type('text/plain')
      .header('X-A', '1')
      .header('Content-Length', 2)
    const response = await respondWith(result)
    expect(response).toMatchObject({ status: 206, text: 'ab' })
    expect(response.headers).toMatchObject({ 'content-type': 'text/plain', 'x-a': '1' })
    expect(response.headers['content-length']).toBe('2')
  })

  it('may be empty', async () => {
    expect(await respondWith(chunks())).toMatchObject({ status: 200, text: '', complete: true })
    const blob = await respondWith(new Blob([]))
    expect(blob.headers['content-length']).toBe('0')
  })

  it('is data, not a stream, when it is a map or a set', async () => {
    expect((await respondWith(new Map([['a', 1]]))).text).toBe('{}')
    expect((await respondWith(new Set(['a']))).text).toBe('{}')
  })

  it('is not read for HEAD, and closed', async () => {
    let wasRead = false
    const source = new Readable({
      read() {
        wasRead = true
        this.push(null)
      },
    })
    const response = await respondWith(source, { method: 'HEAD' })
    expect(response).toMatchObject({ status: 200, text: '' })
    expect(response.headers['content-type']).toBe('application/octet-stream')
    expect(source.destroyed).toBe(true)
    expect(wasRead).toBe(false)
  })

  it('is closed for a status without a body', async () => {
    const source = Readable.from(['a'])
    expect(await respondWith(reply(source, 204))).toMatchObject({ status: 204, text: '' })
    expect(source.destroyed).toBe(true)
  })
})

describe('a stream that fails', () => {
  it.each([
    ['an async generator', () => failingAfter(0, new Error('secret'))],
    ['a missing file', () => createReadStream('/nowhere/at/all')],
    [
      'a web stream',
      () =>
        new ReadableStream({
          start: (c) => {
            c.error(new Error('secret'))
          },
        }),
    ],
    ['a destroyed stream', () => Readable.from(['a']).destroy()],
    ['an object as its first chunk', () => chunks({ id: 7 })],
    ['null as its first chunk', () => chunks(null)],
  ])('is a masked 500 before its first byte: %s', async (_what, make) => {
    const response = await respondBy(make)
    expect(response).toMatchObject({
      status: 500,
      text: '{"error":"Internal server error","code":"INTERNAL_SERVER_ERROR"}',
    })
    expect(response.log[0]?.details['requestId']).toBe(response.headers['x-request-id'])
  })

  it('may throw an HttpError before its first byte', async () => {
    const response = await respondWith(failingAfter(0, new HttpError(404, 'No such report')))
    expect(response).toMatchObject({
      status: 404,
      text: '{"error":"No such report","code":"NOT_FOUND"}',
      log: [refused],
    })
  })

  it.each([
    ['throws', failingAfter(2, new Error('secret'))],
    ['throws an HttpError', failingAfter(2, new HttpError(500, 'secret'))],
    ['gives an object', chunks('x', 'x', { id: 7 })],
  ])('cuts off the response where it %s in the middle, and is logged', async (_what, source) => {
    const response = await respondWith(source)
    expect(response).toMatchObject({ status: 200, complete: false })
    expect('xx'.startsWith(response.text)).toBe(true)
    expect(response.log).toHaveLength(1)
    expect(response.log[0]).toMatchObject({ level: 'error', message: 'request failed' })
  })

  it.each([
    ['less', ['ab'], 'The stream ended after 2 of the 3 bytes announced.'],
    ['more', ['ab', 'cd'], 'The stream gave more than the 3 bytes announced.'],
  ])('cuts off the response when it gives %s than its length', async (_what, items, message) => {
    const response = await respondWith(reply(chunks(...items)).header('Content-Length', 3))
    expect(response.complete).toBe(false)
    expect(response.text.length).toBeLessThan(3)
    expect((response.log[0]?.details['err'] as Error).message).toBe(message)
  })
})

describe('a client that reads slowly', () => {
  it('pauses the source, and closes it by leaving', async () => {
    let chunkCount = 0
    let reportEnd: () => void = () => undefined
    const ended = new Promise<void>((resolve) => (reportEnd = resolve))
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (;;) {
          chunkCount++
          yield Buffer.alloc(64 * 1024)
        }
      } finally {
        reportEnd()
      }
    }
    await using server = await startResponderServer({
      handle: (request, responder) => {
        responder.send(request, endless(), plainRule)
      },
    })
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(socket, 'readable')
    // The client stops reading here, so the source must pause once the buffers are full.
    let before = -1
    while (before !== chunkCount) {
      before = chunkCount
      for (let tick = 0; tick < 200; tick++) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(chunkCount).toBeGreaterThan(0)
    expect(chunkCount).toBeLessThan(1000)
    socket.destroy()
    await ended
    expect(server.log).toEqual([])
  })
})

describe('a client that leaves', () => {
  function leaveDuring(make: () => unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = async () => {
        await using server = await startResponderServer({
          handle: (request, responder) => {
            responder.send(request, make(), plainRule)
          },
        })
        const socket = connect(server.port, '127.0.0.1')
        socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        await once(socket, 'data')
        socket.destroy()
        await new Promise<void>((closed) => (onClose = closed))
        expect(server.log).toEqual([])
      }
      start().then(resolve, reject)
    })
  }
  let onClose: () => void = () => undefined

  it('destroys a Node stream', async () => {
    const source = new Readable({ read: () => undefined })
    source.push('a')
    source.once('close', () => {
      onClose()
    })
    await leaveDuring(() => source)
    expect(source.destroyed).toBe(true)
  })

  it('cancels a web stream that waits for its next chunk', async () => {
    let cancelled = false
    const source = new ReadableStream({
      start: (controller) => {
        controller.enqueue('a')
      },
      cancel: () => {
        cancelled = true
        onClose()
      },
    })
    await leaveDuring(() => source)
    expect(cancelled).toBe(true)
  })

  it('calls return() of an iterator that waits for its next chunk', async () => {
    let calls = 0
    let returned = 0
    const iterator = {
      next: () =>
        calls++ === 0
          ? Promise.resolve({ value: 'a', done: false })
          : new Promise<IteratorResult<string>>(() => undefined),
      return: () => {
        returned++
        onClose()
        return Promise.reject(new Error('unhandled'))
      },
    }
    await leaveDuring(() => ({ [Symbol.asyncIterator]: () => iterator }))
    expect(returned).toBe(1)
  })
})
