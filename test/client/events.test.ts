import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Auth, bootstrap, Controller, events as stream, Get, Module, Secured } from 'filigree'
import { createClient } from 'filigree/client'
import { events, type EventOptions, type ServerEvent } from 'filigree/client/events'

/** Answers each connection in turn; the last answer stays. */
type Script = readonly ((response: ServerResponse, lastEventId: string | undefined) => void)[]

let server: Server
let baseUrl: string
let script: Script
let connections: (string | undefined)[]

beforeEach(async () => {
  connections = []
  server = createServer((request, response) => {
    const last = request.headers['last-event-id'] as string | undefined
    connections.push(last)
    script[Math.min(connections.length, script.length) - 1]?.(response, last)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function send(...chunks: string[]): Script[number] {
  return (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    for (const chunk of chunks) response.write(chunk)
    response.end()
  }
}

const end: Script[number] = (response) => response.writeHead(204).end()

async function read(options: EventOptions = {}): Promise<ServerEvent[]> {
  const read: ServerEvent[] = []
  for await (const event of events('/', { baseUrl, delay: 1, ...options })) read.push(event)
  return read
}

describe('events', () => {
  it('reads names, ids, lists of lines and JSON, however the bytes are cut', async () => {
    script = [
      send(
        ': hello\r\n\r\nevent: price\nid: 1\nda',
        'ta: {"a":\ndata: 1}\r',
        '\n\r\ndata:two\ndata\n\n',
        'data: lost',
      ),
      end,
    ]
    expect(await read()).toEqual([
      { event: 'price', data: { a: 1 }, id: '1' },
      { event: 'message', data: 'two\n', id: '1' },
    ])
  })

  it('reads a long event that comes in many pieces', async () => {
    const pieces = ['data: "', ...Array.from({ length: 8192 }, () => 'x'.repeat(512)), '"\n\n']
    const bytes = pieces.map((piece) => new TextEncoder().encode(piece))
    const body = new ReadableStream<Uint8Array>({
      pull: (stream) => {
        const piece = bytes.shift()
        if (piece === undefined) stream.close()
        else stream.enqueue(piece)
      },
    })
    const headers = { 'Content-Type': 'text/event-stream' }
    const answers = [new Response(body, { headers }), new Response(null, { status: 204 })]
    const [event] = await read({ fetch: () => Promise.resolve(answers.shift()!) })
    expect((event!.data as string).length).toBe(8192 * 512)
  })

  it('comes back with the last id when the stream ends, is lost or answers 503', async () => {
    script = [
      send('id: 7\ndata: 1\n\n'),
      (response) => response.writeHead(503, { 'Retry-After': '0' }).end(),
      (response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' })
        response.write('data: 2\n\n', () => response.destroy())
      },
      (response) => response.destroy(),
      send('data: 3\n\n'),
      end,
    ]
    expect((await read()).map(({ data }) => data as unknown)).toEqual([1, 2, 3])
    expect(connections).toEqual([undefined, '7', '7', '7', '7', '7'])
  })

  it('comes back at the date of Retry-After', async () => {
    const headers = { 'Retry-After': 'Wed, 21 Oct 2015 07:28:00 GMT' }
    script = [(response) => response.writeHead(503, headers).end(), end]
    expect(await read({ delay: 60_000 })).toEqual([])
    expect(connections.length).toBe(2)
  })

  it('rejects with the status for what is not an event stream', async () => {
    script = [
      (response) =>
        response
          .writeHead(403, { 'Content-Type': 'application/json' })
          .end('{"error":"Forbidden"}'),
    ]
    await expect(read()).rejects.toMatchObject({
      status: 403,
      data: { error: 'Forbidden' },
      ok: false,
    })
    script = [(response) => response.writeHead(200, { 'Content-Type': 'text/plain' }).end('hi')]
    await expect(read()).rejects.toMatchObject({ status: 200, ok: false })
  })

  it('ends with the reason of its signal, also while it waits', async () => {
    script = [send('data: 1\n\n')]
    const stop = new AbortController()
    const reading = (async () => {
      for await (const { data } of events('/', { baseUrl, delay: 60_000, signal: stop.signal })) {
        expect(data).toBe(1)
        setImmediate(() => {
          stop.abort(new Error('enough'))
        })
      }
    })()
    await expect(reading).rejects.toThrow('enough')
  })

  it('keeps a fresh token, unless somebody signed out meanwhile', async () => {
    const storedValues = new Map([['app_token', 'first']])
    const storage = {
      getItem: (key: string) => storedValues.get(key) ?? null,
      setItem: (key: string, value: string) => void storedValues.set(key, value),
    }
    script = [(response) => response.writeHead(204, { FreshToken: 'second' }).end()]
    await read({ auth: true, storage })
    expect(storedValues.get('app_token')).toBe('second')
    script = [
      (response) => {
        storedValues.delete('app_token')
        response.writeHead(204, { FreshToken: 'third' }).end()
      },
    ]
    connections = []
    await read({ auth: true, storage })
    expect(storedValues.has('app_token')).toBe(false)
  })

  it('shares the token of a client without a store', async () => {
    const respondWith = (FreshToken: string) => (response: ServerResponse) =>
      response.writeHead(204, { FreshToken }).end()
    script = [respondWith('first'), respondWith('second')]
    const client = createClient({ baseUrl, auth: true })
    await client.post('/login')
    await read(client.configure({}))
    // A fresh token is stored only if the request has sent the token before it.
    expect(client.configure({}).tokens).toEqual({ app_token: 'second' })
  })

  it('sends the stored token to its own origin', async () => {
    @Controller('/ticks')
    class Ticks {
      @Get()
      @Secured
      show() {
        return stream([{ data: { tick: 1 }, id: '1' }])
      }
    }
    @Module({ controllers: [Ticks] })
    class TickModule {}
    await using app = await bootstrap(TickModule, {
      port: 0,
      host: '127.0.0.1',
      logger: false,
      env: {},
    })
    const token = await app.get(Auth).getToken({ sub: '7' })
    const storedValues = new Map([['app_token', token]])
    const storage = {
      getItem: (key: string) => storedValues.get(key) ?? null,
      setItem: (key: string, value: string) => void storedValues.set(key, value),
    }
    for await (const event of events('/ticks', { baseUrl: app.url, auth: true, storage })) {
      expect(event).toEqual({ event: 'message', data: { tick: 1 }, id: '1' })
      break
    }
    const anonymous = events('/ticks', { baseUrl: app.url })
    await expect(anonymous.next()).rejects.toMatchObject({ status: 401 })
  })
})
