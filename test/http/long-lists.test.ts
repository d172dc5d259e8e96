/**
 * JSON of long lists is written in slices of the event loop: the text is the same, and other requests are answered between
 * slices. The same is true between large responses, whose handlers start one per turn of the event loop.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  Module,
  reply,
  type RouteResponse,
  type Application,
  type HttpRequest,
  type Interceptor,
  type Next,
} from '../../src/index.js'

const text = 'é'.repeat(100)
const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, text, none: undefined }))
const letters = 'x'.repeat(300_000)
let startedCount = 0
let heldLists = 0
let maxHeldLists = 0

@Controller
class ListController {
  @Get('/rows', { etag: true })
  rows() {
    return rows
  }

  @Get('/reply')
  reply() {
    return reply([...rows, undefined, () => 1], 201).header('X-Rows', '20002')
  }

  @Get('/cut')
  cut() {
    const list: unknown[] = [...rows]
    setImmediate(() => list.splice(0))
    return list
  }

  @Get('/faulty')
  faulty() {
    const last = {
      toJSON() {
        throw new TypeError('no JSON of this')
      },
    }
    return [...rows, last]
  }

  /** Rows created for this request, which are in memory until they are written. */
  @Get('/held')
  heldRows() {
    maxHeldLists = Math.max(maxHeldLists, ++heldLists)
    const last = { toJSON: () => --heldLists && 0 }
    return [...rows, last]
  }

  @Get('/object')
  object() {
    startedCount++
    return { rows }
  }

  @Get('/text')
  text() {
    startedCount++
    return reply(letters).type('text/plain')
  }

  @Get('/bytes')
  bytes() {
    startedCount++
    return Buffer.from(letters)
  }

  @Get('/small')
  small() {
    return [1]
  }
}

@Module({ controllers: [ListController] })
class ListModule {}

/** Reads the text of each response. */
class Counting implements Interceptor {
  static readonly before = 'body'
  async intercept(_request: HttpRequest, next: Next): Promise<RouteResponse> {
    const response = await next()
    response.headers.set('X-Letters', String(response.body).length)
    return response
  }
}

describe('a large response', () => {
  it.each(['/object', '/text', '/bytes'])(
    'of %s lets other requests be answered before the next one is created',
    async (path) => {
      const app = await bootstrap(ListModule, { port: 0, logger: false, env: {} })
      try {
        startedCount = 0
        const many = Array.from({ length: 10 }, () => app.inject(path))
        expect((await app.inject('/small')).json()).toEqual([1])
        expect(startedCount).toBeLessThanOrEqual(3)
        const lengths = (await Promise.all(many)).map(({ body }) => body.length)
        expect([new Set(lengths).size, startedCount]).toEqual([1, 10])
      } finally {
        await app.close()
      }
    },
  )
})

describe.each([
  ['', []],
  [' with an interceptor around', [Counting]],
])('a long list%s', (_, use) => {
  let app: Application

  beforeAll(async () => {
    app = await bootstrap(ListModule, { listen: false, logger: false, env: {}, use })
  })
  afterAll(() => app.close())

  it('is the same JSON as a small one', async () => {
    const { status, headers, body } = await app.inject('/rows')
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
    expect(body === JSON.stringify(rows)).toBe(true)
    expect(headers['content-length']).toBe(String(Buffer.byteLength(JSON.stringify(rows))))
    const ifNoneMatch = { headers: { 'if-none-match': String(headers.etag) } }
    expect((await app.inject({ url: '/rows', ...ifNoneMatch })).status).toBe(304)
    expect((await app.inject({ method: 'HEAD', url: '/rows' })).body).toBe('')
  })

  it('is the same in a reply, with values that have no JSON', async () => {
    const { status, headers, body } = await app.inject('/reply')
    expect([status, headers['x-rows']]).toEqual([201, '20002'])
    expect(body === JSON.stringify([...rows, undefined, null])).toBe(true)
  })

  it('is the list as returned, whatever happens to it later', async () => {
    expect((await app.inject('/cut')).json()).toHaveLength(20_000)
  })

  it('is 500 where an element cannot be written', async () => {
    expect((await app.inject('/faulty')).status).toBe(500)
  })

  it('lets other requests be answered meanwhile, and holds few lists at a time', async () => {
    const order: string[] = []
    const many = Array.from({ length: 10 }, () =>
      app.inject('/held').then(() => order.push('long')),
    )
    await app.inject('/small').then(() => order.push('small'))
    expect(order).toEqual(['small'])
    await Promise.all(many)
    expect(heldLists).toBe(0)
    expect(maxHeldLists).toBeLessThanOrEqual(3)
  })
})
