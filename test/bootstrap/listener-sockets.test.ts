/**
 * What clients see of WebSockets, over real connections. Runs on every runtime (`test/runtimes`), because each has a server of
 * its own.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Database,
  Field,
  GraphQL,
  Module,
  Record as Table,
  type Application,
} from '../../src/index.js'
import { waitUntil } from '../wait-until.js'
import { statusOf } from './raw-client.js'
import { frame, frameHead, opcode, openSocket, readySocket, type RawSocket } from './raw-socket.js'

const big = 'x'.repeat(100_000)
let flooded = 0
let ended = 0
/** Ends the mutation that waits. */
let release: () => void = () => undefined
let startedCount = 0

@Table<Note>({ rows: (user) => (user === null ? { isOpen: true } : { owner: String(user.sub) }) })
class Note {
  @Field('id') id!: number
  @Field('text') title!: string
  @Field('text', { default: 'x' }) owner!: string
  @Field('boolean', { default: true }) isOpen!: boolean
}

/** A separate instance for each application, because closing an application ends its streams. */
function createModule(): new () => object {
  const graphql = new GraphQL({ sockets: true })
  graphql.schema
    .addQuery('now', { type: 'Int', resolve: () => 1 })
    .addQuery('who', {
      type: 'String',
      resolve: (_root, _args, context) =>
        (context as { user: { sub?: string } | null }).user?.sub ?? null,
    })
    .addQuery('address', {
      type: 'String',
      resolve: (_root, _args, context) => (context as { request: { ip: string } }).request.ip,
    })
    .addMutation('wait', {
      type: 'Int',
      resolve: () =>
        new Promise((resolve) => {
          startedCount++
          release = () => {
            resolve(2)
          }
        }),
    })
    .addSubscription('ticks', {
      type: 'Int',
      async *subscribe() {
        try {
          for (let ticks = 1; ; ticks++) {
            yield { ticks }
            await new Promise((resolve) => setTimeout(resolve, 5))
          }
        } finally {
          ended++
        }
      },
    })
    .addSubscription('flood', {
      type: 'String',
      async *subscribe() {
        for (;;) {
          flooded++
          yield await Promise.resolve({ flood: big })
        }
      },
    })
  graphql.registerRoute()
  @Module({ graphql: [graphql] })
  class SocketsModule {}
  return SocketsModule
}

@Module({ records: [Note] })
class NotesModule {}

const base = {
  port: 0,
  host: '127.0.0.1',
  logger: false,
  env: { APP_API_KEY: 'k'.repeat(32) },
} as const
const start = (options: object = {}): Promise<Application> =>
  bootstrap(createModule(), { ...base, ...options })

let app: Application
beforeAll(async () => {
  app = await start({ times: { stall: 300 } })
})
afterAll(() => app.close())

const subscribe = (client: RawSocket, id: string, query: string): void => {
  client.send({ type: 'subscribe', id, payload: { query } })
}
const tokenOf = (sub: string): Promise<string> => app.get(Auth).getToken({ sub })

describe('operations', () => {
  it('get their results, each with its id', async () => {
    const client = await readySocket(app.url)
    expect(client.head).toMatch(/^sec-websocket-protocol: graphql-transport-ws\r$/im)
    subscribe(client, 'a', '{ now address }')
    const data = { now: 1, address: '127.0.0.1' }
    expect(await client.next()).toEqual({ id: 'a', type: 'next', payload: { data } })
    expect(await client.next()).toEqual({ id: 'a', type: 'complete' })
    subscribe(client, 'b', '{ nothing }')
    expect(await client.next()).toMatchObject({ id: 'b', type: 'error' })
    client.socket.destroy()
  })

  it('of subscriptions end when the client completes them, and when it leaves', async () => {
    const client = await readySocket(app.url)
    const before = ended
    subscribe(client, '1', 'subscription { ticks }')
    expect(await client.next()).toMatchObject({ id: '1', payload: { data: { ticks: 1 } } })
    expect(await client.next()).toMatchObject({ id: '1', payload: { data: { ticks: 2 } } })
    client.send({ type: 'complete', id: '1' })
    await waitUntil(() => ended === before + 1)
    subscribe(client, '2', 'subscription { ticks }')
    let message: unknown
    do message = await client.next()
    while ((message as { id: string }).id !== '2')
    client.socket.destroy()
    await waitUntil(() => ended === before + 2)
  })

  it('of live queries send the changes that the caller may read', async () => {
    await using notes = await bootstrap(NotesModule, {
      ...base,
      database: 'sqlite::memory:',
      graphql: { sockets: true },
    })
    const token = await notes.get(Auth).getToken({ sub: 'ada' })
    const client = await readySocket(notes.url, { token })
    subscribe(client, '1', 'query @live { notes { title } }')
    expect(await client.next()).toMatchObject({ payload: { data: { notes: [] } } })
    const table = notes.get(Database).records(Note)
    await table.create({ title: 'of Bea', owner: 'bea', isOpen: false })
    await table.create({ title: 'of Ada', owner: 'ada', isOpen: true })
    expect(await client.next()).toMatchObject({
      payload: { data: { notes: [{ title: 'of Ada' }] } },
    })
    client.socket.destroy()
  })
})

describe('callers', () => {
  it('are known by the token of connection_init, and by the one of the handshake', async () => {
    const authorization = `Bearer ${await tokenOf('7')}`
    for (const client of [
      await readySocket(app.url, { authorization }),
      await readySocket(app.url, {}, { Authorization: authorization }),
    ]) {
      subscribe(client, '1', '{ who }')
      expect(await client.next()).toMatchObject({ payload: { data: { who: '7' } } })
      client.socket.destroy()
    }
  })

  it('are refused with 4403 for an invalid token, and with 4401 without connection_init', async () => {
    const invalid = await openSocket(app.url)
    invalid.send({ type: 'connection_init', payload: { token: 'nonsense' } })
    expect(await invalid.closed()).toBe(4403)
    const early = await openSocket(app.url)
    subscribe(early, '1', '{ now }')
    expect(await early.closed()).toBe(4401)
  })

  it('from an origin that may not read responses get 403', async () => {
    await using listed = await start({ cors: { origins: ['https://shop.example'] } })
    const good = await readySocket(listed.url, {}, { Origin: 'https://shop.example' })
    good.socket.destroy()
    const foreign = await openSocket(listed.url, { Origin: 'https://evil.example' })
    expect(statusOf(foreign.head)).toBe(403)
    foreign.socket.destroy()
  })

  it('of another protocol are refused with 4406, and requests with an invalid key with 400', async () => {
    const other = await openSocket(app.url, { 'Sec-WebSocket-Protocol': 'graphql-ws' })
    expect(await other.closed()).toBe(4406)
    const invalid = await openSocket(app.url, { 'Sec-WebSocket-Key': 'short' })
    expect(statusOf(invalid.head)).toBe(400)
    invalid.socket.destroy()
  })

  it('that ask for another protocol than WebSocket, or at another path, get a response', async () => {
    const h2c = await openSocket(app.url, { Upgrade: 'h2c' })
    expect(h2c.head).not.toContain(' 101 ')
    h2c.socket.destroy()
  })
})

describe('limits', () => {
  it('16 KiB for a message before the acknowledgement, and 1 MiB after it', async () => {
    const init = (length: number): string =>
      JSON.stringify({ type: 'connection_init', payload: { text: 'x'.repeat(length) } })
    const accepted = await openSocket(app.url)
    accepted.socket.write(frame(opcode.text, init(16_000)))
    expect(await accepted.next()).toEqual({ type: 'connection_ack' })
    const payload = { query: '{ now }', extensions: { text: 'x'.repeat(1_000_000) } }
    accepted.send({ type: 'subscribe', id: '1', payload })
    expect(await accepted.next()).toMatchObject({ payload: { data: { now: 1 } } })
    accepted.socket.write(frame(opcode.text, 'x'.repeat(1_100_000)))
    expect(await accepted.closed()).toBe(1009)
    const beyond = await openSocket(app.url)
    beyond.socket.write(frame(opcode.text, init(17_000)))
    expect(await beyond.closed()).toBe(1009)
  })

  it.each<[string, number, () => Buffer]>([
    ['a message that is no JSON', 4400, () => frame(opcode.text, '{')],
    ['a binary message', 4400, () => frame(opcode.binary, '{}')],
    ['a frame without a mask', 1002, () => Buffer.from([0x81, 1, 0x7b])],
    ['an unknown opcode', 1002, () => frame(3, 'x')],
    ['text that is not UTF-8', 1007, () => frame(opcode.text, Buffer.from([0xff, 0xff]))],
    ['a frame of 2^53 bytes', 1009, () => frameHead(opcode.text, 2 ** 53)],
  ])('%s closes the socket with %d', async (_, code, bytes) => {
    const client = await readySocket(app.url)
    client.socket.write(bytes())
    expect(await client.closed()).toBe(code)
    expect((await fetch(`${app.url}/graphql?query={now}`)).status).toBe(200)
  })

  it('100 pings in a second are replied to', async () => {
    const client = await openSocket(app.url)
    client.socket.write(Buffer.concat(Array.from({ length: 50 }, () => frame(opcode.ping, 'p'))))
    await waitUntil(() => client.pongs === 50)
    client.socket.write(Buffer.concat(Array.from({ length: 5000 }, () => frame(opcode.ping, 'p'))))
    expect(await client.closed()).toBe(1008)
    expect(client.pongs).toBeLessThan(110)
  })

  it('4,000 frames and 500 operations in a second', async () => {
    const client = await openSocket(app.url)
    const pong = frame(opcode.text, '{"type":"pong"}')
    client.socket.write(Buffer.concat(Array.from({ length: 5000 }, () => pong)))
    expect(await client.closed()).toBe(1008)
    const busy = await readySocket(app.url)
    for (let index = 0; index < 600; index++) {
      subscribe(busy, String(index), '{ now }')
      busy.send({ type: 'complete', id: String(index) })
    }
    expect(await busy.closed()).toBe(4429)
  })

  it('a client that does not read is waited for, and ended', async () => {
    const client = await readySocket(app.url)
    client.socket.pause()
    flooded = 0
    subscribe(client, '1', 'subscription { flood }')
    await waitUntil(() => flooded > 1)
    await new Promise((resolve) => setTimeout(resolve, 200))
    // 20 MB: more than any system buffers for a connection.
    expect(flooded).toBeLessThan(200)
    await new Promise((resolve) => setTimeout(resolve, 500))
    client.socket.resume()
    await client.closed()
    expect(flooded).toBeLessThan(200)
  })
})

describe('close', () => {
  it('waits for a mutation, and ends subscriptions with 1001', async () => {
    const closing = await start({ times: { linger: 2000 } })
    const token = await closing.get(Auth).getToken({ sub: '7' })
    const busy = await readySocket(closing.url, { token })
    const listener = await readySocket(closing.url)
    const before = startedCount
    subscribe(busy, '1', 'mutation { wait }')
    subscribe(listener, '1', 'subscription { ticks }')
    await listener.next()
    await waitUntil(() => startedCount === before + 1)
    const closed = closing.close()
    expect(await listener.closed()).toBe(1001)
    release()
    expect(await busy.next()).toMatchObject({ id: '1', payload: { data: { wait: 2 } } })
    expect(await busy.closed()).toBe(1001)
    await closed
  })

  it('ends operations that take too long', async () => {
    const closing = await start({ times: { linger: 50, drain: 300 } })
    const token = await closing.get(Auth).getToken({ sub: '7' })
    const busy = await readySocket(closing.url, { token })
    const before = startedCount
    subscribe(busy, '1', 'mutation { wait }')
    await waitUntil(() => startedCount === before + 1)
    await closing.close()
    await busy.closed()
    release()
  })
})
