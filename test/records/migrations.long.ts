import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
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
import { engineOf, internalsOf } from './open-database.js'
import {
  checkMigrations,
  makeMigration,
  migrateDown,
  migrateUp,
  migrationStatus,
  setRecords,
} from './migration-helpers.js'

@Record
class Owner {
  @Field('id') id!: number
}

const named: Fields = { name: ['string'] }
const engines = ['sqlite', 'postgres'] as const
type EngineName = (typeof engines)[number]
let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

describe.each(engines)('migrations on %s', (engine) => {
  let folder: string
  let url: string
  let count = 0
  const opened: Database[] = []

  /** @returns the URL of an empty database */
  const emptyDatabaseUrl = async (engineName: EngineName = engine): Promise<string> =>
    engineName === 'sqlite' ? `sqlite:${join(folder, `app${count++}.db`)}` : server.createDatabase()

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-migrations-'))
    url = await emptyDatabaseUrl()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
    await rm(folder, { recursive: true })
  })

  const openAt = async (where: string, records: Class[]): Promise<Database> => {
    const database = await connect(where, { records })
    opened.push(database)
    return database
  }
  const open = (...records: Class[]): Promise<Database> => openAt(url, records)

  const startTime = Date.UTC(2026, 10, 21, 10, 30)
  /** Options of a migration. @param minute minutes after the start, for the file name */
  const options = (minute = 0): { folder: string; now: () => number } => ({
    folder: join(folder, 'migrations'),
    now: () => startTime + minute * 60_000,
  })
  const write = (name: string, text: string, engineName: EngineName = engine): Promise<void> =>
    writeFile(join(options().folder, `${name}.${engineName}.sql`), text)
  const read = (name: string, engineName: EngineName = engine): Promise<string> =>
    readFile(join(options().folder, `${name}.${engineName}.sql`), 'utf8')
  const states = async (database: Database): Promise<string[]> =>
    (await migrationStatus(database, options())).map(({ state }) => state)
  const tables = async (database: Database): Promise<string[]> => [
    ...(await engineOf(database).schema.catalogue(engineOf(database))).keys(),
  ]
  const list = (database: Database): Promise<object[]> =>
    database.records([...internalsOf(database).tables][0]!.type).list()

  it('are made from the differences, run once, and can be reverted', async () => {
    const database = await open(thing(named))
    const name = '20261121103000_first-thing'
    expect(await makeMigration(database, 'First thing!', options())).toStrictEqual({
      files: engines.map((one) => join(options().folder, `${name}.${one}.sql`)),
      applied: [],
      warnings: [],
    })
    const text = await read(name)
    expect(text).toContain('-- Table thing is missing.\ncreate table "thing" (')
    expect(text).toContain('\n-- down\ndrop table "thing";\n')
    expect(await migrationStatus(database, options())).toStrictEqual([
      { name, state: 'pending', appliedAt: undefined },
    ])
    expect(await migrateUp(database, options())).toStrictEqual([name])
    expect(await migrateUp(database, options())).toStrictEqual([])
    await database.verify()
    expect(await makeMigration(database, 'nothing', options())).toBeUndefined()
    expect(await migrationStatus(database, options())).toStrictEqual([
      { name, state: 'applied', appliedAt: '2026-11-21T10:30:00.000Z' },
    ])
    expect(await migrateDown(database, options())).toStrictEqual([name])
    expect(await migrateDown(database, options())).toStrictEqual([])
    expect(await database.differences()).toMatchObject([{ kind: 'missing table' }])
  })

  it('are made for every engine, and produce the schema of the records on each', async () => {
    const withOwner = { ...named, ownerId: ['integer', { optional: true }] } satisfies Fields
    const owned = (fields: Fields): Class =>
      thing(fields, (type) => {
        BelongsTo(() => Owner)(type.prototype as object, 'owner')
      })
    const versions = [
      [thing({ ...named, gone: ['string'] })],
      [owned({ ...withOwner, price: ['numeric', { default: 1 }] })],
      [owned({ ...withOwner, price: ['integer', { index: true, default: 2 }], at: ['datetime'] })],
      [owned({ ...withOwner, name: ['string', { unique: true, nullable: true }] }), ...shop],
    ]
    for (const [minute, records] of versions.entries()) {
      const database = await open(...records)
      await makeMigration(database, `v${minute}`, options(minute))
      await migrateUp(database, options())
      await database.verify()
      expect(await makeMigration(database, 'nothing', options(minute))).toBeUndefined()
    }
    for (const other of engines) {
      const database = await openAt(await emptyDatabaseUrl(other), versions.at(-1)!)
      await migrateUp(database, options())
      await database.verify()
      expect(await states(database)).toStrictEqual(Array(4).fill('applied'))
      const unknown = (await database.differences()).map(({ message }) => message).sort()
      expect(unknown).toStrictEqual([
        'thing.at does not belong to a field.',
        'thing.gone does not belong to a field.',
        'thing.price does not belong to a field.',
      ])
    }
  })

  it('can be made one after another before any has run', async () => {
    await makeMigration(await open(thing(named)), 'a', options())
    const database = await open(thing({ ...named, price: ['numeric', { default: 1 }] }))
    await makeMigration(database, 'b', options(1))
    expect(await read('20261121103100_b')).not.toContain('create table')
    expect(await migrateUp(database, options())).toHaveLength(2)
    await database.verify()
  })

  it('count as applied if sync has created everything', async () => {
    const database = await open(thing(named))
    await database.sync()
    const migration = await makeMigration(database, 'begin', options())
    expect(migration?.applied).toStrictEqual(['20261121103000_begin'])
    expect(await read('20261121103000_begin')).toContain('create table "thing"')
    expect(await migrateUp(database, options())).toStrictEqual([])
    expect(await states(database)).toStrictEqual(['applied'])
    const other = await openAt(await emptyDatabaseUrl(), [thing(named)])
    await migrateUp(other, options())
    await other.verify()
  })

  it('can start from an existing database, and keep its rows', async () => {
    const first = await open(thing({ name: ['string'], size: ['string', { optional: true }] }))
    await first.sync()
    await first.kysely.insertInto('thing').values({ name: 'a', size: '5' }).execute()
    await first.kysely.insertInto('thing').values({ name: 'b' }).execute()
    const fields: Fields = {
      name: ['string', { unique: true }],
      size: ['integer', { default: 3 }],
    }
    const database = await open(thing(fields))
    await makeMigration(database, 'sizes are numbers', options())
    await migrateUp(database, options())
    expect(await database.differences()).toStrictEqual([])
    expect(await list(database)).toMatchObject([
      { name: 'a', size: 5 },
      { name: 'b', size: 3 },
    ])
    const next = await open(thing({ ...fields, note: ['text', { optional: true }] }))
    await makeMigration(next, 'notes', options(1))
    await migrateUp(next, options())
    expect(await next.differences()).toStrictEqual([])
    expect(await list(next)).toHaveLength(2)
  })

  it('roll back completely when they fail, and earlier ones stay', async () => {
    const database = await open(thing(named))
    await makeMigration(database, 'a', options())
    await write('20261121104000_b', 'create table half (id integer);\ncreate tabel nonsense;\n')
    const error = await failure(migrateUp(database, options()))
    expect(error.problems[0]).toMatchObject({ code: 'MIGRATION_FAILED' })
    expect(error.message).toContain('Migration 20261121104000_b: ')
    expect(await states(database)).toStrictEqual(['applied', 'pending'])
    expect(await tables(database)).not.toContain('half')
  })

  it('refuse a changed file, and a file without down', async () => {
    const database = await open(thing(named))
    await makeMigration(database, 'a', options())
    await migrateUp(database, options())
    await write('20261121103000_a', 'select 1;\n')
    expect((await failure(migrateUp(database, options()))).problems[0]?.code).toBe(
      'MIGRATION_CHANGED',
    )
    expect((await failure(migrateDown(database, options()))).message).toContain(
      'does not say how to undo it',
    )
    await rm(join(options().folder, `20261121103000_a.${engine}.sql`))
    expect(await states(database)).toStrictEqual(['applied, file missing'])
  })

  it('run once when two processes start together', async () => {
    const [a, b] = [await open(thing(named)), await open(thing(named))]
    await makeMigration(a, 'a', options())
    const applied = await Promise.all([migrateUp(a, options()), migrateUp(b, options())])
    expect(applied.flat()).toHaveLength(1)
    expect((await readdir(options().folder)).sort()).toStrictEqual([
      '20261121103000_a.postgres.sql',
      '20261121103000_a.sqlite.sql',
      'schema.postgres.json',
    ])
  })

  it('drop a column or a table only after you uncomment the statement', async () => {
    await makeMigration(
      await open(thing({ ...named, old: ['string', { optional: true }] }), Owner),
      'a',
      options(),
    )
    const database = await open(thing({ ...named, price: ['numeric', { default: 0 }] }))
    await makeMigration(database, 'b', options(1))
    const text = await read('20261121103100_b')
    expect(text).toContain('\n-- alter table "thing" drop column "old";')
    expect(text).toContain('\n-- drop table "owner";')
    await migrateUp(database, options())
    expect(await tables(database)).toContain('owner')
  })

  it('make a column without a field nullable, and keep it', async () => {
    const before = await open(thing({ ...named, old: ['string'] }))
    await makeMigration(before, 'a', options())
    await migrateUp(before, options())
    await before
      .records([...internalsOf(before).tables][0]!.type)
      .create({ name: 'a', old: 'kept' })
    const database = await open(thing(named))
    expect((await failure(database.verify())).message).toContain(
      'thing.old does not belong to a field and must be filled.',
    )
    await makeMigration(database, 'b', options(1))
    await migrateUp(database, options())
    await database.verify()
    await database.records([...internalsOf(database).tables][0]!.type).create({ name: 'b' })
    const rows = await database.kysely.selectFrom('thing').select(['name', 'old']).execute()
    expect(rows).toStrictEqual([
      { name: 'a', old: 'kept' },
      { name: 'b', old: null },
    ])
  })

  it('refuse a pending migration without a file for this engine, before anything runs', async () => {
    const database = await open(thing(named))
    await makeMigration(database, 'a', options())
    const other = engine === 'sqlite' ? 'postgres' : 'sqlite'
    await write('20261121104000_b', 'select 1;\n', other)
    const error = await failure(migrateUp(database, options()))
    expect(error.problems[0]).toMatchObject({
      code: 'MIGRATION_MISSING',
      message: `Migration 20261121104000_b has no file for this engine: 20261121104000_b.${engine}.sql.`,
      remedy: expect.stringContaining('a comment is enough'),
    })
    expect(await states(database)).toStrictEqual(['pending', 'no file for this engine'])
    await write('20261121104000_b', '-- Nothing.\n')
    expect(await migrateUp(database, options())).toHaveLength(2)
  })

  it("refuse an older migration without a file for this engine until make has added the engine's files", async () => {
    const other = engine === 'sqlite' ? 'postgres' : 'sqlite'
    const existing = await openAt(await emptyDatabaseUrl(other), [thing(named)])
    await makeMigration(existing, 'a', { ...options(), engines: [other] })
    const database = await open(thing(named))
    expect((await failure(migrateUp(database, options()))).problems[0]).toMatchObject({
      code: 'MIGRATION_MISSING',
      remedy: `Write the migrations for it: filigree migrate adopt ${engine}.`,
    })
    await makeMigration(database, 'b', options(1))
    expect(await read('20261121103100_b')).toMatch(
      /^-- filigree: contains all migrations until 20261121103000_a\n-- Table thing is missing\./,
    )
    expect(await migrateUp(database, options())).toStrictEqual(['20261121103100_b'])
    await database.verify()
    expect(await states(database)).toStrictEqual(['applied'])
    expect(await migrateDown(database, { ...options(), steps: 2 })).toHaveLength(1)
  })

  it('report a database that was changed by hand', async () => {
    const database = await open(thing({ name: ['string', { index: true }] }))
    await makeMigration(database, 'a', options())
    await migrateUp(database, options())
    await runSql(database, 'drop index thing_name_index')
    if (engine === 'sqlite') {
      const error = await failure(makeMigration(database, 'b', options(1)))
      expect(error.message).toContain(
        'the database was changed by hand: Index thing_name_index on thing is missing (Thing.name).',
      )
    } else {
      await makeMigration(database, 'b', options(1))
      expect(await read('20261121103100_b', 'sqlite')).toBe(
        '-- Nothing to do for this engine.\n\n-- down\n-- Nothing to do for this engine.\n',
      )
      await migrateUp(database, options())
      await database.verify()
    }
  })

  it.each<[string, string, string, string]>([
    [
      'an unknown directive',
      '-- filigree: no transactions\n',
      '1: "no transactions" is not',
      'Did you mean "no transaction"?',
    ],
    [
      'a directive in another spelling',
      '-- Filigree: NO transaction\n',
      '1: "NO transaction" is not',
      'Write "-- filigree: no transaction"',
    ],
    [
      'a directive that is not in the first line',
      '-- Why.\n-- filigree: no transaction\n',
      '2: "-- filigree: no transaction" must be the first line',
      'Move it',
    ],
    [
      'a comment that begins like the mark',
      '-- down payments\n',
      '1: "-- down payments" resembles',
      'Begin other comments with another word',
    ],
    [
      'a mark without a space',
      'select 1;\n--down\n',
      '2: "--down" resembles',
      'Write exactly "-- down"',
    ],
    [
      'a mark in upper case',
      'select 1;\n\n-- DOWN\n',
      '3: "-- DOWN" resembles',
      'Write exactly "-- down"',
    ],
    [
      'an indented mark',
      "select '\n\n';\n  -- Down:\n",
      '4: "-- Down:" resembles',
      'Write exactly "-- down"',
    ],
    [
      'an indented mark in lower case',
      'select 1;\n -- down\n',
      '2: "-- down" resembles',
      'Write exactly "-- down"',
    ],
    [
      'the mark of another tool',
      'select 1;\n-- migrate:down\n',
      '2: "-- migrate:down" resembles',
      'Write exactly "-- down"',
    ],
    [
      'a comment in the part below the mark',
      '-- down\n-- Down it goes.\n',
      '2: "-- Down it goes." resembles',
      'Begin other comments',
    ],
    [
      'a second mark',
      '-- down\nselect 1;\n-- down\n',
      '3: "-- down" is in line 1 already',
      'below one such line',
    ],
  ])('refuse %s, with file and line, before anything runs', async (_what, text, where, remedy) => {
    const database = await open(thing(named))
    await makeMigration(database, 'a', options())
    await write('20261121104000_b', `${text}create table half (id integer);\n`)
    const commands = [
      () => migrateUp(database, options()),
      () => migrateDown(database, options()),
      () => migrationStatus(database, options()),
      () => makeMigration(database, 'c', options(20)),
      () => checkMigrations(database, { folder: options().folder, engines: [engine] }),
    ]
    for (const command of commands) {
      expect((await failure(command())).problems[0]).toMatchObject({
        code: 'MIGRATION_FAILED',
        message: expect.stringContaining(`20261121104000_b.${engine}.sql, line ${where}`),
        remedy: expect.stringContaining(remedy),
      })
    }
    expect(await tables(database)).not.toContain('half')
  })

  it.each([
    ['a mark with spaces behind it', '-- down  \n'],
    [
      'a mark with a byte order mark before the file and Windows line ends',
      '-- down\r\n',
      '\uFEFF',
    ],
    [
      'a mark below texts and comments that contain one',
      '-- down\n',
      '/* \n-- down\n*/\nselect \'\n-- down\n\';\nselect 1 as "\n-- DOWN\n";\n',
    ],
    [
      'a mark below comments about the words downgrade and download',
      '-- down\n',
      '-- downgrade\n-- Downloads go here.\n',
    ],
  ])('are divided by %s', async (_what, mark, before = '') => {
    const database = await open(thing(named))
    await makeMigration(database, 'a', options())
    const end = mark.endsWith('\r\n') ? '\r\n' : '\n'
    const parts = ['create table half (id integer);', end, mark, 'drop table half;', end]
    await write('20261121104000_b', `${before}${parts.join('')}`)
    await migrateUp(database, options())
    expect(await tables(database)).toContain('half')
    expect(await migrateDown(database, options())).toEqual(['20261121104000_b'])
    expect(await tables(database)).not.toContain('half')
  })

  it('run without a transaction if a byte order mark precedes the first line', async () => {
    const database = await open(thing(named))
    await makeMigration(database, 'a', options())
    await write('20261121104000_b', '\uFEFF-- filigree: no transaction\nselect 1;\n')
    const run = migrateUp(database, options())
    if (engine === 'postgres') expect(await run).toHaveLength(2)
    else await expect(run).rejects.toThrow('asks to run without a transaction')
  })

  it('can be made and reverted for a record named Down and defaults that contain marks', async () => {
    const down = (value: string): Class => {
      const Down = class {}
      Field('id')(Down.prototype, 'id')
      Field('string', { default: value })(Down.prototype, 'name')
      Record({ table: 'down' })(Down)
      return Down
    }
    const database = await open(down('-- down'))
    await makeMigration(database, 'a', options())
    setRecords(database, down('a\n-- down\ncreate table half (id integer);\n--'))
    await makeMigration(database, 'b', options(1))
    await migrateUp(database, options(2))
    expect(await tables(database)).not.toContain('half')
    expect(await database.differences()).toEqual([])
    expect(await migrateDown(database, { ...options(), steps: 2 })).toHaveLength(2)
    expect(await tables(database)).not.toContain('down')
  })
})

describe('migrations without a transaction', () => {
  const index = 'create index concurrently thing_name_later on thing (name)'
  let folder: string
  let database: Database
  let url: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-migrations-'))
    url = await server.createDatabase()
    database = await connect(url, { records: [thing(named)] })
    await makeMigration(database, 'a', { folder })
  })
  afterEach(async () => {
    await database.close()
    await rm(folder, { recursive: true })
  })
  const write = (text: string, engine = 'postgres'): Promise<void> =>
    writeFile(join(folder, `29991231000000_b.${engine}.sql`), text)

  it('run and are reverted statement by statement', async () => {
    await write(
      `-- filigree: no transaction\n-- a; b\n${index};\nanalyze thing;\n-- down\ndrop index concurrently thing_name_later;`,
    )
    expect(await migrateUp(database, { folder })).toHaveLength(2)
    const { engine } = internalsOf(database).context
    const indexes = async (): Promise<boolean> =>
      (await engine.schema.catalogue(engine)).get('thing')!.indexes.has('thing_name_later')
    expect(await indexes()).toBe(true)
    expect(await migrateDown(database, { folder })).toStrictEqual(['29991231000000_b'])
    expect(await indexes()).toBe(false)
  })

  it('run once when several processes start together, without a deadlock', async () => {
    await write(`-- filigree: no transaction\n${index};`)
    const otherDatabases = await Promise.all(
      [1, 2, 3].map(() => connect(url, { records: [thing(named)] })),
    )
    const applied = await Promise.all(
      [database, ...otherDatabases].map((one) => migrateUp(one, { folder })),
    )
    await Promise.all(otherDatabases.map((other) => other.close()))
    expect(applied.flat()).toHaveLength(2)
  })

  it('are suggested when a statement needs them', async () => {
    await write(`${index};`)
    expect((await failure(migrateUp(database, { folder }))).problems[0]).toMatchObject({
      code: 'MIGRATION_FAILED',
      remedy: 'Let its first line be "-- filigree: no transaction".',
    })
  })

  it('name the failed statement, keep the earlier ones, and can continue', async () => {
    await write('-- filigree: no transaction\ncreate table half (id int);\nnonsense;')
    const error = await failure(migrateUp(database, { folder }))
    expect(error.message).toContain('Migration 29991231000000_b, statement 2 of 2: syntax error')
    expect(error.message).toContain('What came before the statement stays')
    const { engine } = internalsOf(database).context
    expect((await engine.schema.catalogue(engine)).has('half')).toBe(true)
    await write('create table whole (id int);')
    expect(await migrateUp(database, { folder })).toHaveLength(1)
  })

  it('are refused on SQLite', async () => {
    await write('-- filigree: no transaction\nselect 1;', 'sqlite')
    const embedded = await connect('sqlite::memory:', { records: [thing(named)] })
    expect((await failure(migrateUp(embedded, { folder }))).problems[0]).toMatchObject({
      message:
        'Migration 29991231000000_b asks to run without a transaction, but on SQLite migrations always run in one.',
      remedy: 'Remove its first line.',
    })
    await embedded.close()
  })
})

describe('the schema file next to the migrations', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-migrations-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it.each<[string, (file: string) => Promise<void>, string]>([
    [
      'is missing',
      (file) => rm(file),
      'schema.postgres.json, which holds the schema after them, is missing',
    ],
    [
      'has a conflict in it',
      (file) => writeFile(file, '<<<<<<< ours\n{}\n'),
      'Resolve the conflict in it, or restore it from version control.',
    ],
  ])('is reported if it %s', async (_, damage, message) => {
    const records = [thing(named)]
    const database = await connect('sqlite::memory:', { records })
    await makeMigration(database, 'a', { folder })
    await damage(join(folder, 'schema.postgres.json'))
    const error = await failure(makeMigration(database, 'b', { folder }))
    await database.close()
    expect(error.message).toContain(message)
  })

  it('may have the references in the form of the first versions', async () => {
    const database = await connect('sqlite::memory:', { records: shop })
    await makeMigration(database, 'a', { folder })
    const file = join(folder, 'schema.postgres.json')
    const schema = JSON.parse(await readFile(file, 'utf8')) as globalThis.Record<
      string,
      { foreignKeys: { columns?: string[]; foreignColumns?: string[] }[] }
    >
    const keys = Object.values(schema).flatMap(({ foreignKeys }) => foreignKeys)
    expect(keys.length).toBeGreaterThan(0)
    for (const key of keys) {
      Object.assign(key, { column: key.columns?.[0], foreignColumn: key.foreignColumns?.[0] })
      delete key.columns
      delete key.foreignColumns
    }
    await writeFile(file, JSON.stringify(schema))
    expect(await makeMigration(database, 'b', { folder })).toBeUndefined()
    await database.close()
  })
})
