/** Attacks on the server by many requests on one connection: pipelined, in one request, or over a WebSocket. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import {
  bootstrap,
  connect,
  Controller,
  Field,
  Get,
  Module,
  NoAuth,
  Record,
  type Application,
} from 'filigree'
import { metrics } from 'filigree/metrics'
import type { Attack, AttackResult } from './attack.js'
import { sampleGrowth } from './measure.js'

@Record()
class Article {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string') text!: string
}

@Controller('/articles', { crud: Article })
@NoAuth
class ArticleController {}

@Controller('/plain')
@NoAuth
class PlainController {
  @Get('/')
  plain(): object {
    return { ok: true }
  }

  /** Work of 5 ms without a pause, such as a large report. */
  @Get('/report')
  report(): object {
    const end = performance.now() + 5
    while (performance.now() < end);
    return { ok: true }
  }
}

@Module({
  records: [Article],
  controllers: [ArticleController, PlainController],
  imports: [metrics()],
})
class ArticleModule {}

async function start(): Promise<{ app: Application; close: () => Promise<void> }> {
  const database = await connect('sqlite::memory:', { records: [Article] })
  await database.sync()
  const rows = Array.from({ length: 1000 }, (_, index) => ({
    title: `Article ${index}`,
    text: 'A sentence of some length. '.repeat(8),
  }))
  await database.records(Article).createMany(rows)
  const app = await bootstrap(ArticleModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: {},
    database,
    graphql: true,
    times: { linger: 10 },
  })
  return {
    app,
    close: async () => {
      await app.close()
      await database.close()
    },
  }
}

interface Attackers {
  readonly connections: number
  /** The text that each connection sends repeatedly in one write. */
  readonly request: string
  /** Sent instead once the server has acknowledged the request, a WebSocket. */
  readonly operations?: Uint8Array
  readonly seconds: number
  /** The longest time that a victim may wait, in milliseconds, for an attack that ends before the victim's requests. */
  readonly maxWait?: number
}

/** The attackers and a victim. They run in a separate thread, so that they do not wait for the server. */
const clients = `
const { parentPort, workerData } = require('node:worker_threads')
const { connect } = require('node:net')
const { request, Agent } = require('node:http')
const { port, connections, text, operations, seconds } = workerData
const agent = new Agent({ keepAlive: true })
const ask = () => new Promise((resolve, reject) => {
  const began = performance.now()
  request({ port, host: '127.0.0.1', path: '/plain', agent }, (response) => {
    response.resume().on('end', () => resolve(performance.now() - began))
  }).on('error', reject).end()
})
async function main() {
  for (let count = 0; count < 20; count++) await ask()
  parentPort.postMessage('ready')
  await new Promise((resolve) => parentPort.once('message', resolve))
  const attackers = Array.from({ length: connections }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(text, 'latin1')
    if (operations === undefined) socket.pause()
    let received = ''
    socket.on('data', (data) => {
      if (received.includes('connection_ack')) return
      received += data.toString('latin1')
      if (received.includes('connection_ack')) socket.write(Buffer.from(operations))
    })
    return socket
  })
  const times = []
  const end = performance.now() + seconds * 1000
  while (performance.now() < end) times.push(await ask())
  times.sort((a, b) => a - b)
  parentPort.postMessage({ p99: times[Math.floor(times.length * 0.99)], worst: times.at(-1), count: times.length })
  await new Promise((resolve) => parentPort.once('message', resolve))
  for (const socket of attackers) socket.destroy()
  agent.destroy()
}
void main()
`

/** Runs the attack. It is blocked if the victim's requests stay fast and the process grows by less than 100 MiB. */
async function attackBy({
  connections,
  request,
  operations,
  seconds,
  maxWait = Infinity,
}: Attackers): Promise<AttackResult> {
  const { app, close } = await start()
  const port = Number(new URL(app.url).port)
  const count = operations === undefined ? Math.floor((63 * 1024) / request.length) : 1
  const text = request.repeat(count)
  const worker = new Worker(clients, {
    eval: true,
    workerData: { port, connections, text, operations, seconds },
  })
  try {
    await once(worker, 'message')
    const endSampling = sampleGrowth(50)
    worker.postMessage('start')
    const [victim] = (await once(worker, 'message')) as [
      { p99: number; worst: number; count: number },
    ]
    const growth = endSampling()
    worker.postMessage('end')
    return {
      now: `${victim.count} requests of a victim: p99 ${victim.p99.toFixed(0)} ms, worst ${victim.worst.toFixed(0)} ms; the process grew by ${growth.toFixed(0)} MiB`,
      isBlocked: victim.p99 < 100 && victim.worst < maxWait && growth < 100,
    }
  } finally {
    await worker.terminate()
    await close()
  }
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
}

function post(path: string, json: object): string {
  const body = JSON.stringify(json)
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

/** 100 live queries in one request. */
function liveQueries(pathOf: (index: number) => string): string {
  return post('/filigree/live', {
    asks: Array.from({ length: 100 }, (_, index) => ({ path: pathOf(index) })),
  })
}

/** A message of a client, with a mask of zeros. Source: RFC 6455 §5.2. */
function toFrame(message: object): Buffer {
  const payload = Buffer.from(JSON.stringify(message))
  const length = [0x80 | 126, payload.length >> 8, payload.length & 0xff]
  return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), payload])
}

const handshake =
  'GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n' +
  toFrame({ type: 'connection_init' }).toString('latin1')

/** 100 queries in one write. */
const socketQueries = Buffer.concat(
  Array.from({ length: 100 }, (_, index) =>
    toFrame({
      id: String(index),
      type: 'subscribe',
      payload: { query: '{ articles(limit: 1000) { id title text } }' },
    }),
  ),
)

const introspection = JSON.stringify({
  query: '{ __schema { types { name fields { name args { name } type { name } } } } }',
})

export const attacks: readonly Attack[] = [
  {
    name: 'pipelining: 80 connections each send 63 KiB of GET /articles?limit=50 in one write and read nothing',
    before: 'a process with a heap of 512 MB ends: heap out of memory',
    measures: true,
    run: () => attackBy({ connections: 80, request: get('/articles?limit=50'), seconds: 8 }),
  },
  {
    name: 'pipelining: 8 connections do the same',
    before: 'the process grows by 600 MiB',
    measures: true,
    run: () => attackBy({ connections: 8, request: get('/articles?limit=50'), seconds: 4 }),
  },
  ...[
    ['GET /articles?limit=1000', get('/articles?limit=1000'), '4.0 s'],
    ['GET /articles?count=true&limit=1', get('/articles?count=true&limit=1'), '0.9 s'],
    [
      'GET /articles/aggregate?groupBy=title&count=true',
      get('/articles/aggregate?groupBy=title&count=true'),
      '0.9 s',
    ],
    ['GET /metrics', get('/metrics'), '2.5 s'],
    ['GET /plain', get('/plain'), '0.5 s'],
    [
      'introspection of GraphQL',
      `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${introspection.length}\r\n\r\n${introspection}`,
      '1.5 s',
    ],
  ].map(([requestName = '', request = '', before = '']): Attack => ({
    name: `pipelining: one connection sends 63 KiB of ${requestName} in one write`,
    before: `every other client waits for ${before}`,
    measures: true,
    run: () => attackBy({ connections: 1, request, seconds: 3 }),
  })),
  {
    name: 'one request for 100 live queries of a route that is not live and works for 5 ms',
    before: 'every other client waits for 1.2 s',
    measures: true,
    run: () =>
      attackBy({
        connections: 1,
        request: liveQueries((index) => `/plain/report?${index}`),
        seconds: 3,
        maxWait: 300,
      }),
  },
  {
    name: 'websocket: one socket sends 100 queries for 1,000 articles in one write',
    before: 'every other client waits for 1.2 s',
    measures: true,
    run: () =>
      attackBy({
        connections: 1,
        request: handshake,
        operations: socketQueries,
        seconds: 3,
        maxWait: 300,
      }),
  },
]
