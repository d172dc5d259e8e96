/** Two processes and a transaction pooler. Source: docs/records/postgresql-in-production.md, Behind a pooler. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import {
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Record,
  Get,
  connect,
  Database,
} from '../../src/index.js'
import { silentLog } from '../silent-log.js'
import { bundleProgram } from '../bundle-program.js'
import { countSessions } from './count-sessions.js'
import { pgbouncer, startPgBouncer, type Pooler } from './pgbouncer.js'
import { CacheFor } from '../../src/modules/cache/cache.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { waitUntil } from '../wait-until.js'
import type { DatabaseOptions } from '../public-types.js'
import { internalsOf } from './open-database.js'
import { migrateUp } from './migration-helpers.js'

@Record
class Entry {
  @Field('id') id!: number
  @Field('string') owner!: string
  @Field('integer') number!: number
}

@Module({ records: [Entry] })
class EntryModule {}

@Controller('/entries', { crud: Entry })
@NoAuth
class Entries {}

@Module({ records: [Entry], controllers: [Entries] })
class EntryShop {}

const where =
  pgbouncer === undefined
    ? 'behind PgBouncer (skipped: it is not installed; Debian has it as the package pgbouncer)'
    : 'behind PgBouncer in transaction mode'

;(pgbouncer === undefined ? describe.skip : describe)(where, () => {
  let server: PostgresServer
  let pooler: Pooler
  let direct: string
  let pooled: string
  const opened: Database[] = []

  beforeAll(async () => {
    server = await startPostgres()
    pooler = await startPgBouncer(server.url)
  })
  afterAll(async () => {
    await pooler.close()
    await server.close()
  })
  beforeEach(async () => {
    direct = await server.createDatabase()
    pooled = pooler.through(direct)
    await (await open(direct)).sync()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
  })

  it('a start that needs a session names the missing setting', async () => {
    @Controller('/cached')
    @NoAuth
    class CachedNumbers {
      @Get('/') @CacheFor('60s') all(): number {
        return 1
      }
    }
    @Module({ records: [Entry], controllers: [CachedNumbers] })
    class CachedModule {}
    const starting = bootstrap(CachedModule, { database: pooled, listen: false, logger: false })
    await expect(starting).rejects.toThrow(/behind a pooler[^]*DATABASE_DIRECT_URL/)
    const app = await bootstrap(CachedModule, {
      database: `${pooled}?direct=${encodeURIComponent(direct)}`,
      listen: false,
      logger: false,
    })
    expect((await app.inject('/cached')).json()).toBe(1)
    await app.close()
  })

  const open = async (url: string, options: Partial<DatabaseOptions> = {}): Promise<Database> => {
    const database = await connect(url, { records: [Entry], ...options })
    opened.push(database)
    return database
  }

  /** The prepared statements and advisory locks that remain on the pooler's server connections. */
  const leftovers = async (database: Database): Promise<{ names: string[]; locks: number }> => {
    const read = async (): Promise<string[]> => {
      const { rows } = await sql<{ name: string }>`select name from pg_prepared_statements
        where name like 'filigree%'`.execute(database.kysely)
      return rows.map(({ name }) => name)
    }
    // Two concurrent transactions use both connections.
    const names = await database.transaction(async () => [
      ...(await read()),
      ...(await Promise.resolve().then(read)),
    ])
    const { rows } = await sql<{ count: string }>`select count(*) from pg_locks
      where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`.execute(
      database.kysely,
    )
    return { names, locks: Number(rows[0]?.count) }
  }

  it('two processes run only their own statements, in transactions too', async () => {
    const program = bundleProgram('records/pooled-process')
    try {
      const run = promisify(execFile)
      const outputs = await Promise.all(
        ['a', 'b'].map((owner) => run(process.execPath, [program, pooled, owner, '15'])),
      )
      expect(outputs.map(({ stdout }) => JSON.parse(stdout) as string[])).toEqual([[], []])
    } finally {
      await rm(program)
    }
    const database = await open(direct)
    expect(await database.records(Entry).count()).toBe(12)
  })

  it('timeouts in the URL apply in transactions, although the connections are shared', async () => {
    const database = await open(`${pooled}?statement_timeout=2000&lock_timeout=1000`)
    const sleeping = database.transaction(async () => {
      await sql`select pg_sleep(30)`.execute(database.kysely)
    })
    await expect(sleeping).rejects.toMatchObject({ status: 503 })
    const observer = await open(direct)
    await observer.records(Entry).create({ owner: 'a', number: 1 })
    const waiting = observer.transaction(async () => {
      await observer.records(Entry).update(1, { number: 2 })
      return database
        .transaction(() => database.records(Entry).update(1, { number: 3 }))
        .catch((error: unknown) => error)
    })
    expect(await waiting).toMatchObject({ status: 503 })
    // The next client of the server connection has its own settings.
    const other = await open(pooled)
    const { rows } = await sql<{ limit: string }>`
      select current_setting('statement_timeout') as limit`.execute(other.kysely)
    expect(rows).toEqual([{ limit: '0' }])
    const limits = await other.transaction(async () => {
      const warnings = await sql<{ limit: string }>`
        select current_setting('statement_timeout') as limit`.execute(other.kysely)
      return warnings.rows
    })
    expect(limits).toEqual([{ limit: '30s' }])
  })

  it("a client's read ends on the server at the handler timeout", async () => {
    const app = await bootstrap(EntryShop, {
      port: 0,
      host: '127.0.0.1',
      logger: false,
      database: pooled,
      times: { handler: 2000 },
    })
    const observer = await open(direct)
    const running = (): Promise<number> =>
      countSessions(observer, "state = 'active' and query like 'select%entry%'")
    try {
      const holder = await open(direct)
      await holder.transaction(async () => {
        await sql`lock table entry in access exclusive mode`.execute(holder.kysely)
        const response = await fetch(`${app.url}/entries?number=7`)
        expect(response.status).toBe(503)
        await waitUntil(async () => (await running()) === 0)
      })
      expect((await fetch(`${app.url}/entries?number=7`)).status).toBe(200)
    } finally {
      await app.close()
    }
  })

  it('names prepared statements by their text, equally in every process', async () => {
    const one = await open(`${pooled}?connections=1`)
    await one.records(Entry).count()
    await one.records(Entry).find(1)
    const other = await open(`${pooled}?connections=1`)
    await other.records(Entry).find(1)
    await other.records(Entry).count()
    const { names } = await leftovers(other)
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) expect(name).toMatch(/^filigree_[0-9a-f]{32}$/)
  })

  it('prepares no statements with prepare=false', async () => {
    const database = await open(`${pooled}?prepare=false`)
    const entries = database.records(Entry)
    const { id } = await entries.create({ owner: 'a', number: 1 })
    await database.transaction((tx) => tx.records(Entry).update(id, { number: 2 }))
    expect(await entries.find(id)).toEqual({ id, owner: 'a', number: 2 })
    expect((await leftovers(database)).names).toEqual([])
  })

  it('refuses to follow changes, and names the missing setting', async () => {
    const warnings: string[] = []
    const log = { ...silentLog, error: (_: object, message: string) => warnings.push(message) }
    const database = await open(pooled, { log })
    const watcher = { onChanges: () => undefined, end: () => undefined, columns: [] }
    await expect(internalsOf(database).watch(Entry, watcher)).rejects.toMatchObject({ status: 503 })
    await expect(internalsOf(database).watch(Entry, watcher)).rejects.toMatchObject({ status: 503 })
    expect(warnings).toEqual([expect.stringContaining('set DATABASE_DIRECT_URL')])
    expect((await leftovers(database)).locks).toBe(0)
  })

  it.each([
    ['the option direct', () => open(pooled, { direct })],
    ['direct in the URL', () => open(`${pooled}?direct=${encodeURIComponent(direct)}`)],
  ])('follows changes with %s', async (_what, openListening) => {
    const listening = await openListening()
    const heard = new Promise((resolve, reject) => {
      internalsOf(listening)
        .watch(Entry, { onChanges: resolve, end: () => undefined, columns: [] })
        .then(() => open(pooled))
        .then((other) => other.records(Entry).create({ owner: 'a', number: 1 }))
        .catch(reject)
    })
    expect(await heard).toMatchObject({ event: 'created', ids: [1] })
  })

  it('warns at the start when no direct URL is set', async () => {
    const warnings: string[] = []
    const log = { ...silentLog, warn: (_: object, message: string) => warnings.push(message) }
    await open(pooled, { log })
    expect(warnings).toEqual([expect.stringContaining('the database is behind a pooler')])
    await open(pooled, { log, direct })
    await open(direct, { log })
    expect(warnings).toHaveLength(1)
  })

  it('an application follows changes through DATABASE_DIRECT_URL', async () => {
    process.env.DATABASE_DIRECT_URL = direct
    const app = await bootstrap(EntryModule, { database: pooled, listen: false, logger: false })
    try {
      const heard = new Promise((resolve, reject) => {
        internalsOf(app.get(Database))
          .watch(Entry, { onChanges: resolve, end: () => undefined, columns: [] })
          .then(() => open(direct))
          .then((other) => other.records(Entry).create({ owner: 'a', number: 1 }))
          .catch(reject)
      })
      expect(await heard).toMatchObject({ event: 'created', ids: [1] })
    } finally {
      delete process.env.DATABASE_DIRECT_URL
      await app.close()
    }
  })

  it.each([
    ['with a direct URL', () => open(pooled, { direct })],
    ['without one', () => open(pooled)],
  ])('a migration without transaction leaves no lock, %s', async (_what, openMigrating) => {
    const folder = await mkdtemp(join(tmpdir(), 'filigree-pooler-'))
    try {
      const write = (name: string, text: string): Promise<void> =>
        writeFile(join(folder, `${name}.postgres.sql`), text)
      await write(
        '20260101000000_one',
        '-- filigree: no transaction\ncreate index concurrently entry_number_x on entry (number);\n',
      )
      const database = await openMigrating()
      expect(await migrateUp(database, { folder })).toEqual(['20260101000000_one'])
      expect((await leftovers(database)).locks).toBe(0)
      await write('20260102000000_two', 'alter table entry add column note text;\n')
      await write('20260103000000_three', '-- filigree: no transaction\nselect wrong;\n')
      await expect(migrateUp(await open(pooled), { folder })).rejects.toThrow('wrong')
      expect((await leftovers(database)).locks).toBe(0)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
