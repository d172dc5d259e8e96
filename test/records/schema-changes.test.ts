/** Who waits for whom while PostgreSQL's schema is changed. Source: docs/records/migrations.md, Migrations. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { silentLog } from '../silent-log.js'
import { Field, Record } from '../../src/index.js'
import { connect, type Database } from '../../src/records/database.js'
import { migrateUp } from '../../src/records/migrations/migrations.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

@Record
class Entry {
  @Field('id') id!: number
  @Field('string') name!: string
}

describe('a change of the schema', () => {
  let server: PostgresServer
  let url: string
  let database: Database
  let folder: string
  const opened: Database[] = []
  let told: string[]
  /** Fulfilled with the first warning. */
  let warned: Promise<string>
  let log: typeof silentLog

  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    url = await server.createDatabase()
    folder = await mkdtemp(join(tmpdir(), 'filigree-schema-'))
    told = []
    warned = new Promise((resolve) => {
      log = {
        ...silentLog,
        warn: (_details, message) => {
          told.push(message)
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

  it('waits for another process in words, and not for ever', async () => {
    await write(alter)
    const hurried = await open('?schemaTimeout=1500')
    await database.transaction(async (tx) => {
      await sql`select pg_advisory_xact_lock(4163170431)`.execute(tx.kysely)
      await expect(migrateUp(hurried, { folder })).rejects.toMatchObject({
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
    expect(told).toEqual([expect.stringContaining('another process changes the schema: process')])
    expect(await migrateUp(hurried, { folder })).toEqual(['20260101000000_one'])
  })

  it.each([
    ['in a transaction', alter],
    ['without one', `-- filigree: no transaction\n${alter}`],
  ])('lets readers pass while it waits for a table, %s', async (_what, text) => {
    await write(text)
    let migrating: Promise<string[]> | undefined
    await database.transaction(async (tx) => {
      expect(await tx.records(Entry).count()).toBe(0)
      migrating = migrateUp(database, { folder })
      expect(await warned).toBe('waiting to change the schema: a table is in use by others')
      // While this transaction reads on, so does everybody else.
      expect(await (await open()).records(Entry).count()).toBe(0)
    })
    expect(await migrating).toEqual(['20260101000000_one'])
  })

  it('gives up on a table that stays in use, and leaves nothing', async () => {
    await write(alter)
    const hurried = await open('?schemaTimeout=300')
    await database.transaction(async (tx) => {
      await tx.records(Entry).count()
      await expect(migrateUp(hurried, { folder })).rejects.toMatchObject({
        problems: [{ code: 'SCHEMA_LOCKED' }],
      })
    })
    expect(await migrateUp(hurried, { folder })).toEqual(['20260101000000_one'])
  })

  it.each([
    ['in a transaction', ''],
    ['without one', '-- filigree: no transaction\n'],
  ])('is not cut by the statement_timeout of the address, %s', async (_what, first) => {
    await write(`${first}select pg_sleep(1.5);\n`)
    const hurried = await open('?statement_timeout=1000')
    await expect(sql`select pg_sleep(1.5)`.execute(hurried.kysely)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('timeout') },
    })
    expect(await migrateUp(hurried, { folder })).toEqual(['20260101000000_one'])
  })
})
