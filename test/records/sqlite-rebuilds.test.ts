/** SQLite rebuilds tables. Indexes, triggers and views of the application remain. Source: SQLite, ALTER TABLE, section 7. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Database } from '../../src/index.js'
import { runSql } from './run-sql.js'
import { thing, type Fields } from './thing.js'
import {
  makeMigration,
  migrateDown,
  migrateUp,
  setRecords,
  useMigrations,
} from './migration-helpers.js'

const migrations = useMigrations()
const { open, optionsAt } = migrations

const before: Fields = { name: ['string', { unique: true }], size: ['integer', { index: true }] }
/** Rebuilds the table: a required field becomes nullable. The index of `size` is no longer declared. */
const after: Fields = { name: ['string', { unique: true, nullable: true }], size: ['integer'] }

/** What the application created itself, beside its records. */
const ownParts = [
  'create table audit (what text)',
  'create index own_size on thing (size desc)',
  `create trigger own_insert after insert on thing when new.name = 'drop table thing' begin insert into audit values (new.name); end`,
  'create view names as select id, name from thing',
  'create view long_names as select id from names where length(name) > 3',
  'create trigger audit_insert after insert on audit begin update thing set size = 0 where name = new.what; end',
  `create trigger names_insert instead of insert on names begin insert into thing (name, size) values (new.name, 1); end`,
]

const query = async (database: Database, text: string): Promise<unknown[]> =>
  (await sql.raw(text).execute(database.kysely)).rows

const partsOf = (database: Database): Promise<unknown[]> =>
  query(
    database,
    `select type, name from sqlite_schema where name not glob 'sqlite_*' and name not glob 'filigree_*' order by type, name`,
  )

/** A database with a row, the application's own parts and a change of the record that rebuilds the table. */
const openChanged = async (isSync: boolean): Promise<Database> => {
  const old = thing(before)
  const database = await open('sqlite::memory:', old)
  if (isSync) await database.sync()
  else {
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
  }
  await database.records(old).create({ name: 'one', size: 1 })
  for (const part of ownParts) await runSql(database, part)
  setRecords(database, thing(after))
  return database
}

const remaining = [
  { type: 'index', name: 'own_size' },
  { type: 'index', name: 'thing_name_key' },
  { type: 'table', name: 'audit' },
  { type: 'table', name: 'thing' },
  { type: 'trigger', name: 'audit_insert' },
  { type: 'trigger', name: 'names_insert' },
  { type: 'trigger', name: 'own_insert' },
  { type: 'view', name: 'long_names' },
  { type: 'view', name: 'names' },
]
const former = [
  ...remaining.slice(0, 2),
  { type: 'index', name: 'thing_size_index' },
  ...remaining.slice(2),
]

describe('a rebuild of a table', () => {
  it.each([
    ['sync', true],
    ['a migration', false],
  ])('keeps the indexes, triggers and views of the application: by %s', async (_what, isSync) => {
    const database = await openChanged(isSync)
    if (isSync) await database.sync()
    else {
      await makeMigration(database, 'second', optionsAt(1))
      await migrateUp(database, optionsAt(1))
    }
    expect(await partsOf(database)).toEqual(remaining)
    await runSql(database, `insert into names (name) values ('drop table thing')`)
    expect(await query(database, 'select * from audit')).toEqual([{ what: 'drop table thing' }])
    expect(await query(database, 'select name, size from thing order by id')).toEqual([
      { name: 'one', size: 1 },
      { name: 'drop table thing', size: 0 },
    ])
    expect(await query(database, 'select id from long_names')).toEqual([{ id: 2 }])
    if (isSync) return
    await migrateDown(database, optionsAt(1))
    expect(await partsOf(database)).toEqual(former)
    await migrateUp(database, optionsAt(1))
    expect(await partsOf(database)).toEqual(remaining)
  })

  it('keeps them if they belong to earlier migrations, and after a rename of the table', async () => {
    const old = thing(before)
    const database = await open('sqlite::memory:', old)
    await makeMigration(database, 'first', optionsAt(0))
    const file = join(migrations.folder, '20261121100100_own.sqlite.sql')
    await writeFile(file, `${ownParts.join(';\n')};\n`)
    await writeFile(file.replace('sqlite', 'postgres'), '-- Only for SQLite.\n')
    setRecords(
      database,
      thing(after, () => undefined, { table: 'item', was: 'thing' }),
    )
    await makeMigration(database, 'second', optionsAt(2))
    await migrateUp(database, optionsAt(2))
    const names = (await partsOf(database)).map((part) => (part as { name: string }).name)
    const expected = remaining.map(({ name }) => name.replace(/^thing/, 'item'))
    expect(names.sort()).toEqual(expected.sort())
    await runSql(database, `insert into names (name) values ('drop table thing')`)
    expect(await query(database, 'select count(*) as count from audit')).toEqual([{ count: 1 }])
    await database.verify()
    expect(await makeMigration(database, 'third', optionsAt(3))).toBeUndefined()
  })

  it('keeps the rows that refer to the table, and its references to itself', async () => {
    const database = await openChanged(false)
    await runSql(
      database,
      'create table child (thing_id integer references thing (id) on delete cascade)',
    )
    await runSql(database, 'insert into child values (1)')
    await makeMigration(database, 'second', optionsAt(1))
    await migrateUp(database, optionsAt(1))
    expect(await query(database, 'select thing_id from child')).toEqual([{ thing_id: 1 }])
    await runSql(database, 'delete from thing')
    expect(await query(database, 'select thing_id from child')).toEqual([])
  })

  it.each([
    [
      'a view',
      'create view extras as select extra from thing',
      'The view extras would no longer work: no such column: extra.',
      'drop view "extras"',
    ],
    [
      'an index',
      'create index own_extra on thing (extra)',
      'The index own_extra of the table thing cannot be created again after the table was rebuilt',
      'drop index "own_extra"',
    ],
  ])(
    'stops with a remedy and changes nothing if %s uses a column that it removes',
    async (_what, part, message, remedy) => {
      const old = thing(before)
      const database = await open('sqlite::memory:', old)
      await makeMigration(database, 'first', optionsAt(0))
      await migrateUp(database, optionsAt(0))
      // A required field without a default is added by a rebuild, and removed by one.
      setRecords(database, thing({ ...before, extra: ['string'] }))
      await makeMigration(database, 'second', optionsAt(1))
      await migrateUp(database, optionsAt(1))
      await runSql(database, part)
      const parts = await partsOf(database)
      await expect(migrateDown(database, optionsAt(1))).rejects.toMatchObject({
        problems: [
          {
            code: 'MIGRATION_FAILED',
            message: expect.stringContaining(message),
            remedy: expect.stringContaining(remedy),
          },
        ],
      })
      expect(await partsOf(database)).toEqual(parts)
      await database.verify()
    },
  )

  it('checks views again after a failed rebuild', async () => {
    const database = await openChanged(false)
    await makeMigration(database, 'second', optionsAt(1))
    await writeFile(
      join(migrations.folder, '20261121110000_fails.sqlite.sql'),
      'pragma legacy_alter_table = on;\nselect nonsense;\n',
    )
    await writeFile(join(migrations.folder, '20261121110000_fails.postgres.sql'), 'select 1;\n')
    await expect(migrateUp(database, optionsAt(1))).rejects.toThrow('nonsense')
    await runSql(database, 'drop view names')
    await expect(runSql(database, 'alter table audit rename to audits')).rejects.toThrow(
      'error in view long_names',
    )
  })
})
