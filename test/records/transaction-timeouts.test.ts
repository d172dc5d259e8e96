/**
 * The timeout of a transaction ends its work: everything is rolled back, the call throws, and the connection is free again.
 * Source: decisions, Records: transactions and isolation.
 */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals'
import { sql } from 'kysely'
import {
  BeforeWrite,
  bootstrap,
  connect,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { waitUntil } from '../wait-until.js'

const never = new Promise<never>(() => undefined)

@Record({ table: 'timed_note' })
class Note {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ table: 'timed_hooked' })
class Hooked {
  @Field('id') id!: number
  @Field('string') name!: string

  @BeforeWrite() async wait(): Promise<void> {
    await never
  }
}

@NoAuth
@Controller('/')
class Routes {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/route', { transaction: true, timeout: 40 }) async route() {
    await this.database.records(Note).create({ name: 'a' })
    await never
  }

  @Post('/handler', { timeout: 40 }) async handler() {
    await this.database.transaction(async () => {
      await this.database.records(Note).create({ name: 'a' })
      await never
    })
  }

  @Post('/hooked', { timeout: 40 }) async hooked() {
    await this.database.records(Hooked).create({ name: 'a' })
  }
}

@Module({ controllers: [Routes], records: [Note, Hooked] })
class Office {}

/** Calls the timers of 30 seconds immediately. */
function shortenDefault(): void {
  const { setTimeout: real } = globalThis
  const spy = jest.spyOn(globalThis, 'setTimeout')
  spy.mockImplementation((callback: () => void, milliseconds = 0, ...args: []) => {
    const isDefault = milliseconds > 29_000 && milliseconds <= 30_000
    return real(callback, isDefault ? 20 : milliseconds, ...args)
  })
}

describe.each(await startBothEngines())('%s: the timeout of a transaction', (engine, open) => {
  let database: Database
  let url: string
  beforeAll(async () => {
    url = await open()
    database = await connect(url, { records: [Note, Hooked] })
    await database.sync()
  })
  beforeEach(() => database.records(Note).deleteWhere({}))
  afterEach(() => {
    jest.restoreAllMocks()
  })
  afterAll(() => database.close())

  const notes = () => database.records(Note)
  /** One more transaction commits, and all connections are free. */
  const expectFree = async (): Promise<void> => {
    expect(await notes().count()).toBe(0)
    await database.transaction(() => notes().create({ name: 'next' }))
    await waitUntil(() => database.pool === undefined || database.pool.open === database.pool.idle)
  }

  it('ends work that never ends', async () => {
    const work = database.transaction(
      async (tx) => {
        await tx.records(Note).create({ name: 'a' })
        await never
      },
      { timeout: 20 },
    )
    await expect(work).rejects.toMatchObject({
      status: 503,
      code: 'TRANSACTION_TIMEOUT',
      message: 'The transaction took longer than 20 ms, its timeout. It is rolled back.',
    })
    await expectFree()
  })

  it('later statements of the work fail', async () => {
    let goOn = (): void => undefined
    const ended = new Promise<void>((resolve) => (goOn = resolve))
    let late: Promise<unknown>[] = []
    const work = database.transaction(
      async (tx) => {
        await tx.records(Note).create({ name: 'a' })
        await ended
        late = [
          tx.records(Note).create({ name: 'b' }),
          notes().create({ name: 'b' }),
          tx.kysely.insertInto('timed_note').values({ name: 'b' }).execute(),
          tx.transaction(() => notes().create({ name: 'b' })),
        ]
        await Promise.allSettled(late)
      },
      { timeout: 20 },
    )
    await expect(work).rejects.toMatchObject({ code: 'TRANSACTION_TIMEOUT' })
    goOn()
    await waitUntil(() => late.length > 0)
    for (const call of late)
      await expect(call).rejects.toMatchObject({
        code: 'TRANSACTION_OVER',
        message: expect.stringContaining('It was rolled back before this call.'),
      })
    await expectFree()
  })

  it('nothing is committed of work that blocks the process for longer', async () => {
    const work = database.transaction(
      async (tx) => {
        await tx.records(Note).create({ name: 'a' })
        const end = performance.now() + 25
        while (performance.now() < end);
      },
      { timeout: 20 },
    )
    await expect(work).rejects.toMatchObject({ code: 'TRANSACTION_TIMEOUT' })
    await expectFree()
  })

  it('ends open parts, and parts that wait', async () => {
    let parts: Promise<unknown>[] = []
    const work = database.transaction(
      async (tx) => {
        parts = [tx.transaction(() => never), tx.transaction(() => never)]
        await Promise.allSettled(parts)
      },
      { timeout: 20 },
    )
    await expect(work).rejects.toMatchObject({ code: 'TRANSACTION_TIMEOUT' })
    for (const part of parts) await expect(part).rejects.toBeInstanceOf(Error)
    await expectFree()
  })

  it('calls onRollback, and never onCommit', async () => {
    const ran: string[] = []
    const work = database.transaction(
      async () => {
        database.openTransaction()?.onRollback(() => ran.push('rollback'))
        database.openTransaction()?.onCommit(() => ran.push('commit'))
        await never
      },
      { timeout: 20 },
    )
    await expect(work).rejects.toMatchObject({ code: 'TRANSACTION_TIMEOUT' })
    expect(ran).toEqual(['rollback'])
  })

  it('of a part ends the part alone', async () => {
    await database.transaction(async (tx) => {
      await tx.records(Note).create({ name: 'a' })
      const part = database.transaction(
        async () => {
          await notes().create({ name: 'b' })
          await never
        },
        { timeout: 20 },
      )
      await expect(part).rejects.toMatchObject({ code: 'TRANSACTION_TIMEOUT' })
      await tx.records(Note).create({ name: 'c' })
    })
    expect((await notes().list()).map(({ name }) => name)).toEqual(['a', 'c'])
  })

  it('does not end work with { timeout: Infinity }', async () => {
    shortenDefault()
    const work = database.transaction(
      async (tx) => {
        await new Promise((resolve) => setTimeout(resolve, 30))
        return tx.records(Note).count()
      },
      { timeout: Infinity },
    )
    expect(await work).toBe(0)
  })

  it('is 30 seconds by default, in scripts too', async () => {
    shortenDefault()
    const message = 'The transaction took longer than 30,000 ms, its timeout. It is rolled back.'
    const work = database.transaction(async (tx) => {
      await tx.records(Note).create({ name: 'a' })
      await never
    })
    await expect(work).rejects.toMatchObject({ code: 'TRANSACTION_TIMEOUT', message })
    await expect(database.records(Hooked).create({ name: 'a' })).rejects.toMatchObject({ message })
    jest.restoreAllMocks()
    await expectFree()
  })

  it('is 30 seconds for a transaction of Kysely', async () => {
    shortenDefault()
    let isOver = false
    const work = database.kysely.transaction().execute(async (trx) => {
      await trx.insertInto('timed_note').values({ name: 'a' }).execute()
      database.openTransaction()?.onRollback(() => (isOver = true))
      await waitUntil(() => isOver)
      await trx.insertInto('timed_note').values({ name: 'b' }).execute()
    })
    await expect(work).rejects.toMatchObject({ code: expect.stringMatching(/^TRANSACTION_/) })
    jest.restoreAllMocks()
    await expectFree()
  })

  if (engine === 'PostgreSQL')
    it('cancels the running statement', async () => {
      const work = database.transaction(
        async (tx) => {
          await sql`select pg_sleep(100)`.execute(tx.kysely)
        },
        { timeout: 20 },
      )
      await expect(work).rejects.toMatchObject({ code: 'TRANSACTION_TIMEOUT' })
      await expectFree()
    })

  describe('of a request', () => {
    let app: Application
    beforeAll(async () => {
      const where = engine === 'SQLite' ? 'sqlite::memory:' : url
      app = await bootstrap(Office, { database: where, logger: false, env: {}, listen: false })
      await app.get(Database).sync()
    })
    afterAll(() => app.close())

    it.each(['/route', '/handler', '/hooked'])('ends the work of %s', async (path) => {
      const { status } = await app.inject({ method: 'POST', url: path })
      expect(status).toBe(503)
      const store = app.get(Database)
      expect(await store.records(Note).count()).toBe(0)
      await store.transaction(() => store.records(Note).create({ name: 'next' }))
      await store.records(Note).deleteWhere({})
      await waitUntil(() => store.pool === undefined || store.pool.open === store.pool.idle)
    })
  })
})
