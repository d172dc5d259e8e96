/** Limits on open streams, for a process and for an address. Source: docs/configuration.md, "Bounds". */
import { afterEach, describe, expect, it } from '@jest/globals'
import { bootstrap, Controller, events, Get, Module, type Application } from '../../src/index.js'

async function* silence(): AsyncGenerator<string> {
  yield 'begun'
  await new Promise(() => undefined)
}

@Controller
class StreamController {
  @Get('/events')
  events() {
    return events(silence())
  }

  @Get('/endless')
  endless() {
    return silence()
  }

  @Get('/short')
  *short() {
    yield 'a'
    yield 'b'
  }
}

@Module({ controllers: [StreamController] })
class StreamModule {}

let app: Application

async function start(limits: Readonly<Record<string, number>>): Promise<void> {
  app = await bootstrap(StreamModule, {
    listen: false,
    logger: false,
    env: {},
    trustProxy: 1,
    limits,
  })
}

function openStream(path: string, address: string): Promise<Response> {
  return app.handle(
    new Request(`http://localhost${path}`, { headers: { 'x-forwarded-for': address } }),
  )
}

afterEach(() => app.close())

describe('open streams', () => {
  it.each(['/events', '/endless'])(
    'by %s: more than the limit of an address is 429',
    async (path) => {
      await start({ streamsByAddress: 2 })
      const open = [await openStream(path, '192.0.2.1'), await openStream(path, '192.0.2.1')]
      expect(open.map(({ status }) => status)).toEqual([200, 200])
      const refused = await openStream(path, '192.0.2.1')
      expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
        429,
        '5',
        { error: 'Too many streams are open from this address.', code: 'TOO_MANY_STREAMS' },
      ])
      expect((await openStream(path, '192.0.2.2')).status).toBe(200)
      await open[0]?.body?.cancel()
      for (let cycle = 0; cycle < 5; cycle++) await new Promise(setImmediate)
      expect((await openStream(path, '192.0.2.1')).status).toBe(200)
    },
  )

  it('by instance: more than the limit is 503', async () => {
    await start({ streams: 2 })
    await openStream('/events', '192.0.2.1')
    await openStream('/events', '192.0.2.2')
    const refused = await openStream('/events', '192.0.2.3')
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { error: 'Too many streams are open.', code: 'TOO_MANY_STREAMS' },
    ])
  })

  it('by default an address can have 100', async () => {
    await start({})
    for (let count = 0; count < 100; count++) await openStream('/events', '2001:db8::1')
    expect((await openStream('/events', '2001:db8::2')).status).toBe(429)
    expect((await openStream('/events', '2001:db8:0:1::1')).status).toBe(200)
  })

  it('that have ended do not count', async () => {
    await start({ streamsByAddress: 1 })
    for (let count = 0; count < 3; count++) {
      expect(await (await openStream('/short', '192.0.2.1')).text()).toBe('ab')
    }
  })

  it('of HEAD requests are not opened', async () => {
    await start({ streamsByAddress: 1 })
    for (let count = 0; count < 3; count++) {
      expect((await app.inject({ method: 'HEAD', url: '/events' })).status).toBe(200)
    }
  })
})
