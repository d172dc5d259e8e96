/** Statements over few connections of PostgreSQL: each has its own answer and its own fault, whatever becomes of the others. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, Field, Record, type Database } from 'filigree'
import type { Engine, Runner } from '../../src/engines/contract/engine.js'
import { EngineError } from '../../src/engines/contract/engine-error.js'
import type { Database as OpenDatabase } from '../../src/records/database.js'
import { startOwnPostgres, type OwnPostgres } from './postgres-server.js'
import { frameworkChange, frameworkQuery } from '../../src/engines/contract/statement.js'

@Record({ table: 'pipe_item', plural: 'pipeItems' })
class Item {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('integer') stock!: number
}

describe('statements over few connections', () => {
  let server: OwnPostgres
  let url: string
  let database: Database
  let observer: Database
  const engineOf = (of: Database): Engine => (of as OpenDatabase).context.engine
  const count = 1000

  beforeAll(async () => {
    server = await startOwnPostgres()
    url = await server.createDatabase()
    database = await connect(url, { records: [Item] })
    observer = await connect(`${url}?application_name=observer`, { records: [Item] })
    await database.sync()
    await database
      .records(Item)
      .insertMany(Array.from({ length: count }, (_, at) => ({ name: `Item ${at + 1}`, stock: at })))
  })
  afterAll(async () => {
    await database.close()
    await observer.close()
    await server.close()
  })

  const ask = async (sql: string, values: unknown[] = []): Promise<readonly unknown[]> =>
    (await engineOf(observer).run(frameworkChange('unknown', sql), values, 'all')).rows.map(
      ([value]) => value,
    )
  const others = `from pg_stat_activity where datname = current_database() and application_name = 'filigree'`
  const until = async (sql: string, holds: (value: number) => boolean): Promise<void> => {
    const end = performance.now() + 100_000
    for (;;) {
      const [value] = await ask(sql)
      if (holds(Number(value))) return
      if (performance.now() > end) throw new Error(`${sql}: still ${String(value)}`)
    }
  }
  /** A brief read that lasts as long as it says, in seconds. */
  const brief = (sql: string) => frameworkQuery(sql, { together: 'calls' })
  const nap = brief('select $1::int, pg_sleep($2)')
  const settle = (answers: readonly unknown[]) =>
    Promise.allSettled(answers.map((answer) => Promise.resolve(answer)))

  it('give each caller its own row, under random keys and missing ones', async () => {
    const fresh = await connect(url, { records: [Item] })
    const items = fresh.records(Item)
    const keys = Array.from({ length: 3000 }, () => Math.ceil(Math.random() * count * 1.2))
    const found = await Promise.all(keys.map((key) => items.find(key)))
    expect(found.map((item) => item?.name)).toEqual(
      keys.map((key) => (key > count ? undefined : `Item ${key}`)),
    )
    // A third of the ten connections; on a busy machine one more, by which it is asked whether others are slow as well.
    expect(fresh.pool?.open).toBeLessThanOrEqual(4)
    while (fresh.pool?.waiting !== 0) await new Promise((resolve) => setImmediate(resolve))
    await fresh.close()
  })

  it('fail alone: by a value, by a statement that cannot be prepared, and by one that cannot be encoded', async () => {
    const engine = engineOf(database)
    const divide = brief('select 12 / $1::int')
    const broken = brief('select * from no_such_table where id = $1')
    const circle: { self?: unknown } = {}
    circle.self = circle
    const answers = await settle([
      engine.run(divide, [3], 'first'),
      engine.run(divide, [0], 'first'),
      engine.run(broken, [1], 'first'),
      engine.run(divide, [circle], 'first'),
      engine.run(broken, [2], 'first'),
      engine.run(divide, [4], 'first'),
    ])
    expect(answers.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect([answers[0], answers[5]]).toMatchObject([{ value: [4] }, { value: [3] }])
    // What failed to be prepared is prepared once it can be.
    await ask('create table no_such_table (id int)')
    expect(await engine.run(broken, [1], 'rows')).toEqual([])
    await ask('drop table no_such_table')
    expect(await engine.run(divide, [6], 'first')).toEqual([2])
  })

  it('answer every kind of value as it was sent', async () => {
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
      const [answer] = (await engine.run(brief(`select $1::${type}`), [value], 'first')) ?? []
      expect(answer).toEqual(value)
    }
    expect(await engine.run(brief('select $1::int[]'), [[1, 2]], 'first')).toEqual([[1, 2]])
    expect(
      await engine.run(brief(`select 'NaN'::float8, 'Infinity'::float8`), [], 'first'),
    ).toEqual([NaN, Infinity])
  })

  it('a read whose connection is lost runs once more, a write does not', async () => {
    const engine = engineOf(database)
    const reads = Array.from({ length: 40 }, async (_, key) =>
      engine.run(nap, [key, 0.01], 'first'),
    )
    const write = frameworkChange(
      'unknown',
      `with slept as (select pg_sleep(100)) insert into pipe_item (name, stock) select 'Once', 1 from slept returning id`,
    )
    const writing = settle([engine.run(write, [], 'rows')])
    await until(`select count(*) ${others} and state = 'active' and query like '%Once%'`, Boolean)
    await ask(`select pg_terminate_backend(pid) ${others}`)
    const rows = await Promise.all(reads)
    expect(rows.map((row) => row?.[0])).toEqual(Array.from({ length: 40 }, (_, key) => key))
    const [written] = await writing
    expect(written).toMatchObject({ status: 'rejected', reason: { kind: 'unavailable' } })
    expect(await database.records(Item).count({ name: 'Once' })).toBe(0)
  })

  it('go on behind a restart of the server', async () => {
    const items = database.records(Item)
    await Promise.all(Array.from({ length: 20 }, (_, at) => items.find(at + 1)))
    await server.stop()
    await expect(items.find(1)).rejects.toMatchObject({ status: 503 })
    await expect(items.update(1, { stock: 5 })).rejects.toMatchObject({ status: 503 })
    await server.start()
    const found = await Promise.all(Array.from({ length: 20 }, (_, at) => items.find(at + 1)))
    expect(found.map((item) => item?.id)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1))
    expect(await items.update(1, { stock: 5 })).toMatchObject({ stock: 5 })
  })

  it('one that takes long gets a connection for itself, and those behind it go elsewhere', async () => {
    const fresh = await connect(url, { records: [Item] })
    const engine = engineOf(fresh)
    const order: string[] = []
    const note = (name: string) => () => order.push(name)
    const long = Promise.resolve(engine.run(nap, [1, 1], 'first')).then(note('long'))
    const behind = Promise.resolve(engine.run(nap, [2, 0], 'first')).then(note('behind'))
    await Promise.all([long, behind])
    expect(order).toEqual(['behind', 'long'])
    await fresh.close()
  })

  it('end with their request, and meet no neighbour', async () => {
    const fresh = await connect(url, { records: [Item] })
    const engine = engineOf(fresh)
    let end: () => void = () => undefined
    const request = { onFinished: (ended: () => void) => (end = ended) }
    const mine = engine.clientReads?.(request) as Runner
    const long = settle([mine.run(nap, [1, 60], 'first')])
    const neighbours = Array.from({ length: 30 }, async (_, key) =>
      engine.run(nap, [key, 0.002], 'first'),
    )
    end()
    const [ended] = await long
    expect(ended).toMatchObject({ status: 'rejected' })
    expect((ended as PromiseRejectedResult).reason).toBeInstanceOf(EngineError)
    const rows = await Promise.all(neighbours)
    expect(rows.map((row) => row?.[0])).toEqual(Array.from({ length: 30 }, (_, key) => key))
    await until(`select count(*) ${others} and state = 'active'`, (active) => active === 0)
    await fresh.close()
  })

  it('of one request go together, and end together', async () => {
    const fresh = await connect(`${url}?connections=1`, { records: [Item] })
    const engine = engineOf(fresh)
    let end: () => void = () => undefined
    const mine = engine.clientReads?.({ onFinished: (ended) => (end = ended) }) as Runner
    const sleep = frameworkQuery('select $1::int, pg_sleep($2)')
    const fail = frameworkQuery('select 1 / $1::int')
    const first = [
      mine.run(sleep, [1, 0], 'first'),
      mine.run(fail, [0], 'first'),
      mine.run(sleep, [2, 0], 'first'),
    ]
    expect(await settle(first)).toMatchObject([
      { value: [1, ''] },
      { reason: { kind: 'value' } },
      { value: [2, ''] },
    ])
    const long = settle(Array.from({ length: 5 }, () => mine.run(sleep, [1, 60], 'first')))
    await until(`select count(*) ${others} and state = 'active'`, Boolean)
    end()
    expect((await long).map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
    expect(await fresh.records(Item).find(1)).toMatchObject({ id: 1 })
    await fresh.close()
  })

  it('a write that waits for a row holds up no other of its turn', async () => {
    const fresh = await connect(`${url}?connections=2`, { records: [Item] })
    const update = frameworkChange('unknown', 'update pipe_item set stock = 1 where id = $1')
    const change = async (id: number) => engineOf(fresh).run(update, [id], 'all')
    let held: Promise<unknown> | undefined
    await observer.transaction(
      async (tx) => {
        await tx.records(Item).find(1, { lock: true })
        // The first two take the connections; all the others wait for one.
        const first = [8, 9].map(change)
        held = change(1)
        for (const { changes } of await Promise.all([...first, ...[2, 3, 4, 5, 6, 7].map(change)]))
          expect(changes).toBe(1)
      },
      { isolation: 'read committed' },
    )
    expect(await held).toMatchObject({ changes: 1 })
    await fresh.close()
  })

  it.each([1, 2, 10])('writes of one turn over %i connections fail alone', async (connections) => {
    const fresh = await connect(`${url}?connections=${connections}`, { records: [Item] })
    const items = fresh.records(Item)
    const answers = await Promise.allSettled(
      Array.from({ length: 60 }, (_, at) =>
        items.update(at + 1, at % 10 === 7 ? { name: 'Item 500' } : { stock: 10_000 + at }),
      ),
    )
    const failed = answers.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))
    expect(failed).toEqual([7, 17, 27, 37, 47, 57])
    expect(answers[7]).toMatchObject({ reason: { status: 409 } })
    const rows = await items.list({ where: { stock: { gte: 10_000 } } })
    expect(rows).toHaveLength(54)
    await items.updateWhere({ stock: { gte: 10_000 } }, { stock: 1 })
    await fresh.close()
  })

  it('share one connection in turn with transactions', async () => {
    const fresh = await connect(`${url}?connections=1`, { records: [Item] })
    const items = fresh.records(Item)
    const work = Array.from({ length: 30 }, (_, at) =>
      at % 3 === 0
        ? fresh.transaction(async (tx) => tx.records(Item).update(at + 1, { stock: 77 }))
        : items.find(at + 1),
    )
    expect((await Promise.all(work)).map((item) => item?.id)).toEqual(
      Array.from({ length: 30 }, (_, at) => at + 1),
    )
    await fresh.close()
  })
})
