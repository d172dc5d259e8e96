/** Batching of concurrent updates by id into one statement, on PostgreSQL and PGlite. Source: header of postgres/batching/write-queues.ts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Record,
  type Application,
} from 'filigree'
import { sql } from 'kysely'
import { silentLog } from '../silent-log.js'
import { BelongsTo, connect, type Database, pglite, type Rel } from '../../src/index.js'
import { openEngine } from '../contracts/statement-recorder.js'
import { StatementRecorder } from '../contracts/statement-recorder.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { createRandom } from '../random.js'
import { waitUntil } from '../wait-until.js'

@Record({ table: 'joined_shelf', plural: 'shelves' })
class Shelf {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ table: 'joined_box', plural: 'boxes', version: true, timestamps: true })
class Box {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('decimal', { precision: 12, scale: 2 }) worth!: string
  @Field('string', { list: true }) marks!: string[]
  @Field('string', { unique: true }) code!: string
  @Field('integer', { nullable: true, optional: true }) shelfId?: number | null
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
  version!: number
}

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

const count = 200
const engines = [
  ['PostgreSQL', async () => openEngine(await server.createDatabase(), { log: silentLog })],
  ['PGlite', async () => pglite().open({ log: silentLog })],
] as const

const isBatched = (sql: string): boolean => sql.includes('filigree_call')
const isUpdate = (sql: string): boolean => sql.startsWith('update')

class TestTable {
  readonly watch = new StatementRecorder()
  database!: Database

  async open(openOne: (typeof engines)[number][1]): Promise<void> {
    const engine = this.watch.around(await openOne())
    this.database = await connect({
      engine: { open: () => Promise.resolve(engine) },
      records: [Shelf, Box],
    })
    await this.database.sync()
    await this.database.records(Shelf).insertMany([{ name: 'top' }, { name: 'bottom' }])
    const rows = Array.from({ length: count }, (_, n) => ({
      name: `Box ${n + 1}`,
      worth: '1.00',
      marks: [],
      code: `c${n + 1}`,
    }))
    await this.boxes.insertMany(rows)
    await this.database.kysely.schema
      .alterTable('joined_box')
      .addCheckConstraint('not_cursed', sql`name <> 'cursed'`)
      .execute()
  }

  get boxes() {
    return this.database.records(Box)
  }

  /** Starts the calls while the first statement is still running, so that the later calls are batched. */
  async concurrently<T>(call: () => readonly Promise<T>[]): Promise<PromiseSettledResult<T>[]> {
    const release = this.watch.hold(isUpdate, 1, true)
    const calls = Promise.allSettled(call())
    release()
    return calls
  }

  /** Runs calls until the engine has learned the statement's parameter types. Only then it batches the statement. */
  async warmUp(call: (id: number) => Promise<unknown>): Promise<void> {
    await this.concurrently(() => [1, 2, 3].map((id) => call(id)))
    await this.watch.settled()
  }
}

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
    let results: PromiseSettledResult<Box | null>[] = []
    const statements = await testTable.watch.during(async () => {
      results = await testTable.concurrently(() => ids.map((id) => rename(id, `now ${id}`)))
    })
    expect(results.map((result) => (result as PromiseFulfilledResult<Box | null>).value)).toEqual(
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
      let results: PromiseSettledResult<Box[]>[] = []
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

@Record({ table: 'joined_diary', rows: (user) => ({ owner: user?.sub ?? '' }) })
class Diary {
  @Field('id') id!: number
  @Field('string', { readOnly: true }) owner!: string
  @Field('string') text!: string
}
@Controller('/diaries', { crud: Diary })
@NoAuth
class Diaries {}
@Module({ controllers: [Diaries], records: [Diary] })
class Library {}

describe('concurrent updates of many clients', () => {
  let app: Application
  let database: Database
  const people = ['ann', 'bob', 'cyd']
  const tokens = new Map<string, string>()
  const ownerOf = (id: number): string => people[id % 3] ?? ''

  beforeAll(async () => {
    const url = await server.createDatabase()
    database = await connect(url, { records: [Diary] })
    await database.sync()
    const ids = Array.from({ length: 90 }, (_, n) => n + 1)
    await database
      .records(Diary)
      .insertMany(ids.map((id) => ({ owner: ownerOf(id), text: `of ${id}` })))
    app = await bootstrap(Library, { database: url, listen: false, logger: false })
    for (const sub of people) tokens.set(sub, await app.get(Auth).getToken({ sub }))
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const send = (sub: string, request: { method: string; url: string; json: object }) =>
    app.inject({ ...request, headers: { authorization: `Bearer ${tokens.get(sub) ?? ''}` } })
  const patch = (sub: string, id: number, text: string) =>
    send(sub, { method: 'PATCH', url: `/diaries/${id}`, json: { text } })
  const mutate = (sub: string, id: number, text: string) =>
    send(sub, {
      method: 'POST',
      url: '/graphql',
      json: {
        query:
          'mutation ($id: ID!, $text: String!) { updateDiary(id: $id, input: { text: $text }) { id text } }',
        variables: { id, text },
      },
    })

  it("change only the caller's own rows, over REST and GraphQL", async () => {
    const requests = Array.from({ length: 180 }, (_, n) => ({
      sub: ownerOf(n),
      id: ((n * 7) % 95) + 1,
    }))
    for (const [name, change] of [
      ['patched', patch],
      ['mutated', mutate],
    ] as const) {
      const results = await Promise.all(
        requests.map(({ sub, id }) => change(sub, id, `${name} by ${sub}`)),
      )
      for (const [n, response] of results.entries()) {
        const { sub, id } = requests[n] as (typeof requests)[number]
        const isMine = id <= 90 && ownerOf(id) === sub
        const text = `${name} by ${sub}`
        if (name === 'patched') {
          expect(response.status).toBe(isMine ? 200 : 404)
          if (isMine) expect(response.json()).toEqual({ id, owner: sub, text })
        } else {
          const data = (response.json() as { data: { updateDiary: unknown } | null }).data
          expect(data?.updateDiary ?? null).toEqual(isMine ? { id: String(id), text } : null)
        }
      }
      const touched = new Set(
        requests.filter(({ sub, id }) => ownerOf(id) === sub).map(({ id }) => id),
      )
      const stored = await database.records(Diary).list({ limit: 100 })
      for (const { id, owner, text } of stored)
        expect(text === `${name} by ${owner}`).toBe(touched.has(id))
    }
  })
})

@Record({ table: 'joined_ledger', plural: 'ledgers' })
@NoAuth
class Ledger {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('decimal', { precision: 12, scale: 2 }) worth!: string
}
@Module({ records: [Ledger] })
class Office {}

describe('updates in one GraphQL operation', () => {
  const watch = new StatementRecorder()
  let app: Application
  let database: Database
  let url: string

  beforeAll(async () => {
    url = await server.createDatabase()
    const engine = watch.around(await openEngine(url, { log: silentLog }))
    database = await connect({
      engine: { open: () => Promise.resolve(engine) },
      records: [Ledger],
    })
    await database.sync()
    await database
      .records(Ledger)
      .insertMany(Array.from({ length: 80 }, (_, n) => ({ name: `of ${n + 1}`, worth: '1.00' })))
    await sql`alter table joined_ledger add constraint not_cursed check (name <> 'cursed')`.execute(
      database.kysely,
    )
    app = await bootstrap(Office, { database, listen: false, logger: false })
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const rename = async (changes: readonly (readonly [id: number, name: string])[]) => {
    const fields = changes.map(
      ([id, name], n) => `m${n}: updateLedger(id: ${id}, input: { name: "${name}" }) { id name }`,
    )
    const json = { query: `mutation { ${fields.join(' ')} }` }
    const response = await app.inject({ method: 'POST', url: '/graphql', json })
    return response.json() as {
      data: globalThis.Record<string, unknown>
      errors?: readonly { path: readonly string[] }[]
    }
  }
  const named = (changes: readonly (readonly [id: number, name: string])[]) =>
    Object.fromEntries(changes.map(([id, name], n) => [`m${n}`, { id: String(id), name }]))
  const four = (first: number, name: string) =>
    [0, 1, 2, 3].map((n) => [first + n, `${name} ${n}`] as const)
  const warmUp = async () => {
    await rename(four(1, 'warm'))
    await watch.settled()
    await rename(four(1, 'warm'))
    await watch.settled()
  }

  it('are one statement when they set the same fields of different rows', async () => {
    await warmUp()
    const changes = four(10, 'together').toReversed()
    let response: unknown
    const statements = await watch.during(async () => {
      response = await rename(changes)
    })
    expect(response).toEqual({ data: named(changes) })
    expect(statements.filter(isUpdate).map(isBatched)).toEqual([true])
  })

  it('return their own results next to concurrent operations', async () => {
    await warmUp()
    const lists = Array.from({ length: 12 }, (_, n) => four(n * 4 + 20, `list ${n}`))
    for (const word of ['once', 'again']) {
      const all = lists.map((list) => list.map(([id, name]) => [id, `${name} ${word}`] as const))
      const results = await Promise.all(all.map(rename))
      expect(results).toEqual(all.map((changes) => ({ data: named(changes) })))
      await watch.settled()
    }
  })

  it('run separately and in order when one of them fails', async () => {
    await warmUp()
    const cursed = await rename([
      [15, 'a'],
      [16, 'cursed'],
      [17, 'c'],
    ])
    expect(cursed.data).toEqual({
      m0: { id: '15', name: 'a' },
      m1: null,
      m2: { id: '17', name: 'c' },
    })
    expect(cursed.errors?.map(({ path }) => path)).toEqual([['m1']])
    const missing = await rename([
      [15, 'd'],
      [9999, 'e'],
      [17, 'f'],
    ])
    expect(missing.data).toMatchObject({ m0: { name: 'd' }, m1: null, m2: { name: 'f' } })
    const twice = await rename([
      [18, 'first'],
      [19, 'other'],
      [18, 'second'],
    ])
    expect(twice.data).toEqual(
      named([
        [18, 'first'],
        [19, 'other'],
        [18, 'second'],
      ]),
    )
    const stored = await database.records(Ledger).list({ where: { id: { gte: 15, lte: 18 } } })
    expect(stored.map(({ name }) => name)).toEqual(['d', 'of 16', 'f', 'second'])
  })

  const untilStatementWaits = async () => {
    const waiting = sql`select 1 from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`
    await waitUntil(async () => (await waiting.execute(database.kysely)).rows.length > 0)
  }

  it('keep their order while a row is locked: no later update becomes visible first', async () => {
    await warmUp()
    const other = await connect(url, { records: [Ledger] })
    let response: ReturnType<typeof rename> | undefined
    await other.transaction(
      async (tx) => {
        const ledgers = tx.records(Ledger)
        await ledgers.find(71, { lock: true })
        response = rename([
          [70, 'before'],
          [71, 'held'],
          [72, 'behind'],
        ])
        await untilStatementWaits()
        await ledgers.update(71, { worth: '7.00' })
        expect((await other.records(Ledger).find(72))?.name).toBe('of 72')
      },
      { isolation: 'read committed' },
    )
    expect((await response)?.data).toMatchObject({ m1: { name: 'held' }, m2: { name: 'behind' } })
    expect(await database.records(Ledger).find(71)).toMatchObject({ name: 'held', worth: '7.00' })
    await other.close()
  })
})
