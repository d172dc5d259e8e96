/** Pipelined statements over few PostgreSQL connections: each gets its own result or error. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, Field, Record, type Database } from 'filigree'
import type { Runner } from '../../src/engines/contract/engine.js'
import { startOwnPostgres, type OwnPostgres } from '../records/postgres-server.js'
import { createRandom, seed } from '../random.js'
import { waitUntil } from '../wait-until.js'
import { engineOf, EngineError, frameworkChange, frameworkQuery } from '../records/open-database.js'

@Record({ table: 'pipe_item', plural: 'pipeItems' })
class Item {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('integer') stock!: number
}

describe('pipelined statements on PostgreSQL', () => {
  let server: OwnPostgres
  let url: string
  let database: Database
  let observer: Database
  const count = 1000

  beforeAll(async () => {
    server = await startOwnPostgres()
    url = await server.createDatabase()
    database = await connect(url, { records: [Item] })
    observer = await connect(`${url}?application_name=observer`, { records: [Item] })
    await database.sync()
    await database
      .records(Item)
      .insertMany(
        Array.from({ length: count }, (_, index) => ({ name: `Item ${index + 1}`, stock: index })),
      )
  })
  afterAll(async () => {
    await database.close()
    await observer.close()
    await server.close()
  })

  const query = async (sql: string, values: unknown[] = []): Promise<readonly unknown[]> =>
    (await engineOf(observer).run(frameworkChange('unknown', sql), values, 'all')).rows.map(
      ([value]) => value,
    )
  const applicationActivity = `from pg_stat_activity where datname = current_database() and application_name = 'filigree'`
  const until = (sql: string, isReached: (value: number) => boolean): Promise<void> =>
    waitUntil(async () => isReached(Number((await query(sql))[0])))
  /** A short read that may share a connection. */
  const batchable = (sql: string) => frameworkQuery(sql, { together: 'calls' })
  const sleepRead = batchable('select $1::int, pg_sleep($2)')
  const settleAll = (results: readonly unknown[]) =>
    Promise.allSettled(results.map((returned) => Promise.resolve(returned)))

  it('return each caller its own row, for random and missing ids', async () => {
    const separate = await connect(url, { records: [Item] })
    const items = separate.records(Item)
    const random = createRandom(seed)
    const keys = Array.from({ length: 3000 }, () => Math.ceil(random() * count * 1.2))
    const found = await Promise.all(keys.map((key) => items.find(key)))
    expect(found.map((item) => item?.name)).toEqual(
      keys.map((key) => (key > count ? undefined : `Item ${key}`)),
    )
    // A third of the ten connections, and on a busy machine one more for probe queries.
    expect(separate.pool?.open).toBeLessThanOrEqual(4)
    await waitUntil(() => separate.pool?.waiting === 0)
    await separate.close()
  })

  it('fail individually: for a bad value, a statement that cannot be prepared, and a value that cannot be encoded', async () => {
    const engine = engineOf(database)
    const divide = batchable('select 12 / $1::int')
    const broken = batchable('select * from no_such_table where id = $1')
    const circle: { self?: unknown } = {}
    circle.self = circle
    const results = await settleAll([
      engine.run(divide, [3], 'first'),
      engine.run(divide, [0], 'first'),
      engine.run(broken, [1], 'first'),
      engine.run(divide, [circle], 'first'),
      engine.run(broken, [2], 'first'),
      engine.run(divide, [4], 'first'),
    ])
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect([results[0], results[5]]).toMatchObject([{ value: [4] }, { value: [3] }])
    // A statement that could not be prepared works as soon as its table exists.
    await query('create table no_such_table (id int)')
    expect(await engine.run(broken, [1], 'rows')).toEqual([])
    await query('drop table no_such_table')
    expect(await engine.run(divide, [6], 'first')).toEqual([2])
  })

  it('return values of every type unchanged', async () => {
    const engine = engineOf(database)
    const kinds = [
      ['text', 'Ünïcödé \u{1F600} '.repeat(40)],
      ['text', 'é'],
      ['text', ''],
      ['text', 'x'.repeat(200_000)],
      ['int4', -7],
      ['float8', 0.1],
      ['bool', true],
      ['bytea', Buffer.from([0, 1, 255])],
      ['int8', '9007199254740993'],
      ['text', null],
    ] as const
    for (const [type, value] of kinds) {
      const [returned] = (await engine.run(batchable(`select $1::${type}`), [value], 'first')) ?? []
      expect(returned).toEqual(value)
    }
    expect(await engine.run(batchable('select $1::int[]'), [[1, 2]], 'first')).toEqual([[1, 2]])
    expect(
      await engine.run(batchable(`select 'NaN'::float8, 'Infinity'::float8`), [], 'first'),
    ).toEqual([NaN, Infinity])
  })

  it('repeat a read after a lost connection, but not a write', async () => {
    const engine = engineOf(database)
    const reads = Array.from({ length: 40 }, async (_, key) =>
      engine.run(sleepRead, [key, 0.01], 'first'),
    )
    const write = frameworkChange(
      'unknown',
      `with slept as (select pg_sleep(100)) insert into pipe_item (name, stock) select 'Once', 1 from slept returning id`,
    )
    const writing = settleAll([engine.run(write, [], 'rows')])
    await until(
      `select count(*) ${applicationActivity} and state = 'active' and query like '%Once%'`,
      Boolean,
    )
    await query(`select pg_terminate_backend(pid) ${applicationActivity}`)
    const rows = await Promise.all(reads)
    expect(rows.map((row) => row?.[0])).toEqual(Array.from({ length: 40 }, (_, key) => key))
    const [written] = await writing
    expect(written).toMatchObject({ status: 'rejected', reason: { kind: 'unavailable' } })
    expect(await database.records(Item).count({ name: 'Once' })).toBe(0)
  })

  it('continue after a restart of the server', async () => {
    const items = database.records(Item)
    await Promise.all(Array.from({ length: 20 }, (_, index) => items.find(index + 1)))
    await server.stop()
    await expect(items.find(1)).rejects.toMatchObject({ status: 503 })
    await expect(items.update(1, { stock: 5 })).rejects.toMatchObject({ status: 503 })
    await server.start()
    const found = await Promise.all(Array.from({ length: 20 }, (_, index) => items.find(index + 1)))
    expect(found.map((item) => item?.id)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    )
    expect(await items.update(1, { stock: 5 })).toMatchObject({ stock: 5 })
  })

  it('move a slow read to its own connection, so that the next one does not wait', async () => {
    const separate = await connect(url, { records: [Item] })
    const engine = engineOf(separate)
    const order: string[] = []
    const record = (name: string) => () => order.push(name)
    const long = Promise.resolve(engine.run(sleepRead, [1, 1], 'first')).then(record('long'))
    const next = Promise.resolve(engine.run(sleepRead, [2, 0], 'first')).then(record('next'))
    await Promise.all([long, next])
    expect(order).toEqual(['next', 'long'])
    await separate.close()
  })

  it('are cancelled with their request, without affecting other requests', async () => {
    const separate = await connect(url, { records: [Item] })
    const engine = engineOf(separate)
    let end: () => void = () => undefined
    const request = { onFinished: (ended: () => void) => (end = ended) }
    const requestReads = engine.requests.reads?.(request) as Runner
    const long = settleAll([requestReads.run(sleepRead, [1, 60], 'first')])
    const neighbours = Array.from({ length: 30 }, async (_, key) =>
      engine.run(sleepRead, [key, 0.002], 'first'),
    )
    end()
    const [ended] = await long
    expect(ended).toMatchObject({ status: 'rejected' })
    expect((ended as PromiseRejectedResult).reason).toBeInstanceOf(EngineError)
    const rows = await Promise.all(neighbours)
    expect(rows.map((row) => row?.[0])).toEqual(Array.from({ length: 30 }, (_, key) => key))
    await until(
      `select count(*) ${applicationActivity} and state = 'active'`,
      (active) => active === 0,
    )
    await separate.close()
  })

  it('of one request are pipelined, and cancelled together', async () => {
    const separate = await connect(`${url}?connections=1`, { records: [Item] })
    const engine = engineOf(separate)
    let end: () => void = () => undefined
    const requestReads = engine.requests.reads?.({ onFinished: (ended) => (end = ended) }) as Runner
    const sleep = frameworkQuery('select $1::int, pg_sleep($2)')
    const fail = frameworkQuery('select 1 / $1::int')
    const first = [
      requestReads.run(sleep, [1, 0], 'first'),
      requestReads.run(fail, [0], 'first'),
      requestReads.run(sleep, [2, 0], 'first'),
    ]
    expect(await settleAll(first)).toMatchObject([
      { value: [1, ''] },
      { reason: { kind: 'value' } },
      { value: [2, ''] },
    ])
    const long = settleAll(
      Array.from({ length: 5 }, () => requestReads.run(sleep, [1, 60], 'first')),
    )
    await until(`select count(*) ${applicationActivity} and state = 'active'`, Boolean)
    end()
    expect((await long).map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
    expect(await separate.records(Item).find(1)).toMatchObject({ id: 1 })
    await separate.close()
  })

  it('do not wait for another write that waits for a row lock', async () => {
    const separate = await connect(`${url}?connections=2`, { records: [Item] })
    const update = frameworkChange('unknown', 'update pipe_item set stock = 1 where id = $1')
    const change = async (id: number) => engineOf(separate).run(update, [id], 'all')
    let blockedUpdate: Promise<unknown> | undefined
    await observer.transaction(
      async (tx) => {
        await tx.records(Item).find(1, { lock: true })
        // The first two take the connections, and the other writes wait for one.
        const first = [8, 9].map(change)
        blockedUpdate = change(1)
        for (const { changes } of await Promise.all([...first, ...[2, 3, 4, 5, 6, 7].map(change)]))
          expect(changes).toBe(1)
      },
      { isolation: 'read committed' },
    )
    expect(await blockedUpdate).toMatchObject({ changes: 1 })
    await separate.close()
  })

  it.each([1, 2, 10])(
    'concurrent writes over %i connections fail individually',
    async (connections) => {
      const separate = await connect(`${url}?connections=${connections}`, { records: [Item] })
      const items = separate.records(Item)
      const results = await Promise.allSettled(
        Array.from({ length: 60 }, (_, index) =>
          items.update(
            index + 1,
            index % 10 === 7 ? { name: 'Item 500' } : { stock: 10_000 + index },
          ),
        ),
      )
      const failed = results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))
      expect(failed).toEqual([7, 17, 27, 37, 47, 57])
      expect(results[7]).toMatchObject({ reason: { status: 409 } })
      const rows = await items.list({ where: { stock: { gte: 10_000 } } })
      expect(rows).toHaveLength(54)
      await items.updateWhere({ stock: { gte: 10_000 } }, { stock: 1 })
      await separate.close()
    },
  )

  it('share one connection with transactions', async () => {
    const separate = await connect(`${url}?connections=1`, { records: [Item] })
    const items = separate.records(Item)
    const work = Array.from({ length: 30 }, (_, index) =>
      index % 3 === 0
        ? separate.transaction(async (tx) => tx.records(Item).update(index + 1, { stock: 77 }))
        : items.find(index + 1),
    )
    expect((await Promise.all(work)).map((item) => item?.id)).toEqual(
      Array.from({ length: 30 }, (_, index) => index + 1),
    )
    await separate.close()
  })
})
