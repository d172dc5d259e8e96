/** Limits on what clients may use: how they are set, and what is refused. Source: docs/configuration.md, "Bounds". */
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  Module,
  type Application,
  type BootstrapOptions,
  type Session,
} from '../../src/index.js'
import { exchange, open } from './raw-client.js'
import { waitUntil } from '../wait-until.js'

/** Created once: each new one blocks the event loop for hundreds of milliseconds. */
const largeText = Buffer.alloc(50_000_000, 'x').toString('latin1')

let onStart: () => void = () => undefined

@Controller
class BoundsController {
  @Get('/fast')
  fast() {
    return { fast: true }
  }

  @Get('/large')
  large() {
    onStart()
    return largeText
  }

  /** JSON that is created for each request. */
  @Get('/rows')
  rows() {
    return [{ text: 'x'.repeat(12_000_000) }]
  }

  @Get('/pieces')
  async *pieces() {
    onStart()
    for (;;) {
      yield 'x'.repeat(100_000)
      await Promise.resolve()
    }
  }

  @Get('/visit')
  visit(session: Session) {
    session['seen'] = true
    return { byStatus: true }
  }

  @Get('/busy')
  busy() {
    const until = performance.now() + 60
    while (performance.now() < until);
    return { busy: true }
  }
}

@Module({ controllers: [BoundsController] })
class BoundsModule {}

let app: Application

/** On a busy machine the event loop may lag in any test, so only the tests of `times.delay` refuse requests for it. */
async function start(options: BootstrapOptions): Promise<void> {
  app = await bootstrap(BoundsModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: {},
    ...options,
    times: { linger: 20, delay: Infinity, ...options.times },
  })
}

afterEach(() => app.close())

async function getResponse(path: string, agent: Agent | false = false): Promise<IncomingMessage> {
  const [response] = (await once(get(app.url + path, { agent }), 'response')) as [IncomingMessage]
  return response
}

describe('large responses that clients do not read', () => {
  it('are cut off together over the limit, logged with counts, and other responses are complete', async () => {
    const warnings: [object, string][] = []
    const silent = (): undefined => undefined
    const logger = {
      error: silent,
      info: silent,
      debug: silent,
      warn: (about: object, message: string) => void warnings.push([about, message]),
    }
    await start({ limits: { unread: 100_000_000 }, logger })
    const sockets = Array.from({ length: 5 }, () => open(app.url))
    const closed = sockets.map((socket) => once(socket.on('error', silent), 'close'))
    for (const socket of sockets) {
      socket.pause()
      socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
    }
    // The server notices that the connection of a stopped reader is closed when it reads again.
    await waitUntil(() => warnings.length > 0)
    expect(warnings[0]?.[1]).toBe('clients that do not read their responses were disconnected')
    const { ended, unread } = warnings[0]?.[0] as { ended: number; unread: number }
    expect(ended).toBeGreaterThan(0)
    expect(unread).toBeLessThanOrEqual(1.5 * 100_000_000)
    const complete = await fetch(`${app.url}/large`)
    expect((await complete.text()).length).toBe(50_000_000)
    for (const socket of sockets) socket.destroy()
    await Promise.all(closed)
  })
})

describe('response texts', () => {
  it('are not held completely for the part that a client has not read', async () => {
    await start({ limits: { unread: 1_000_000_000 } })
    const read = 4_000_000
    const before = heldBytes()
    const sockets = Array.from({ length: 10 }, () => open(app.url))
    for (const socket of sockets) {
      let receivedBytes = 0
      socket.on('data', (chunk: Buffer) => {
        receivedBytes += chunk.length
        if (receivedBytes >= read) socket.pause()
      })
      socket.write('GET /rows HTTP/1.1\r\nHost: x\r\n\r\n')
      await waitUntil(() => receivedBytes >= read)
    }
    expect(heldBytes() - before).toBeLessThan(80_000_000)
    for (const socket of sockets) socket.destroy()
  })
})

/** Memory in use after a full garbage collection. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

describe('a client that reads nothing', () => {
  it.each(['/large', '/pieces'])('of %s is dropped after times.stall', async (path) => {
    await start({ times: { stall: 200, drain: 600_000 } })
    const entered = new Promise<void>((resolve) => {
      onStart = resolve
    })
    const socket = open(app.url)
    socket.pause()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await entered
    // This waits for the running request, which ends with its connection.
    await app.close()
    socket.destroy()
  })

  it('is not one that reads a little at a time', async () => {
    await start({ times: { stall: 3000 } })
    const response = await getResponse('/large')
    let size = 0
    let rests = 0
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      // In total the client reads for longer than a client may stop reading.
      if (size < rests * 2_000_000) return
      rests += 1
      response.pause()
      setTimeout(() => response.resume(), 130)
    })
    await once(response, 'end')
    expect(rests).toBe(26)
    expect(size).toBe(50_000_000)
  })
})

describe('connections', () => {
  it('over the limit receive 503 and are closed', async () => {
    await start({ limits: { connections: 2 } })
    const openSockets = [open(app.url), open(app.url)]
    await Promise.all(openSockets.map((socket) => once(socket, 'connect')))
    const response = await getResponse('/fast')
    expect([
      response.statusCode,
      response.headers.connection,
      response.headers['retry-after'],
    ]).toEqual([503, 'close', '5'])
    expect(JSON.parse(await text(response))).toEqual({
      error: 'Too many connections are open.',
      code: 'TOO_MANY_CONNECTIONS',
    })
    await Promise.all(openSockets.map((socket) => once(socket.destroy(), 'close')))
  })

  it('are not counted per peer behind a proxy', async () => {
    await start({ limits: { connectionsByAddress: 1 }, trustProxy: 1 })
    const openSocket = open(app.url)
    await once(openSocket, 'connect')
    expect((await getResponse('/fast')).statusCode).toBe(200)
    openSocket.destroy()
  })

  it('have a limit per peer', async () => {
    await start({ limits: { connectionsByAddress: 1 } })
    const openSocket = open(app.url)
    await once(openSocket, 'connect')
    expect((await getResponse('/fast')).statusCode).toBe(503)
    openSocket.destroy()
  })

  it('are closed after the maximum number of requests', async () => {
    await start({ limits: { requests: 2 } })
    const request = 'GET /fast HTTP/1.1\r\nHost: x\r\n\r\n'
    const response = await exchange(app.url, request + request)
    expect(response.match(/connection: [-a-z]+/gi)).toEqual([
      'Connection: keep-alive',
      'Connection: close',
    ])
  })

  // The server parses the first kind twice and refuses the second, and each counts once.
  it.each([
    ['an upgrade to another protocol', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'],
    ['an expectation that is refused', 'Expect: more\r\n'],
  ])('are closed after the maximum number of requests, also with %s', async (_what, header) => {
    await start({ limits: { requests: 3 } })
    const plain = 'GET /fast HTTP/1.1\r\nHost: x\r\n\r\n'
    const other = `GET /fast HTTP/1.1\r\nHost: x\r\n${header}\r\n`
    const response = await exchange(app.url, plain + other + other + plain)
    expect(response.match(/connection: [-a-z]+/gi)).toEqual([
      'Connection: keep-alive',
      'Connection: keep-alive',
      'Connection: close',
    ])
  })
})

describe('sessions', () => {
  it('that one address starts in a minute are limited: 429 with a body', async () => {
    await start({ limits: { sessionsByAddress: 2 }, listen: false, trustProxy: 1 })
    const visit = (address: string, cookie = '') =>
      app.inject({ url: '/visit', headers: { 'x-forwarded-for': address, cookie } })
    const first = await visit('192.0.2.1')
    expect([first.status, (await visit('192.0.2.1')).status]).toEqual([200, 200])
    const refused = await visit('192.0.2.1')
    expect([refused.status, refused.json(), refused.headers['set-cookie']]).toEqual([
      429,
      { error: 'Too many sessions are begun from this address.', code: 'TOO_MANY_SESSIONS' },
      undefined,
    ])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    const cookie = first.headers['set-cookie']?.split(';')[0]
    expect((await visit('192.0.2.1', cookie)).status).toBe(200)
    expect((await visit('192.0.2.2')).status).toBe(200)
  })

  it('are limited to far fewer than a thousand by default', async () => {
    await start({ listen: false })
    const statuses = new Map<number, number>()
    for (let count = 0; count < 1000; count++) {
      const { status } = await app.inject('/visit')
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    expect([...statuses]).toEqual([
      [200, 300],
      [429, 700],
    ])
  })
})

describe('an overloaded process', () => {
  it('returns 503 with Retry-After, and serves again afterwards', async () => {
    await start({ times: { delay: 50 } })
    const agent = new Agent({ keepAlive: true, maxSockets: 40 })
    const byStatus = new Map<number | undefined, IncomingMessage>()
    while (!byStatus.has(503)) {
      const responses = await Promise.all(
        Array.from({ length: 20 }, () => getResponse('/busy', agent)),
      )
      for (const response of responses) {
        byStatus.set(response.statusCode, response)
        if (response.statusCode !== 503) response.resume()
      }
    }
    expect(byStatus.get(503)?.headers['retry-after']).toBe('1')
    byStatus.get(503)?.resume()
    agent.destroy()
    for (let status = 0; status !== 200;) {
      await new Promise(setImmediate)
      const response = (await getResponse('/fast')).resume()
      status = response.statusCode ?? 0
    }
  })

  it.each([
    ['limits', { streams: 0 }],
    ['limits', { connections: 1.5 }],
    ['limits', { sessionsByAddress: 'many' }],
    ['times', { delay: 0 }],
  ])('refuses %s %j', async (name, value) => {
    const options = { listen: false, logger: false, env: {}, [name]: value }
    await expect(bootstrap(BoundsModule, options)).rejects.toMatchObject({
      problems: [{ code: 'INVALID_OPTION' }],
    })
    await start({ listen: false, limits: { streams: Infinity }, times: { delay: Infinity } })
  })
})
