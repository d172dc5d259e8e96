/** Slow reads of a large SQLite file do not block other requests. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { connect, Controller, Field, Get, Module, Record, bootstrap, Database } from 'filigree'

@Record
class Item {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('text', { optional: true, nullable: true }) text?: string | null
}

@Controller('/items', { crud: Item })
class ItemController {}

@Controller('/handled')
class HandlerController {
  static inject = [Database]
  constructor(private readonly database: Database) {}
  @Get('/') async list() {
    await Promise.resolve()
    return this.database.records(Item).list({ where: { name: { ilike: 'item 11%' } } })
  }
}

@Controller('/plain')
class PlainController {
  @Get('/') show() {
    return { plain: true }
  }
}

@Module({ controllers: [ItemController, HandlerController, PlainController], records: [Item] })
class LargeModule {}

describe('long reads of clients', () => {
  let folder: string
  const open = (statementTimeout?: number): Promise<Database> =>
    connect(`sqlite:${join(folder, 'large.db')}`, {
      records: [Item],
      ...(statementTimeout === undefined ? {} : { statementTimeout }),
    })
  const start = (database: Database) =>
    bootstrap(LargeModule, { listen: false, logger: false, env: {}, database })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-long-'))
    const database = await open()
    await database.sync()
    await database
      .records(Item)
      .insertMany(Array.from({ length: 12_000 }, (_, index) => ({ name: `Item ${index}` })))
    await database.close()
  })
  afterAll(() => rm(folder, { recursive: true }))

  it.each([
    ['crud', { url: '/items?name.ilike=item%2011%25' }],
    ['a handler with a repository', { url: '/handled' }],
    [
      'GraphQL',
      {
        method: 'POST',
        url: '/graphql',
        json: { query: '{ items(where: { name: { ilike: "item 11%" } }) { name } }' },
      },
    ],
  ])('do not block other requests, through %s', async (_name, request) => {
    const database = await open()
    const app = await start(database)
    const order: string[] = []
    const slowRequest = app.inject(request).then((response) => {
      order.push('long')
      return response
    })
    await app.inject({ url: '/plain' }).then(() => order.push('plain'))
    const response = await slowRequest
    expect(response.status).toBe(200)
    expect(response.body).toContain('Item 11')
    expect(order).toEqual(['plain', 'long'])
    await app.close()
    await database.close()
  })

  // The row is found by its id. The pattern is then tried at each position of the text.
  const text = 'a'.repeat(300_000)
  const hostile = `id=12001&text.like=%25${'a'.repeat(900)}b%25`

  it('with a costly pattern on one large text do not block other requests, and end', async () => {
    const database = await open(100)
    await database.records(Item).upsert({ id: 12_001, name: 'Large', text }, { by: 'id' })
    const app = await start(database)
    const order: string[] = []
    const slowRequest = app
      .inject({ url: `/items?${hostile}` })
      .then(({ status }) => order.push(`${status}`))
    await app.inject({ url: '/plain' }).then(() => order.push('plain'))
    await slowRequest
    expect(order).toEqual(['plain', '503'])
    await app.close()
    await database.close()
  })

  it.each(['contains', 'endsWith'])(
    'of large texts with %s compare character by character',
    async (operator) => {
      const database = await open()
      await database
        .records(Item)
        .upsert({ id: 12_001, name: 'Large', text: `b${text}` }, { by: 'id' })
      const found = async (part: string): Promise<number> =>
        database.records(Item).count({ id: 12_001, text: { [operator]: part } })
      expect(await found('a'.repeat(1000))).toBe(1)
      expect(await found(`${'a'.repeat(999)}b`)).toBe(0)
      expect(await found('')).toBe(1)
      expect(await found('%')).toBe(0)
      expect(await found('A')).toBe(0)
      await database.close()
    },
  )

  it('respond with 503 after the statement timeout', async () => {
    const database = await open(1)
    const app = await start(database)
    const response = await app.inject({ url: '/items?name.ilike=item%2011%25' })
    expect(response.status).toBe(503)
    expect(response.headers['retry-after']).toMatch(/^\d+$/)
    expect((await app.inject({ url: '/items/7' })).status).toBe(200)
    await app.close()
    await database.close()
  })

  it.each([
    [true, 'get the full time for each read of a stream'],
    [false, 'share the time of the request'],
  ])('of a request whose response has started (%s) %s', async (answered) => {
    const database = await open(60_000)
    const items = database.recordsFor(Item, { answered, onFinished: () => undefined })
    const where = { name: { ilike: 'item 11%' } }
    expect(await items.count(where)).toBeGreaterThan(0)
    const now = performance.now.bind(performance)
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 100_000)
    try {
      const reading = items.count(where)
      if (answered) expect(await reading).toBeGreaterThan(0)
      else await expect(reading).rejects.toMatchObject({ status: 503 })
    } finally {
      clock.mockRestore()
    }
    await database.close()
  })
})
