/** @jest-environment node */
import { once } from 'node:events'
import { connect } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { HttpError, events, type EventItem } from '../../src/index.js'
import type { Outgoing } from '../../src/http/node-messages.js'
import type { ServerRequest } from '../../src/http/server-request.js'
import {
  createCors,
  createMemoryLog,
  Responder,
  PendingResponse,
  plainRule,
  respondWith,
  startResponderServer,
  toEventText,
} from './responder-server.js'

describe('toEventText', () => {
  it.each([
    ['hello', 'data: hello\n\n'],
    ['', 'data: \n\n'],
    ['a\nb\r\nc\rd', 'data: a\ndata: b\ndata: c\ndata: d\n\n'],
    [' led by a space', 'data:  led by a space\n\n'],
    [{ data: 'x' }, 'data: x\n\n'],
    [{ data: { eur: 3 } }, 'data: {"eur":3}\n\n'],
    [{ data: [1, 'a\nb'] }, 'data: [1,"a\\nb"]\n\n'],
    [{ data: 0 }, 'data: 0\n\n'],
    [{ data: null }, 'data: null\n\n'],
    [
      { data: 'x', event: 'price', id: 7, retry: 500 },
      'event: price\nid: 7\nretry: 500\ndata: x\n\n',
    ],
    [{ id: '' }, 'id: \n\n'],
    [{ retry: 0 }, 'retry: 0\n\n'],
  ])('writes %j', (item, text) => {
    expect(toEventText(item)).toBe(text)
  })

  it.each([
    [{ data: 'x', event: 'a\ndata: forged' }, 'events: event holds a line break or NUL.'],
    [{ data: 'x', event: 'a\rb' }, 'events: event holds a line break or NUL.'],
    [{ data: 'x', id: '7\n\ndata: forged' }, 'events: id holds a line break or NUL.'],
    [{ data: 'x', id: '7\0' }, 'events: id holds a line break or NUL.'],
    [
      { retry: 1.5 },
      'events: retry 1.5 is not a number of milliseconds. Give a whole number from 0.',
    ],
    [
      { retry: -1 },
      'events: retry -1 is not a number of milliseconds. Give a whole number from 0.',
    ],
    [{ data: () => 1 }, 'events: data has no JSON.'],
    [{ price: 3 }, 'events: an item is not an event. Give text, or { data, event, id, retry }.'],
    [7, 'events: an item is not an event.'],
    [null, 'events: an item is not an event.'],
    [undefined, 'events: an item is not an event.'],
  ])('refuses %j', (item, message) => {
    const attempt = () => toEventText(item)
    expect(attempt).toThrow(TypeError)
    expect(attempt).toThrow(message)
  })
})

async function* ticks(): AsyncGenerator<EventItem> {
  yield 'one'
  yield { data: 2, id: 2 }
}

describe('events', () => {
  it.each([
    ['an async generator', () => ticks()],
    ['a list', () => ['one', { data: 2, id: 2 }]],
    ['a generator', () => ['one', { data: 2, id: 2 }].values()],
    ['a set', () => new Set(['one', { data: 2, id: 2 }])],
    ['a web stream', () => ReadableStream.from(['one', { data: 2, id: 2 }])],
    ['a Node stream', () => Readable.from(['one', { data: 2, id: 2 }])],
  ])('sends the events of %s', async (_what, make) => {
    const response = await respondWith(events(make() as Iterable<EventItem>))
    expect(response).toMatchObject({ status: 200, complete: true, log: [] })
    expect(response.text.replaceAll(':\n\n', '')).toBe('data: one\n\nid: 2\ndata: 2\n\n')
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'access-control-allow-origin': '*',
    })
  })

  it.each(['text', 7, null, {}])('refuses %j, which is not an iterable of events', (items) => {
    expect(() => events(items as unknown as EventItem[])).toThrow(
      'events: the items are not iterable. Pass a generator, a list or a stream.',
    )
  })

  it('answers HEAD without reading an event', async () => {
    let isRead = false
    const iterator = { next: () => ((isRead = true), { done: true as const, value: undefined }) }
    const response = await respondWith(events({ [Symbol.iterator]: () => iterator }), {
      method: 'HEAD',
    })
    expect(response.headers['content-type']).toBe('text/event-stream')
    expect(isRead).toBe(false)
  })

  it('returns a normal error when the source fails before the first event', async () => {
    async function* refused(): AsyncGenerator<EventItem> {
      throw new HttpError(404, 'No such feed')
    }
    const response = await respondWith(events(refused()))
    expect(response).toMatchObject({
      status: 404,
      text: '{"error":"No such feed","code":"NOT_FOUND"}',
    })
    expect(response.headers['cache-control']).toBeUndefined()
  })

  it('cuts off when an item is not an event', async () => {
    const response = await respondWith(events(['one', { price: 3 } as EventItem]))
    expect(response.complete).toBe(false)
    expect((response.log[0]?.details['err'] as Error).message).toContain('an item is not an event')
  })

  it('connects a client before the first event, and returns from the source with it', async () => {
    let returned: () => void = () => undefined
    const done = new Promise<void>((resolve) => (returned = resolve))
    const silent: AsyncIterator<EventItem> = {
      next: () => new Promise(() => undefined),
      return: () => {
        returned()
        return Promise.resolve({ done: true, value: undefined })
      },
    }
    await using server = await startResponderServer({
      handle: (request, responder) => {
        responder.send(request, events({ [Symbol.asyncIterator]: () => silent }), plainRule)
      },
    })
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const [first] = (await once(socket, 'data')) as [Buffer]
    expect(first.toString()).toContain('Content-Type: text/event-stream')
    socket.destroy()
    await done
    expect(server.log).toEqual([])
  })
})

class RecordingOutgoing extends PassThrough implements Outgoing {
  headersSent = false
  writeHead(): this {
    this.headersSent = true
    return this
  }
}

describe('the heartbeat', () => {
  afterEach(() => {
    jest.useRealTimers()
  })

  it('is a comment every 15 seconds, while the client is connected', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] })
    const outgoing = new RecordingOutgoing()
    const beginStream = (): void => undefined
    const request = {
      outgoing,
      method: 'GET',
      beginStream,
      response: new PendingResponse(),
    } as unknown as ServerRequest
    const silent = { next: () => new Promise<never>(() => undefined) }
    const responder = new Responder({ cors: createCors(), log: createMemoryLog() })
    responder.send(request, events({ [Symbol.asyncIterator]: () => silent }), plainRule)
    while (!outgoing.headersSent) await new Promise((resolve) => setImmediate(resolve))
    expect(String(outgoing.read())).toBe(':\n\n')
    jest.advanceTimersByTime(14_999)
    expect(outgoing.read()).toBeNull()
    jest.advanceTimersByTime(1)
    expect(String(outgoing.read())).toBe(':\n\n')
    jest.advanceTimersByTime(30_000)
    // From Node 26 on, each read returns one piece.
    expect(`${outgoing.read()}${outgoing.read() ?? ''}`).toBe(':\n\n:\n\n')
    expect(jest.getTimerCount()).toBe(1)
    outgoing.destroy()
    await once(outgoing, 'close')
    expect(jest.getTimerCount()).toBe(0)
  })
})
