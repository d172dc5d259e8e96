/**
 * Handlers run in an AsyncLocalStorage only if they can write, because it costs a fifth of a small route. Even so, nothing is
 * written after a 503.
 *
 * @jest-environment node
 */
import { AsyncLocalStorage } from 'node:async_hooks'
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

  @Post('/checked', { body: Body }) async check(body: Body) {
    await Promise.resolve()
    return body
  }

  @Post('/late', { body: Body, timeout: 20 }) async createLate(body: Body) {
    await responded
    const written = this.store.database.records(Item).create({ name: body.name })
    reportOutcome(
      await written.then(
        () => 'written',
        () => 'refused',
      ),
    )
  }
}

/** A controller that gets the database from the application. It is tracked after its first late write. */
@Controller('/finder')
@NoAuth
class FinderController {
  @Post('/', { body: Body, timeout: 20 }) async create(body: Body) {
    await responded
    const written = app.get(Database).records(Item).create({ name: body.name })
    reportOutcome(
      await written.then(
        () => 'written',
        () => 'refused',
      ),
    )
  }
}

@Module({
  controllers: [EchoController, ItemController, FinderController],
  records: [Item],
  providers: [Store],
})
class ItemModule {}

let app: Application
/** Resolves when the test has received the response, so that a handler can continue afterwards. */
let responded = Promise.resolve()
let reportOutcome: (outcome: string) => void = () => undefined

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

/** Sends a request whose handler writes after the response. @returns the status and the outcome of the late write */
async function postLate(url: string, name: string): Promise<[status: number, outcome: string]> {
  let markResponded = (): void => undefined
  responded = new Promise((resolve) => (markResponded = resolve))
  const outcome = new Promise<string>((resolve) => (reportOutcome = resolve))
  const { status } = await post(url, name)
  markResponded()
  return [status, await outcome]
}

describe('handlers', () => {
  it.each([
    ['of controllers without the database', '/echo'],
    ['that use nothing of their controller', '/items/checked'],
  ])('%s neither enter nor disable an AsyncLocalStorage', async (_kind, url) => {
    await start()
    // In development, the first 1,000 requests are tracked to find floating promises.
    for (let request = 0; request < 1_000; request++) await post(url)
    await post('/items')
    const switches = ['run', 'enterWith', 'disable', 'exit'].map((name) =>
      jest.spyOn(AsyncLocalStorage.prototype, name as 'run'),
    )
    for (let request = 0; request < 50; request++) expect((await post(url)).status).toBe(200)
    expect(switches.map((spy) => spy.mock.calls.length)).toEqual([0, 0, 0, 0])
  })

  it('that can write are tracked without disabling the storage between requests', async () => {
    await start()
    const disable = jest.spyOn(AsyncLocalStorage.prototype, 'disable')
    await post('/items')
    const before = disable.mock.calls.length
    for (let request = 0; request < 50; request++) expect((await post('/items')).status).toBe(200)
    // On a slow machine, an idle second may disable the storage sometimes.
    expect(disable.mock.calls.length - before).toBeLessThan(25)
  })

  it('cannot write after a 503, even behind an await', async () => {
    await start()
    expect(await postLate('/items/late', 'late')).toEqual([503, 'refused'])
    expect(await app.get(Database).records(Item).count({ name: 'late' })).toBe(0)
  })

  it('that get the database by themselves are tracked after one late write', async () => {
    await start()
    expect(await postLate('/finder', 'late')).toEqual([503, 'written'])
    expect(await postLate('/finder', 'later')).toEqual([503, 'refused'])
    expect(await app.get(Database).records(Item).count({ name: 'later' })).toBe(0)
  })
})
