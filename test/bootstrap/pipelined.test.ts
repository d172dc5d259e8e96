import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  HttpError,
  Module,
  reply,
  type Application,
  type HttpRequest,
} from '../../src/index.js'
import { exchange, open } from './raw-client.js'

const long = 'lamp '.repeat(400_000)

/** Called when streams and handlers start and end. */
const observer: { onStart?: (name: string) => void; onEnd?: (name: string) => void } = {}

@Controller
class TestController {
  @Get('/ascii')
  ascii() {
    return { name: 'Lamp' }
  }

  @Get('/wide')
  wide() {
    return { name: 'Lämpchen 灯 💡' }
  }

  @Get('/late')
  async delayed() {
    await new Promise((resolve) => setImmediate(resolve))
    return { delayed: 'später' }
  }

  @Get('/long')
  long() {
    return long
  }

  @Get('/header')
  header() {
    return reply({ ok: true }).header('Content-Disposition', 'inline; filename="lämpchen.txt"')
  }

  @Get('/drops')
  async *drops() {
    try {
      observer.onStart?.('the stream')
      for (;;) yield long
    } finally {
      observer.onEnd?.('the stream')
    }
  }

  @Get('/signal')
  signal(request: HttpRequest) {
    request.signal.addEventListener('abort', () => observer.onEnd?.('the handler'))
    observer.onStart?.('the handler')
    return new Promise(() => undefined)
  }

  @Get('/bytes')
  bytes() {
    return new Uint8Array([1, 2, 255])
  }

  @Get('/gone')
  removed() {
    throw new HttpError(410, 'Weg für immer.')
  }
}

@Module({ controllers: [TestController] })
class TestModule {}

interface ReceivedResponse {
  readonly status: number
  readonly body: string
}

/** Splits the received text into responses, each by its own length. */
function cut(received: string): ReceivedResponse[] {
  const responses: ReceivedResponse[] = []
  let rest = received
  while (rest !== '') {
    const head = rest.slice(0, rest.indexOf('\r\n\r\n'))
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    const start = head.length + 4
    const body = Buffer.from(rest.slice(start, start + length), 'latin1').toString()
    responses.push({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]), body })
    rest = rest.slice(start + length)
  }
  return responses
}

describe('pipelined requests in one packet', () => {
  let app: Application
  beforeAll(async () => {
    app = await bootstrap(TestModule, { port: 0, host: '127.0.0.1', logger: false, env: {} })
  })
  afterAll(() => app.close())

  const sendAll = async (paths: readonly string[]): Promise<ReceivedResponse[]> => {
    const heads = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    const last = 'GET /ascii HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    return cut(await exchange(app.url, heads.join('') + last))
  }

  const ascii = { status: 200, body: '{"name":"Lamp"}' }
  const wide = { status: 200, body: '{"name":"Lämpchen 灯 💡"}' }

  it('are answered in order, each complete', async () => {
    expect(await sendAll(['/ascii', '/wide', '/ascii', '/header'])).toEqual([
      ascii,
      wide,
      ascii,
      { status: 200, body: '{"ok":true}' },
      ascii,
    ])
  })

  it('wait for a slow one', async () => {
    expect(await sendAll(['/late', '/wide', '/bytes', '/gone', '/late'])).toEqual([
      { status: 200, body: '{"delayed":"später"}' },
      wide,
      { status: 200, body: Buffer.from([1, 2, 255]).toString() },
      { status: 410, body: '{"error":"Weg für immer.","code":"GONE"}' },
      { status: 200, body: '{"delayed":"später"}' },
      ascii,
    ])
  })

  it('may have responses larger than the socket buffer', async () => {
    const responses = await sendAll(['/long', '/wide', '/long'])
    const text = { status: 200, body: long }
    expect(responses).toEqual([text, wide, text, ascii])
  })

  it('get only heads for HEAD', async () => {
    const head = 'HEAD /wide HTTP/1.1\r\nHost: a\r\n\r\n'
    const last = 'HEAD /ascii HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    const received = await exchange(app.url, head + head + last)
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3)
    expect(received).not.toContain('{')
  })

  it.each([
    ['/signal', 'the handler'],
    ['/drops', 'the stream'],
  ])(
    'end when the client leaves, and the later ones never start: %s',
    async (path, handlerName) => {
      const started: string[] = []
      const first = new Promise<void>((resolve) => {
        observer.onStart = (name) => {
          started.push(name)
          resolve()
        }
      })
      const ended = new Promise<string>((resolve) => {
        observer.onEnd = resolve
      })
      const heads = [path, '/signal', '/drops'].map(
        (next) => `GET ${next} HTTP/1.1\r\nHost: a\r\n\r\n`,
      )
      const socket = open(app.url)
      socket.write(heads.join(''))
      await first
      socket.destroy()
      expect(await ended).toBe(handlerName)
      // Other connections are served meanwhile, in more turns of the event loop than the later requests would need.
      expect(await sendAll(['/ascii', '/ascii', '/ascii'])).toEqual([ascii, ascii, ascii, ascii])
      expect(started).toEqual([handlerName])
    },
  )
})
