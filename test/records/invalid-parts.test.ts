/**
 * Indexes and constraints that PostgreSQL does not use for all rows count as missing. Source: decisions, "What exists
 * counts only if it works".
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { BelongsTo, Field, Record, type Database } from '../../src/index.js'
import { runIn } from '../cli/run-in.js'
import { root } from '../openapi/command.js'
import { failure } from './failure.js'
import { makeMigration, migrateUp, useMigrations } from './migration-helpers.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { readSql, runSql } from './run-sql.js'

@Record({ indexes: [{ fields: ['title'] }] })
class Shelf {
  @Field('id') id!: number
  @Field('string', { unique: true }) code!: string
  @Field('string') title!: string
  @Field('integer', { min: 0, max: 9 }) size!: number
  @Field('integer', { nullable: true }) parentId!: number | null
  @BelongsTo(() => Shelf) parent!: unknown
}

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

const namesOf = async (database: Database): Promise<{ check: string; key: string }> => {
  const rows = await readSql(
    database,
    `select contype, conname from pg_constraint where conrelid = 'shelf'::regclass and contype in ('c', 'f')`,
  )
  const nameOf = (type: string): string => String(rows.find(([one]) => one === type)?.[1])
  return { check: nameOf('c'), key: nameOf('f') }
}

/** Leaves each part as an interrupted migration does. */
const invalidate = async (database: Database): Promise<void> => {
  const { check, key } = await namesOf(database)
  const [[text] = []] = await readSql(
    database,
    `select pg_get_constraintdef(oid) from pg_constraint where conname = '${check}'`,
  )
  await runSql(
    database,
    `update pg_index set indisvalid = false
      where indexrelid in ('shelf_code_key'::regclass, 'shelf_title_index'::regclass);
    alter table shelf drop constraint "${check}", add constraint "${check}" ${String(text)} not valid;
    alter table shelf drop constraint "${key}",
      add constraint "${key}" foreign key (parent_id) references shelf (id) on delete restrict not valid`,
  )
}

const messages = [
  'Index shelf_code_key on shelf is invalid, because its creation was interrupted (Shelf.code).',
  'Index shelf_title_index on shelf is invalid, because its creation was interrupted (Shelf.title).',
  'The reference of shelf.parent_id to shelf is not valid for all rows (Shelf.parentId).',
  'shelf.size is checked by the database for new rows only (Shelf.size).',
]

describe('invalid indexes and constraints', () => {
  const migrations = useMigrations()
  const openInvalid = async (): Promise<Database> => {
    const database = await migrations.open(await server.createDatabase(), Shelf)
    await database.sync()
    await invalidate(database)
    return database
  }
  const found = async (database: Database): Promise<string[]> =>
    (await database.differences()).map(({ message }) => message).sort()

  it('stop a start in production, with the command', async () => {
    const database = await openInvalid()
    expect(await found(database)).toEqual(messages)
    const { message } = await failure(database.verify())
    expect(message).toContain(messages[0])
    expect(message).toContain(messages[2])
    expect(message).toContain('filigree migrate make')
  })

  it('are dropped and made again by a start outside production', async () => {
    const database = await openInvalid()
    await database.sync()
    expect(await found(database)).toEqual([])
    await database.verify()
  })

  it('are dropped and made again by a migration', async () => {
    const database = await migrations.open(await server.createDatabase(), Shelf)
    await database.sync()
    const { folder } = migrations
    await makeMigration(database, 'first', migrations.optionsAt(0))
    await invalidate(database)
    const made = await makeMigration(database, 'repair', migrations.optionsAt(1))
    const text = await readFile(String(made?.files.find((one) => one.includes('postgres'))), 'utf8')
    expect(text).toContain('drop index concurrently if exists "shelf_code_key";')
    expect(text).toContain('create unique index concurrently "shelf_code_key"')
    expect(text.match(/drop constraint if exists "shelf_size_check/g)).toHaveLength(1)
    await migrateUp(database, { folder })
    expect(await found(database)).toEqual([])
  })

  it('are found by filigree doctor and migrate check --database', async () => {
    const url = await server.createDatabase()
    const database = await migrations.open(url)
    await runSql(database, 'create table probe (id bigint)')
    const saved = process.env.DATABASE_URL
    process.env.DATABASE_URL = url
    const module = ['--module', join(root, 'test/cli/migrate/shop-from-environment.ts')]
    try {
      await runIn(migrations.folder, ['migrate', 'make', 'first', ...module])
      await runIn(migrations.folder, ['migrate', 'up', ...module])
      const check = () => runIn(migrations.folder, ['migrate', 'check', '--database', ...module])
      expect(await check()).toMatchObject({ code: 0 })
      const [[index] = []] = await readSql(
        database,
        `select i.relname from pg_index x join pg_class i on i.oid = x.indexrelid
          join pg_class c on c.oid = x.indrelid
          where not x.indisprimary and c.relnamespace = current_schema()::regnamespace limit 1`,
      )
      await runSql(
        database,
        `update pg_index set indisvalid = false where indexrelid = '"${String(index)}"'::regclass`,
      )
      const what = `Index ${String(index)} on `
      const { code, err } = await check()
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(what) })
      const doctor = await runIn(migrations.folder, ['doctor', ...module])
      expect(doctor.out).toContain('is invalid, because its creation was interrupted')
    } finally {
      if (saved === undefined) delete process.env.DATABASE_URL
      else process.env.DATABASE_URL = saved
    }
  })
})
