/** Attacks on memory by WebSocket messages that never end. */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { bootstrap, Field, Module, NoAuth, Record } from 'filigree'
import type { Attack, AttackResult } from './attack.js'
import { sampleGrowth } from './measure.js'

@Record()
@NoAuth
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Module({ records: [Note] })
class NoteModule {}

/**
 * The attackers. They run in a separate thread. Each opens a socket, waits for the acknowledgement, and sends the beginning of
 * a message `repeat` times.
 */
const clients = `
const { parentPort, workerData } = require('node:worker_threads')
const { connect } = require('node:net')
const { port, connections, isAcknowledged, head, chunk, repeat } = workerData
const frame = (text) => {
  const payload = Buffer.from(text)
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]), payload])
}
let open = 0
function attack() {
  const socket = connect(port, '127.0.0.1')
  open++
  socket.on('error', () => undefined)
  socket.on('close', () => open--)
  socket.write('GET /graphql HTTP/1.1\\r\\nHost: x\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\n' +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Protocol: graphql-transport-ws\\r\\n\\r\\n')
  let text = ''
  return new Promise((resolve) => {
    socket.on('close', resolve)
    socket.on('data', (data) => {
      text += data.toString('latin1')
      if (text.includes('101 Switching') && !text.includes('init sent')) {
        text += 'init sent'
        if (isAcknowledged) socket.write(frame('{"type":"connection_init"}'))
      }
      const isReady = text.includes(isAcknowledged ? 'connection_ack' : 'init sent')
      if (!isReady || text.includes('begun')) return
      text += 'begun'
      socket.write(Buffer.from(head))
      let left = repeat
      const next = () => {
        if (left-- <= 0 || socket.destroyed) resolve()
        else socket.write(Buffer.from(chunk), () => setImmediate(next))
      }
      next()
    })
  })
}
async function main() {
  parentPort.postMessage('ready')
  await new Promise((resolve) => parentPort.once('message', resolve))
  await Promise.all(Array.from({ length: connections }, attack))
  parentPort.postMessage('sent')
  parentPort.on('message', () => parentPort.postMessage(open))
}
void main()
`

interface Message {
  readonly connections: number
  /** The message comes after the connection is acknowledged. */
  readonly isAcknowledged: boolean
  /** The first bytes of the message, then a chunk that is sent `repeat` times. */
  readonly head: Uint8Array
  readonly chunk: Uint8Array
  readonly repeat: number
}

/** Runs the attack. It is blocked if the process grows by less than 200 MiB and all sockets are closed after the body timeout. */
async function attackBy(message: Message): Promise<AttackResult> {
  const app = await bootstrap(NoteModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: {},
    database: 'sqlite::memory:',
    graphql: true,
    limits: { connectionsByAddress: 2000 },
    times: { request: 4000, linger: 10 },
  })
  const worker = new Worker(clients, {
    eval: true,
    workerData: { ...message, port: Number(new URL(app.url).port) },
  })
  try {
    await once(worker, 'message')
    const endSampling = sampleGrowth(25)
    worker.postMessage('start')
    await once(worker, 'message')
    // What is measured is how long sockets stay open: the server ends them after `times.request`.
    await pause(6000)
    const growth = endSampling()
    worker.postMessage('count')
    const [open] = (await once(worker, 'message')) as [number]
    return {
      now: `the process grew by at most ${growth.toFixed(0)} MiB; ${open} of ${message.connections} sockets open after 6 s`,
      isBlocked: growth < 200 && open === 0,
    }
  } finally {
    await worker.terminate()
    await app.close()
  }
}

const megabyte = 1024 * 1024

/** The head of a masked text frame of 1 MiB. */
const longFrame = (): Uint8Array => {
  const head = Buffer.alloc(14)
  head[0] = 0x81
  head[1] = 0x80 | 127
  head.writeBigUInt64BE(BigInt(megabyte), 2)
  return head
}

/** Masked fragments of one byte each; none of them is the last one. */
const fragments = (count: number): Uint8Array =>
  Buffer.alloc(count * 7, Buffer.from([0, 0x81, 0, 0, 0, 0, 0x61]))

/** Masked pings without data. */
const pings = (count: number): Uint8Array =>
  Buffer.alloc(count * 6, Buffer.from([0x89, 0x80, 0, 0, 0, 0]))

/** A masked text frame of at most 65,535 bytes. */
const textFrame = (message: object): Buffer => {
  const payload = Buffer.from(JSON.stringify(message))
  const head = Buffer.from([0x81, 0x80 | 126, 0, 0, 0, 0, 0, 0])
  head.writeUInt16BE(payload.length, 2)
  return Buffer.concat([head, payload])
}

/** Operations that the client completes immediately. */
const operations = (count: number): Uint8Array =>
  Buffer.concat(
    Array.from({ length: count }, (_, index) => [
      textFrame({ type: 'subscribe', id: String(index), payload: { query: '{ notes { id } }' } }),
      textFrame({ type: 'complete', id: String(index) }),
    ]).flat(),
  )

export const attacks: readonly Attack[] = [
  {
    name: 'websocket: one socket sends 3.6 million pings before connection_init',
    before: 'others wait for up to 5.5 s, and the process grows by 290 MiB',
    measures: true,
    run: () =>
      attackBy({
        connections: 1,
        isAcknowledged: false,
        head: pings(1),
        chunk: pings(9000),
        repeat: 400,
      }),
  },
  {
    name: 'websocket: one socket begins and completes 100,000 operations',
    before: 'others wait for up to 5.5 s, and the socket is never closed',
    measures: true,
    run: () =>
      attackBy({
        connections: 1,
        isAcknowledged: true,
        head: pings(1),
        chunk: operations(500),
        repeat: 200,
      }),
  },
  {
    name: 'websocket: 250 acknowledged sockets each send 1 MiB less one byte of a message',
    before: 'the process grows by 257 MiB, and no socket is closed after 48 s',
    measures: true,
    run: () =>
      attackBy({
        connections: 250,
        isAcknowledged: true,
        head: longFrame(),
        chunk: Buffer.alloc((megabyte - 64) / 64, 0x61),
        repeat: 64,
      }),
  },
  {
    name: 'websocket: 250 sockets send the same before they are acknowledged',
    before: 'the process grows by 257 MiB, and no socket is closed after 48 s',
    measures: true,
    run: () =>
      attackBy({
        connections: 250,
        isAcknowledged: false,
        head: longFrame(),
        chunk: Buffer.alloc((megabyte - 64) / 64, 0x61),
        repeat: 64,
      }),
  },
  {
    name: 'websocket: one socket sends 25 MB of fragments of one byte',
    before: 'the process grows by 403 MiB',
    measures: true,
    run: () =>
      attackBy({
        connections: 1,
        isAcknowledged: true,
        head: Buffer.from([0x01, 0x81, 0, 0, 0, 0, 0x61]),
        chunk: fragments(9000),
        repeat: 400,
      }),
  },
]
