/**
 * While a part of a transaction is open, calls on the outer transaction run in the part, and nothing reports a row of a part
 * that was rolled back. Source: decisions, Records: transactions and isolation.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  AfterCommit,
  connect,
  Field,
  Record,
  type Database,
  type Transaction,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

/** The names of the rows whose hook ran after a commit. */
const committed: string[] = []

@Record({ table: 'part_note' })
class Note {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string

  @AfterCommit() report(): void {
    committed.push(this.name)
  }
}

/** Calls on the outer transaction, and the names of the rows that they leave if the part is kept. */
const calls: Readonly<
  globalThis.Record<
    string,
    [call: (tx: Transaction, database: Database) => Promise<unknown>, names: string[]]
  >
> = {
  find: [(tx) => tx.records(Note).find(1), ['a', 'b']],
  'find with a lock': [(tx) => tx.records(Note).find(1, { lock: true }), ['a', 'b']],
  list: [(tx) => tx.records(Note).list(), ['a', 'b']],
  count: [(tx) => tx.records(Note).count(), ['a', 'b']],
  create: [(tx) => tx.records(Note).create({ name: 'c' }), ['a', 'b', 'c']],
  createMany: [
    (tx) => tx.records(Note).createMany([{ name: 'c' }, { name: 'd' }]),
    ['a', 'b', 'c', 'd'],
  ],
  insertMany: [(tx) => tx.records(Note).insertMany([{ name: 'c' }]), ['a', 'b', 'c']],
  update: [(tx) => tx.records(Note).update(1, { name: 'A' }), ['A', 'b']],
  updateMany: [
    (tx) =>
      tx.records(Note).updateMany([
        { id: 1, name: 'b' },
        { id: 2, name: 'a' },
      ]),
    ['a', 'b'],
  ],
  updateWhere: [(tx) => tx.records(Note).updateWhere({ id: 1 }, { name: 'A' }), ['A', 'b']],
  upsert: [(tx) => tx.records(Note).upsert({ name: 'c' }, { by: 'name' }), ['a', 'b', 'c']],
  delete: [(tx) => tx.records(Note).delete(1), ['b']],
  deleteMany: [(tx) => tx.records(Note).deleteMany([1]), ['b']],
  deleteWhere: [(tx) => tx.records(Note).deleteWhere({ id: 1 }), ['b']],
  'tx.transaction': [
    (tx) => tx.transaction((part) => part.records(Note).create({ name: 'c' })),
    ['a', 'b', 'c'],
  ],
  'database.transaction': [
    (_tx, database) => database.transaction(() => database.records(Note).create({ name: 'c' })),
    ['a', 'b', 'c'],
  ],
  kysely: [
    (tx) => tx.kysely.insertInto('part_note').values({ name: 'c' }).execute(),
    ['a', 'b', 'c'],
  ],
  'a transaction of Kysely': [
    (tx) =>
      tx.kysely
        .transaction()
        .execute((trx) => trx.insertInto('part_note').values({ name: 'c' }).execute()),
    ['a', 'b', 'c'],
  ],
  prepare: [
    (_tx, database) =>
      database
        .prepare(
          { kind: 'insert', tables: ['part_note'] },
          () => `insert into part_note (name) values ('c')`,
        )
        .change(),
    ['a', 'b', 'c'],
  ],
}

describe.each(await startBothEngines())('%s: an open part of a transaction', (_engine, open) => {
  let database: Database
  const events: string[] = []
  beforeAll(async () => {
    database = await connect(await open(), { records: [Note] })
    await database.sync()
    database.onChange(({ event, id }) => events.push(`${event} ${id}`))
  })
  beforeEach(async () => {
    await database.records(Note).deleteWhere({})
    await database.records(Note).insertMany([
      { id: 1, name: 'a' },
      { id: 2, name: 'b' },
    ])
    events.length = 0
    committed.length = 0
  })
  afterAll(() => database.close())

  const names = async (): Promise<string[]> =>
    (await database.records(Note).list({ orderBy: { name: 'asc' } })).map(({ name }) => name)

  describe.each(Object.entries(calls))('%s of the outer transaction', (_name, [call, kept]) => {
    it('runs in the part', async () => {
      await database.transaction(async (tx) => {
        await tx.transaction(() => call(tx, database))
      })
      expect(await names()).toEqual(kept)
    })

    it('is undone with the part, and nothing reports it', async () => {
      await database.transaction(async (tx) => {
        const part = tx.transaction(async () => {
          await call(tx, database)
          throw new Error('no')
        })
        await expect(part).rejects.toThrow('no')
      })
      expect(await names()).toEqual(['a', 'b'])
      expect(events).toEqual([])
      expect(committed).toEqual([])
    })

    it('is undone with the part of a part', async () => {
      await database.transaction(async (tx) => {
        await tx.transaction(async (part) => {
          const inner = part.transaction(async () => {
            await call(tx, database)
            throw new Error('no')
          })
          await expect(inner).rejects.toThrow('no')
          await tx.records(Note).create({ name: 'x' })
        })
      })
      expect(await names()).toEqual(['a', 'b', 'x'])
      expect(events).toHaveLength(1)
      expect(committed).toEqual(['x'])
    })
  })

  it('work for the commit of a part that is undone never runs', async () => {
    const ran: string[] = []
    await database.transaction(async (tx) => {
      const outer = database.openTransaction()
      const part = tx.transaction(async () => {
        outer?.onCommit(() => ran.push('commit'))
        outer?.onRollback(() => ran.push('rollback'))
        outer?.committed(async () => {
          ran.push('work')
        })
        throw new Error('no')
      })
      await part.catch(() => undefined)
      outer?.onCommit(() => ran.push('outer commit'))
    })
    expect(ran).toEqual(['rollback', 'outer commit'])
  })

  it('a write of other code waits for the part, so that it is not undone with it', async () => {
    await database.transaction(async (tx) => {
      const fails = tx.transaction(async (part) => {
        await part.records(Note).create({ name: 'c' })
        await new Promise((resolve) => setImmediate(resolve))
        await part.records(Note).create({ name: 'c' })
      })
      const others = [
        tx.records(Note).create({ name: 'd' }),
        database.records(Note).createMany([{ name: 'e' }, { name: 'f' }]),
        tx.kysely.insertInto('part_note').values({ name: 'g' }).execute(),
      ]
      await expect(fails).rejects.toMatchObject({ status: 409 })
      await Promise.all(others)
    })
    expect(await names()).toEqual(['a', 'b', 'd', 'e', 'f', 'g'])
    expect(committed.sort()).toEqual(['d', 'e', 'f'])
  })

  it('a read of other code does not wait for the part', async () => {
    let finish = (): void => undefined
    const read = new Promise<void>((resolve) => (finish = resolve))
    const count = await database.transaction(async (tx) => {
      let begin = (): void => undefined
      const begun = new Promise<void>((resolve) => (begin = resolve))
      const part = tx.transaction(async () => {
        begin()
        await read
      })
      await begun
      const counted = await tx.records(Note).count()
      finish()
      await part
      return counted
    })
    expect(count).toBe(2)
  })

  it('rows that are written together with a list that fails are stored', async () => {
    const results = await database.transaction((tx) =>
      Promise.allSettled([
        tx.records(Note).createMany([{ name: 'c' }, { name: 'c' }]),
        tx.records(Note).create({ name: 'd' }),
      ]),
    )
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(await names()).toEqual(['a', 'b', 'd'])
    expect(committed).toEqual(['d'])
  })
})
