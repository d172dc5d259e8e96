/** Tests for each SQLite driver of the runtime, in addition to the database contract (sqlite.test.ts). */
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { bootstrap, connect, Module } from 'filigree'
import { silentLog } from '../silent-log.js'
import { openEngine } from '../../src/engines/engine-for-url.js'
import { sqliteDialect } from '../../src/engines/sqlite/dialect.js'
import { Author, Category, Product, Review, shop } from '../records/shop.js'
import { findDrivers } from '../records/sqlite-drivers.js'
import { frameworkQuery } from '../../src/engines/contract/statement.js'

const drivers = await findDrivers()

@Module({ records: shop })
class ShopModule {}

/** Opens a shop with two products in one category, one of them with a review. */
async function openShop(url: string) {
  const database = await connect(url, { records: shop })
  await database.sync()
  const light = await database.records(Category).create({ name: 'Light' })
  const products = database.records(Product)
  const lamp = await products.create({ name: 'Lamp', price: 9.5, categoryId: light.id })
  await products.create({ name: 'Torch', price: 3, categoryId: light.id, colors: ['red'] })
  const author = await database.records(Author).create({ name: 'Ann' })
  await database.records(Review).create({ stars: 5, productId: lamp.id, authorKey: author.id })
  return { database, products, lamp }
}

describe('the choice of a driver', () => {
  it('uses the first driver that can be loaded', async () => {
    const database = await connect('sqlite::memory:')
    expect(database.driverName).toBe(drivers[0])
    await database.close()
  })

  it.each(drivers)('is logged when the application is ready: %s', async (driver) => {
    const lines: object[] = []
    const info = (details: object): void => void lines.push(details)
    const app = await bootstrap(ShopModule, {
      ...{ listen: false, env: {}, logger: { ...silentLog, info } },
      database: `sqlite::memory:?driver=${driver}`,
    })
    expect(lines).toContainEqual(expect.objectContaining({ driver }))
    await app.close()
  })
})

describe.each(drivers)('SQLite by %s', (driver) => {
  const url = `sqlite::memory:?driver=${driver}`

  it("keeps JSON from a subquery as JSON, with the driver's SQL and the portable SQL", async () => {
    const engine = await openEngine(url, { log: silentLog })
    const results = [engine.dialect, sqliteDialect].map(
      async ({
        json: {
          ofSubquery: [before, after],
        },
      }) =>
        engine.run(
          frameworkQuery(`select json_object('a', ${before}(select json_group_array(1))${after})`),
          [],
          'first',
        ),
    )
    expect(await Promise.all(results)).toEqual([['{"a":[1]}'], ['{"a":[1]}']])
    await engine.close()
  })

  it('returns nested lists, parents and pages of GraphQL', async () => {
    const { database } = await openShop(url)
    const app = await bootstrap(ShopModule, { listen: false, logger: false, env: {}, database })
    const query = `{
      categories { name products(orderBy: { name: asc }) { name colors reviews { stars author { name } } } }
      productsPage(first: 1) { edges { node { name reviews { stars } } } }
    }`
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    const reviews = [{ stars: 5, author: { name: 'Ann' } }]
    expect(response.json()).toEqual({
      data: {
        categories: [
          {
            name: 'Light',
            products: [
              { name: 'Lamp', colors: [], reviews },
              { name: 'Torch', colors: ['red'], reviews: [] },
            ],
          },
        ],
        productsPage: { edges: [{ node: { name: 'Lamp', reviews: [{ stars: 5 }] } }] },
      },
    })
    await app.close()
    await database.close()
  })

  it('returns bytes as Buffers, from repositories and the query builder', async () => {
    const { database, products, lamp } = await openShop(url)
    const picture = Buffer.from([0, 127, 255])
    await products.update(lamp.id, { picture })
    const found = await products.find(lamp.id)
    const row = await database.kysely
      .selectFrom('product')
      .select('picture')
      .where('id', '=', lamp.id)
      .executeTakeFirst()
    expect(Buffer.isBuffer(found?.picture)).toBe(true)
    expect([found?.picture, row?.['picture']]).toEqual([picture, picture])
    await database.close()
  })

  it('reads integers beyond 53 bits as numbers', async () => {
    const { database, products, lamp } = await openShop(url)
    await sql`update product set stock = 9007199254740993 where id = ${lamp.id}`.execute(
      database.kysely,
    )
    expect((await products.find(lamp.id))?.stock).toBe(9007199254740992)
    expect((await products.list({ orderBy: { id: 'asc' } })).map(({ stock }) => stock)).toEqual([
      9007199254740992,
      null,
    ])
    await database.close()
  })

  it('rejects integers of more than 64 bits', async () => {
    const engine = await openEngine(url, { log: silentLog })
    const running = async () => engine.run(frameworkQuery('select ?'), [2n ** 70n], 'rows')
    await expect(running()).rejects.toMatchObject({ name: 'EngineError', kind: 'value' })
    await engine.close()
  })
})
