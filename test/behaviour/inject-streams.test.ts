/** `inject` and `handle` deliver streams completely, no faster than they are read, and close them. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  events,
  Get,
  Module,
  reply,
  type Application,
} from '../../src/index.js'

const piece = 'x'.repeat(1000)
let producedCount = 0
let ended = 0

function* pieces(count: number, size: number): Generator<string> {
  try {
    for (let index = 0; index < count; index++) {
      producedCount++
      yield 'x'.repeat(size)
    }
  } finally {
    ended++
  }
}

@Controller
class StreamController {
  @Get('/sync/<count:int>/<size:int>')
  sync(count: number, size: number) {
    return reply(pieces(count, size))
  }

  @Get('/eager/<count:int>/<size:int>')
  async *eager(count: number, size: number) {
    yield* pieces(count, size)
  }

  @Get('/web/<count:int>/<size:int>')
  web(count: number, size: number) {
    const source = pieces(count, size)
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        const { value, done } = source.next()
        if (done === true) controller.close()
        else controller.enqueue(Buffer.from(value))
      },
    })
  }

  @Get('/events/<count:int>/<size:int>')
  events(count: number, size: number) {
    return events(pieces(count, size))
  }

  @Get('/broken')
  async *broken() {
    for (let index = 0; index < 100; index++) yield piece
    throw new Error('broken in the middle')
  }
}

@Module({ controllers: [StreamController] })
class StreamModule {}

const kinds = ['sync', 'eager', 'web', 'events']
const shapes = [
  [1, 100_000],
  [30, 1000],
  [1000, 1000],
  [3, 70_000],
  [20_000, 10],
]

describe('inject and handle', () => {
  let app: Application

  beforeAll(async () => {
    app = await bootstrap(StreamModule, { listen: false, logger: false, env: {} })
  })
  afterAll(() => app.close())

  it.each(kinds.flatMap((kind) => shapes.map(([count, size]) => [kind, count, size] as const)))(
    'deliver a stream by %s of %d pieces of %d bytes completely',
    async (kind, count = 0, size = 0) => {
      const framing = kind === 'events' ? ':\n\n'.length + count * 'data: \n\n'.length : 0
      const url = `/${kind}/${count}/${size}`
      expect((await app.inject(url)).bytes).toHaveLength(count * size + framing)
      const answer = await app.handle(new Request(`http://localhost${url}`))
      expect((await answer.arrayBuffer()).byteLength).toBe(count * size + framing)
    },
  )

  it.each(kinds)('read a stream by %s only as fast as the client, and close it', async (kind) => {
    producedCount = ended = 0
    const answer = await app.handle(new Request(`http://localhost/${kind}/100000/1000`))
    const reader = answer.body?.getReader()
    await reader?.read()
    for (let cycle = 0; cycle < 20; cycle++) await new Promise(setImmediate)
    expect(producedCount).toBeLessThan(200)
    await reader?.cancel()
    for (let cycle = 0; cycle < 20; cycle++) await new Promise(setImmediate)
    expect([ended, producedCount < 250]).toEqual([kind === 'web' ? 0 : 1, true])
  })

  it('close the stream of an aborted request', async () => {
    producedCount = ended = 0
    const abort = new AbortController()
    const request = new Request('http://localhost/eager/100000/1000', { signal: abort.signal })
    const answer = await app.handle(request)
    abort.abort()
    await expect(answer.arrayBuffer()).rejects.toThrow()
    expect(ended).toBe(1)
  })

  it('reject if the stream fails in the middle', async () => {
    await expect(app.inject('/broken')).rejects.toThrow('cut off')
    const answer = await app.handle(new Request('http://localhost/broken'))
    await expect(answer.arrayBuffer()).rejects.toThrow()
  })
})
