import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  currentRequest,
  Get,
  Module,
  NoAuth,
  Post,
  reply,
  type Application,
  type HttpRequest,
} from '../../src/index.js'
import { bodyOf, exchange, open, statusOf } from './raw-client.js'

let release: () => void = () => undefined
let entered: () => void = () => undefined

@Controller
class TestController {
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

  @Get('/never', { timeout: 30 })
  never() {
    return new Promise(() => undefined)
  }

  @Post('/echo')
  @NoAuth
  echo(body: unknown) {
    return reply(body)
  }

  @Get('/whoami')
  async whoami(request: HttpRequest) {
    const before = currentRequest() === request
    await Promise.resolve()
    return { before, after: currentRequest() === request }
  }
}

@Module({ controllers: [TestController], requestContext: true })
class TestModule {}

const options = { port: 0, host: '127.0.0.1', logger: false, env: {} }

describe('the server', () => {
  let app: Application
  /** An application with short timeouts. */
  let hasty: Application

  beforeAll(async () => {
    app = await bootstrap(TestModule, { ...options, times: { keepAlive: 1000 } })
    hasty = await bootstrap(TestModule, { ...options, times: { headers: 300, request: 200 } })
  })
  afterAll(() => Promise.all([app.close(), hasty.close()]))

  it('announces no end of idle connections that have none', async () => {
    const response = await fetch(`${app.url}/fast`)
    expect(response.headers.get('keep-alive')).toMatch(/^timeout=1\b/)
    const lasting = await bootstrap(TestModule, { ...options, times: { keepAlive: Infinity } })
    const { headers } = await fetch(`${lasting.url}/fast`)
    expect([headers.get('connection'), headers.get('keep-alive')]).toEqual(['keep-alive', null])
    await lasting.close()
  })

  it.each<[string, string, number]>([
    [
      'a URL over 8 KiB',
      `GET /${'a'.repeat(8200)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      414,
    ],
    [
      'a header block over 16 KiB',
      `GET /fast HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(17_000)}\r\n\r\n`,
      431,
    ],
    [
      '2,000 headers',
      `GET /fast HTTP/1.1\r\nConnection: close\r\nHost: x\r\n${'a:\r\n'.repeat(2_000)}\r\n`,
      431,
    ],
    [
      'two Host headers with a thousand others between them',
      `GET /fast HTTP/1.1\r\nHost: x\r\n${'a:\r\n'.repeat(1_500)}Host: y\r\nConnection: close\r\n\r\n`,
      400,
    ],
    [
      'two Host headers',
      'GET /fast HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n',
      400,
    ],
    ['no Host header', 'GET /fast HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    [
      'two Authorization headers',
      'GET /fast HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nauthorization: b\r\nConnection: close\r\n\r\n',
      400,
    ],
    [
      'two Content-Type headers',
      'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
      400,
    ],
    [
      'two Content-Length headers',
      'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
      400,
    ],
    [
      'Content-Length with Transfer-Encoding',
      'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['bytes that are not HTTP', 'HELO there\r\n\r\n', 400],
    ['an unknown method', 'BREW /fast HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a header name with a blank', 'GET /fast HTTP/1.1\r\nHost : x\r\n\r\n', 400],
    [
      'an expectation it does not know',
      'POST /echo HTTP/1.1\r\nHost: x\r\nExpect: the-unexpected\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
      417,
    ],
    ['TRACE', 'TRACE /fast HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 405],
    ['a head that does not end', 'GET /fast HTTP/1.1\r\nHost: x\r\nX-Slow: 1\r\n', 408],
    [
      'a body that does not end',
      'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"a":',
      408,
    ],
  ])('answers %s with an error and the CORS headers', async (_, text, status) => {
    const answer = await exchange((status === 408 ? hasty : app).url, text)
    expect(statusOf(answer)).toBe(status)
    expect(JSON.parse(bodyOf(answer))).toEqual({
      error: expect.any(String),
      code: expect.stringMatching(/^[A-Z_]+$/),
    })
    expect(answer).toMatch(/\r\naccess-control-allow-origin: \*\r\n/i)
    expect(answer).toMatch(/\r\nconnection: close\r\n/i)
    expect((await fetch(`${app.url}/fast`)).status).toBe(200)
  })

  it.each([
    ['GET http://elsewhere.example/fast?x=1 HTTP/1.1', 200],
    ['GET HTTP://elsewhere.example HTTP/1.1', 404],
    ['OPTIONS * HTTP/1.1', 204],
    ['GET /fast HTTP/1.0', 200],
  ])('answers %s with %d', async (line, status) => {
    const answer = await exchange(app.url, `${line}\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(statusOf(answer)).toBe(status)
  })

  it('sends 100 Continue to a waiting client, unless it is refused', async () => {
    const head = 'HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n'
    const isDone = (answer: string): boolean => answer.includes('100 Continue')
    const response = await exchange(app.url, `POST /echo ${head}Content-Length: 2\r\n\r\n`, isDone)
    expect(response).toMatch(/^HTTP\/1\.1 100 Continue/)
    const large = `POST /echo ${head}Content-Length: 99999999\r\n\r\n`
    const refused = await exchange(app.url, large, (answer) => answer.includes('"error"'))
    expect(statusOf(refused)).toBe(413)
  })

  it('answers requests that arrive in one packet in their order', async () => {
    const request = (path: string, end: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: ${end}\r\n\r\n`
    const answer = await exchange(app.url, request('/fast', 'keep-alive') + request('/no', 'close'))
    expect(answer.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404'])
  })

  it('returns 503 when a handler takes too long', async () => {
    const answer = await fetch(`${app.url}/never`)
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { error: 'The request took too long.', code: 'SERVICE_UNAVAILABLE' },
    ])
  })

  it('keeps the current request through promises where a controller reads it', async () => {
    const answer = await fetch(`${app.url}/whoami`)
    expect(await answer.json()).toEqual({ before: true, after: true })
  })
})

describe('close', () => {
  it('finishes running requests, and answers new ones until the port is closed', async () => {
    const app = await bootstrap(TestModule, { ...options, times: { linger: 2000 } })
    const started = new Promise<void>((resolve) => {
      entered = resolve
    })
    const inFlight = fetch(`${app.url}/slow`)
    await started
    const closing = app.close()
    const newResponse = await fetch(`${app.url}/fast`)
    expect([newResponse.status, newResponse.headers.get('connection')]).toEqual([200, 'close'])
    release()
    const answer = await inFlight
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close'])
    await closing
    await app.close()
  })

  it('ends idle connections', async () => {
    const app = await bootstrap(TestModule, options)
    const socket = open(app.url)
    await once(socket, 'connect')
    socket.write('GET /fast HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
    const closed = once(socket, 'close')
    await app.close()
    await closed
  })

  it('ends connections without a request, while others are served', async () => {
    const app = await bootstrap(TestModule, options)
    const socket = open(app.url)
    await once(socket, 'connect')
    const started = new Promise<void>((resolve) => {
      entered = resolve
    })
    const inFlight = fetch(`${app.url}/slow`)
    await started
    const closed = once(socket, 'close')
    const closing = app.close()
    await closed
    release()
    expect((await inFlight).status).toBe(200)
    await closing
  })

  it('aborts running requests after the drain time', async () => {
    const app = await bootstrap(TestModule, { ...options, times: { drain: 50 } })
    const started = new Promise<void>((resolve) => {
      entered = resolve
    })
    const inFlight = fetch(`${app.url}/slow`).then(
      () => 'answered',
      () => 'cut',
    )
    await started
    await app.close()
    expect(await inFlight).toBe('cut')
    release()
  })

  it('is called at the end of a block with `await using`', async () => {
    let url = ''
    {
      await using app = await bootstrap(TestModule, options)
      url = app.url
      expect((await fetch(`${url}/fast`)).status).toBe(200)
    }
    await expect(fetch(`${url}/fast`)).rejects.toThrow()
  })

  it('reports a port that is in use, and leaves nothing open', async () => {
    await using app = await bootstrap(TestModule, options)
    const port = Number(new URL(app.url).port)
    const second = bootstrap(TestModule, { ...options, port })
    await expect(second).rejects.toMatchObject({ problems: [{ code: 'PORT_TAKEN' }] })
    await expect(second).rejects.toThrow(`port ${port} is used`)
  })

  it('listens on both addresses of localhost, at one port', async () => {
    const app = await bootstrap(TestModule, { ...options, host: 'localhost' })
    const { port } = new URL(app.url)
    expect(app.url).toBe(`http://localhost:${port}`)
    const addresses = [app.url, `http://127.0.0.1:${port}`, `http://[::1]:${port}`]
    for (const address of addresses) expect((await fetch(`${address}/fast`)).status).toBe(200)
    const second = bootstrap(TestModule, { ...options, port: Number(port), host: '::1' })
    await expect(second).rejects.toMatchObject({ problems: [{ code: 'PORT_TAKEN' }] })
    await app.close()
    for (const address of addresses) await expect(fetch(`${address}/fast`)).rejects.toThrow()
  })

  it('reports a port of localhost that is taken on ::1 only', async () => {
    await using app = await bootstrap(TestModule, { ...options, host: '::1' })
    const port = Number(new URL(app.url).port)
    const second = bootstrap(TestModule, { ...options, port, host: 'localhost' })
    await expect(second).rejects.toMatchObject({ problems: [{ code: 'PORT_TAKEN' }] })
  })

  it('reports a host that does not belong to this machine', async () => {
    const elsewhere = bootstrap(TestModule, { ...options, host: '192.0.2.1' })
    await expect(elsewhere).rejects.toMatchObject({ problems: [{ code: 'HOST_UNKNOWN' }] })
    await expect(elsewhere).rejects.toThrow('host 192.0.2.1 is not an address of this machine')
  })
})

describe('handle', () => {
  it('answers a web-standard request', async () => {
    await using app = await bootstrap(TestModule, { ...options, listen: false })
    const get = await app.handle(new Request('http://x/fast'))
    expect([get.status, await get.json()]).toEqual([200, { fast: true }])
    const json = {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json' },
    }
    const post = await app.handle(new Request('http://x/echo', json))
    expect([post.status, await post.json()]).toEqual([200, { a: 1 }])
    const head = await app.handle(new Request('http://x/fast', { method: 'HEAD' }))
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      '13',
      '',
    ])
    expect(() => app.url).toThrow('does not listen')
  })
})
