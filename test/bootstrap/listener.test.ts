/**
 * What clients see of a listening application, over real sockets. Runs on every runtime (`test/runtimes`), because each has a
 * server of its own.
 */
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  events,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  reply,
  type Application,
  type HttpRequest,
  type UploadedFiles,
} from '../../src/index.js'
import { bodyOf, exchange, open, statusOf } from './raw-client.js'

class Line {
  @Field('string', { maxLength: 10 }) sku!: string
  @Field('integer', { min: 1 }) quantity!: number
}

const piece = 'x'.repeat(64 * 1024)
const large = 'é'.repeat(2_000_000)
let produced = 0
let release: () => void = () => undefined
/** Settles the promise of the running test when a handler reports something. */
let report: (what: string) => void = () => undefined
const reported = (): Promise<string> =>
  new Promise((resolve) => {
    report = resolve
  })

@Controller
class ListenerController {
  @Get('/lamps/<lamp:int>', { args: ['lamp'] })
  lamp(lamp: number) {
    return { lamp, name: 'Lämp' }
  }

  @Post('/lines', { body: Line, args: ['body'] })
  @NoAuth
  line(body: Line) {
    return body
  }

  @Post('/echo', { args: ['body', 'files'] })
  @NoAuth
  echo(body: unknown, files: UploadedFiles) {
    return { body, files: Object.keys(files) }
  }

  @Get('/about', { args: ['request'] })
  about(request: HttpRequest) {
    return reply({ ip: request.ip, url: request.url, host: request.headers.host })
      .cookie('a', '1')
      .cookie('b', '2')
  }

  @Get('/large')
  large() {
    return reply(large)
  }

  @Get('/pieces')
  async *pieces() {
    try {
      for (produced = 0; produced < 2000; produced++) yield piece
    } finally {
      report('the stream ended')
    }
  }

  @Get('/broken')
  async *broken() {
    yield piece
    throw new Error('broken')
  }

  @Get('/events')
  events() {
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    return events(
      (async function* () {
        yield { data: { n: 1 } }
        await released
        yield { data: { n: 2 } }
      })(),
    )
  }

  @Get('/slow', { args: ['request'] })
  async slow(request: HttpRequest) {
    report('the handler began')
    request.signal.addEventListener('abort', () => {
      report('the signal aborted')
    })
    await new Promise<void>((resolve) => {
      release = resolve
    })
    return { slow: true }
  }
}

@Module({ controllers: [ListenerController] })
class ListenerModule {}

/** Deno's server leaves more to its clients: docs/compatibility.md. It listens for applications behind a proxy. */
const isDeno = 'Deno' in globalThis
const behindProxy = isDeno ? { keepAlive: Infinity } : {}

const options = { port: 0, host: '127.0.0.1', logger: false, env: {}, times: behindProxy }
const headTo = (host: string, line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, `Host: ${host}`, ...headers, '', ''].join('\r\n')
const head = (line: string, ...headers: string[]): string => headTo('x', line, ...headers)
const isComplete = (response: string): boolean => response.includes('\r\n\r\n')

let app: Application
/** The running application, for requests. */
const ask = (path: string, init?: RequestInit): Promise<Response> => fetch(app.url + path, init)
const json = { 'content-type': 'application/json' }
const send = (path: string, body: unknown): Promise<Response> =>
  ask(path, { method: 'POST', headers: json, body: JSON.stringify(body) })

beforeAll(async () => {
  app = await bootstrap(ListenerModule, { ...options, times: { ...behindProxy, request: 300 } })
})
afterAll(() => app.close())

describe('responses', () => {
  it('have status, type, length and CORS', async () => {
    const response = await ask('/lamps/7')
    const { status, headers } = response
    expect([status, await response.json()]).toEqual([200, { lamp: 7, name: 'Lämp' }])
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('content-length')).toBe('25')
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('to HEAD have the length, and no body', async () => {
    const text = await exchange(app.url, head('HEAD /lamps/7', 'Connection: close'))
    expect([statusOf(text), bodyOf(text)]).toEqual([200, ''])
    expect(text).toMatch(/^content-length: 25\r$/im)
  })

  it.each([
    ['/nothing', 404],
    ['/lamps/x', 404],
    ['/echo', 405],
    ['/%ZZ', 400],
  ])('to GET %s have the status %d', async (path, status) => {
    const response = await ask(path)
    expect([response.status, typeof ((await response.json()) as { error: unknown }).error]).toEqual(
      [status, 'string'],
    )
    expect(response.headers.get('allow')).toBe(status === 405 ? 'POST, OPTIONS' : null)
  })

  it('keep several cookies apart, and handlers see the client', async () => {
    const response = await ask('/about?a=%20b')
    expect(response.headers.getSetCookie()).toHaveLength(2)
    const host = new URL(app.url).host
    expect(await response.json()).toEqual({ ip: '127.0.0.1', url: '/about?a=%20b', host })
  })

  it('with a large body arrive complete', async () => {
    const response = await ask('/large')
    expect((await response.text()) === large).toBe(true)
  })

  it('to a preflight request are empty', async () => {
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' }
    const response = await ask('/lines', { method: 'OPTIONS', headers })
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(response.headers.get('access-control-allow-methods')).toContain('POST')
  })
})

describe('bodies', () => {
  it('are checked', async () => {
    const line = { sku: 'LAMP-7', quantity: 2 }
    expect(await (await send('/lines', line)).json()).toEqual(line)
    expect((await send('/lines', { ...line, quantity: 0 })).status).toBe(400)
    expect((await ask('/lines', { method: 'POST', headers: json, body: '{' })).status).toBe(400)
  })

  it('are empty, in chunks, or longer than a chunk', async () => {
    expect(await (await ask('/echo', { method: 'POST' })).json()).toEqual({ files: [] })
    const type = 'Content-Type: text/plain'
    const chunked = head('POST /echo', type, 'Transfer-Encoding: chunked', 'Connection: close')
    const text = await exchange(app.url, `${chunked}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`)
    expect(bodyOf(text)).toContain('"body":"abcde"')
    const long = 'y'.repeat(600_000)
    const headers = { 'content-type': 'text/plain' }
    const response = await ask('/echo', { method: 'POST', headers, body: long })
    expect(((await response.json()) as { body: string }).body === long).toBe(true)
  })

  it('over the limit are 413, announced, in chunks, and as an upload', async () => {
    const announced = head('POST /echo', 'Content-Length: 2000000')
    const refused = await exchange(app.url, announced, isDeno ? isComplete : undefined)
    expect(statusOf(refused)).toBe(413)
    expect(refused).toMatch(/^connection: close\r$/im)
    const chunk = `${(200_000).toString(16)}\r\n${'z'.repeat(200_000)}\r\n`
    const chunked = head('POST /echo', 'Transfer-Encoding: chunked') + chunk.repeat(6)
    expect(statusOf(await exchange(app.url, `${chunked}0\r\n\r\n`, isComplete))).toBe(413)
    const form = new FormData()
    form.append('photo', new Blob(['p'.repeat(11_000_000)]), 'photo.png')
    expect((await ask('/echo', { method: 'POST', body: form })).status).toBe(413)
  })

  it('with files are read', async () => {
    const form = new FormData()
    form.append('note', 'a')
    form.append('photo', new Blob(['p'.repeat(300_000)]), 'photo.png')
    const response = await ask('/echo', { method: 'POST', body: form })
    expect(await response.json()).toEqual({ body: { note: 'a' }, files: ['photo'] })
  })

  it('that do not arrive in time are 408', async () => {
    const text = await exchange(
      app.url,
      `${head('POST /echo', 'Content-Length: 10')}abc`,
      isComplete,
    )
    expect(statusOf(text)).toBe(408)
  })

  it('that the client announces are asked for with 100', async () => {
    const client = open(app.url)
    const type = 'Content-Type: text/plain'
    client.write(head('POST /echo', type, 'Content-Length: 3', 'Expect: 100-continue'))
    let text = ''
    client.on('data', (chunk: Buffer) => {
      text += String(chunk)
      if (text.startsWith('HTTP/1.1 100 Continue\r\n\r\n') && !text.includes('abc'))
        client.write('abc')
      if (text.includes('"body":"abc"')) client.destroy()
    })
    await once(client, 'close')
    expect(text).toContain('"body":"abc"')
  })

  it.each([
    ['two lengths', ['Content-Length: 1', 'Content-Length: 1']],
    ['a length and chunks', ['Content-Length: 1', 'Transfer-Encoding: chunked']],
  ])('with %s are 400', async (_, headers) => {
    const text = await exchange(app.url, `${head('POST /echo', ...headers)}a`, isComplete)
    expect(statusOf(text)).toBe(400)
  })
})

describe('heads', () => {
  it.each([
    ['a long URL', 414, [`GET /lamps/7?q=${'x'.repeat(9000)}`]],
    isDeno
      ? ['a long header', 400, ['GET /lamps/7', `X-Long: ${'x'.repeat(70_000)}`]]
      : ['a long header', 431, ['GET /lamps/7', `X-Long: ${'x'.repeat(20_000)}`]],
    [
      'another coding of the body',
      'Bun' in globalThis ? 400 : 501,
      ['POST /echo', 'Transfer-Encoding: gzip, chunked'],
    ],
  ] as const)('with %s are %d', async (_, status, [line, ...headers]) => {
    const text = await exchange(app.url, head(line, ...headers), isComplete)
    expect(statusOf(text)).toBe(status)
  })

  it('with a path in the host are 400', async () => {
    const text = await exchange(app.url, headTo('x/lamps', 'GET /7'), isComplete)
    expect(statusOf(text)).toBe(400)
  })

  it('of several requests on one connection are served in turn', async () => {
    const client = open(app.url)
    let text = ''
    let sent = 0
    const next = (): void => {
      sent++
      client.write(head('GET /lamps/7'))
    }
    client.on('data', (chunk: Buffer) => {
      text += String(chunk)
      if (text.split('"lamp":7').length - 1 < sent) return
      if (sent === 3) client.destroy()
      else next()
    })
    next()
    await once(client, 'close')
    expect(text.split('HTTP/1.1 200 OK')).toHaveLength(4)
  })
})

describe('clients that leave', () => {
  it('abort the signal of the handler', async () => {
    const began = reported()
    const client = open(app.url)
    client.write(head('GET /slow'))
    expect(await began).toBe('the handler began')
    const aborted = reported()
    client.destroy()
    expect(await aborted).toBe('the signal aborted')
    release()
    expect((await ask('/lamps/7')).status).toBe(200)
  })

  it('end a stream, which waits for them before', async () => {
    const ended = reported()
    const client = open(app.url)
    client.write(head('GET /pieces'))
    await once(client, 'readable')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(produced).toBeLessThan(1000)
    client.destroy()
    expect(await ended).toBe('the stream ended')
    expect(produced).toBeLessThan(2000)
  })
})

describe('streams', () => {
  it('are complete', async () => {
    const response = await ask('/pieces')
    expect((await response.arrayBuffer()).byteLength).toBe(2000 * piece.length)
  })

  it('that fail break off', async () => {
    const response = await ask('/broken')
    await expect(response.text()).rejects.toThrow()
  })

  it('of events arrive one by one', async () => {
    const reader = (await ask('/events')).body!.getReader()
    let text = ''
    const readUntil = async (part: string): Promise<void> => {
      while (!text.includes(part)) {
        const { done, value } = await reader.read()
        if (done) throw new Error(`ended after ${text}`)
        text += Buffer.from(value).toString()
      }
    }
    await readUntil('"n":1')
    release()
    await readUntil('"n":2')
    await reader.cancel()
  })
})

describe('close', () => {
  it('waits for requests that run, and ends their connections', async () => {
    const times = { ...behindProxy, linger: 50 }
    const closing = await bootstrap(ListenerModule, { ...options, times })
    const began = reported()
    const response = exchange(closing.url, head('GET /slow'))
    await began
    let isClosed = false
    const closed = closing.close().then(() => {
      isClosed = true
    })
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(isClosed).toBe(false)
    release()
    const text = await response
    expect([statusOf(text), bodyOf(text)]).toEqual([200, '{"slow":true}'])
    expect(text).toMatch(/^connection: close\r$/im)
    await closed
    await expect(fetch(`${closing.url}/lamps/7`)).rejects.toThrow()
  })

  it('aborts requests that take too long', async () => {
    const closing = await bootstrap(ListenerModule, {
      ...options,
      times: { ...behindProxy, linger: 50, drain: 300 },
    })
    const began = reported()
    const cutOff = exchange(closing.url, head('GET /slow')).catch(() => '')
    await began
    await closing.close()
    expect(statusOf(await cutOff)).not.toBe(200)
    release()
  })

  it('ends streams of events', async () => {
    const times = { ...behindProxy, linger: 50 }
    const closing = await bootstrap(ListenerModule, { ...options, times })
    const text = exchange(closing.url, head('GET /events')).catch(() => '')
    await new Promise((resolve) => setTimeout(resolve, 100))
    await closing.close()
    await text
    release()
  })
})

describe('addresses', () => {
  it('localhost is both loopback addresses', async () => {
    await using both = await bootstrap(ListenerModule, { ...options, host: 'localhost' })
    const { port } = new URL(both.url)
    expect((await fetch(`http://127.0.0.1:${port}/lamps/7`)).status).toBe(200)
    expect((await fetch(`${both.url}/lamps/7`)).status).toBe(200)
  })

  it('all addresses are the default', async () => {
    await using everywhere = await bootstrap(ListenerModule, { port: 0, logger: false, env: {} })
    const { hostname, port } = new URL(everywhere.url)
    expect(hostname).toBe('localhost')
    expect((await fetch(`http://127.0.0.1:${port}/lamps/7`)).status).toBe(200)
  })

  it('a port in use stops the start', async () => {
    const port = Number(new URL(app.url).port)
    await expect(bootstrap(ListenerModule, { ...options, port })).rejects.toThrow(
      `bootstrap: port ${port} is used by another program.`,
    )
  })
})
