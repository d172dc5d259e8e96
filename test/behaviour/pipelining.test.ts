/** Pipelined requests: each connection handles one request at a time. Source: decisions, Security limits. RFC 9112 §9.3.2. */
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  Module,
  NoAuth,
  Post,
  type Application,
} from '../../src/index.js'

const started: string[] = []
let running = 0
let maxRunning = 0
let waiting = new Map<string, () => void>()
let onStart: (name: string) => void = () => undefined

@Controller('/')
class PipelineController {
  @Get('/now/<name>')
  now(name: string): object {
    started.push(name)
    return { name }
  }

  /** Returns when the test resolves its entry in `waiting`. */
  @Get('/wait/<name>')
  async wait(name: string): Promise<object> {
    started.push(name)
    maxRunning = Math.max(maxRunning, ++running)
    await new Promise<void>((resolve) => {
      waiting.set(name, resolve)
      onStart(name)
    })
    running--
    return { name }
  }

  /** Its head is written with the first chunk, after the handler has returned. */
  @Get('/stream')
  stream(): AsyncGenerator<string> {
    return (async function* chunks() {
      await new Promise<void>((resolve) => {
        waiting.set('stream', resolve)
        onStart('stream')
      })
      yield 'text'
    })()
  }

  @Get('/large')
  large(): object {
    return { text: 'x'.repeat(3_000_000) }
  }

  @NoAuth
  @Post('/echo', { status: 200 })
  echo(body: unknown): object {
    started.push('echo')
    return { body }
  }
}

@Module({ controllers: [PipelineController] })
class PipelineModule {}

let app: Application

beforeEach(async () => {
  started.length = 0
  running = 0
  maxRunning = 0
  waiting = new Map()
  onStart = () => undefined
  app = await bootstrap(PipelineModule, {
    port: 0,
    host: '127.0.0.1',
    env: {},
    logger: false,
    times: { linger: 10 },
  })
})

afterEach(async () => {
  await app.close()
})

function get(path: string, ...headers: string[]): string {
  return `GET ${path} HTTP/1.1\r\n${['Host: x', ...headers].join('\r\n')}\r\n\r\n`
}

function open(): Socket {
  return connect(Number(new URL(app.url).port), '127.0.0.1')
}

/** Sends the text. @returns everything received until the connection ends or `isEnough` returns true */
async function exchange(text: string, isEnough = (_all: string) => false): Promise<string> {
  const socket = open()
  socket.write(text)
  let all = ''
  await new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      all += chunk.toString('latin1')
      if (isEnough(all)) resolve()
    })
    socket.on('close', resolve)
    socket.on('error', reject)
  })
  socket.destroy()
  return all
}

function statuses(all: string): number[] {
  return [...all.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
}

function names(all: string): (string | undefined)[] {
  return [...all.matchAll(/\{"name":"(\w+)"\}/g)].map(([, name]) => name)
}

describe('pipelined requests', () => {
  it('get their responses in order, one handler at a time', async () => {
    onStart = (name) => {
      setImmediate(() => waiting.get(name)?.())
    }
    const paths = ['/wait/a', '/now/b', '/wait/c', '/wait/d', '/now/e']
    const all = await exchange(
      paths.map((path) => get(path)).join('') + get('/now/f', 'Connection: close'),
    )
    expect(names(all)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
    expect(started).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
    expect(maxRunning).toBe(1)
  })

  it('can have bodies, with a length and in chunks', async () => {
    const head = 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
    const all = await exchange(
      get('/now/a') +
        `${head}Content-Length: 7\r\n\r\n{"a":1}` +
        `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"b":\r\n2\r\n2}\r\n0\r\n\r\n` +
        get('/now/c', 'Connection: close'),
    )
    expect(statuses(all)).toEqual([200, 200, 200, 200])
    expect(all).toMatch(/"a"[^]*\{"body":\{"a":1\}\}[^]*\{"body":\{"b":2\}\}[^]*"c"/)
  })

  it('can arrive in pieces of any size', async () => {
    const text = get('/now/a') + get('/now/b') + get('/now/c', 'Connection: close')
    for (const size of [1, 7, 41, 60]) {
      const socket = open()
      let all = ''
      socket.on('data', (chunk: Buffer) => (all += chunk.toString()))
      const closed = new Promise((resolve) => socket.on('close', resolve))
      for (let at = 0; at < text.length; at += size) {
        const part = text.slice(at, at + size)
        await new Promise<void>((resolve) =>
          socket.write(part, () => {
            resolve()
          }),
        )
      }
      await closed
      expect(names(all)).toEqual(['a', 'b', 'c'])
    }
  })

  it('wait for a response that is larger than the buffers of the connection', async () => {
    const all = await exchange(get('/large') + get('/now/b', 'Connection: close'))
    expect(all.length).toBeGreaterThan(3_000_000)
    expect(names(all)).toEqual(['b'])
  })

  it('close the connection if more than 64 are waiting', async () => {
    const all = await exchange(get('/now/x').repeat(1000))
    expect(statuses(all)).toHaveLength(65)
    expect(all.match(/Connection: close/g)).toHaveLength(1)
    expect(started).toHaveLength(65)
  })

  it('run one per turn of the event loop, also with synchronous handlers', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(300) })
    const post = `POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    expect(statuses(await exchange(post.repeat(200)))).toHaveLength(65)
  })

  it('can go on without end if at most 64 are waiting', async () => {
    const socket = open()
    let answered = 0
    let sent = 10
    socket.write(get('/now/x').repeat(10))
    await new Promise<void>((resolve, reject) => {
      socket.on('data', (chunk: Buffer) => {
        const count = statuses(chunk.toString()).length
        answered += count
        if (answered >= 500) resolve()
        sent += count
        socket.write(get('/now/x').repeat(count))
      })
      socket.on('close', () => {
        reject(new Error(`closed after ${answered}`))
      })
    })
    expect(sent).toBeGreaterThanOrEqual(500)
    socket.destroy()
  })

  it.each([
    [
      'bytes after Connection: close',
      get('/wait/a', 'Connection: close') + 'x'.repeat(50_000),
      [200],
    ],
    [
      'requests after Connection: close',
      get('/wait/a', 'Connection: close') + get('/now/b').repeat(900),
      [200],
    ],
    [
      'a malformed request',
      `${get('/wait/a')}${get('/wait/b')}nonsense\r\n\r\n${get('/now/c')}`,
      [200, 200, 400],
    ],
    [
      'a head that is too large',
      `${get('/wait/a')}${get('/now/b', `X: ${'x'.repeat(20_000)}`)}`,
      [200, 431],
    ],
    ['a CONNECT', `${get('/wait/a')}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`, [200]],
    [
      'a request to upgrade the protocol',
      get('/wait/a') +
        get('/now/b', 'Connection: Upgrade', 'Upgrade: h2c') +
        get('/now/c', 'Connection: close'),
      [200, 200, 200],
    ],
  ])('get their responses before %s', async (_, text, expected) => {
    onStart = (name) => {
      setImmediate(() => waiting.get(name)?.())
    }
    expect(statuses(await exchange(text))).toEqual(expected)
  })

  it('are dropped when the client disconnects', async () => {
    const first = new Promise<void>(
      (resolve) =>
        (onStart = () => {
          resolve()
        }),
    )
    const socket = open()
    socket.write(get('/wait/a') + get('/now/b').repeat(50))
    await first
    const disconnected = new Promise<void>(
      (resolve) =>
        (onStart = () => {
          resolve()
        }),
    )
    socket.destroy()
    // The request of another client starts after the server has noticed the disconnect.
    const other = open()
    other.write(get('/wait/other'))
    await disconnected
    waiting.get('a')?.()
    waiting.get('other')?.()
    await new Promise((resolve) => other.once('data', resolve))
    other.destroy()
    expect(started).toEqual(['a', 'other'])
  })
})

describe('an application that closes', () => {
  it('closes the connections of responses that start after the close', async () => {
    const streamStarted = new Promise<void>(
      (resolve) =>
        (onStart = () => {
          resolve()
        }),
    )
    const exchanged = exchange(get('/stream'))
    await streamStarted
    const closed = app.close()
    waiting.get('stream')?.()
    expect(await exchanged).toMatch(/^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n/)
    await closed
  })
})
