/** `@Record({ key: false })`: views and tables without a key. Source: public API, 18. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  connect,
  Controller,
  Database,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record,
  type Application,
  type Rel,
} from '../../src/index.js'
import { Problems } from '../../src/errors/problems.js'
import { readTables } from '../../src/records/model/read-table.js'
import type { Class } from '../public-types.js'
import { startBothEngines } from './both-engines.js'
import { runSql } from './run-sql.js'

@NoAuth
@Record({ table: 'seller' })
class Seller {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ table: 'deal' })
class Deal {
  @Field('id') id!: number
  @Field('date') day!: string
  @Field('integer') amount!: number
  @Field('integer') sellerId!: number
  @BelongsTo(() => Seller) seller!: Rel<Seller>
}

@NoAuth
@Record({ table: 'deals_by_day', key: false, managed: false })
class DealsByDay {
  @Field('date') day!: string
  @Field('integer') amount!: number
  @Field('integer') sellerId!: number
  @BelongsTo(() => Seller) seller!: Rel<Seller>
}

@NoAuth
@Record({ table: 'log_line', key: false })
class LogLine {
  @Field('string') text!: string
}

@Controller('/deals-by-day', { crud: DealsByDay })
class DaysController {}

@Module({ controllers: [DaysController], records: [Seller, Deal, DealsByDay, LogLine] })
class Shop {}

const engines = await startBothEngines()

describe.each(engines)('a record without a key on %s', (_engine, open) => {
  let app: Application
  let database: Database

  beforeAll(async () => {
    const url = await open()
    const options = {
      listen: false,
      logger: false,
      env: { APP_API_KEY: 'key' },
      graphql: false,
    } as const
    database = await connect(url, { records: [Seller, Deal, LogLine] })
    await database.sync()
    await runSql(
      database,
      `create view deals_by_day as
        select day, cast(sum(amount) as bigint) as amount, seller_id from deal group by day, seller_id`,
    )
    const seller = await database.records(Seller).create({ name: 'Ada' })
    await database.records(Deal).insertMany(
      Array.from({ length: 30 }, (_, index) => ({
        day: `2026-11-${String(1 + (index % 15)).padStart(2, '0')}`,
        amount: index,
        sellerId: seller.id,
      })),
    )
    app = await bootstrap(Shop, { ...options, database })
  })

  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const days = () => database.records(DealsByDay)

  it('is listed, filtered, sorted, counted and aggregated', async () => {
    const rows = await days().list({
      where: { amount: { gte: 30 } },
      orderBy: '-day',
      limit: 2,
      with: ['seller'],
    })
    expect(rows).toMatchObject([
      { day: '2026-11-15', amount: 43, seller: { name: 'Ada' } },
      { day: '2026-11-14', amount: 41 },
    ])
    expect(await days().count()).toBe(15)
    expect(await days().first({ orderBy: 'day' })).toMatchObject({ amount: 15 })
    expect(await days().list({ where: { seller: { name: 'Ada' } } })).toHaveLength(15)
    expect(await days().list({ orderBy: { seller: { name: 'asc' } }, offset: 14 })).toHaveLength(1)
    expect(await days().aggregate({ sum: ['amount'], count: true })).toMatchObject([
      { count: 15, sumAmount: 435 },
    ])
    expect(await days().counts.upTo(100, {})).toBe(15)
    expect(await days().list({ distinct: ['sellerId'] })).toHaveLength(1)
  })

  it.each<[string, () => Promise<unknown>]>([
    ['find', () => days().find(1)],
    ['create', () => days().create({ day: '2026-11-01', amount: 1, sellerId: 1 })],
    ['update', () => days().update(1, { amount: 2 })],
    ['updateWhere', () => days().updateWhere({}, { amount: 2 })],
    ['delete', () => days().delete(1)],
    ['deleteWhere', () => days().deleteWhere({})],
    ['createMany', () => days().createMany([])],
    ['insertMany', () => days().insertMany([])],
    ['restore', () => days().restore(1)],
    ['cursorOf', async () => days().cursorOf({ day: 'x', amount: 1, sellerId: 1 })],
  ])('has no %s', async (_method, call) => {
    await expect(call()).rejects.toThrow('deals_by_day has no key (key: false)')
  })

  it('has pages by offset in its routes, and no route for one row', async () => {
    const send = (method: string, url: string) => app.inject({ method, url })
    const seen: string[] = []
    let url: string | undefined = '/deals-by-day?limit=4&orderBy=day'
    while (url !== undefined) {
      const page: Awaited<ReturnType<typeof send>> = await send('GET', url)
      expect(page.status).toBe(200)
      seen.push(...(page.json() as DealsByDay[]).map(({ day }) => day))
      url = /<([^>]+)>; rel="next"/.exec(page.headers.link ?? '')?.[1]
    }
    expect(seen).toHaveLength(15)
    expect(new Set(seen).size).toBe(15)
    expect((await send('GET', '/deals-by-day/aggregate?sum=amount')).json()).toMatchObject([
      { sumAmount: 435 },
    ])
    expect((await send('GET', '/deals-by-day?with=seller&limit=1')).json()).toMatchObject([
      { seller: { name: 'Ada' } },
    ])
    expect((await send('GET', '/deals-by-day/1')).status).toBe(404)
    expect((await send('POST', '/deals-by-day')).status).toBe(405)
    const document = (await send('GET', '/swagger/openapi.json')).json() as {
      paths: globalThis.Record<string, object>
    }
    const paths = Object.entries(document.paths)
      .filter(([path]) => path.startsWith('/deals-by-day'))
      .map(([path, methods]) => [path, Object.keys(methods)])
    expect(paths).toEqual([
      ['/deals-by-day', ['get']],
      ['/deals-by-day/aggregate', ['get']],
    ])
  })

  it('may be a table of ours', async () => {
    await runSql(database, `insert into log_line (text) values ('a'), ('a')`)
    expect(await database.records(LogLine).list()).toEqual([{ text: 'a' }, { text: 'a' }])
  })
})

describe('a declaration without a key', () => {
  function problemsOf(...types: Class[]): string[] {
    const problems = new Problems()
    readTables(types, problems)
    return problems.list.map(({ code, message }) => `${code} ${message}`)
  }

  it('is no target of relations, and has no parts that need a key', () => {
    @Record({ key: false })
    class View {
      @Field('integer') ownerId!: number
      @HasMany(() => Owner) owners!: Rel<Owner[]>
    }
    @Record
    class Owner {
      @Field('id') id!: number
      @Field('integer') viewId!: number
      @BelongsTo(() => View) view!: Rel<View>
      @HasMany(() => View, { by: 'ownerId' }) views!: Rel<View[]>
    }
    @Record({ key: false, version: true })
    class Versioned {
      @Field('string') text!: string
    }
    @Record({ key: false })
    class Keyed {
      @Field('id') id!: number
    }
    expect(problemsOf(Owner)).toEqual([
      expect.stringContaining('RELATION_TARGET Owner.view: View has no key'),
      expect.stringContaining('RELATION_TARGET View.owners: View has no key'),
    ])
    expect(problemsOf(Versioned)).toEqual([
      'RECORD_KEY_PARTS @Record of Versioned: version needs a key.',
    ])
    expect(problemsOf(Keyed)).toEqual([
      'RECORD_KEY_PARTS @Record of Keyed: key is false, but id is of kind "id".',
    ])
  })
})
