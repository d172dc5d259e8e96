/** Locks and timeouts while PostgreSQL's schema is changed. Source: docs/records/migrations.md, Migrations. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { silentLog } from '../silent-log.js'
import { Field, Record, connect, type Database } from '../../src/index.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { migrateUp } from './migration-helpers.js'

@Record
class Entry {
  @Field('id') id!: number
  @Field('string') name!: string
}

describe('a schema change', () => {
  let server: PostgresServer
  let url: string
  let database: Database
  let folder: string
  const opened: Database[] = []
  let warnings: string[]
  /** Resolves with the first warning. */
  let warned: Promise<string>
  let log: typeof silentLog

  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    url = await server.createDatabase()
    folder = await mkdtemp(join(tmpdir(), 'filigree-schema-'))
    warnings = []
    warned = new Promise((resolve) => {
      log = {
        ...silentLog,
        warn: (_details, message) => {
          warnings.push(message)
          resolve(message)
        },
      }
    })
    database = await open()
    await database.sync()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()))
    await rm(folder, { recursive: true })
  })

  const open = async (parameters = ''): Promise<Database> => {
    const one = await connect(`${url}${parameters}`, { records: [Entry], log })
    opened.push(one)
    return one
  }
  const write = (text: string): Promise<void> =>
    writeFile(join(folder, '20260101000000_one.postgres.sql'), text)
  const alter = 'alter table entry add column note text;\n'

  it('waits for another process with a warning, up to its timeout', async () => {
    await write(alter)
    const impatient = await open('?schemaTimeout=1500')
    await database.transaction(async (tx) => {
      await sql`select pg_advisory_xact_lock(4163170431)`.execute(tx.kysely)
      await expect(migrateUp(impatient, { folder })).rejects.toMatchObject({
        problems: [
          {
            code: 'SCHEMA_LOCKED',
            message: expect.stringMatching(
              /^The schema could not be changed for 1500 ms: held by process \d+ of the server \(filigree\)\.$/,
            ),
          },
        ],
      })
    })
    expect(warnings).toEqual([
      expect.stringContaining('another process changes the schema: process'),
    ])
    expect(await migrateUp(impatient, { folder })).toEqual(['20260101000000_one'])
  })

  it.each([
    ['in a transaction', alter],
    ['without one', `-- filigree: no transaction\n${alter}`],
  ])('does not block readers while it waits for a table, %s', async (_what, text) => {
    await write(text)
    let migrating: Promise<string[]> | undefined
    await database.transaction(async (tx) => {
      expect(await tx.records(Entry).count()).toBe(0)
      migrating = migrateUp(database, { folder })
      expect(await warned).toBe('waiting to change the schema: a table is in use by others')
      // While this transaction is open, other connections can still read the table.
      expect(await (await open()).records(Entry).count()).toBe(0)
    })
    expect(await migrating).toEqual(['20260101000000_one'])
  })

  it('gives up on a table that stays in use, and changes nothing', async () => {
    await write(alter)
    const impatient = await open('?schemaTimeout=300')
    await database.transaction(async (tx) => {
      await tx.records(Entry).count()
      await expect(migrateUp(impatient, { folder })).rejects.toMatchObject({
        problems: [{ code: 'SCHEMA_LOCKED' }],
      })
    })
    expect(await migrateUp(impatient, { folder })).toEqual(['20260101000000_one'])
  })

  it('waits no longer because a comment or a name contains the word concurrently', async () => {
    await write(
      `-- filigree: no transaction\n-- Not concurrently:\nalter table entry add column "concurrently" text default 'concurrently';`,
    )
    const impatient = await open('?schemaTimeout=300')
    await database.transaction(async (tx) => {
      await tx.records(Entry).count()
      await expect(migrateUp(impatient, { folder })).rejects.toMatchObject({
        problems: [{ code: 'SCHEMA_LOCKED' }],
      })
    })
  })

  it.each([
    ['in a transaction', ''],
    ['without one', '-- filigree: no transaction\n'],
  ])('is not limited by the statement_timeout of the URL, %s', async (_what, first) => {
    await write(`${first}select pg_sleep(1.5);\n`)
    const impatient = await open('?statement_timeout=1000')
    await expect(sql`select pg_sleep(1.5)`.execute(impatient.kysely)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('timeout') },
    })
    expect(await migrateUp(impatient, { folder })).toEqual(['20260101000000_one'])
  })
})
