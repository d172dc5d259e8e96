import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from '@jest/globals'
import { BelongsTo, Field, Record, connect, type Database } from '../../src/index.js'
import { failure } from './failure.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { shop } from './shop.js'
import { thing, type Fields } from './thing.js'
import { runSql } from './run-sql.js'
import type { Class } from '../public-types.js'

@Record
class Owner {
  @Field('id') id!: number
}

const named: Fields = { name: ['string'] }
let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

describe.each(['sqlite', 'postgres'] as const)('the schema on %s', (engine) => {
  let folder: string
  let url: string
  const opened: Database[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-schema-'))
    url = engine === 'sqlite' ? `sqlite:${join(folder, 'app.db')}` : await server.createDatabase()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
    await rm(folder, { recursive: true })
  })

  const open = async (...records: Class[]): Promise<Database> => {
    const database = await connect(url, { records })
    opened.push(database)
    return database
  }
  const createOldRow = async (): Promise<void> => {
    const database = await open(thing(named))
    await database.sync()
    await database.kysely.insertInto('thing').values({ name: 'old' }).execute()
  }
  const rows = async (database: Database): Promise<unknown> =>
    database.kysely.selectFrom('thing').selectAll().execute()

  it('is created once', async () => {
    const database = await open(...shop)
    expect((await database.sync()).map(({ kind }) => kind)).toContain('missing table')
    expect(await database.differences()).toStrictEqual([])
    expect(await database.sync()).toStrictEqual([])
    await database.verify()
  })

  it('is created once by two processes that start together', async () => {
    const [a, b] = [await open(...shop), await open(...shop)]
    await Promise.all([a.sync(), b.sync()])
    expect(await a.differences()).toStrictEqual([])
  })

  it('is compared by verify, which changes nothing', async () => {
    await createOldRow()
    const database = await open(thing({ ...named, price: ['numeric'] }), Owner)
    const error = await failure(database.verify())
    expect(error.problems.map(({ code, message }) => `${code} ${message}`)).toStrictEqual([
      'SCHEMA_DIFFERS Database: Table owner is missing.',
      'SCHEMA_DIFFERS Database: thing.price is missing (Thing.price).',
    ])
    expect(error.problems[1]?.remedy).toMatch(/^Give the field a default or make it optional/)
    expect(await database.differences()).toHaveLength(2)
  })

  it('is named by verify in one problem, with all tables that are missing', async () => {
    const error = await failure((await open(...shop)).verify())
    const [problem, ...others] = error.problems
    const tables = shop.map(({ name }) => name.toLowerCase())
    expect(problem?.message).toMatch(/^Database: \d+ tables are missing: /)
    for (const table of tables) expect(problem?.message).toContain(table)
    expect(problem?.remedy).toMatch(/^Run filigree migrate up/)
    expect(others).toEqual([])
  })

  it('is named by verify up to 20 missing tables', async () => {
    const many = Array.from({ length: 23 }, (_, index) => {
      @Record({ table: `part${index}` })
      class Part {
        @Field('id') id!: number
      }
      return Part
    })
    const error = await failure((await open(...many)).verify())
    expect(error.problems[0]?.message).toMatch(/^Database: 23 tables are missing: .* and 3 more\.$/)
    expect(error.message.match(/part\d+/g)).toHaveLength(20)
  })

  it.each([
    ['has a default', { default: 1 }],
    ['is optional', { optional: true }],
  ])('needs no default if the new field %s', async (_what, rules) => {
    await createOldRow()
    const database = await open(thing({ ...named, price: ['numeric', rules] }))
    const error = await failure(database.verify())
    expect(error.problems.map(({ remedy }) => remedy)).toEqual([
      expect.stringMatching(/^Write a migration/),
    ])
    await database.sync()
    await database.verify()
  })

  it('gets new columns and indexes, with values in existing rows', async () => {
    await createOldRow()
    const grown = thing({
      name: ['string', { unique: true }],
      note: ['text', { optional: true }],
      price: ['numeric', { default: 1.5, index: true }],
      active: ['boolean', { default: true }],
      tags: ['string', { list: true, default: [] }],
      at: ['datetime', { default: '2026-01-01T00:00:00.000Z' }],
    })
    const database = await open(grown)
    await database.sync()
    expect(await database.differences()).toStrictEqual([])
    const [found] = await database.records(grown).list()
    expect(found).toMatchObject({
      name: 'old',
      price: 1.5,
      active: true,
      tags: [],
      at: '2026-01-01T00:00:00.000Z',
    })
  })

  it('gets a column with a reference', async () => {
    await createOldRow()
    const OwnedThing = thing({ ...named, ownerId: ['integer', { optional: true }] }, (type) => {
      BelongsTo(() => Owner)(type.prototype as object, 'owner')
    })
    const database = await open(OwnedThing)
    await database.sync()
    expect(await database.differences()).toStrictEqual([])
    await expect(
      database.records(OwnedThing).create({ name: 'x', ownerId: 9 }),
    ).rejects.toMatchObject({
      status: 409,
      message: 'ownerId names no Owner',
    })
    expect(await rows(database)).toHaveLength(1)
  })

  it('gets a required column only if the table is empty', async () => {
    const priced = thing({ ...named, price: ['numeric'] })
    const empty = await open(thing(named))
    await empty.sync()
    const database = await open(priced)
    await database.kysely.insertInto('thing').values({ name: 'old' }).execute()
    const error = await failure(database.sync())
    expect(error.message).toContain('thing.price is missing (Thing.price).')
    expect(error.message).toContain('Give the field a default or make it optional')
    expect(await rows(database)).toMatchObject([{ name: 'old' }])
    await database.kysely.deleteFrom('thing').execute()
    await database.sync()
    expect(await database.differences()).toStrictEqual([])
  })

  it('becomes nullable if the field does, and keeps unknown columns', async () => {
    await createOldRow()
    const extra = await open()
    await runSql(extra, 'alter table thing add column extra text')
    await extra.kysely.updateTable('thing').set({ extra: 'old' }).execute()
    const database = await open(thing({ name: ['string', { nullable: true }] }))
    await database.sync()
    expect(await rows(database)).toMatchObject([{ name: 'old', extra: 'old' }])
    expect(await database.differences()).toMatchObject([
      { kind: 'unknown column', blocks: false, message: 'thing.extra does not belong to a field.' },
    ])
  })

  it.each<[string, Fields]>([
    ['another type', { name: ['blob'] }],
    ['a column that becomes required', { name: ['string'], note: ['string'] }],
  ])('needs a migration for %s', async (_, fields) => {
    const before = await open(thing({ name: ['string'], note: ['string', { optional: true }] }))
    await before.sync()
    const database = await open(thing(fields))
    const error = await failure(database.sync())
    expect(error.problems[0]?.code).toBe('SCHEMA_DIFFERS')
    expect(error.problems[0]?.remedy).toContain('filigree migrate make')
  })

  it('cannot get a unique index over equal values', async () => {
    await createOldRow()
    await createOldRow()
    const database = await open(thing({ name: ['string', { unique: true }] }))
    const error = await failure(database.sync())
    expect(error.message).toContain('Index thing_name_key on thing is missing (Thing.name).')
    expect(error.message).toContain('Existing rows may hold equal values.')
  })
})
