/** Batched updates by id while other transactions lock rows, on PostgreSQL. Source: header of postgres/batching/update-queue.ts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { silentLog } from '../silent-log.js'
import { connect, type Database } from '../../src/index.js'
import { openEngine } from '../contracts/statement-recorder.js'
import { Box, Shelf, TestTable } from './batched-update-table.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

describe('updates next to locked rows', () => {
  let testTable: TestTable
  let url: string
  let other: Database
  beforeAll(async () => {
    testTable = new TestTable()
    await testTable.open(async () => {
      url = await server.createDatabase()
      return openEngine(url, { log: silentLog })
    })
    other = await connect(url, { records: [Shelf, Box] })
  })
  afterAll(async () => {
    await other.close()
    await testTable.database.close()
  })

  const rename = (id: number, name = `renamed ${id}`) => testTable.boxes.update(id, { name })

  it('do not delay updates of other rows', async () => {
    await testTable.warmUp(rename)
    const done: number[] = []
    let blockedUpdates: Promise<unknown>[] = []
    await other.transaction(
      async (tx) => {
        const theirs = tx.records(Box)
        for (const id of [10, 12, 14]) await theirs.find(id, { lock: true })
        const change = (id: number) => rename(id).then(() => done.push(id))
        // The first one is sent immediately and waits. Only updates of locked rows may wait with it.
        blockedUpdates = [change(10), change(12), change(14), change(10)]
        const refused = expect(rename(17, 'cursed')).rejects.toThrow()
        const missing = rename(9999)
        await Promise.all([11, 13, 15, 16].map(change))
        await refused
        expect(await missing).toBeNull()
        expect(done.sort()).toEqual([11, 13, 15, 16])
        for (const id of [10, 12, 14]) await theirs.update(id, { worth: '7.00' })
      },
      { isolation: 'read committed' },
    )
    await Promise.all(blockedUpdates)
    const stored = await testTable.boxes.list({ where: { id: { in: [10, 12, 14] } } })
    expect(stored.map(({ name, worth }) => [name, worth])).toEqual(
      [10, 12, 14].map((id) => [`renamed ${id}`, '7.00']),
    )
  })

  it('of several rows do not delay updates of other rows', async () => {
    const reword = (ids: readonly number[]) =>
      testTable.boxes.updateMany(ids.map((id) => ({ id, name: `list of ${id}` })))
    await testTable.warmUp((id) => reword([id * 2, id * 2 + 1]))
    let blockedUpdates: Promise<unknown>[] = []
    await other.transaction(
      async (tx) => {
        await tx.records(Box).find(70, { lock: true })
        blockedUpdates = [reword([71, 70]), reword([70, 72])]
        await Promise.all([reword([73, 74]), reword([76, 75])])
      },
      { isolation: 'read committed' },
    )
    await Promise.all(blockedUpdates)
    const stored = await testTable.boxes.list({ where: { id: { gte: 70, lte: 76 } } })
    expect(stored.map(({ id, name }) => name === `list of ${id}`)).not.toContain(false)
  })

  it('of many rows are one atomic statement, without deadlocks between different orders', async () => {
    const worths = (ids: readonly number[], worth: string) =>
      testTable.boxes.updateMany(ids.map((id) => ({ id, worth })))
    const ids = Array.from({ length: 20 }, (_, n) => n + 40)
    await worths(ids, '2.00')
    const statements = await testTable.watch.during(() => worths(ids, '3.00'))
    expect(statements.map((sql) => sql.slice(0, 6))).toEqual(['update'])
    const loops = [ids, ids.toReversed()].map(async (order) => {
      for (let iteration = 0; iteration < 20; iteration++)
        expect((await worths(order, `4.${10 + iteration}`)).map(({ id }) => id)).toEqual(order)
    })
    await Promise.all(loops)
    await expect(worths([...ids, 9999], '5.00')).rejects.toMatchObject({ status: 404 })
    const stored = await testTable.boxes.list({ where: { id: { in: ids } } })
    expect(stored.map(({ worth }) => worth)).toEqual(ids.map(() => '4.29'))
    expect(stored.map(({ version }) => version)).toEqual(ids.map(() => 43))
  })

  it('all fail when the connection is lost, and none is stored', async () => {
    const { kysely } = testTable.database
    await sql`create function end_connection() returns trigger language plpgsql as
      $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`.execute(kysely)
    await sql`create trigger ends before update on joined_box for each row
      when (new.name = 'last words') execute function end_connection()`.execute(kysely)
    const names = ['one', 'last words', 'three']
    const results = await testTable.concurrently(() => [
      rename(20, 'first'),
      ...names.map((name, n) => rename(21 + n, name)),
    ])
    expect(results[0]?.status).toBe('fulfilled')
    for (const result of results.slice(1))
      expect(result).toMatchObject({ reason: { status: 503, code: 'DATABASE_UNAVAILABLE' } })
    const stored = await testTable.boxes.list({ where: { id: { gte: 21, lte: 23 } } })
    expect(stored.map(({ name }) => name)).toEqual(['Box 21', 'Box 22', 'Box 23'])
  })
})
