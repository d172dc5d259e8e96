import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from '@jest/globals'
import type { DeclarationError } from '../../src/errors/declaration-error.js'
import { Field } from '../../src/fields/field.js'
import type { FieldRules } from '../../src/fields/rules.js'
import type { Class } from '../../src/metadata/note.js'
import { connect, type Database } from '../../src/records/database.js'
import {
  makeMigration,
  migrateDown,
  migrateUp,
  migrationStatus,
} from '../../src/records/migrations.js'
import { Record } from '../../src/records/record.js'
import { BelongsTo } from '../../src/records/relations.js'
import type { KindName } from '../../src/fields/kinds/table.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { shop } from './shop.js'

type Fields = globalThis.Record<string, [KindName, FieldRules?]>

/** A record of the table `thing` as it stands after some change. */
function thing(fields: Fields, more: (type: Class) => void = () => undefined): Class {
  const Thing = class {}
  Object.defineProperty(Thing, 'name', { value: 'Thing' })
  Field('id')(Thing.prototype, 'id')
  for (const [name, [kind, rules]] of Object.entries(fields)) {
    Field(kind, rules)(Thing.prototype, name)
  }
  more(Thing)
  Record({ table: 'thing' })(Thing)
  return Thing
}

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
  const filled = async (): Promise<void> => {
    const database = await open(thing(named))
    await database.sync()
    await database.kysely.insertInto('thing').values({ name: 'old' }).execute()
  }
  const rows = async (database: Database): Promise<unknown> =>
    database.kysely.selectFrom('thing').selectAll().execute()

  it('makes everything once', async () => {
    const database = await open(...shop)
    expect((await database.sync()).map(({ kind }) => kind)).toContain('missing table')
    expect(await database.differences()).toStrictEqual([])
    expect(await database.sync()).toStrictEqual([])
    await database.verify()
  })

  it('lets two that start together make it once', async () => {
    const [a, b] = [await open(...shop), await open(...shop)]
    await Promise.all([a.sync(), b.sync()])
    expect(await a.differences()).toStrictEqual([])
  })

  it('tells production what differs, and changes nothing', async () => {
    await filled()
    const database = await open(thing({ ...named, price: ['numeric'] }), Owner)
    const error = await failure(database.verify())
    expect(error.problems.map(({ code, message }) => `${code} ${message}`)).toStrictEqual([
      'SCHEMA_DIFFERS Database: Table owner is missing.',
      'SCHEMA_DIFFERS Database: thing.price is missing (Thing.price).',
    ])
    expect(await database.differences()).toHaveLength(2)
  })

  it('adds columns and indexes, filling rows that are there', async () => {
    await filled()
    const database = await open(
      thing({
        name: ['string', { unique: true }],
        note: ['text', { optional: true }],
        price: ['numeric', { default: 1.5, index: true }],
        active: ['boolean', { default: true }],
        tags: ['string', { list: true, default: [] }],
        at: ['datetime', { default: '2026-01-01T00:00:00.000Z' }],
      }),
    )
    await database.sync()
    expect(await database.differences()).toStrictEqual([])
    const [found] = await database.records([...database.tables][0]!.type).list()
    expect(found).toMatchObject({
      name: 'old',
      price: 1.5,
      active: true,
      tags: [],
      at: '2026-01-01T00:00:00.000Z',
    })
  })

  it('adds a column that refers elsewhere', async () => {
    await filled()
    const Tied = thing({ ...named, ownerId: ['integer', { optional: true }] }, (type) => {
      BelongsTo(() => Owner)(type.prototype as object, 'owner')
    })
    const database = await open(Tied)
    await database.sync()
    expect(await database.differences()).toStrictEqual([])
    await expect(database.records(Tied).create({ name: 'x', ownerId: 9 })).rejects.toMatchObject({
      status: 409,
      message: 'ownerId names no Owner',
    })
    expect(await rows(database)).toHaveLength(1)
  })

  it('adds a required column to an empty table, and not to a full one', async () => {
    const wanted = thing({ ...named, price: ['numeric'] })
    const empty = await open(thing(named))
    await empty.sync()
    const database = await open(wanted)
    await database.kysely.insertInto('thing').values({ name: 'old' }).execute()
    const error = await failure(database.sync())
    expect(error.message).toContain('thing.price is missing (Thing.price).')
    expect(error.message).toContain('Give the field a default or make it optional')
    expect(await rows(database)).toMatchObject([{ name: 'old' }])
    await database.kysely.deleteFrom('thing').execute()
    await database.sync()
    expect(await database.differences()).toStrictEqual([])
  })

  it('loosens what may be null now, and keeps columns it does not know', async () => {
    await filled()
    const extra = await open()
    await extra.context.engine.script('alter table thing add column extra text')
    await extra.kysely.updateTable('thing').set({ extra: 'kept' }).execute()
    const database = await open(thing({ name: ['string', { nullable: true }] }))
    await database.sync()
    expect(await rows(database)).toMatchObject([{ name: 'old', extra: 'kept' }])
    expect(await database.differences()).toMatchObject([
      { kind: 'unknown column', blocks: false, message: 'thing.extra belongs to no field.' },
    ])
  })

  it.each<[string, Fields]>([
    ['another type', { name: ['blob'] }],
    ['null that is no longer possible', { name: ['string'], note: ['string'] }],
  ])('leaves %s to a migration', async (_, fields) => {
    const before = await open(thing({ name: ['string'], note: ['string', { optional: true }] }))
    await before.sync()
    const database = await open(thing(fields))
    const error = await failure(database.sync())
    expect(error.problems[0]?.code).toBe('SCHEMA_DIFFERS')
    expect(error.problems[0]?.remedy).toContain('filigree migrate make')
  })

  it('refuses a unique index over rows that are alike', async () => {
    await filled()
    await filled()
    const database = await open(thing({ name: ['string', { unique: true }] }))
    const error = await failure(database.sync())
    expect(error.message).toContain('Index thing_name_key on thing is missing.')
    expect(error.message).toContain('Rows that are there may be alike.')
  })

  describe('migrations', () => {
    const now = (): number => Date.UTC(2026, 10, 21, 10, 30)
    const at = (): { folder: string; now: () => number } => ({
      folder: join(folder, 'migrations'),
      now,
    })

    it('are made from what differs, run once, and taken back', async () => {
      const database = await open(thing(named))
      const file = await makeMigration(database, 'First thing!', at())
      expect(file).toBe(join(at().folder, `20261121103000_first-thing.${engine}.sql`))
      const text = await readFile(file!, 'utf8')
      expect(text).toContain('-- Table thing is missing.\ncreate table "thing" (')
      expect(text).toContain('\n-- down\ndrop table "thing";\n')
      const name = '20261121103000_first-thing'
      expect(await migrationStatus(database, at())).toStrictEqual([
        { name, state: 'pending', appliedAt: undefined },
      ])
      expect(await migrateUp(database, at())).toStrictEqual([name])
      expect(await migrateUp(database, at())).toStrictEqual([])
      await database.verify()
      expect(await makeMigration(database, 'nothing', at())).toBeUndefined()
      expect(await migrationStatus(database, at())).toStrictEqual([
        { name, state: 'applied', appliedAt: '2026-11-21T10:30:00.000Z' },
      ])
      expect(await migrateDown(database, at())).toStrictEqual([name])
      expect(await migrateDown(database, at())).toStrictEqual([])
      expect(await database.differences()).toMatchObject([{ kind: 'missing table' }])
    })

    it('keep rows through changes that sync leaves alone', async () => {
      const first = await open(thing({ name: ['string'], size: ['string', { optional: true }] }))
      await first.sync()
      await first.kysely.insertInto('thing').values({ name: 'a', size: '5' }).execute()
      await first.kysely.insertInto('thing').values({ name: 'b' }).execute()
      const database = await open(
        thing({ name: ['string', { unique: true }], size: ['integer', { default: 3 }] }),
      )
      await makeMigration(database, 'sizes are numbers', at())
      await migrateUp(database, at())
      expect(await database.differences()).toStrictEqual([])
      const found = await database.records([...database.tables][0]!.type).list()
      expect(found).toMatchObject([
        { name: 'a', size: 5 },
        { name: 'b', size: 3 },
      ])
    })

    it('leave nothing of one that fails, and keep what ran before', async () => {
      const database = await open(thing(named))
      await makeMigration(database, 'a', at())
      const bad = join(at().folder, `20261121104000_b.${engine}.sql`)
      await writeFile(bad, 'create table half (id integer);\ncreate tabel nonsense;\n')
      const error = await failure(migrateUp(database, at()))
      expect(error.problems[0]).toMatchObject({ code: 'MIGRATION_FAILED' })
      expect(error.message).toContain('Migration 20261121104000_b: ')
      const states = (await migrationStatus(database, at())).map(({ state }) => state)
      expect(states).toStrictEqual(['applied', 'pending'])
      const catalogue = await database.context.engine.catalogue(database.context.engine)
      expect(catalogue.has('half')).toBe(false)
    })

    it('refuse a file that was changed, and one that says no way back', async () => {
      const database = await open(thing(named))
      const file = await makeMigration(database, 'a', at())
      await migrateUp(database, at())
      await writeFile(file!, 'select 1;\n')
      expect((await failure(migrateUp(database, at()))).problems[0]?.code).toBe('MIGRATION_CHANGED')
      expect((await failure(migrateDown(database, at()))).message).toContain(
        'does not say how it is taken back',
      )
      await rm(file!)
      expect((await migrationStatus(database, at()))[0]?.state).toBe('applied, file missing')
    })

    it('run once where two processes start together', async () => {
      const [a, b] = [await open(thing(named)), await open(thing(named))]
      await makeMigration(a, 'a', at())
      const ran = await Promise.all([migrateUp(a, at()), migrateUp(b, at())])
      expect(ran.flat()).toHaveLength(1)
      expect(await readdir(at().folder)).toHaveLength(1)
    })

    it('drop a column only when somebody takes the comment away', async () => {
      const before = await open(thing({ ...named, old: ['string', { optional: true }] }))
      await before.sync()
      const database = await open(thing({ ...named, price: ['numeric', { default: 0 }] }))
      const text = await readFile((await makeMigration(database, 'x', at()))!, 'utf8')
      expect(text).toContain('-- alter table "thing" drop column "old";')
    })
  })
})

async function failure(work: Promise<unknown>): Promise<DeclarationError> {
  try {
    await work
  } catch (error) {
    return error as DeclarationError
  }
  throw new Error('It did not fail.')
}
