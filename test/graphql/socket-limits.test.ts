/** Limits of WebSockets. Source: decisions, Security limits; GraphQL over WebSocket Protocol. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { bootstrap, GraphQL, Module, type Application } from '../../src/index.js'
import { silentLog } from '../silent-log.js'
import { waitUntil } from '../wait-until.js'

const big = 'x'.repeat(100_000)

function createModule(): new () => object {
  const graphql = new GraphQL({ sockets: true })
  graphql.schema.addQuery('now', { type: 'Int', resolve: () => 1 }).addSubscription('flood', {
    type: 'String',
    async *subscribe() {
      for (;;) yield await Promise.resolve({ flood: big })
    },
  })
  graphql.registerRoute()
  @Module({ graphql: [graphql] })
  class LimitedModule {}
  return LimitedModule
}

let app: Application | undefined

async function start(options: object = {}): Promise<string> {
  app = await bootstrap(createModule(), {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: {},
    ...options,
  })
  return `${app.url.replace('http', 'ws')}/graphql`
}

afterEach(async () => {
  await app?.close()
  app = undefined
})

async function open(address: string): Promise<WebSocket> {
  const socket = new WebSocket(address, 'graphql-transport-ws')
  socket.on('error', () => undefined)
  await once(socket, 'open')
  return socket
}

async function acknowledged(address: string): Promise<WebSocket> {
  const socket = await open(address)
  socket.send('{"type":"connection_init"}')
  await once(socket, 'message')
  return socket
}

async function closed(socket: WebSocket): Promise<number> {
  const [code] = (await once(socket, 'close')) as [number]
  return code
}

/** Writes the bytes of a frame as they are. */
function write(socket: WebSocket, ...bytes: (number | Buffer)[]): void {
  const { _socket: raw } = socket as unknown as { _socket: Socket }
  raw.write(Buffer.concat(bytes.map((part) => (typeof part === 'number' ? Buffer.of(part) : part))))
}

/** The head of a masked text frame of this length. */
function frameHead(length: number, isLast = true): number[] {
  const size = Buffer.alloc(8)
  size.writeBigUInt64BE(BigInt(length))
  return [isLast ? 0x81 : 0x01, 0x80 | 127, ...size, 0, 0, 0, 0]
}

describe('WebSockets', () => {
  it('accept at most 16 KiB in a message before they are acknowledged', async () => {
    const address = await start()
    const accepted = await open(address)
    accepted.send(
      JSON.stringify({ type: 'connection_init', payload: { text: 'x'.repeat(16_000) } }),
    )
    expect(String(await once(accepted, 'message'))).toContain('connection_ack')
    accepted.terminate()
    const beyond = await open(address)
    beyond.send(JSON.stringify({ type: 'connection_init', payload: { text: 'x'.repeat(17_000) } }))
    expect(await closed(beyond)).toBe(1009)
  })

  it('accept up to 1 MiB in a message once they are acknowledged', async () => {
    const socket = await acknowledged(await start())
    const payload = { query: '{ now }', extensions: { text: 'x'.repeat(1_000_000) } }
    socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload }))
    expect(String(await once(socket, 'message'))).toContain('{"data":{"now":1}}')
    socket.send('x'.repeat(1_100_000))
    expect(await closed(socket)).toBe(1009)
  })

  it.each<[string, number[]]>([
    ['a part of a head', [0x81]],
    ['a head without its payload', frameHead(1_000_000)],
    ['the first fragment of a message', [0x01, 0x81, 0, 0, 0, 0, 0x7b]],
    ['a fragment and a ping', [0x01, 0x81, 0, 0, 0, 0, 0x7b, 0x89, 0x80, 0, 0, 0, 0]],
  ])('are closed where the client sends only %s', async (_, bytes) => {
    const socket = await acknowledged(await start({ times: { request: 100 } }))
    write(socket, ...bytes)
    expect(await closed(socket)).toBe(1008)
  })

  it('stay open for fragments, pings and empty frames that make complete messages', async () => {
    const address = await start({ times: { request: 100 } })
    const socket = await acknowledged(address)
    const text = [...Buffer.from('{"type":"ping"}')]
    const first = text.slice(0, 3)
    const rest = text.slice(3)
    const waits = once(socket, 'message')
    write(socket, 0x01, 0x80 | first.length, 0, 0, 0, 0, ...first)
    write(socket, 0x89, 0x80, 0, 0, 0, 0, 0x00, 0x80, 0, 0, 0, 0)
    write(socket, 0x80, 0x80 | rest.length, 0, 0, 0, 0, ...rest)
    expect(String(await waits)).toContain('pong')
    const other = await acknowledged(address)
    write(other, 0x81)
    expect(await closed(other)).toBe(1008)
    expect(socket.readyState).toBe(WebSocket.OPEN)
    socket.terminate()
  })

  it('share a limit for the bytes of unfinished messages: the oldest socket is closed', async () => {
    const address = await start({ limits: { unfinished: 300_000 } })
    const [first, second, third] = [
      await acknowledged(address),
      await acknowledged(address),
      await acknowledged(address),
    ]
    const half = Buffer.alloc(125_000, ' ')
    write(first, ...frameHead(200_000), half)
    write(second, ...frameHead(200_000), half)
    const end = closed(first)
    write(third, ...frameHead(200_000), half)
    expect(await end).toBe(1013)
    expect(second.readyState).toBe(WebSocket.OPEN)
    second.terminate()
    third.terminate()
  })

  /** A masked ping without data. */
  const pingFrame = Buffer.from([0x89, 0x80, 0, 0, 0, 0])
  /** Messages of one burst, as one text each. */
  const burst = (count: number, message: (index: number) => object): string[] =>
    Array.from({ length: count }, (_, index) => JSON.stringify(message(index)))

  it('reply to 100 pings in a second, and are closed after more', async () => {
    const address = await start()
    const socket = await open(address)
    let pongs = 0
    socket.on('pong', () => pongs++)
    write(socket, Buffer.alloc(100 * pingFrame.length, pingFrame))
    await waitUntil(() => pongs === 100)
    socket.terminate()
    const beyond = await open(address)
    beyond.on('pong', () => pongs++)
    write(beyond, Buffer.alloc(10_000 * pingFrame.length, pingFrame))
    expect(await closed(beyond)).toBe(1008)
    expect(pongs).toBe(100)
  })

  it('are closed after 100 messages of the type ping in a second', async () => {
    const socket = await open(await start())
    let pongs = 0
    socket.on('message', () => pongs++)
    for (const text of burst(1000, () => ({ type: 'ping' }))) socket.send(text)
    expect(await closed(socket)).toBe(4429)
    expect(pongs).toBe(100)
  })

  it('are closed after 4,000 frames in a second', async () => {
    const socket = await open(await start())
    // Messages of the type pong, which have no reply.
    for (const text of burst(5000, () => ({ type: 'pong' }))) socket.send(text)
    expect(await closed(socket)).toBe(1008)
  })

  it('are closed after 500 operations in a second, also if the client completes them', async () => {
    const socket = await acknowledged(await start())
    const payload = { query: '{ now }' }
    for (let index = 0; index < 1000; index++) {
      const id = String(index)
      socket.send(JSON.stringify({ type: 'subscribe', id, payload }))
      socket.send(JSON.stringify({ type: 'complete', id }))
    }
    expect(await closed(socket)).toBe(4429)
  })

  it('are closed after 1,024 fragments', async () => {
    const socket = await acknowledged(await start())
    const fragment = [0x00, 0x81, 0, 0, 0, 0, 0x20]
    write(
      socket,
      0x01,
      ...fragment.slice(1),
      ...Array.from({ length: 1024 }, () => fragment).flat(),
    )
    expect(await closed(socket)).toBe(1008)
  })

  it('end a client that reads its subscription too slowly', async () => {
    let end: (message: string) => void = () => undefined
    const ended = new Promise<string>((resolve) => (end = resolve))
    const debug = (_about: object, message: string): void => {
      if (message.includes('slow reader')) end(message)
    }
    const address = await start({ times: { stall: 200 }, logger: { ...silentLog, debug } })
    const socket = await acknowledged(address)
    const payload = { query: 'subscription { flood }' }
    socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload }))
    const { _socket: raw } = socket as unknown as { _socket: Socket }
    // Reads a little at a time, so there is always progress.
    raw.pause()
    const reading = setInterval(() => raw.read(1000), 20)
    expect(await ended).toContain('slow reader')
    clearInterval(reading)
    socket.terminate()
  })

  it.each([
    ['no query', {}],
    ['a query that is not text', { query: 7 }],
    ['variables that are not an object', { query: '{ now }', variables: [] }],
    ['extensions that are not an object', { query: '{ now }', extensions: 'x' }],
    ['a name that is not text', { query: '{ now }', operationName: 7 }],
  ])('are closed with 4400 where subscribe has %s', async (_, payload) => {
    const socket = await acknowledged(await start())
    socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload }))
    expect(await closed(socket)).toBe(4400)
  })
})
