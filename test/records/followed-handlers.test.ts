/**
 * Handlers are followed through their awaits only where they can write: following costs a fifth of a small route. Nothing is
 * written after a 503 all the same.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
} from 'filigree'

@Record({ table: 'followed_item' })
class Item {
  @Field('id') id!: number
  @Field('string') name!: string
}

class Body {
  @Field('string') name!: string
}

@Controller('/echo')
@NoAuth
class EchoController {
  @Post('/', { body: Body }) async echo(body: Body) {
    await Promise.resolve()
    return body
  }
}

class Store {
  static readonly inject = [Database]
  constructor(readonly database: Database) {}
}

@Controller('/items')
@NoAuth
class ItemController {
  static readonly inject = [Store]
  constructor(private readonly store: Store) {}

  @Post('/', { body: Body }) async create(body: Body) {
    await Promise.resolve()
    return this.store.database.records(Item).create({ name: body.name })
  }

  @Post('/late', { body: Body, timeout: 20 }) async late(body: Body) {
    await wait(100)
    const written = this.store.database.records(Item).create({ name: body.name })
    end(
      await written.then(
        () => 'written',
        () => 'refused',
      ),
    )
  }
}

/** A controller that finds the database by itself: it is followed once it has written. */
@Controller('/finder')
@NoAuth
class FinderController {
  @Post('/', { body: Body, timeout: 20 }) async create(body: Body) {
    if (body.name !== 'first') await wait(100)
    const written = app.get(Database).records(Item).create({ name: body.name })
    end(
      await written.then(
        () => 'written',
        () => 'refused',
      ),
    )
  }

  @Post('/begin', { body: Body }) async begin(body: Body) {
    await Promise.resolve()
    return app.get(Database).records(Item).create({ name: body.name })
  }
}

@Module({
  controllers: [EchoController, ItemController, FinderController],
  records: [Item],
  providers: [Store],
})
class ItemModule {}

let app: Application
let end: (how: string) => void = () => undefined

async function start(): Promise<void> {
  app = await bootstrap(ItemModule, {
    listen: false,
    logger: false,
    env: {},
    database: 'sqlite::memory:',
  })
}

afterEach(async () => {
  jest.restoreAllMocks()
  await app.close()
})

const post = (url: string, name = 'lamp') => app.inject({ method: 'POST', url, json: { name } })

describe('handlers', () => {
  it('of controllers without the database enter no AsyncLocalStorage and switch none off', async () => {
    await start()
    // In development, the first 1,000 requests of a process are followed to find forgotten awaits.
    for (let request = 0; request < 1_000; request++) await post('/echo')
    await post('/items')
    const switches = ['run', 'enterWith', 'disable', 'exit'].map((name) =>
      jest.spyOn(AsyncLocalStorage.prototype, name as 'run'),
    )
    for (let request = 0; request < 50; request++) expect((await post('/echo')).status).toBe(200)
    expect(switches.map((spy) => spy.mock.calls.length)).toEqual([0, 0, 0, 0])
  })

  it('that can write are followed without switching off between requests', async () => {
    await start()
    const disable = jest.spyOn(AsyncLocalStorage.prototype, 'disable')
    await post('/items')
    const before = disable.mock.calls.length
    for (let request = 0; request < 50; request++) expect((await post('/items')).status).toBe(200)
    // A slow machine may have paused for a second.
    expect(disable.mock.calls.length - before).toBeLessThan(25)
  })

  it('write nothing behind an await after a 503', async () => {
    await start()
    const ended = new Promise<string>((resolve) => (end = resolve))
    expect((await post('/items/late', 'late')).status).toBe(503)
    expect(await ended).toBe('refused')
    expect(await app.get(Database).records(Item).count({ name: 'late' })).toBe(0)
  })

  it('that find the database by themselves are followed once one has written late', async () => {
    await start()
    const ended = new Promise<string>((resolve) => (end = resolve))
    expect((await post('/finder', 'late')).status).toBe(503)
    expect(await ended).toBe('written')
    const again = new Promise<string>((resolve) => (end = resolve))
    expect((await post('/finder', 'later')).status).toBe(503)
    expect(await again).toBe('refused')
    expect(await app.get(Database).records(Item).count({ name: 'later' })).toBe(0)
  })
})
