/** Batching of concurrent creates into one statement, on PostgreSQL and PGlite. Source: header of postgres/batching/insert-queue.ts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Field, Record } from 'filigree'
import { sql } from 'kysely'
import { silentLog } from '../silent-log.js'
import { BelongsTo, connect, type Database, pglite, type Rel } from '../../src/index.js'
import { openEngine } from '../contracts/statement-recorder.js'
import { StatementRecorder } from '../contracts/statement-recorder.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

@Record({ table: 'made_case', plural: 'cases' })
class Case {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ table: 'made_coin', plural: 'coins', timestamps: true })
class Coin {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('decimal', { precision: 12, scale: 2, default: '1.00' }) worth?: string
  @Field('json', { nullable: true, optional: true }) notes?: unknown
  @Field('string', { list: true, default: [] }) marks?: string[]
  @Field('boolean', { default: false }) isOld?: boolean
  @Field('integer', { nullable: true, optional: true }) caseId?: number | null
  @BelongsTo(() => Case) case?: Rel<Case>
}

let server: PostgresServer
let url: string
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

const engines = [
  ['PostgreSQL', async () => openEngine((url = await server.createDatabase()), { log: silentLog })],
  ['PGlite', async () => pglite().open({ log: silentLog })],
] as const

const isInsert = (text: string): boolean => text.includes('insert into "made_coin"')
const isBatched = (text: string): boolean => text.includes('filigree_call')

describe.each(engines)('creates on %s', (name, openOne) => {
  const watch = new StatementRecorder()
  let database: Database
  beforeAll(async () => {
    const engine = watch.around(await openOne())
    const source = { open: () => Promise.resolve(engine) }
    database = await connect({ engine: source, records: [Case, Coin] })
    await database.sync()
    await database.records(Case).insertMany([{ name: 'left' }, { name: 'right' }])
    // The first concurrent calls teach the engine the statement's parameter types. Only then it batches.
    await Promise.all(['a', 'b'].map((one) => coins().create({ name: `first ${one}` })))
    await watch.settled()
  })
  afterAll(() => database.close())

  const coins = () => database.records(Coin)
  /** Starts the calls while the first statement is still running, so that the later calls are batched. */
  const concurrently = async <T>(call: () => readonly Promise<T>[]): Promise<T[]> => {
    const release = watch.hold(isInsert, 1, true)
    const calls = call()
    await new Promise((resolve) => setImmediate(resolve))
    release()
    return Promise.all(calls)
  }

  it('are sent alone when no other create is running', async () => {
    const statements = await watch.during(() => coins().create({ name: 'alone' }))
    expect(statements.filter(isInsert).map(isBatched)).toEqual([false])
  })

  it('are batched while another one is running: each call gets its own row', async () => {
    const rows = Array.from({ length: 40 }, (_, n) => ({
      name: `coin ${n} "\\'`,
      worth: `${n}.25`,
      notes: n % 3 === 0 ? null : { n, list: [n, 'x'] },
      marks: n % 2 === 0 ? [] : ['a,b', `{${n}}`],
      isOld: n % 2 === 0,
      caseId: n % 4 === 0 ? null : (n % 2) + 1,
    }))
    let created: Coin[] = []
    const statements = await watch.during(async () => {
      created = await concurrently(() => rows.map((values) => coins().create(values)))
    })
    expect(created).toMatchObject(rows)
    expect(statements.filter(isInsert).map(isBatched)).toEqual([false, true])
    expect(new Set(created.map(({ id }) => id)).size).toBe(40)
    const stored = await coins().list({ where: { id: { in: created.map(({ id }) => id) } } })
    expect(stored).toEqual(created)
  })

  it('of many clients need few statements', async () => {
    const statements = await watch.during(() =>
      Promise.all(
        Array.from({ length: 64 }, async (_, client) => {
          for (let n = 0; n < 10; n++) await coins().create({ name: `client ${client} ${n}` })
        }),
      ),
    )
    expect(statements.length).toBeLessThanOrEqual(320)
    expect(await coins().count({ name: { startsWith: 'client ' } })).toBe(640)
  })

  it('fail alone for a duplicate value', async () => {
    const outcomes = await concurrently(() =>
      Array.from({ length: 10 }, (_, n) =>
        coins()
          .create({ name: n === 4 ? 'first a' : `new ${n}` })
          .then(
            () => 'made',
            (error: unknown) => error,
          ),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'made')).toHaveLength(9)
    expect(outcomes[4]).toMatchObject({ status: 409, errors: [{ path: 'name', code: 'unique' }] })
    expect(await coins().count({ name: { startsWith: 'new ' } })).toBe(9)
  })

  it('fail alone for a broken reference, and name the field', async () => {
    const outcomes = await concurrently(() =>
      Array.from({ length: 6 }, (_, n) =>
        coins()
          .create({ name: `of case ${n}`, caseId: n === 3 ? 99 : 1 })
          .then(
            () => 'made',
            (error: unknown) => error,
          ),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'made')).toHaveLength(5)
    expect(outcomes[3]).toMatchObject({ status: 409, errors: [{ path: 'caseId' }] })
  })

  it('are reported to listeners', async () => {
    const events: string[] = []
    const end = database.onChange(({ event, id }) => events.push(`${event} ${String(id)}`))
    const created = await concurrently(() =>
      Array.from({ length: 12 }, (_, n) => coins().create({ name: `told ${n}` })),
    )
    end()
    expect(new Set(events)).toEqual(new Set(created.map(({ id }) => `created ${id}`)))
  })

  it('that a trigger skips do not shift the rows of other calls', async () => {
    await sql
      .raw(
        `create function leave_out() returns trigger language plpgsql as $$
          begin if new.name like 'ghost%' then return null; end if; return new; end $$`,
      )
      .execute(database.kysely)
    await sql`create trigger leave_out before insert on made_coin
      for each row execute function leave_out()`.execute(database.kysely)
    const outcomes = await concurrently(() =>
      Array.from({ length: 8 }, (_, n) =>
        coins()
          .create({ name: n === 5 ? 'ghost' : `solid ${n}` })
          .then(
            (coin) => coin.name,
            () => 'none',
          ),
      ),
    )
    expect(outcomes).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((n) => (n === 5 ? 'none' : `solid ${n}`)))
    await sql`drop trigger leave_out on made_coin`.execute(database.kysely)
  })

  if (name === 'PostgreSQL')
    it('that wait for a lock do not delay the others', async () => {
      const holder = await connect(url, { records: [Case, Coin] })
      let isCreated = false
      let blockedCreate: Promise<unknown> = Promise.resolve()
      await holder.transaction(async (tx) => {
        await tx.records(Coin).create({ name: 'held' })
        const calls = concurrently(() =>
          Array.from({ length: 9 }, (_, n) => {
            if (n !== 4) return coins().create({ name: `free ${n}` })
            blockedCreate = coins()
              .create({ name: 'held' })
              .then(
                () => (isCreated = true),
                (error: unknown) => error,
              )
            return Promise.resolve(undefined)
          }),
        )
        await calls
        expect(await coins().count({ name: { startsWith: 'free ' } })).toBe(8)
      })
      expect(await blockedCreate).toMatchObject({ status: 409 })
      expect(isCreated).toBe(false)
      await holder.close()
    })
})
