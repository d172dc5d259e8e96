/** How an application closes: on signals, and after errors. Source: docs/configuration.md, "Shutdown". */
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  events,
  Get,
  Module,
  type Application,
  type HttpRequest,
} from '../../src/index.js'
import { bodyOf, exchange, open, statusOf } from './raw-client.js'

let entered: () => void = () => undefined
let onLeave: (reason: unknown) => void = () => undefined
let release: () => void = () => undefined

function whenEntered(): Promise<void> {
  return new Promise((resolve) => {
    entered = resolve
  })
}

function whenLeft(): Promise<unknown> {
  return new Promise((resolve) => {
    onLeave = resolve
  })
}

@Controller
class EndController {
  @Get('/fast')
  fast() {
    return { fast: true }
  }

  @Get('/slow')
  async slow() {
    entered()
    await new Promise<void>((resolve) => {
      release = resolve
    })
    return { slow: true }
  }

  @Get('/heeding')
  async heeding(request: HttpRequest) {
    entered()
    await new Promise((_, reject) => {
      request.signal.addEventListener('abort', () => {
        const { reason } = request.signal as { reason: Error }
        reject(reason)
      })
    })
  }

  @Get('/events')
  events() {
    return events(this.#sendEvents())
  }

  async *#sendEvents() {
    try {
      yield 'first'
      await new Promise(() => undefined)
    } finally {
      onLeave('events')
    }
  }

  @Get('/stream')
  async *stream(request: HttpRequest) {
    yield 'first'
    await new Promise((resolve) => {
      request.signal.addEventListener('abort', resolve)
    })
    onLeave(request.signal.reason)
  }
}

@Module({ controllers: [EndController] })
class EndModule {}

function start(times: Readonly<Record<string, number>> = {}): Promise<Application> {
  return bootstrap(EndModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: {},
    times: { linger: 200, ...times },
  })
}

async function getResponse(url: string, agent: Agent | false): Promise<IncomingMessage> {
  const [answer] = (await once(get(url, { agent }), 'response')) as [IncomingMessage]
  return answer
}

describe('closing an application', () => {
  it('answers a connection that sends another request with Connection: close, and resets none', async () => {
    const app = await start({ linger: 2000 })
    const agents = Array.from({ length: 10 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
    for (const agent of agents) await text(await getResponse(`${app.url}/fast`, agent))
    const closing = app.close()
    const responses = await Promise.all(
      agents.map((agent) => getResponse(`${app.url}/fast`, agent)),
    )
    const statuses = responses.map(({ statusCode, headers }) => [statusCode, headers.connection])
    expect(statuses).toEqual(agents.map(() => [200, 'close']))
    await Promise.all(responses.map((answer) => text(answer)))
    await closing
  })

  it('answers new connections with Connection: close, then stops listening', async () => {
    const app = await start({ linger: 2000 })
    const slowResponse = once(get(`${app.url}/slow`, { agent: false }), 'response')
    await whenEntered()
    const closing = app.close()
    const answer = await getResponse(`${app.url}/fast`, false)
    expect([answer.statusCode, answer.headers.connection]).toEqual([200, 'close'])
    await text(answer)
    release()
    const [slow] = (await slowResponse) as [IncomingMessage]
    expect(slow.statusCode).toBe(200)
    slow.resume()
    await closing
    await expect(getResponse(`${app.url}/fast`, false)).rejects.toThrow('ECONNREFUSED')
  })

  it('resets no client that keeps connecting, until the port is closed', async () => {
    const app = await start()
    const outcomes = new Set<unknown>()
    const clients = Array.from({ length: 20 }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      for (let code: unknown; code === undefined;) {
        try {
          const answer = await getResponse(`${app.url}/fast`, agent)
          await text(answer)
          outcomes.add(answer.statusCode)
        } catch (error) {
          outcomes.add((code = (error as NodeJS.ErrnoException).code))
        }
      }
    })
    while (!outcomes.has(200)) await new Promise((resolve) => setImmediate(resolve))
    await app.close()
    await Promise.all(clients)
    expect(outcomes).toEqual(new Set([200, 'ECONNREFUSED']))
  })

  it('does not wait for an incomplete head or an idle connection', async () => {
    const app = await start({ linger: 50, drain: 60_000, headers: 60_000 })
    const sockets = [open(app.url), open(app.url)]
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    sockets[0]?.write('GET /fast HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    const closed = Promise.all(sockets.map((socket) => once(socket.resume(), 'close')))
    await app.close()
    await closed
  })

  it('ends event streams, and returns from their generators', async () => {
    const app = await start({ drain: 60_000 })
    const answer = await getResponse(`${app.url}/events`, false)
    answer.setEncoding('utf8')
    let body = ''
    answer.on('data', (chunk: string) => (body += chunk))
    while (!body.includes('first')) await once(answer, 'data')
    const ended = once(answer, 'end')
    await app.close()
    await ended
    expect(body).toMatch(/data: first\n\n$/)
  })

  it('aborts request.signal of a response that streams immediately', async () => {
    const app = await start({ drain: 60_000, linger: 60_000 })
    const answer = await getResponse(`${app.url}/stream`, false)
    await once(answer, 'readable')
    const heard = whenLeft()
    const closing = app.close()
    expect(await heard).toMatchObject({ status: 503, code: 'APPLICATION_CLOSING' })
    expect(await text(answer)).toBe('first')
    await closing
  })

  it('aborts request.signal of a handler after the linger time, which responds with 503', async () => {
    const app = await start({ drain: 60_000, linger: 50 })
    const response = exchange(app.url, 'GET /heeding HTTP/1.1\r\nHost: x\r\n\r\n')
    await whenEntered()
    await app.close()
    const answer = await response
    expect([statusOf(answer), JSON.parse(bodyOf(answer))]).toEqual([
      503,
      { error: 'The application is closing.', code: 'APPLICATION_CLOSING' },
    ])
  })

  it('ends streams and aborts signals without a port, too', async () => {
    const app = await bootstrap(EndModule, { listen: false, logger: false, env: {} })
    const answer = await app.handle(new Request('http://localhost/events'))
    const heeding = app.inject('/heeding')
    await whenEntered()
    await app.close()
    expect(await answer.text()).toMatch(/data: first\n\n$/)
    expect((await heeding).status).toBe(503)
  })
})
