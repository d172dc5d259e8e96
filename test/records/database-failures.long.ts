/** Failing databases: invalid files and URLs, locks, full disks, lost connections. Source: docs/records/access.md, Errors. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { connect, type Database, Field, Record, type Repository } from '../../src/index.js'
import { silentLog } from '../silent-log.js'
import { failure } from './failure.js'
import { Client, startOwnPostgres, type OwnPostgres } from './postgres-server.js'
import { readSql, runSql } from './run-sql.js'
import { waitUntil } from '../wait-until.js'

@Record
class Entry {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
}

const unavailable = {
  status: 503,
  code: 'DATABASE_UNAVAILABLE',
  message: 'The database is not available at the moment.',
  headers: { 'retry-after': '1' },
}

/** Takes the write lock of a SQLite file. @returns a function that releases it */
async function lockDatabase(database: Database): Promise<() => Promise<void>> {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  let transaction = Promise.resolve()
  await new Promise<void>((onLocked) => {
    transaction = database.transaction(async (tx) => {
      await tx.records(Entry).deleteWhere({ name: 'no such entry' })
      onLocked()
      await released
    })
  })
  return () => {
    release()
    return transaction
  }
}

describe('a SQLite file', () => {
  let folder: string
  let file: string
  const opened: Database[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-faults-'))
    file = join(folder, 'app.db')
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
    await rm(folder, { recursive: true })
  })

  const open = async (parameters = ''): Promise<Repository<Entry> & { database: Database }> => {
    const database = await connect(`sqlite:${file}${parameters}`, { records: [Entry] })
    opened.push(database)
    if (!parameters.includes('mode=ro')) await database.sync()
    return Object.assign(database.records(Entry), { database })
  }

  it('is created, with its folders', async () => {
    file = join(folder, 'a', 'b', 'app.db')
    const entries = await open()
    expect((await entries.create({ name: 'a' })).id).toBe(1)
  })

  it('that is not a database stops the start, and is left unchanged', async () => {
    await writeFile(file, 'This is a text and no database. '.repeat(100))
    const error = await failure(open())
    expect(error.problems[0]).toMatchObject({ code: 'DATABASE_UNREADABLE' })
    expect(error.message).toContain(
      `The database ${file} cannot be opened: file is not a database.`,
    )
  })

  it('that is a folder stops the start', async () => {
    file = folder
    const error = await failure(open())
    expect(error.problems[0]?.code).toBe('DATABASE_UNREADABLE')
  })

  it('below a file stops the start', async () => {
    await writeFile(file, '')
    file = join(file, 'app.db')
    expect((await failure(open())).problems[0]?.code).toBe('DATABASE_UNREADABLE')
  })

  it('that is read-only serves reads, and rejects writes with 503', async () => {
    await (await open()).create({ name: 'a' })
    const entries = await open('?mode=ro')
    expect(await entries.count()).toBe(1)
    await expect(entries.create({ name: 'b' })).rejects.toMatchObject({
      ...unavailable,
      message: 'The database does not accept writes at the moment: it is read-only.',
    })
  })

  it('that is locked rejects writes with 503 after the timeout, serves reads, and recovers', async () => {
    const entries = await open('?busyTimeout=50')
    const other = await open()
    await entries.create({ name: 'a' })
    const unlock = await lockDatabase(other.database)
    await expect(entries.create({ name: 'b' })).rejects.toMatchObject(unavailable)
    await expect(
      entries.database.transaction(async (tx) => tx.records(Entry).create({ name: 'c' })),
    ).rejects.toMatchObject(unavailable)
    expect(await entries.count()).toBe(1)
    await unlock()
    await entries.create({ name: 'b' })
    expect(await other.count()).toBe(2)
  })

  it('that is locked briefly makes writes wait, without blocking the process', async () => {
    const entries = await open()
    const other = await open()
    const unlock = await lockDatabase(other.database)
    const creating = entries.create({ name: 'a' })
    await unlock()
    expect((await creating).name).toBe('a')
  })

  it('that is locked keeps the event loop free, however many writes wait', async () => {
    const entries = await open('?busyTimeout=600')
    const other = await open()
    const unlock = await lockDatabase(other.database)
    let ticks = 0
    let isOver = false
    const tick = (): void => {
      ticks++
      if (!isOver) setImmediate(tick)
    }
    tick()
    const writes = Array.from({ length: 5 }, (_, index) => entries.create({ name: `${index}` }))
    const transaction = entries.database.transaction((tx) =>
      tx.records(Entry).create({ name: 'in a transaction' }),
    )
    const settled = await Promise.allSettled([...writes, transaction])
    expect(settled.map(({ status }) => status)).toEqual(Array(6).fill('rejected'))
    isOver = true
    // If the driver blocked, the event loop would run once or twice per write.
    expect(ticks).toBeGreaterThan(100)
    await unlock()
    await entries.create({ name: 'afterwards' })
    expect(await entries.count()).toBe(1)
  })

  it('on a full disk rejects writes with 503, keeps existing rows, and recovers', async () => {
    const entries = await open()
    await entries.create({ name: 'a' })
    const { database } = entries
    await runSql(database, 'pragma max_page_count = 1')
    const rows = Array.from({ length: 50 }, (_, index) => ({
      name: `${index}`.padEnd(4000, 'x'),
    }))
    const filling = (async () => {
      for (const row of rows) await entries.create(row)
    })()
    await expect(filling).rejects.toMatchObject(unavailable)
    expect(await entries.list({ where: { name: 'a' } })).toHaveLength(1)
    await runSql(database, 'pragma max_page_count = 1000000')
    await entries.create({ name: 'b' })
    expect(await readSql(database, 'pragma integrity_check')).toStrictEqual([['ok']])
  })

  it('rolls back a transaction that fails in the middle', async () => {
    const entries = await open()
    const work = entries.database.transaction(async (tx) => {
      await tx.records(Entry).create({ name: 'a' })
      await tx.kysely.insertInto('nowhere').values({ x: 1 }).execute()
    })
    await expect(work).rejects.toThrow('no such table')
    expect(await entries.count()).toBe(0)
    expect((await entries.create({ name: 'a' })).name).toBe('a')
  })

  it('rejects queries after it is closed', async () => {
    const entries = await open()
    await entries.database.close()
    await entries.database.close()
    await expect(entries.count()).rejects.toThrow('not open')
  })

  it('rejects callers that wait too long for a transaction with 503', async () => {
    const entries = await open('?busyTimeout=30')
    let done: () => void = () => undefined
    const blocked = new Promise<void>((resolve) => {
      done = resolve
    })
    const long = entries.database.transaction(() => blocked)
    await expect(Promise.resolve().then(() => entries.create({ name: 'a' }))).rejects.toMatchObject(
      unavailable,
    )
    done()
    await long
    expect((await entries.create({ name: 'a' })).name).toBe('a')
  })
})

describe('a database URL', () => {
  it.each([
    ['mysql://host/name', 'begins with "mysql:", which is not an engine.'],
    ['sqlit:./x.db', 'Did you mean "sqlite"?'],
    ['', 'does not begin with an engine.'],
    ['./data/app.db', 'does not begin with an engine.'],
    ['constructor:x', 'begins with "constructor:", which is not an engine.'],
    ['postgres://host:port/name', 'is not a URL.'],
    ['sqlite::memory:?busyTimeout=soon', 'parameter busyTimeout is "soon"'],
    ['sqlite::memory:?sinchronous=full', 'parameter "sinchronous".  Did you mean "synchronous"?'],
    [
      'sqlite::memory:?synchronous=ful',
      'parameter synchronous is "ful" and must be normal or full.',
    ],
    ['sqlite::memory:?mode=rw', 'parameter mode is "rw" and must be ro.'],
    ['sqlite:what?.db', "Write %3F for a question mark in the file's name."],
    ['sqlite:100%.db', 'Write %25 for a percent sign.'],
    ['sqlite:', 'names no file.  Write sqlite:./data/app.db'],
    ['sqlite://', 'names no file.'],
    ['file:./x.db', 'begins with "file:", which is not an engine.  Write sqlite:./data/app.db'],
    ['postgres://host/name?conections=3', 'parameter "conections".  Did you mean "connections"?'],
    ['postgresql://host/name?sslmod=require', 'Did you mean "sslmode"?'],
    ['POSTGRES://host/name?Listen=poll', 'Did you mean "listen"?'],
    ['postgres://a:1,b:port/name', 'is not a URL.'],
    [
      'postgres://a,b/name?target_session_attrs=prefer-standby',
      'is "prefer-standby" and must be any or read-write or read-only or primary or standby.',
    ],
    ['postgres:///name?host=a,b', 'Write them before the name of the database: postgres://a:5432'],
    [
      `postgres://host/name?direct=${encodeURIComponent('postgres://a,b/name')}`,
      'The direct address of the database names several hosts.',
    ],
    [
      `postgres://host/name?direct=${encodeURIComponent('postgres://host/name?aplication_name=a')}`,
      'Did you mean "application_name"?',
    ],
    [
      `postgres://host/name?replicas=${encodeURIComponent('postgres://host/name?conections=3')}`,
      'Did you mean "connections"?',
    ],
  ])('%p stops the start', async (url, text) => {
    const error = await failure(connect(url))
    expect(error.problems[0]?.code).toBe('DATABASE_URL')
    expect(error.message).toContain(text)
  })

  it.each([
    ['sqlite:one.db', 'one.db'],
    ['sqlite:./two.db', 'two.db'],
    ['sqlite://three.db', 'three.db'],
    ['sqlite://data/four.db', 'data/four.db'],
    ['sqlite://FOLDER/five.db', 'five.db'],
    ['sqlite:FOLDER/six.db', 'six.db'],
    [' SQLite:seven.db \n', 'seven.db'],
    ['sqlite:my%20eight%3F%25.db?synchronous=full', 'my eight?%.db'],
  ])('%p is the file %p', async (url, file) => {
    const folder = await mkdtemp(join(tmpdir(), 'filigree-address-'))
    const before = process.cwd()
    process.chdir(folder)
    try {
      const database = await connect(url.replace('FOLDER', folder), { records: [] })
      await database.sync()
      await database.close()
      expect(existsSync(join(folder, file))).toBe(true)
    } finally {
      process.chdir(before)
      await rm(folder, { recursive: true })
    }
  })

  it("keeps the parameters of pg and of PostgreSQL's own clients", async () => {
    const names = ['sslmode=prefer', 'application_name=a', 'options=-c%20a=b', 'connect_timeout=1']
    const url = `postgresql://127.0.0.1:1/app?${names.join('&')}&target_session_attrs=any`
    const error = await failure(connect(url))
    expect(error.problems[0]?.code).toBe('DATABASE_UNREACHABLE')
  })

  it('without a server stops the start, and the error hides the password', async () => {
    const error = await failure(connect('postgres://me:s3cret@127.0.0.1:1/app'))
    expect(error.problems[0]?.code).toBe('DATABASE_UNREACHABLE')
    expect(error.message).toContain('The database 127.0.0.1:1/app cannot be reached')
    expect(error.message).not.toContain('s3cret')
  })

  it('with several hosts names them all if none responds', async () => {
    const error = await failure(connect('postgres://me:s3cret@127.0.0.1:1,127.0.0.1:2/app'))
    expect(error.problems[0]?.code).toBe('DATABASE_UNREACHABLE')
    expect(error.message).toContain('The database 127.0.0.1:1,127.0.0.1:2/app cannot be reached')
  })
})

describe('a PostgreSQL server', () => {
  let server: OwnPostgres
  let database: Database
  let entries: Repository<Entry>
  const warnings: unknown[] = []

  beforeAll(async () => {
    server = await startOwnPostgres()
    const url = `${await server.createDatabase()}?connections=4`
    const log = { ...silentLog, warn: (details: object) => warnings.push(details) }
    database = await connect(url, { records: [Entry], log })
    await database.sync()
    entries = database.records(Entry)
  })
  afterAll(async () => {
    await database.close()
    await server.close()
  })
  beforeEach(async () => {
    await database.kysely.deleteFrom('entry').execute()
  })

  it('is reconnected after lost connections, and reads are repeated', async () => {
    await entries.create({ name: 'a' })
    await Promise.all(Array.from({ length: 4 }, () => entries.count()))
    await server.cutConnections()
    expect(await entries.count()).toBe(1)
    expect((await entries.create({ name: 'b' })).name).toBe('b')
  })

  it('responds with 503 to a statement that exceeds statement_timeout', async () => {
    const url = `${await server.createDatabase()}?statement_timeout=1500`
    const impatient = await connect(url, { records: [Entry] })
    try {
      await impatient.sync()
      await impatient.records(Entry).create({ name: 'a' })
      const holder = await connect(url, { records: [Entry] })
      const lockedWork = holder.transaction(async (tx) => {
        await sql`lock table entry in access exclusive mode`.execute(tx.kysely)
        await expect(impatient.records(Entry).count()).rejects.toMatchObject(unavailable)
      })
      await lockedWork.finally(() => holder.close())
      expect(await impatient.records(Entry).count()).toBe(1)
    } finally {
      await impatient.close()
    }
  })

  it('that loses the connection during a transaction rolls it back, and the caller gets 503', async () => {
    const work = database.transaction(async (tx) => {
      await tx.records(Entry).create({ name: 'a' })
      await server.cutConnections()
      await tx.records(Entry).create({ name: 'b' })
    })
    await expect(work).rejects.toMatchObject(unavailable)
    expect(await entries.count()).toBe(0)
  })

  it('that stops under load causes 503 responses, and works again after the start', async () => {
    const confirmed: string[] = []
    const failed: unknown[] = []
    let stopped = false
    const write = async (worker: number): Promise<void> => {
      for (let number = 0; !stopped || number < 20; number++) {
        const name = `${worker}-${number}`
        try {
          await entries.create({ name })
          confirmed.push(name)
        } catch (error) {
          failed.push(error)
          if (stopped) return
        }
      }
    }
    const writing = [0, 1, 2, 3].map(write)
    await waitUntil(() => confirmed.length >= 20)
    await server.stop()
    stopped = true
    await Promise.all(writing)
    for (const work of [
      () => entries.count(),
      () => entries.create({ name: 'x' }),
      () => entries.update(1, { name: 'x' }),
      () => entries.delete(1),
      () => entries.insertMany([{ name: 'x' }]),
    ]) {
      await expect(work()).rejects.toMatchObject(unavailable)
    }
    for (const error of failed) expect(error).toMatchObject(unavailable)
    await server.start()
    const stored = new Set((await entries.list()).map(({ name }) => name))
    expect(confirmed.filter((name) => !stored.has(name))).toStrictEqual([])
    expect(confirmed.length).toBeGreaterThan(0)
    expect((await entries.create({ name: 'after' })).name).toBe('after')
  })

  describe('with a synchronous replica that does not respond', () => {
    beforeAll(async () => {
      await entries.deleteWhere({})
      await setServer(server, 'synchronous_standby_names', 'gone')
    })
    afterAll(() => setServer(server, 'synchronous_standby_names', ''))

    it.each([
      ['a single write', () => entries.create({ name: 'a' })],
      ['many rows', () => entries.insertMany([{ name: 'a' }])],
      [
        'a transaction',
        () => database.transaction((tx) => tx.records(Entry).create({ name: 'a' })),
      ],
    ])('does not confirm %s when the wait for the replica is cancelled', async (_, write) => {
      const refused = expect(write()).rejects.toMatchObject(unavailable)
      await cancelWait(server)
      await refused
      expect(await entries.count()).toBe(1)
      const clearing = entries.deleteWhere({}).catch(() => undefined)
      await cancelWait(server)
      await clearing
    })
  })

  it('that accepts writes on new connections only gets new ones, as after a failover', async () => {
    const url = await server.createDatabase()
    const name = new URL(url).pathname.slice(1)
    const first = await connect(url, { records: [Entry] })
    await first.sync()
    await first.close()
    await runOn(server.url, `alter database ${name} set default_transaction_read_only = on`)
    const stuck = await connect(url, { records: [Entry] })
    try {
      await runOn(server.url, `alter database ${name} reset default_transaction_read_only`)
      const create = (): Promise<boolean> =>
        stuck
          .records(Entry)
          .create({ name: 'a' })
          .then(
            () => true,
            () => false,
          )
      expect(await create()).toBe(false)
      await waitUntil(create, 10_000)
    } finally {
      await stuck.close()
    }
  })

  it('retries one of two transactions that conflict', async () => {
    await entries.create({ name: 'a' })
    let runs = 0
    const bothStarted = barrier(2)
    const bump = (suffix: string): Promise<void> =>
      database.transaction(
        async (tx) => {
          runs++
          const count = await tx.records(Entry).count()
          if (runs <= 2) await bothStarted()
          await tx.records(Entry).create({ name: `${suffix}${count}` })
        },
        { isolation: 'serializable' },
      )
    await Promise.all([bump('x'), bump('y')])
    expect(runs).toBe(3)
    const names = (await entries.list()).map(({ name }) => name)
    expect(names.filter((name) => name.endsWith('1'))).toHaveLength(1)
    expect(names.filter((name) => name.endsWith('2'))).toHaveLength(1)
  })

  it('gives up on a transaction that always conflicts, with 409', async () => {
    let runs = 0
    const work = database.transaction(async (tx) => {
      runs++
      const script = `do $$ begin raise exception 'no' using errcode = '40001'; end $$`
      await tx.records(Entry).count()
      await runSql(database, 'select 1')
      await runSql(database, script)
    })
    await expect(work).rejects.toMatchObject({ status: 409, code: 'CONFLICT_RETRY' })
    expect(runs).toBeGreaterThan(10)
  })

  it('continues after a table change under a prepared statement', async () => {
    await entries.create({ name: 'a' })
    const [first] = await entries.list()
    await runSql(database, 'alter table entry alter column name type varchar(50)')
    expect(await entries.find(first!.id)).toMatchObject({ name: 'a' })
    expect(await entries.list()).toHaveLength(1)
  })
})

async function runOn(url: string, text: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Changes a setting of the whole server, and waits until it holds. */
async function setServer(server: OwnPostgres, name: string, value: string): Promise<void> {
  await runOn(server.url, `alter system set ${name} = '${value}'`)
  await runOn(server.url, 'select pg_reload_conf()')
  const read = `select current_setting('${name}') as value`
  await waitUntil(async () => {
    const [row] = await runOn(server.url, read)
    return (row as { readonly value: string }).value === value
  })
}

/** Cancels a commit that waits for a synchronous replica. */
async function cancelWait(server: OwnPostgres): Promise<void> {
  const cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
  await waitUntil(async () => (await runOn(server.url, cancel)).length > 0)
}

/** A barrier: resolves for all callers once `count` of them have arrived. */
function barrier(count: number): () => Promise<void> {
  let open: () => void = () => undefined
  let arrived = 0
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    if (++arrived === count) open()
    return opened
  }
}
