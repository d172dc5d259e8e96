import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import {
  type DeclarationError,
  Field,
  type Generated,
  Record,
  connect,
  type Database,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { readSql, runSql } from './run-sql.js'
import type { Class } from '../public-types.js'
import { internalsOf, frameworkQuery } from './open-database.js'
import {
  checkMigrations,
  makeMigration,
  migrateDown,
  migrateUp,
  setRecords,
  useMigrations,
} from './migration-helpers.js'

@Record({ table: 'article' })
class Plain {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { default: '' }) text!: Generated<string>
}
@Record({ table: 'article', search: ['title'] })
class Titled {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { default: '' }) text!: Generated<string>
}
@Record({ table: 'article', search: ['title', 'text'] })
class Searched {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { default: '' }) text!: Generated<string>
}
/** SQLite recreates the table for such a change. */
@Record({ table: 'article', search: ['title', 'text'] })
class Looser {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { default: '', nullable: true, maxLength: 500 }) text!: Generated<string | null>
}
@Record({ table: 'post', was: 'article', search: ['heading', 'text'] })
class Renamed {
  @Field('id') id!: number
  @Field('string', { was: 'title' }) heading!: string
  @Field('string', { default: '', nullable: true, maxLength: 500 }) text!: Generated<string | null>
}
@Record({ table: 'word', search: ['word'] })
class Word {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') word!: string
}

const migrations = useMigrations()
const { open: openDatabase, optionsAt } = migrations
const countMatches = (database: Database, record: Class, search: string): Promise<number> =>
  database.records(record as typeof Searched).count({ search })

const engines = await startBothEngines()

describe.each(engines)('the index of a search on %s', (name, open) => {
  it('is created and reverted by migrations, and checkMigrations reports it', async () => {
    const database = await openDatabase(await open(), Plain)
    await makeMigration(database, 'begin', optionsAt(1))
    await migrateUp(database, optionsAt(1))
    await database.records(Plain).createMany([{ title: 'Blue lamp' }, { title: 'b', text: 'lamp' }])
    setRecords(database, Searched)
    const differences = await checkMigrations(database, {
      folder: migrations.folder,
      engines: undefined,
    })
    expect(differences).toHaveLength(2)
    for (const one of differences)
      expect(one).toMatch(/is missing \(Searched\.title, Searched\.text\)/)
    await makeMigration(database, 'search', optionsAt(2))
    expect(
      await checkMigrations(database, { folder: migrations.folder, engines: undefined }),
    ).toEqual([])
    expect(await migrateUp(database, optionsAt(2))).toHaveLength(1)
    expect(await database.differences()).toEqual([])
    expect(await countMatches(database, Searched, 'lamp')).toBe(2)
    const files = await readdir(migrations.folder)
    const sql = (engine: string) =>
      readFile(
        join(migrations.folder, files.find((one) => one.endsWith(`search.${engine}.sql`)) ?? ''),
        'utf8',
      )
    expect(await sql('sqlite')).toContain('create virtual table')
    expect(await sql('postgres')).toMatch(/create index concurrently .* using gin/)
    await migrateDown(database, optionsAt(2))
    const missing = await database.differences()
    expect(missing.map(({ kind }) => kind)).toEqual(['missing index'])
    await database.records(Plain).create({ title: 'another lamp' })
    await migrateUp(database, optionsAt(2))
    expect(await countMatches(database, Searched, 'lamp')).toBe(3)
    expect(await makeMigration(database, 'nothing', optionsAt(3))).toBeUndefined()
  })

  it('follows changes of the record, and rows stay findable', async () => {
    const database = await openDatabase(await open(), Titled, Word)
    await database.sync()
    await database.records(Titled).create({ title: 'Blue lamp', text: 'of glass' })
    await database.records(Word).create({ word: 'glass' })
    expect(await countMatches(database, Titled, 'glass')).toBe(0)
    for (const [minute, next] of [Searched, Looser, Renamed].entries()) {
      setRecords(database, next, Word)
      await makeMigration(database, next.name, optionsAt(minute))
      await migrateUp(database, optionsAt(minute))
      expect(await database.differences()).toEqual([])
      expect(await countMatches(database, next, 'lamp glass')).toBe(1)
      expect(await countMatches(database, Word, 'glass')).toBe(1)
    }
    const records = database.records(Renamed)
    await records.update(1, { heading: 'Red' })
    expect(await countMatches(database, Renamed, 'lamp')).toBe(0)
    expect(await countMatches(database, Renamed, 'red')).toBe(1)
  })

  it('is dropped when no record declares a search', async () => {
    const database = await openDatabase(await open(), Searched, Word)
    await database.sync()
    @Record({ table: 'word' })
    class Bare {
      @Field('id', { key: 'uuid' }) id!: string
      @Field('string') word!: string
    }
    setRecords(database, Plain, Bare)
    await expect(database.verify()).resolves.toBeUndefined()
    await database.sync()
    expect(await database.differences()).toEqual([])
    const indexQuery =
      name === 'SQLite'
        ? `select name from sqlite_schema where name glob 'filigree_search_*'`
        : `select indexname from pg_indexes where indexname like 'filigree_search_%'`
    const rows = await readSql(database, indexQuery)
    expect(rows).toEqual([])
  })

  it('is part of a first migration', async () => {
    const database = await openDatabase(await open(), Searched, Word)
    await database.sync()
    await database.records(Searched).create({ title: 'lamp' })
    await makeMigration(database, 'as it is', optionsAt(1))
    expect(await makeMigration(database, 'again', optionsAt(2))).toBeUndefined()
    expect(
      await checkMigrations(database, { folder: migrations.folder, engines: undefined }),
    ).toEqual([])
  })
})

describe('a search', () => {
  it('uses its index on PostgreSQL', async () => {
    const open = engines.find(([name]) => name === 'PostgreSQL')?.[1]
    const database = await openDatabase((await open?.()) ?? '', Searched)
    await database.sync()
    const { engine } = internalsOf(database).context
    await runSql(
      database,
      `insert into article (title, text) select 'title ' || n, 'word' || n from generate_series(1, 20000) n;
       analyze article`,
    )
    const statements: string[] = []
    const run = engine.run.bind(engine)
    engine.run = (statement, values, mode) => {
      statements.push(statement.sql)
      return run(statement, values, mode)
    }
    const found = await database.records(Searched).list({ search: 'word77', limit: 5 })
    expect(found).toHaveLength(1)
    const sql = `explain ${(statements[0] ?? '').replace('$3', '5').replaceAll(/\$\d/g, `'word77'`)}`
    const plan = await engine.run(frameworkQuery(sql), [], 'all')
    expect(plan.rows.join('\n')).toMatch(/Bitmap Index Scan on filigree_search_article/)
  })

  const problemsOf = async (type: Class): Promise<string[]> => {
    const opening = connect('sqlite::memory:', { records: [type] })
    const { problems } = (await opening.catch((error: unknown) => error)) as DeclarationError
    return problems.map(({ code, message }) => `${code} ${message}`)
  }

  it('must name text fields', async () => {
    @Record({ search: ['nam', 'size', 'list'] })
    class Odd {
      @Field('id') id!: number
      @Field('string') name!: string
      @Field('integer') size!: number
      @Field('string', { list: true }) list!: string[]
    }
    expect(await problemsOf(Odd)).toEqual([
      'RECORD_SEARCH @Record of Odd: search: there is no field "nam".',
      'RECORD_SEARCH @Record of Odd: search: "size" is not a text field.',
      'RECORD_SEARCH @Record of Odd: search: "list" is not a text field.',
    ])
  })

  it('must name visible fields, and reserves the name "search"', async () => {
    @Record({ search: [] })
    class Empty {
      @Field('id') id!: number
    }
    @Record({ search: ['secret'] })
    class Hidden {
      @Field('id') id!: number
      @Field('string', { hidden: true }) secret!: string
    }
    @Record({ search: ['search'] })
    class Taken {
      @Field('id') id!: number
      @Field('string') search!: string
    }
    expect(await problemsOf(Empty)).toEqual([
      'RECORD_SEARCH @Record of Empty: search has no fields.',
    ])
    expect(await problemsOf(Hidden)).toEqual([
      'RECORD_SEARCH @Record of Hidden: search names hidden fields only, which are never searched.',
    ])
    expect((await problemsOf(Taken))[0]).toMatch(/^RECORD_SEARCH Taken\.search: /)
  })

  it('does not affect a field called search in records without a search', async () => {
    @Record
    class Query {
      @Field('id') id!: number
      @Field('string') search!: string
    }
    const database = await openDatabase('sqlite::memory:', Query)
    await database.sync()
    await database.records(Query).create({ search: 'blue lamp' })
    expect(await database.records(Query).count({ search: 'blue lamp' })).toBe(1)
    expect(await database.records(Query).count({ search: 'lamp' })).toBe(0)
  })
})
