/** Source: decisions, Operations. */
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  addressKey,
  bootstrap,
  Controller,
  Delete,
  Get,
  Module,
  NoAuth,
  Post,
  Secured,
  type Application,
  type BootstrapOptions,
  type HttpRequest,
} from '../../src/index.js'
import { Throttle, throttle } from '../../src/modules/throttle/throttle.js'
import { limitOption } from '../../src/modules/throttle/rule.js'
import { startPostgres } from '../records/postgres-server.js'

@Controller('/items')
class ItemController {
  @Get('/<id:int>') @Throttle('2/m') show(id: number) {
    return { id }
  }
  @Get('/') list() {
    return []
  }
}

@Throttle('3/m')
@Controller('/class')
class ClassController {
  @Get('/a') a() {
    return { a: 1 }
  }
  @Get('/b') @Throttle('1/m', { by: (request) => request.headers['x-client'] }) b() {
    return { b: 1 }
  }
}

@Controller('/mine')
class MineController {
  @Secured
  @Get('/')
  @Throttle('2/m', { by: 'user' })
  mine() {
    return { ok: true }
  }
  @NoAuth @Post('/') open() {
    return { ok: true }
  }
}

@Module({ controllers: [ItemController, ClassController, MineController] })
class AppModule {}

let app: Application | undefined
afterEach(() => app?.close())

const options: BootstrapOptions = {
  port: 0,
  host: '127.0.0.1',
  times: { linger: 20 },
  logger: false,
  docs: { title: 'T', version: '1' },
  env: { APP_API_KEY: 'operator' },
}

async function start(module: new () => object = AppModule, more: BootstrapOptions = {}) {
  app = await bootstrap(module, { ...options, ...more })
  const { url } = app
  return (path: string, init?: RequestInit) => fetch(url + path, init)
}

describe('@Throttle', () => {
  it('has one count for the pattern of a route and returns 429 with the wait', async () => {
    const send = await start()
    const first = await send('/items/1')
    expect(first.status).toBe(200)
    expect(first.headers.get('ratelimit')).toMatch(/^"2\/m";r=1;t=(60|59)$/)
    expect(first.headers.get('ratelimit-policy')).toBe('"2/m";q=2;w=60')
    expect((await send('/items/2', { method: 'HEAD' })).headers.get('ratelimit')).toMatch(/r=0/)
    const third = await send('/items/3')
    expect(third.status).toBe(429)
    expect(await third.json()).toEqual({ error: 'Too many requests', code: 'TOO_MANY_REQUESTS' })
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(50)
    expect(third.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(third.headers.get('ratelimit')).toMatch(/r=0/)
    expect((await send('/items')).headers.get('ratelimit')).toBeNull()
    expect((await send('/items/1', { method: 'OPTIONS' })).status).toBe(204)
  })

  it('counts a limit of a class for each of its routes, and none where one refuses', async () => {
    const send = await start()
    const asClient = { headers: { 'X-Client': 'c' } }
    expect((await send('/class/b', asClient)).status).toBe(200)
    expect((await send('/class/b', asClient)).status).toBe(429)
    expect((await send('/class/b', asClient)).status).toBe(429)
    // The limit of the class has counted one of these three.
    const other = await send('/class/b', { headers: { 'X-Client': 'd' } })
    expect([other.status, other.headers.get('ratelimit')]).toEqual([
      200,
      expect.stringMatching(/^"1\/m";r=0/),
    ])
    expect((await send('/class/b')).headers.get('ratelimit')).toMatch(/^"3\/m";r=0/)
    expect((await send('/class/b')).status).toBe(429)
    expect((await send('/class/a')).headers.get('ratelimit')).toMatch(/^"3\/m";r=2/)
  })

  it('counts by user after authentication: a bad token costs that user nothing', async () => {
    const send = await start()
    const auth = app?.get(Auth)
    const as = async (sub: string) => ({
      headers: { Authorization: `Bearer ${await auth?.getToken({ sub })}` },
    })
    const [ann, bob] = [await as('ann'), await as('bob')]
    const bad = { headers: { Authorization: `${ann.headers.Authorization}x` } }
    for (let index = 0; index < 4; index++) expect((await send('/mine', bad)).status).toBe(401)
    expect((await send('/mine', ann)).status).toBe(200)
    expect((await send('/mine', ann)).status).toBe(200)
    expect((await send('/mine', ann)).status).toBe(429)
    expect((await send('/mine', bob)).status).toBe(200)
  })

  it('is in the document, and invalid limits are refused at the start', async () => {
    await start()
    const { paths = {} } = app?.openapi ?? {}
    expect(paths['/items/{id}']?.get?.responses).toHaveProperty('429')
    expect(paths['/items']?.get?.responses).not.toHaveProperty('429')

    @Controller
    class Faulty {
      @Delete('/x') @Throttle('many', { by: 'name' as 'ip' }) x() {
        return 1
      }
    }
    @Module({ controllers: [Faulty], imports: [throttle({ limit: '0/m' })] })
    class FaultyModule {}
    await expect(bootstrap(FaultyModule, { ...options, listen: false })).rejects.toMatchObject({
      problems: [
        { code: 'INVALID_OPTION', message: 'throttle: limit is "0/m".' },
        { message: '@Throttle on Faulty.x: limit is "many".' },
        { message: '@Throttle on Faulty.x: by is "name".' },
      ],
    })
  })
})

describe('throttle', () => {
  it('counts all routes together, before authentication, unknown paths and bad tokens too', async () => {
    @Module({ imports: [AppModule, throttle({ limit: '4/m' })] })
    class Limited {}
    const send = await start(Limited)
    expect((await send('/mine')).status).toBe(401)
    expect((await send('/nowhere')).headers.get('ratelimit')).toMatch(/r=2/)
    expect((await send('/items/1')).status).toBe(200)
    expect((await send('/items')).status).toBe(200)
    expect((await send('/class/a')).status).toBe(429)
    expect(app?.openapi.paths?.['/items']?.get?.responses).toHaveProperty('429')
  })

  it('counts by user on open routes too, where a bad token is anonymous and the handler gets no claims', async () => {
    @Controller('/open')
    class OpenController {
      @Get('/') open(request: HttpRequest) {
        return { user: request.user }
      }
    }
    @Module({ controllers: [OpenController], imports: [throttle({ limit: '2/m', by: 'user' })] })
    class Limited {}
    const send = await start(Limited)
    const auth = app?.get(Auth)
    const as = async (sub: string) => ({
      headers: { Authorization: `Bearer ${await auth?.getToken({ sub })}` },
    })
    const [ann, bob] = [await as('ann'), await as('bob')]
    const first = await send('/open', ann)
    expect(await first.json()).toEqual({ user: null })
    expect(first.headers.get('cache-control')).toBeNull()
    expect((await send('/open', ann)).status).toBe(200)
    expect((await send('/open', ann)).status).toBe(429)
    expect((await send('/nowhere', ann)).status).toBe(429)
    expect((await send('/open', bob)).status).toBe(200)
    expect((await send('/open', { headers: { Authorization: 'Bearer operator' } })).status).toBe(
      200,
    )
    const bad = { headers: { Authorization: `${bob.headers.Authorization}x` } }
    expect((await send('/open', bad)).headers.get('ratelimit')).toMatch(/r=1/)
    expect((await send('/open')).headers.get('ratelimit')).toMatch(/r=0/)
    expect((await send('/open', bob)).status).toBe(200)
  })

  it('counts together in the database of several processes', async () => {
    const postgres = await startPostgres()
    const other: Application[] = []
    try {
      @Module({ imports: [AppModule, throttle({ limit: '100/m', store: 'database' })] })
      class Limited {}
      const database = await postgres.createDatabase()
      const start = async () => {
        const one = await bootstrap(Limited, { ...options, database })
        other.push(one)
        return one.url
      }
      const urls = [await start(), await start()]
      const all = await Promise.all(
        Array.from({ length: 120 }, async (_, index) => {
          const response = await fetch(`${urls[index % 2]}/items`)
          return response.status
        }),
      )
      expect(all.filter((status) => status === 200)).toHaveLength(100)
      expect(all.filter((status) => status === 429)).toHaveLength(20)
    } finally {
      for (const one of other) await one.close()
      await postgres.close()
    }
  })

  it('counts in SQLite, and gives counts back there too', async () => {
    @Module({ imports: [AppModule, throttle({ limit: '3/m', store: 'database' })] })
    class Limited {}
    const send = await start(Limited, { database: 'sqlite::memory:' })
    const statuses: number[] = []
    for (const path of ['/items/1', '/items/1', '/items/1', '/items', '/items'])
      statuses.push((await send(path)).status)
    expect(statuses).toEqual([200, 200, 429, 200, 429])
  })
})

describe('limits', () => {
  it('accept all documented notations', () => {
    expect(limitOption.read('20/10s')).toMatchObject({ limit: 20, window: 10_000 })
    for (const text of ['', '5', '5/x', '0/m', '5/0m', '-1/m'])
      expect(limitOption.findProblems('limit', text)).toMatchObject([
        { message: `limit is "${text}"` },
      ])
  })

  it('count one IPv6 network as one address', () => {
    expect(addressKey('2001:db8::1')).toBe(addressKey('2001:0DB8:0:0:ffff::2'))
    expect(addressKey('2001:db8:0:1::1')).not.toBe(addressKey('2001:db8::1'))
    expect(addressKey('10.0.0.1')).toBe('10.0.0.1')
  })
})
