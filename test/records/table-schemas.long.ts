/** `@Record({ schema: 'billing' })`: tables in schemas of PostgreSQL. Source: public API, 18. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { readFile } from 'node:fs/promises'
import {
  BelongsTo,
  bootstrap,
  connect,
  Controller,
  Database,
  Field,
  type Generated,
  HasMany,
  ManyToMany,
  Module,
  NoAuth,
  Record as Table,
  type Application,
  type Rel,
} from '../../src/index.js'
import { openLive } from '../live/live-client.js'
import { waitUntil } from '../wait-until.js'
import { startBothEngines } from './both-engines.js'
import { failure } from './failure.js'
import {
  checkMigrations,
  makeMigration,
  migrateDown,
  migrateUp,
  setRecords,
  useMigrations,
} from './migration-helpers.js'
import { engineOf } from './open-database.js'
import { readSql, runSql } from './run-sql.js'
import { thing } from './thing.js'

@NoAuth
@Table({ schema: 'billing', table: 'orders', version: true, search: ['number'] })
class BillingOrder {
  @Field('id') id!: number
  @Field('string', { unique: true, maxLength: 20 }) number!: string
  @Field('integer', { default: 0, min: 0 }) total!: Generated<number>
  @Field('integer', { optional: true, nullable: true }) customerId?: number | null
  @BelongsTo(() => Customer, { by: 'customerId' }) customer?: Rel<Customer>
  @HasMany(() => OrderLine) lines!: Rel<OrderLine[]>
  @ManyToMany(() => Label) labels!: Rel<Label[]>
}

@NoAuth
@Table({ schema: 'billing', softDelete: true })
class OrderLine {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('integer') billingOrderId!: number
  @BelongsTo(() => BillingOrder, { onDelete: 'cascade' }) billingOrder!: Rel<BillingOrder>
}

@NoAuth
@Table({ schema: 'sales', table: 'orders', plural: 'salesorders' })
class SalesOrder {
  @Field('id') id!: number
  @Field('string', { unique: true }) number!: string
  @Field('integer', { optional: true, nullable: true }) invoiceId?: number | null
  @BelongsTo(() => BillingOrder, { by: 'invoiceId', onDelete: 'setNull' })
  invoice?: Rel<BillingOrder>
  @ManyToMany(() => BillingOrder) copies!: Rel<BillingOrder[]>
}

@NoAuth
@Table
class Customer {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => BillingOrder, { by: 'customerId' }) orders!: Rel<BillingOrder[]>
}

@NoAuth
@Table({ table: 'orders', plural: 'plainorders' })
class PlainOrder {
  @Field('id') id!: number
  @Field('string', { unique: true }) number!: string
}

@NoAuth
@Table({ schema: 'billing' })
class Label {
  @Field('id') id!: number
  @Field('string') name!: string
  @ManyToMany(() => BillingOrder) orders!: Rel<BillingOrder[]>
}

@Controller('/billing-orders', { crud: BillingOrder })
class BillingController {}
@Controller('/sales-orders', { crud: SalesOrder })
class SalesController {}

const records = [BillingOrder, OrderLine, SalesOrder, Customer, PlainOrder, Label]

@Module({ controllers: [BillingController, SalesController], records })
class ShopModule {}

const engines = await startBothEngines()

describe.each(engines)('records in schemas on %s', (engine, openUrl) => {
  let app: Application
  let database: Database
  const json = async (method: string, url: string, body?: object): Promise<unknown> => {
    const response = await app.inject({ method, url, ...(body !== undefined && { json: body }) })
    return response.json()
  }

  beforeAll(async () => {
    app = await bootstrap(ShopModule, { port: 0, logger: false, database: await openUrl() })
    database = app.get(Database)
  })
  afterAll(() => app.close())

  it('has tables with the names of both parts', async () => {
    const names =
      engine === 'PostgreSQL'
        ? await readSql(
            database,
            "select schemaname || '.' || tablename as name from pg_tables where schemaname in ('billing', 'sales', 'public') and tablename not like 'filigree%' order by 1",
          )
        : await readSql(
            database,
            "select name from sqlite_schema where type = 'table' and name not like 'filigree%' and name not like 'sqlite%' order by 1",
          )
    const expected = [
      'billing.label',
      'billing.label_orders',
      'billing.order_line',
      'billing.orders',
      'billing.orders_orders',
      'public.customer',
      'public.orders',
      'sales.orders',
    ]
    expect(names.flat()).toStrictEqual(
      engine === 'PostgreSQL'
        ? expected
        : expected.map((name) => name.replace('public.', '').replace('.', '_')).sort(),
    )
    expect(await database.differences()).toStrictEqual([])
    await database.verify()
  })

  it('are created, changed, read and deleted by REST, apart from equal names elsewhere', async () => {
    const order = { number: 'B-1', total: 5 }
    const made = (await json('POST', '/billing-orders', order)) as { id: number }
    await json('POST', '/sales-orders', { number: 'S-1', invoiceId: made.id })
    await database.records(PlainOrder).create({ number: 'P-1' })
    const changed = await json('PATCH', `/billing-orders/${made.id}`, { total: 7 })
    expect(changed).toMatchObject({ total: 7, version: 2 })
    expect(await json('GET', '/sales-orders?with=invoice')).toMatchObject([
      { number: 'S-1', invoice: { number: 'B-1', total: 7 } },
    ])
    const twice = await app.inject({
      method: 'POST',
      url: '/billing-orders',
      json: { number: 'B-1' },
    })
    expect([twice.status, twice.json()]).toMatchObject([409, { error: 'number is already taken' }])
    const missing = await app.inject({
      method: 'POST',
      url: '/sales-orders',
      json: { number: 'S-2', invoiceId: 999 },
    })
    expect([missing.status, missing.json()]).toMatchObject([
      409,
      { error: 'invoiceId names no BillingOrder: 999 does not exist' },
    ])
    await app.inject({ method: 'DELETE', url: `/billing-orders/${made.id}` })
    expect(await json('GET', '/sales-orders')).toMatchObject([{ number: 'S-1', invoiceId: null }])
    expect(await database.records(PlainOrder).count()).toBe(1)
  })

  it('are written by lists, upserts, streams and filters', async () => {
    const orders = database.records(BillingOrder)
    const [one, two] = await orders.createMany([
      { number: 'M-1', total: 1 },
      { number: 'M-2', total: 2 },
    ])
    await orders.insertMany(
      Array.from({ length: 1500 }, (_, index) => ({ number: `X-${index}`, total: index })),
    )
    await orders.upsert({ number: 'M-1', total: 9 }, { by: ['number'] })
    await orders.updateMany([
      { id: one!.id, total: 10 },
      { id: two!.id, total: 20 },
    ])
    await orders.updateWhere({ number: 'M-2' }, { total: { add: 1 } })
    expect(
      (await orders.list({ where: { number: { like: 'M-%' } } })).map(({ total }) => total),
    ).toStrictEqual([10, 21])
    expect(await orders.count({ number: { like: 'X-%' } })).toBe(1500)
    const [{ sumTotal }] = (await orders.aggregate({
      sum: ['total'],
      where: { number: { in: ['X-3', 'X-4'] } },
    })) as [{ sumTotal: unknown }]
    expect(Number(sumTotal)).toBe(7)
    await orders.deleteWhere({ number: { like: 'X-%' } })
    expect(await orders.count({ number: { like: 'X-%' } })).toBe(0)
  })

  it('have relations and links across schemas', async () => {
    const customer = await database.records(Customer).create({ name: 'Ada' })
    const order = await database
      .records(BillingOrder)
      .create({ number: 'R-1', total: 1, customerId: customer.id })
    await database.records(OrderLine).create({ text: 'lamp', billingOrderId: order.id })
    const label = await database.records(Label).create({ name: 'urgent' })
    await database.records(BillingOrder).link(order.id, 'labels', [label.id])
    const sale = await database.records(SalesOrder).create({ number: 'R-2' })
    await database.records(SalesOrder).link(sale.id, 'copies', [order.id])
    const query = `{ customers(where: { name: { eq: "Ada" } }) { orders { number lines { text } labels { name } } }
      salesorders(where: { number: { eq: "R-2" } }) { copies { number customer { name } } }
      billingorders(where: { lines: { text: { eq: "lamp" } } }) { number } }`
    expect(await json('POST', '/graphql', { query })).toStrictEqual({
      data: {
        customers: [
          { orders: [{ number: 'R-1', lines: [{ text: 'lamp' }], labels: [{ name: 'urgent' }] }] },
        ],
        salesorders: [{ copies: [{ number: 'R-1', customer: { name: 'Ada' } }] }],
        billingorders: [{ number: 'R-1' }],
      },
    })
    await database.records(OrderLine).deleteWhere({ text: 'lamp' })
    expect(await database.records(OrderLine).count({}, { withDeleted: true })).toBe(1)
  })

  it('are read by Kysely under one name, and a live query follows its writes', async () => {
    const order = await database.records(BillingOrder).create({ number: 'K-1' })
    const { kysely } = database
    const found = await kysely
      .selectFrom('billing.orders')
      .select('billing.orders.number')
      .where('id', '=', order.id)
      .execute()
    expect(found).toStrictEqual([{ number: 'K-1' }])
    const list = await openLive(`${app.url}/billing-orders?number=K-1`)
    expect(await list.message()).toMatchObject({ data: [{ total: 0 }] })
    await kysely
      .updateTable('billing.orders')
      .set({ total: 44 })
      .where('id', '=', order.id)
      .execute()
    expect(await list.message()).toMatchObject({ set: [{ id: order.id, total: 44 }] })
    list.leave()
  })

  it('are searched by words', async () => {
    await database.records(BillingOrder).create({ number: 'blue 77' })
    const found = await database.records(BillingOrder).list({ where: { search: 'blue' } })
    expect(found.map(({ number }) => number)).toStrictEqual(['blue 77'])
  })

  it('notifies listeners, and knows the sizes of the tables', async () => {
    const changes: string[] = []
    const stop = await database.onChange(
      (change) => {
        if (change.event !== 'lost') changes.push(`${change.record.name} ${change.event}`)
      },
      { everywhere: true },
    )
    await database.records(BillingOrder).create({ number: 'N-1' })
    await database.records(PlainOrder).create({ number: 'N-1' })
    await waitUntil(() => changes.length === 2)
    stop()
    expect(changes).toStrictEqual(['BillingOrder created', 'PlainOrder created'])
    const sizes = await engineOf(database).schema.sizes(['billing.orders', 'orders'])
    expect([...sizes.keys()].sort()).toStrictEqual(['billing.orders', 'orders'])
  })
})

describe.each(engines)('migrations of tables in schemas on %s', (engine, openUrl) => {
  const migrations = useMigrations()
  const isPostgres = engine === 'PostgreSQL'
  const kind = isPostgres ? 'postgres' : 'sqlite'
  let url: string
  beforeEach(async () => {
    url = await openUrl()
  })

  it('make, check and undo everything', async () => {
    const database = await migrations.open(url, ...records)
    const made = await makeMigration(database, 'shop', migrations.optionsAt(0))
    const text = await readFile(
      made!.files.find((file) => file.includes(kind))!,
      'utf8',
    )
    if (isPostgres) {
      expect(text.match(/create schema if not exists "\w+"/g)).toStrictEqual([
        'create schema if not exists "billing"',
        'create schema if not exists "sales"',
      ])
      expect(text).toContain('create table "billing"."orders" (')
      expect(text).toContain('references "billing"."orders" ("id")')
    } else expect(text).toContain('create table "billing_orders" (')
    const { folder } = migrations
    await migrateUp(database, { folder })
    await database.verify()
    expect(await database.differences()).toStrictEqual([])
    expect(await makeMigration(database, 'nothing', migrations.optionsAt(1))).toBeUndefined()
    expect(await checkMigrations(database, { folder, engines: undefined })).toStrictEqual([])
    await migrateDown(database, { folder })
    await migrateUp(database, { folder })
    await database.verify()
  })

  it('add and drop fields, indexes and checks', async () => {
    const { folder } = migrations
    const options = { schema: 'billing', table: 'thing' }
    const database = await migrations.open(url, thing({ name: ['string'] }, undefined, options))
    await makeMigration(database, 'one', migrations.optionsAt(0))
    await migrateUp(database, { folder })
    const next = thing(
      {
        name: ['string', { unique: true, maxLength: 9 }],
        size: ['integer', { default: 3, min: 1, index: true }],
      },
      undefined,
      options,
    )
    setRecords(database, next)
    await makeMigration(database, 'two', migrations.optionsAt(1))
    await migrateUp(database, { folder })
    await database.verify()
    expect(await database.differences()).toStrictEqual([])
    expect(await makeMigration(database, 'nothing', migrations.optionsAt(2))).toBeUndefined()
    setRecords(
      database,
      thing({ name: ['text'], size: ['numeric', { default: 3 }] }, undefined, options),
    )
    await makeMigration(database, 'three', migrations.optionsAt(3))
    await migrateUp(database, { folder })
    expect(await database.differences()).toStrictEqual([])
    await migrateDown(database, { folder })
    setRecords(database, next)
    expect(await database.differences()).toStrictEqual([])
  })

  it('rename a table, and move it to a schema', async () => {
    const { folder } = migrations
    const fields = { name: ['string', { unique: true }] } as const
    const database = await migrations.open(url, thing({ name: [...fields.name] }))
    await makeMigration(database, 'one', migrations.optionsAt(0))
    await migrateUp(database, { folder })
    const moved = thing({ name: [...fields.name] }, undefined, {
      schema: 'billing',
      table: 'item',
      was: 'thing',
    })
    if (isPostgres) await runSql(database, 'create schema billing')
    setRecords(database, moved)
    await makeMigration(database, 'two', migrations.optionsAt(1))
    await migrateUp(database, { folder })
    expect(await database.differences()).toStrictEqual([])
    await migrateDown(database, { folder })
    setRecords(database, thing({ name: [...fields.name] }))
    expect(await database.differences()).toStrictEqual([])
  })
})

it('are refused on SQLite if one name is left for two tables', async () => {
  const one = thing({ name: ['string'] }, undefined, { schema: 'billing', table: 'orders' })
  const other = thing({ name: ['string'] }, undefined, { table: 'billing_orders' })
  const database = await connect('sqlite::memory:', { records: [one, other] })
  const { problems } = await failure(database.sync())
  await database.close()
  expect(problems).toMatchObject([{ code: 'RECORD_TABLE_TWICE' }])
})

describe('tables in schemas of another program', () => {
  const [, [, openUrl]] = engines as [never, (typeof engines)[number]]
  const migrations = useMigrations()
  const fields = { name: ['string'] } as const
  const declare = (options: object) => thing({ name: [...fields.name] }, undefined, options)

  it.each([
    ['managed: false', { schema: 'billing', table: 'thing', managed: false }],
    ['a managed table', { schema: 'billing', table: 'thing' }],
  ])('stops the start in production if the table is missing: %s', async (_name, options) => {
    const database = await migrations.open(await openUrl(), declare(options))
    await runSql(database, 'create table thing (id bigint primary key, name text)')
    const { problems } = await failure(database.verify())
    expect(problems[0]?.message).toBe('Database: Table billing.thing is missing.')
  })

  it('stops the start if a column is missing', async () => {
    const options = { schema: 'billing', table: 'thing', managed: false }
    const database = await migrations.open(await openUrl(), declare(options))
    await runSql(
      database,
      'create schema billing;\ncreate table billing.thing (id integer primary key)',
    )
    const { problems } = await failure(database.verify())
    expect(problems[0]?.message).toBe('Database: billing.thing.name is missing (Thing.name).')
  })

  it('may be named with the schema of names without one', async () => {
    const database = await migrations.open(
      await openUrl(),
      declare({ schema: 'public', table: 'thing' }),
    )
    await database.sync()
    expect(await database.differences()).toStrictEqual([])
    await database.verify()
  })

  it('are refused with names that SQL reserves', async () => {
    const problems = await failure(
      migrations.open('sqlite::memory:', declare({ schema: 'pg_stuff' })),
    )
    expect(problems.problems[0]).toMatchObject({ code: 'RECORD_NAME' })
    const dotted = await failure(migrations.open('sqlite::memory:', declare({ schema: 'a.b' })))
    expect(dotted.problems[0]?.message).toBe('Thing: schema cannot be called "a.b".')
  })
})
