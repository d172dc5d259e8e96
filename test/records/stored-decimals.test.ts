/** Decimals in the database: the check of their columns, and errors for values that SQL by hand has written. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import {
  BelongsTo,
  bootstrap,
  connect,
  Controller,
  decimalText,
  decimalValue,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record,
  StoredValueError,
  type Application,
  type Database,
  type ExactNumber,
} from '../../src/index.js'
import { failure } from '../contracts/database-fixture.js'
import { silentLog } from '../silent-log.js'
import { sendGraphql } from './send-graphql.js'
import {
  makeMigration,
  migrateDown,
  migrateUp,
  setRecords,
  useMigrations,
} from './migration-helpers.js'
import { thing } from './thing.js'
import { startBothEngines } from './both-engines.js'

@Record
class Sample {
  @Field('id') id!: number
  @HasMany(() => Assay) assays!: Assay[]
}

@Record
@NoAuth
class Assay {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('decimal', { precision: 12, scale: 2, min: '0', nullable: true, optional: true })
  price!: ExactNumber | null
  @Field('decimal', { precision: 17, scale: 3, nullable: true, optional: true })
  mass!: ExactNumber | null
  @Field('decimal', { precision: 30, scale: 4, nullable: true, optional: true })
  rate!: ExactNumber | null
  @Field('integer', { nullable: true, optional: true }) sampleId!: number | null
  @BelongsTo(() => Sample) sample!: Sample | null
}

@Controller('/assays', { crud: Assay })
@NoAuth
class Assays {}

@Controller('/samples', { crud: Sample })
@NoAuth
class Samples {}

@Module({ controllers: [Assays, Samples], records: [Assay, Sample] })
class Laboratory {}

const engines = await startBothEngines()

it.each([
  ['update assay set price = 15.5', 'price'],
  ["update assay set price = '15.50'", 'price'],
  ["update assay set price = 'a lot'", 'price'],
  ['update assay set price = 1000000000000000000', 'price'],
  ['update assay set mass = 0.5', 'mass'],
  ['update assay set rate = 15.5', 'rate'],
  ['update assay set rate = 15', 'rate'],
])('SQLite refuses %s', async (statement, field) => {
  await using database = await connect('sqlite::memory:', { records: [Assay, Sample] })
  await database.sync()
  const one = await database.records(Assay).create({ name: 'iron', price: '9.50' } as never)
  await expect(sql.raw(statement).execute(database.kysely)).rejects.toThrow(`assay_${field}_check_`)
  expect((await database.records(Assay).find(one.id))?.price).toBe('9.50')
})

/** Writes a wrong value as a program without the check would. */
const spoil = {
  SQLite: async (database: Database, field: string) => {
    await sql.raw('pragma ignore_check_constraints = on').execute(database.kysely)
    const value = field === 'rate' ? "'15.5'" : '15.5'
    await sql.raw(`update assay set ${field} = ${value} where id = 2`).execute(database.kysely)
    await sql.raw('pragma ignore_check_constraints = off').execute(database.kysely)
  },
  PostgreSQL: async (database: Database, field: string) => {
    await sql.raw(`update assay set ${field} = 'NaN' where id = 2`).execute(database.kysely)
  },
}

describe.each(engines)('%s: a wrong value of', (name, open) => {
  describe.each(['price', 'mass', 'rate'] as const)('%s', (field) => {
    let app: Application
    let database: Database
    const logged: unknown[] = []
    beforeAll(async () => {
      database = await connect(await open(), { records: [Sample, Assay] })
      await database.sync()
      const logger = {
        ...silentLog,
        error: (_: unknown, details: unknown) => void logged.push(details),
      }
      app = await bootstrap(Laboratory, { database, listen: false, logger, graphql: true })
      await database.records(Sample).createMany([{}, {}] as never)
      const row = { price: '9.50', mass: '0.125', rate: '1.5', sampleId: 1 }
      await database.records(Assay).createMany([
        { ...row, name: 'iron' },
        { ...row, name: 'lead' },
        { ...row, name: 'zinc' },
      ] as never)
      await spoil[name as 'SQLite'](database, field)
    })
    afterAll(async () => {
      await app.close()
      await database.close()
    })

    const expected = { record: 'Assay', field, key: 2, code: 'STORED_VALUE' }
    it.each([
      ['find', () => database.records(Assay).find(2)],
      ['list', () => database.records(Assay).list({})],
      ['with', () => database.records(Sample).list({ with: ['assays'] })],
      ['sum', () => database.records(Assay).aggregate({ sum: [field] })],
      ['average', () => database.records(Assay).aggregate({ avg: [field] })],
      ['groups', () => database.records(Assay).aggregate({ groupBy: [field] })],
      ['update', () => database.records(Assay).update(2, { name: 'tin' })],
    ])('is an error of %s that names it', async (_name, run) => {
      const error = await failure(run())
      expect(error).toBeInstanceOf(StoredValueError)
      expect(error).toMatchObject(expected)
    })

    it.each(['/assays', '/assays/2', '/samples?with=assays', `/assays/aggregate?sum=${field}`])(
      'is 500 at %s',
      async (url) => {
        const response = await app.inject(url)
        expect(response.status).toBe(500)
        expect(response.body).not.toContain('15.5')
      },
    )

    it.each([
      `{ assays { id ${field} } }`,
      `{ assay(id: 2) { ${field} } }`,
      `{ samples { assays { ${field} } } }`,
    ])('is an error of %s', async (query) => {
      const { data, errors } = await sendGraphql(app, query)
      expect(JSON.stringify(data)).not.toMatch(/NaN|15/)
      expect(errors?.[0]?.extensions.code).toBe('INTERNAL_SERVER_ERROR')
    })

    it('leaves the other rows readable', async () => {
      expect((await app.inject('/assays/1')).status).toBe(200)
    })
  })
})

/** A table as it was made before its columns had checks. */
const olderTable = `create table "assay" (
  "id" integer primary key autoincrement,
  "name" text not null,
  "price" integer_scale_2,
  "mass" integer_scale_3,
  "rate" text_decimal_30_4,
  "sample_id" integer,
  constraint "assay_sample_id_fkey" foreign key ("sample_id") references "sample" ("id") on delete restrict
)`

describe('SQLite: a table without checks', () => {
  it('gets them where its rows allow it', async () => {
    await using database = await connect('sqlite::memory:', { records: [Sample, Assay] })
    await sql.raw('create table sample (id integer primary key)').execute(database.kysely)
    await sql.raw(olderTable).execute(database.kysely)
    await sql.raw(`insert into assay (name, price) values ('iron', 950)`).execute(database.kysely)
    await database.sync()
    expect((await database.records(Assay).find(1))?.price).toBe('9.50')
    expect((await database.differences()).filter((one) => one.table === 'assay')).toEqual([])
    await expect(sql.raw('update assay set price = 1.5').execute(database.kysely)).rejects.toThrow(
      'CHECK constraint failed',
    )
  })

  it('works without them where a row does not allow it', async () => {
    await using database = await connect('sqlite::memory:', { records: [Sample, Assay] })
    await sql.raw('create table sample (id integer primary key)').execute(database.kysely)
    await sql.raw(olderTable).execute(database.kysely)
    const insert = `insert into assay (name, price) values ('iron', 9.5), ('lead', 950)`
    await sql.raw(insert).execute(database.kysely)
    await database.sync()
    await database.verify()
    expect((await database.differences()).map(({ kind }) => kind)).toContain('missing check')
    expect((await database.records(Assay).find(2))?.price).toBe('9.50')
    expect(await failure(database.records(Assay).find(1))).toMatchObject({ field: 'price', key: 1 })
  })
})

describe('SQLite: migrations', () => {
  const migrations = useMigrations()

  it('add the check of an existing table, and take it back', async () => {
    const database = await migrations.open('sqlite::memory:')
    setRecords(database, thing({ name: ['string'], price: ['decimal'] }))
    await makeMigration(database, 'first', migrations.optionsAt(0))
    // The first migration of an earlier version had no checks.
    for (const file of await readdir(migrations.folder)) {
      const path = join(migrations.folder, file)
      const text = await readFile(path, 'utf8')
      await writeFile(path, text.replace(/ constraint "thing_price_check_.*(?=\n)/, ''))
    }
    await migrateUp(database, migrations.optionsAt(0))
    await sql.raw("insert into thing (name, price) values ('a', 950)").execute(database.kysely)
    await database.verify()
    expect((await database.differences()).map(({ kind }) => kind)).toEqual(['missing check'])
    await makeMigration(database, 'checks', migrations.optionsAt(1))
    await migrateUp(database, migrations.optionsAt(1))
    expect(await database.differences()).toEqual([])
    const update = sql.raw('update thing set price = 1.5')
    await expect(update.execute(database.kysely)).rejects.toThrow('thing_price_check')
    setRecords(database, thing({ title: ['string', { was: 'name' }], price: ['decimal'] }))
    await makeMigration(database, 'rename', migrations.optionsAt(2))
    await migrateUp(database, migrations.optionsAt(2))
    expect(await database.differences()).toEqual([])
    await expect(update.execute(database.kysely)).rejects.toThrow('thing_price_check')
    await migrateDown(database, migrations.optionsAt(3))
    await migrateDown(database, migrations.optionsAt(3))
    await update.execute(database.kysely)
  })
})

describe.each(engines)('%s: decimals in queries of Kysely', (_name, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Sample, Assay] })
    await database.sync()
    await database.records(Assay).createMany([
      { name: 'iron', price: '9.50', mass: '0.125', rate: '1.5' },
      { name: 'lead', price: '10', mass: '-2', rate: '-20' },
      { name: 'zinc', price: null },
    ] as never)
  })
  afterAll(() => database.close())
  const kysely = () =>
    database.kysely.withTables<{
      assay: { id: number; name: string; price: unknown; mass: unknown; rate: unknown }
    }>()

  it('reads columns as text', async () => {
    const rows = await kysely()
      .selectFrom('assay')
      .select([decimalText('price'), decimalText('mass'), decimalText('assay.rate').as('speed')])
      .orderBy('id')
      .execute()
    const typed: string | undefined = rows[0]?.price
    expect(typed).toBe('9.50')
    expect(rows).toEqual([
      { price: '9.50', mass: '0.125', speed: '1.5000' },
      { price: '10.00', mass: '-2.000', speed: '-20.0000' },
      { price: null, mass: null, speed: null },
    ])
  })

  it.each([
    ['price', '9.6'],
    ['rate', '-19.9'],
  ] as const)('compares %s with a decimal', async (column, value) => {
    const query = kysely().selectFrom('assay as a').select('name')
    const named = query.where(column, '<', decimalValue(value, `a.${column}`)).execute()
    expect(await named).toEqual([{ name: column === 'price' ? 'iron' : 'lead' }])
  })

  it('reads a sum', async () => {
    const { fn } = kysely()
    const total = decimalText(fn.sum('price'), 'price').as('total')
    expect(await kysely().selectFrom('assay').select(total).execute()).toEqual([{ total: '19.50' }])
  })

  it('writes decimals', async () => {
    const { id } = await database.records(Assay).create({ name: 'tin' } as never)
    const query = kysely()
      .updateTable('assay')
      .set({ price: decimalValue('15.5', 'price'), rate: decimalValue('-0.25', 'rate') })
      .where('id', '=', id)
      .returning([decimalText('price')])
    expect(await query.execute()).toEqual([{ price: '15.50' }])
    expect(await database.records(Assay).find(id)).toMatchObject({
      price: '15.50',
      rate: '-0.2500',
    })
    await database.records(Assay).delete(id)
  })

  it('takes digits for a column that no record has', async () => {
    const digits = { precision: 12, scale: 2 }
    const query = kysely()
      .selectFrom('assay')
      .select(decimalText('price', digits))
      .where('price', '=', decimalValue('9.5', digits))
    expect(await query.execute()).toEqual([{ price: '9.50' }])
  })

  it.each([
    ['a column without decimals', () => decimalText('name'), 'no record of this query'],
    ['a value with too many digits', () => decimalValue('1.234', 'price').as('v'), 'is not'],
  ])('refuses %s', async (_, make, message) => {
    const query = kysely().selectFrom('assay').select(make())
    await expect(async () => query.execute()).rejects.toThrow(message)
  })
})
