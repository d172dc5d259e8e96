/** Batching of concurrent updates by id into one statement, on PostgreSQL and PGlite. Source: header of postgres/batching/update-queue.ts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { silentLog } from '../silent-log.js'
import { pglite, type Row } from '../../src/index.js'
import { openEngine } from '../contracts/statement-recorder.js'
import { Box, count, isBatched, TestTable } from './batched-update-table.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { createRandom } from '../random.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

const engines = [
  ['PostgreSQL', async () => openEngine(await server.createDatabase(), { log: silentLog })],
  ['PGlite', async () => pglite().open({ log: silentLog })],
] as const

describe.each(engines)('updates of one row on %s', (_, open) => {
  let testTable: TestTable
  beforeAll(async () => {
    testTable = new TestTable()
    await testTable.open(open)
  })
  afterAll(async () => testTable.database.close())

  const rename = (id: number, name = `renamed ${id}`) => testTable.boxes.update(id, { name })

  it('are sent alone when no other update is running', async () => {
    await testTable.warmUp(rename)
    const statements = await testTable.watch.during(() => rename(7))
    expect(statements).toHaveLength(1)
    expect(isBatched(statements[0] ?? '')).toBe(false)
  })

  it('are batched while another one is running: each gets its own row, or null if there is none', async () => {
    await testTable.warmUp(rename)
    const ids = Array.from({ length: 40 }, (_, n) => (n % 4 === 3 ? count + n : n + 10))
    let results: PromiseSettledResult<Row<Box> | null>[] = []
    const statements = await testTable.watch.during(async () => {
      results = await testTable.concurrently(() => ids.map((id) => rename(id, `now ${id}`)))
    })
    expect(
      results.map((result) => (result as PromiseFulfilledResult<Row<Box> | null>).value),
    ).toEqual(
      ids.map((id) => (id > count ? null : expect.objectContaining({ id, name: `now ${id}` }))),
    )
    const missing = ids.filter((id) => id > count)
    expect(missing.length).toBeGreaterThan(0)
    expect(statements.filter(isBatched)).toHaveLength(1)
    // The first update, and each update whose row the batch did not find.
    expect(statements.filter((sql) => !isBatched(sql))).toHaveLength(1 + missing.length)
    const stored = await testTable.boxes.list({ where: { id: { in: ids } } })
    expect(stored.every(({ id, name }) => name === `now ${id}`)).toBe(true)
    expect(stored).toHaveLength(ids.length - missing.length)
  })

  it('write values of all types, and only the named fields', async () => {
    const texts = ['plain', 'with "quotes"', "it's", 'back\\slash', '{braces,}', 'NULL', '🏺', '']
    const change = (id: number) => ({
      name: texts[id % texts.length] ?? '',
      worth: `${id}.25`,
      marks: texts.slice(0, id % 4),
      shelfId: undefined,
    })
    await testTable.warmUp((id) => testTable.boxes.update(id, change(id)))
    const ids = Array.from({ length: 30 }, (_, n) => n + 101)
    const statements = await testTable.watch.during(() =>
      testTable.concurrently(() => ids.map((id) => testTable.boxes.update(id, change(id)))),
    )
    expect(statements.some(isBatched)).toBe(true)
    const stored = await testTable.boxes.list({ where: { id: { in: ids } } })
    expect(stored).toMatchObject(
      ids.map((id) => {
        const { name, worth, marks } = change(id)
        const same = { id, code: `c${id}`, shelfId: null, version: 2 }
        return { ...same, name, worth, marks }
      }),
    )
  })

  it('fail without failing the rest of the batch', async () => {
    await testTable.warmUp(rename)
    const names = ['one', 'two', 'cursed', 'four']
    const results = await testTable.concurrently(() => [
      rename(140),
      ...names.map((name, n) => rename(141 + n, name)),
    ])
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    const stored = await testTable.boxes.list({ where: { id: { gte: 141, lte: 144 } } })
    expect(stored.map(({ name }) => name)).toEqual(['one', 'two', 'Box 143', 'four'])
    expect(stored.map(({ version }) => version)).toEqual([2, 2, 1, 2])
  })

  it('all take effect on the same row', async () => {
    await testTable.warmUp(rename)
    const names = Array.from({ length: 12 }, (_, n) => `name ${n}`)
    const results = await testTable.concurrently(() => names.map((name) => rename(150, name)))
    const records = results.map((result) => (result as PromiseFulfilledResult<Box>).value)
    expect(records.map(({ name }) => name)).toEqual(names)
    expect(records.map(({ version }) => version).sort((a, b) => a - b)).toEqual(
      names.map((_, n) => n + 2),
    )
    expect((await testTable.boxes.find(150))?.version).toBe(13)
  })

  it('are rejected individually for an outdated version', async () => {
    const change = (id: number, version: number) =>
      testTable.boxes.update(id, { name: 'v', version })
    await testTable.warmUp((id) => change(id, 1))
    const results = await testTable.concurrently(() =>
      [160, 161, 162, 163].map((id) => change(id, id % 2)),
    )
    expect(results.map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(results[0]).toMatchObject({ reason: { status: 409, code: 'CONFLICT' } })
  })

  it('are reported one by one', async () => {
    const statements: unknown[] = []
    testTable.database.onChange(({ event, id }) => statements.push(`${event} ${id}`))
    await testTable.warmUp(rename)
    statements.length = 0
    await testTable.concurrently(() => [171, 172, 173, 999, 174].map((id) => rename(id)))
    await testTable.watch.settled()
    expect(statements.sort()).toEqual([171, 172, 173, 174].map((id) => `updated ${id}`))
  })

  it('are not batched in a transaction, nor when they change unique or referencing fields', async () => {
    await testTable.warmUp(rename)
    const inside = await testTable.watch.during(() =>
      testTable.database.transaction(async (tx) => {
        const boxes = tx.records(Box)
        await Promise.all([181, 182, 183].map((id) => boxes.update(id, { name: 'inside' })))
      }),
    )
    expect(inside.filter(isBatched)).toEqual([])
    const changes = [
      (id: number) => testTable.boxes.update(id, { code: `new ${id}` }),
      (id: number) => testTable.boxes.update(id, { shelfId: 1 }),
    ]
    for (const change of changes) {
      await testTable.warmUp(change)
      const statements = await testTable.watch.during(() =>
        testTable.concurrently(() => [191, 192, 193, 194].map(change)),
      )
      expect(statements.filter(isBatched)).toEqual([])
    }
  })

  describe('of several rows', () => {
    const reword = (ids: readonly number[], text = 'reworded') =>
      testTable.boxes.updateMany(ids.map((id) => ({ id, name: `${text} ${id}` })))
    const pair = (id: number): number[] => [id, id + 1]
    const warmUp = () => testTable.warmUp((id) => reword(pair(id * 2)))

    it('are batched while another one is running: each call gets its own rows, in its own order', async () => {
      await warmUp()
      const lists = [
        [30, 31],
        [34, 33, 32],
        [36, 35],
        [38, 37, 40, 39],
      ]
      let results: PromiseSettledResult<Row<Box>[]>[] = []
      const statements = await testTable.watch.during(async () => {
        results = await testTable.concurrently(() => lists.map((ids) => reword(ids, 'now')))
      })
      expect(statements.map(isBatched)).toEqual([false, true])
      expect(results).toEqual(
        lists.map((ids) => ({
          status: 'fulfilled',
          value: ids.map((id) => expect.objectContaining({ id, name: `now ${id}` })),
        })),
      )
    })

    it('are atomic for each call: a missing or rejected row fails only its own call', async () => {
      await warmUp()
      const before = (await testTable.boxes.find(53))?.name
      const results = await testTable.concurrently(() => [
        reword([50, 51], 'kept'),
        reword([52, 53, 9999], 'lost'),
        reword([54, 55], 'kept'),
        testTable.boxes.updateMany([
          { id: 56, name: 'fine' },
          { id: 57, name: 'cursed' },
        ]),
        reword([58, 59], 'kept'),
      ])
      expect(results.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
      ])
      expect(results[1]).toMatchObject({ reason: { status: 404 } })
      const names = (await testTable.boxes.list({ where: { id: { gte: 50, lte: 59 } } })).map(
        ({ name }) => name,
      )
      const renamed = (id: number) => `kept ${id}`
      expect(names.slice(0, 2)).toEqual([renamed(50), renamed(51)])
      expect(names[3]).toBe(before)
      expect(names.slice(4, 6)).toEqual([renamed(54), renamed(55)])
      expect(names).not.toContain('fine')
      expect(names.slice(8)).toEqual([renamed(58), renamed(59)])
    })

    it('all take effect when concurrent calls share rows', async () => {
      await warmUp()
      const random = createRandom(1913)
      const versions = new Map(
        (await testTable.boxes.list()).map(({ id, version }) => [id, version]),
      )
      const pick = (): number[] => {
        const ids = new Set<number>()
        while (ids.size < 5) ids.add(Math.floor(random() * 40) + 1)
        return [...ids]
      }
      const loops = Array.from({ length: 20 }, async () => {
        for (let iteration = 0; iteration < 10; iteration++) {
          const ids = pick()
          const text = `of ${random()}`
          const boxes = await reword(ids, text)
          expect(boxes.map(({ id, name }) => [id, name])).toEqual(
            ids.map((id) => [id, `${text} ${id}`]),
          )
          for (const id of ids) versions.set(id, (versions.get(id) ?? 0) + 1)
        }
      })
      const statements = await testTable.watch.during(() => Promise.all(loops))
      expect(statements.some(isBatched)).toBe(true)
      for (const { id, version } of await testTable.boxes.list())
        expect([id, version]).toEqual([id, versions.get(id)])
    })

    it('write values of all types', async () => {
      const texts = ['with "quotes"', "it's", 'back\\slash', '{braces,}', 'NULL', '🏺', '']
      const change = (id: number) => ({
        id,
        name: texts[id % texts.length] ?? '',
        worth: `${id}.5`,
      })
      await testTable.warmUp((id) => testTable.boxes.updateMany(pair(id * 2).map(change)))
      const lists = [60, 63, 66, 69].map((id) => [id, id + 1, id + 2])
      const statements = await testTable.watch.during(() =>
        testTable.concurrently(() =>
          lists.map((ids) => testTable.boxes.updateMany(ids.map(change))),
        ),
      )
      expect(statements.some(isBatched)).toBe(true)
      const stored = await testTable.boxes.list({ where: { id: { gte: 60, lte: 71 } } })
      expect(stored).toMatchObject(stored.map(({ id }) => ({ ...change(id), worth: `${id}.50` })))
    })

    it('are not batched in a transaction, for many rows, or when they change unique fields', async () => {
      await warmUp()
      const unbatchedUpdates = [
        (ids: readonly number[]) =>
          testTable.boxes.updateMany(ids.map((id) => ({ id, code: `another ${id}` }))),
        (ids: readonly number[]) =>
          testTable.database.transaction((tx) =>
            tx.records(Box).updateMany(ids.map((id) => ({ id, name: 'inside' }))),
          ),
        (ids: readonly number[]) =>
          reword(Array.from({ length: 101 }, (_, n) => n + (ids[0] ?? 0))),
      ]
      for (const change of unbatchedUpdates) {
        const statements = await testTable.watch.during(() =>
          Promise.allSettled([80, 82, 84, 86].map((id) => change(pair(id)))),
        )
        expect(statements.filter(isBatched)).toEqual([])
      }
    })
  })

  it('all take effect under random concurrent calls', async () => {
    const random = createRandom(4711)
    const sums = new Map((await testTable.boxes.list()).map(({ id, version }) => [id, version]))
    const loops = Array.from({ length: 30 }, async () => {
      for (let iteration = 0; iteration < 20; iteration++) {
        const id = Math.floor(random() * (count + 10)) + 1
        const name = `of ${id} in ${random()}`
        const box = await testTable.boxes.update(id, { name })
        expect(box?.id ?? null).toBe(id > count ? null : id)
        expect(box?.name).toBe(id > count ? undefined : name)
        if (box) sums.set(id, (sums.get(id) ?? 0) + 1)
      }
    })
    const statements = await testTable.watch.during(() => Promise.all(loops))
    expect(statements.some(isBatched)).toBe(true)
    for (const { id, version } of await testTable.boxes.list())
      expect([id, version]).toEqual([id, sums.get(id)])
  })
})
