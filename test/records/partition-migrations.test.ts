/** Migrations of partitioned records on PostgreSQL. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { BelongsTo, Field, Record, type Generated, type Rel } from '../../src/index.js'
import type { Class } from '../public-types.js'
import {
  makeMigration,
  migrateDown,
  migrateUp,
  setRecords,
  useMigrations,
} from './migration-helpers.js'
import { Client, startPostgres, type PostgresServer } from './postgres-server.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

const migrations = useMigrations()

@Record({ table: 'team' })
class Team {
  @Field('id', { key: 'uuid' }) id!: string
}

@Record({ table: 'event', partitionBy: { field: 'at', every: 'month' } })
class Event {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('datetime') at!: string
  @Field('uuid') teamId!: string
}

@Record({ table: 'event', partitionBy: { field: 'at', every: 'month' } })
class IndexedEvent {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('datetime', { index: true }) at!: string
  @Field('uuid') teamId!: string
  @BelongsTo(() => Team) team!: Rel<Team>
  @Field('string', { default: 'new' }) state!: Generated<string>
}

@Record({ table: 'event' })
class PlainEvent {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('datetime') at!: string
  @Field('uuid') teamId!: string
}

async function query(url: string, sql: string): Promise<readonly { [name: string]: unknown }[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const textOf = async (ending: string): Promise<string> => {
  const files = (await readdir(migrations.folder)).filter((name) => name.endsWith(ending)).sort()
  return readFile(join(migrations.folder, files.at(-1) ?? ''), 'utf8')
}

/** Makes and runs the migration of the records. */
async function migrate(url: string, minute: number, ...records: Class[]): Promise<string> {
  const database = await migrations.open(url, ...records)
  const options = migrations.optionsAt(minute)
  await makeMigration(database, `step ${minute}`, options)
  const text = await textOf('.postgres.sql')
  await migrateUp(database, { folder: migrations.folder })
  expect(await database.differences()).toEqual([])
  expect(await makeMigration(database, 'again', migrations.optionsAt(minute + 1))).toBeUndefined()
  await database.close()
  return text
}

describe('a migration of a partitioned record', () => {
  it('creates the table with its first partitions, and on SQLite an ordinary table', async () => {
    const url = await server.createDatabase()
    const text = await migrate(url, 1, Team, Event)
    expect(text).toContain('partition by range ("id")')
    for (const month of ['2026_11', '2026_12', '2027_01', '2027_02'])
      expect(text).toContain(`create table "event_${month}" partition of "event" for values from`)
    expect(await textOf('.sqlite.sql')).not.toContain('partition')
    const [row] = await query(
      url,
      `select count(*)::int as n from pg_inherits where inhparent = 'event'::regclass`,
    )
    expect(row?.n).toBeGreaterThanOrEqual(4)
  })

  it('makes an index and a reference partition by partition', async () => {
    const url = await server.createDatabase()
    await migrate(url, 1, Team, Event)
    const database = await migrations.open(url, Team, Event)
    const { id: teamId } = await database.records(Team).create({})
    await database.records(Event).create({ at: new Date().toISOString(), teamId })
    await database.close()
    const text = await migrate(url, 5, Team, IndexedEvent)
    expect(text).toContain('create index concurrently "event_at_index"')
    const rows = await query(
      url,
      `select count(*)::int as n, bool_and(indisvalid) as valid from pg_index x
       join pg_inherits i on i.inhrelid = x.indrelid where i.inhparent = 'event'::regclass`,
    )
    expect(rows[0]).toMatchObject({ valid: true })
    const references = await query(
      url,
      `select conrelid::regclass::text as name from pg_constraint where contype = 'f' and convalidated
       and (conrelid = 'event'::regclass or conparentid <> 0) and conrelid::regclass::text like 'event%'`,
    )
    expect(references.length).toBeGreaterThanOrEqual(5)
    const again = await migrations.open(url, Team, IndexedEvent)
    const missing = { at: new Date().toISOString(), teamId: '01932c07-9e40-7000-8000-000000000000' }
    await expect(again.records(IndexedEvent).create(missing)).rejects.toMatchObject({ status: 409 })
    await migrateDown(again, { folder: migrations.folder })
    const [left] = await query(
      url,
      `select count(*)::int as n from pg_class where relname = 'event_at_index'`,
    )
    expect(left?.n).toBe(0)
  })

  it('says what to do if the table exists without partitions', async () => {
    const url = await server.createDatabase()
    await migrate(url, 1, Team, PlainEvent)
    const database = await migrations.open(url, Team, PlainEvent)
    setRecords(database, Team, Event)
    const message = 'event is not partitioned and should be partitioned by range (id) (Event.at)'
    await expect(makeMigration(database, 'x', migrations.optionsAt(5))).rejects.toThrow(message)
    await expect(database.verify()).rejects.toThrow(message)
    await expect(database.sync()).rejects.toThrow('docs/partitions.md')
  })
})
