import { Problems } from '../../src/errors/problems.js'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { BelongsTo, bootstrap, Field, GraphQL, HasMany, Record, type Rel, connect } from 'filigree'
import { CompiledQuery } from 'kysely'
import {
  costOf,
  recordNaming,
  type CostBasis,
  type CostedQuery,
} from '../../src/records/budget/query-cost.js'
import { readTable } from '../../src/records/model/read-table.js'
import type { Table } from '../../src/records/model/table.js'
import { startBothEngines } from './both-engines.js'
import { Project } from './sharded-office.js'
import { OpenShop } from './open-shop.js'
import { Category, Product, Review, shop } from './shop.js'
import { internalsOf } from './open-database.js'

const engines = await startBothEngines()

@Record({ table: 'author' })
class Author {
  @Field('id') id!: number
  @HasMany(() => Note) notes!: Rel<Note[]>
}
@Record({ table: 'note', search: ['text'] })
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('integer') authorId!: number
  @BelongsTo(() => Author, { by: 'authorId' }) author!: Rel<Author>
}

@Record({
  table: 'book',
  indexes: [
    { fields: ['title'], like: true },
    { fields: ['code'], unique: true, where: { active: true } },
  ],
})
class Book {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { index: true }) author!: string
  @Field('string', { index: true }) code!: string
  @Field('boolean') active!: boolean
}

describe('the estimated cost of a query', () => {
  const notes = readTable(Note, new Problems()) as Table
  const authors = readTable(Author, new Problems()) as Table
  let products: Table
  let categories: Table
  beforeAll(() => {
    products = readTable(Product, new Problems()) as Table
    categories = readTable(Category, new Problems()) as Table
  })
  const million: CostBasis['rowsOf'] = () => 1_000_000
  const points = (
    query: CostedQuery,
    table = products,
    rows = million,
    hasTrigrams = true,
  ): number =>
    costOf(recordNaming(table), query, {
      rowsOf: rows,
      bytesOf: () => 0,
      searchLimit: 10_000,
      hasTrigrams,
    }).points

  it('is close to zero for indexed conditions', () => {
    expect(points({})).toBe(0)
    expect(points({ where: { id: 7 } })).toBeLessThan(1)
    expect(points({ where: { categoryId: { eq: 7 } } })).toBeLessThan(50)
    expect(points({ orderBy: [{ id: 'desc' }] })).toBe(0)
  })

  it('is close to zero for conditions that are unique within a shard', () => {
    const projects = readTable(Project, new Problems()) as Table
    expect(points({ where: { tenantId: 'a', name: 'Roof' } }, projects)).toBeLessThan(1)
    expect(points({ where: { tenantId: 'a' } }, projects)).toBeLessThan(50)
    expect(points({ orderBy: [{ name: 'asc' }] }, projects)).toBe(0)
    expect(points({ where: { tenantId: 'a', hours: { gt: 5 } } }, projects)).toBeLessThan(50)
  })

  it.each(['like', 'ilike', 'startsWith', 'endsWith', 'contains'])(
    'is low for %s with a trigram index, if the database has it and the text has three letters',
    (operator) => {
      const books = readTable(Book, new Problems()) as Table
      const where = (text: string): object => ({ title: { [operator]: text } })
      expect(points({ where: where('lamp') }, books)).toBeLessThan(100)
      expect(points({ where: where('la') }, books)).toBeGreaterThan(1000)
      expect(points({ where: where('lamp') }, books, million, false)).toBeGreaterThan(1000)
    },
  )

  it('is low for texts with a plain index only if their beginning is known', () => {
    const books = readTable(Book, new Problems()) as Table
    const authorPoints = (test: object): number => points({ where: { author: test } }, books)
    expect(authorPoints({ startsWith: 'La' })).toBeLessThan(100)
    expect(authorPoints({ like: 'La%' })).toBeLessThan(100)
    for (const test of [{ contains: 'lamp' }, { endsWith: 'lamp' }, { like: '%lamp' }])
      expect(authorPoints(test)).toBeGreaterThan(1000)
  })

  it('grows with the bytes of the rows that a filter reads', () => {
    const pointsOf = (bytes: number): number => {
      const basis = {
        rowsOf: () => 2_000,
        bytesOf: () => bytes,
        searchLimit: 10,
        hasTrigrams: false,
      }
      return costOf(recordNaming(products), { where: { name: { like: '%a%' } } }, basis).points
    }
    expect(pointsOf(4_000)).toBe(pointsOf(0))
    expect(pointsOf(1_000_000)).toBeGreaterThan(1_000)
  })

  it('does not take an index of some rows for a unique index of all rows', () => {
    const books = readTable(Book, new Problems()) as Table
    expect(points({ where: { code: 'x' } }, books)).toBeGreaterThan(5)
  })

  it('grows with the number of rows to read', () => {
    const where = { price: { gt: 5 } }
    const small = points({ where }, products, () => 1_000)
    const large = points({ where })
    expect(small).toBeLessThan(10)
    expect(large).toBeGreaterThan(1_000)
    expect(points({ where, orderBy: [{ price: 'asc' }] })).toBeGreaterThan(large + 1_000)
    expect(points({ where: { ...where, id: 7 } })).toBeLessThan(1)
    expect(points({ where: { or: [where, { id: 7 }] } })).toBeGreaterThan(1_000)
    expect(points({ where: { not: { id: 7 } } })).toBeGreaterThan(900)
  })

  it('includes patterns, relations and offsets for any table size', () => {
    const none = (): number => 0
    const patterns = Array.from({ length: 20 }, () => ({ name: { ilike: '%a%' } }))
    expect(points({ where: { or: patterns } }, products, none)).toBeGreaterThan(100)
    expect(points({ where: { products: { price: 1 } } }, categories, none)).toBeGreaterThan(1)
    expect(points({ offset: 4_000_000 }, products, none)).toBeGreaterThan(50_000)
  })

  it('reads no more of a filter than the longest one that is allowed', () => {
    const search = (words: number): number =>
      points({ where: { search: 'a '.repeat(words) } }, notes)
    expect(search(500_000)).toBe(search(500))
    const list = (length: number): object[] => Array.from({ length }, () => ({ price: { gt: 5 } }))
    for (const group of ['and', 'or']) {
      const longest = points({ where: { [group]: list(200) } })
      expect(points({ where: { [group]: list(199) } })).toBeLessThan(longest)
      expect(points({ where: { [group]: list(9000) } })).toBe(longest)
    }
  })

  it('treats a cursor of a search as an offset', () => {
    const none = (): number => 0
    const cursor = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
    const after = cursor(['search', 4_000_000])
    expect(points({ after }, products, none)).toBe(points({ offset: 4_000_000 }, products, none))
    expect(points({ after: cursor(['', 4_000_000]) }, products, none)).toBe(0)
    expect(points({ after: 'x' }, products, none)).toBe(0)
  })

  it('includes the rows of a related table', () => {
    const where = { products: { price: { gt: 999.9 } } }
    const sizes = (table: string): number => (table === 'product' ? 5_000_000 : 1_000_000)
    expect(points({ where }, categories, sizes)).toBeGreaterThan(5_000)
  })

  it('includes all matches of a search in a related table, which is not ranked', () => {
    const sizes = (table: string): number => (table === 'note' ? 5_000_000 : 10)
    const ranked = points({ where: { search: 'lamp' } }, notes, sizes)
    const throughRelation = points({ where: { notes: { search: 'lamp' } } }, authors, sizes)
    expect(throughRelation).toBeGreaterThan(100 * ranked)
  })
})

describe.each(engines)('the cost limit for clients on %s', (_name, open) => {
  const start = async (options: Parameters<typeof bootstrap>[1] = {}) => {
    const database = await connect(await open(), { records: shop })
    const app = await bootstrap(OpenShop, { listen: false, logger: false, database, ...options })
    return {
      get: async (url: string) => {
        const { status, body } = await app.inject({ url })
        return { status, body }
      },
      graphql: async (query: string, variables?: object) => {
        const response = await app.inject({
          method: 'POST',
          url: '/graphql',
          json: { query, variables },
        })
        const { data, errors } = response.json() as {
          data: unknown
          errors?: { extensions: { code: string } }[]
        }
        return { data, codes: errors?.map(({ extensions }) => extensions.code) }
      },
      database,
      close: async () => {
        await app.close()
        await database.close()
      },
    }
  }

  it('rejects a costly query, in a variable as in the text', async () => {
    const { graphql, close } = await start()
    const patterns = Array.from({ length: 20 }, (_, index) => ({ name: { ilike: `%${index}%` } }))
    const query =
      'query ($w: ProductWhere) { categories(limit: 1000) { products(limit: 1, where: $w) { id } } }'
    const stopped = { data: null, codes: ['TOO_COSTLY'] }
    expect(await graphql(query, { w: { or: patterns } })).toEqual(stopped)
    const text = JSON.stringify({ or: patterns }).replace(/"(\w+)":/g, '$1:')
    expect(await graphql(query.replace('($w: ProductWhere) ', '').replace('$w', text))).toEqual(
      stopped,
    )
    expect(await graphql(query, { w: { id: { eq: '1' } } })).toEqual({ data: { categories: [] } })
    expect(await graphql(query)).toEqual({ data: { categories: [] } })
    await close()
  })

  it('rejects lists with more values than a statement may have, with an error of the client', async () => {
    const { graphql, database, close } = await start()
    const query = 'query ($w: [ProductWhere!]) { products(where: { and: $w }) { id } }'
    const lists = (count: number, list: object): object => ({ w: Array(count).fill(list) })
    const texts = Array.from({ length: 100 }, (_, index) => `v${index}`)
    const inJson = { extra: { path: ['z'], in: texts } }
    expect(await graphql(query, lists(10, inJson))).toEqual({ data: { products: [] } })
    expect((await graphql(query, lists(11, inJson))).codes).toEqual(['VALIDATION'])
    expect(
      await database.records(Product).list({ where: { and: Array(11).fill(inJson) } }),
    ).toEqual([])
    // PostgreSQL receives each of these lists as one value.
    const inPrices = { price: { in: Array.from({ length: 10_000 }, (_, index) => index) } }
    expect(await graphql(query, lists(1, inPrices))).toEqual({ data: { products: [] } })
    const { codes = ['VALIDATION'] } = await graphql(query, lists(3, inPrices))
    expect(codes).toEqual(['VALIDATION'])
    await close()
  })

  it('rejects large offsets, in GraphQL and crud', async () => {
    const { graphql, get, close } = await start()
    const offsets = ['a', 'b', 'c'].map((key) => `${key}:products(offset:999999){id}`).join('')
    expect(await graphql(`{${offsets}}`)).toEqual({ data: null, codes: ['TOO_COSTLY'] })
    const refused = await get('/products?offset=4000000')
    expect(refused.status).toBe(400)
    const { error, errors } = JSON.parse(refused.body) as {
      error: string
      errors: { code: string }[]
    }
    expect(error).toContain('costs more than 5000')
    expect(errors.map(({ code }) => code)).toEqual(['TOO_COSTLY'])
    expect((await get('/products?offset=4000&limit=1000')).status).toBe(200)
    await close()
  })

  it('allows usual queries, and can be configured', async () => {
    const { graphql, get, close } = await start({ limits: { cost: 30 } })
    expect((await get('/categories?products.price.gt=999.9')).status).toBe(200)
    expect((await get('/products?category.name.like=La%25&orderBy=-price')).status).toBe(200)
    expect((await get('/products?limit=31')).status).toBe(400)
    expect(await graphql('{ products { id name } }')).toEqual({ data: { products: [] } })
    expect((await graphql('{ products(limit: 20) { id name } }')).codes).toEqual(['TOO_COSTLY'])
    await close()
  })

  it('uses the current size of the table', async () => {
    const { graphql, get, database, close } = await start()
    const query = '{ a: products(orderBy: [{ price: asc }]) { id } }'
    expect((await graphql(query)).codes).toBeUndefined()
    const sizes = {
      rowsOf: () => 3_000_000,
      bytesOf: () => 0,
      refresh: () => undefined,
      version: 7,
    }
    Object.defineProperty(database, 'sizes', { value: sizes })
    expect((await graphql(query)).codes).toEqual(['TOO_COSTLY'])
    expect((await get('/categories?products.price.gt=999.9')).status).toBe(400)
    await close()
  })

  it('estimates the number of rows', async () => {
    const { database, close } = await start()
    await database
      .records(Category)
      .insertMany(Array.from({ length: 5_000 }, (_, index) => ({ name: `c${index}` })))
    // PostgreSQL publishes statistics with a delay.
    await database.kysely.executeQuery(CompiledQuery.raw('analyze category'))
    await internalsOf(database).sizes.read()
    expect(internalsOf(database).sizes.rowsOf('category')).toBeGreaterThan(2_000)
    expect(internalsOf(database).sizes.rowsOf('category')).toBeLessThan(20_000)
    await close()
  })
})

describe.each(engines)('the estimated size of a table on %s', (name, open) => {
  const start = async (cost: number) => {
    const database = await connect(await open(), { records: shop })
    const app = await bootstrap(OpenShop, {
      listen: false,
      logger: false,
      database,
      limits: { cost },
    })
    const get = (url: string) => app.inject({ url })
    const run = (sql: string): Promise<void> =>
      database.kysely.transaction().execute(async (connection) => {
        await connection.executeQuery(CompiledQuery.raw(sql))
        // A session of PostgreSQL delays its statistics.
        if (name === 'PostgreSQL')
          await connection.executeQuery(CompiledQuery.raw('select pg_stat_force_next_flush()'))
      })
    const close = async (): Promise<void> => {
      await app.close()
      await database.close()
    }
    return { database, get, run, close }
  }
  const numbers = (from: number, to: number): string =>
    `insert into category (id, name) with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to}) select i, 'c' || i from n`

  it('is not the highest key', async () => {
    const { get, run, close } = await start(60)
    await run(numbers(1, 5))
    await run(numbers(3_000_000, 3_000_001))
    await run('delete from category where id = 3000000')
    const list = await get('/categories?orderBy=name&limit=10&count=estimate')
    expect([list.status, list.headers['x-total-count-estimate']]).toEqual([200, '6'])
    await close()
  })

  it('shrinks after rows are deleted', async () => {
    const { database, get, run, close } = await start(60)
    await run(numbers(1, 40_000))
    await database.kysely.executeQuery(CompiledQuery.raw('analyze category'))
    await internalsOf(database).sizes.read()
    const url = '/categories?name.ilike=c%25&limit=10&count=none'
    expect((await get(url)).status).toBe(400)
    await run('delete from category where id between 4 and 39997')
    await internalsOf(database).sizes.read()
    const { status, body } = await get(url)
    expect([status, (JSON.parse(body) as unknown[]).length]).toEqual([200, 6])
    await close()
  })

  it.each([
    ['rows that were deleted at its beginning', ['delete from category where id <= 30000'], 10_000],
    ['every second row deleted', ['delete from category where id % 2 = 0'], 20_000],
    ['imported keys', [numbers(9_000_001, 9_002_000), numbers(2e15, 2e15 + 1)], 42_002],
  ])('is approximately right with %s', async (_case, changes, rows) => {
    const { database, run, close } = await start(5000)
    await run(numbers(1, 40_000))
    for (const change of changes) await run(change)
    await run('analyze category')
    await internalsOf(database).sizes.read()
    expect(internalsOf(database).sizes.rowsOf('category')).toBeGreaterThan(0.7 * rows)
    expect(internalsOf(database).sizes.rowsOf('category')).toBeLessThan(1.3 * rows)
    await close()
  })
})

describe('a separate GraphQL schema', () => {
  it('can be described without a database', () => {
    const graphql = new GraphQL()
    graphql.schema.fromOrm(Review)
    expect(graphql.sdl).toContain('type Review')
  })
})
