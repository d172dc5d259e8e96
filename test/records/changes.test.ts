import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Field, Record } from '../../src/index.js'
import { connect, type Database } from '../../src/records/database.js'
import type { EngineChannel } from '../../src/engines/contract/engine.js'
import type { Column } from '../../src/engines/contract/table.js'
import { readMessage, toMessages, type RowChanges } from '../../src/records/changes/changes.js'
import { describeChanges } from '../contracts/changes.contract.js'
import { follow } from './follower.js'
import { bundleCreatingProgram } from './creating-program.js'
import { startOwnPostgres, startPostgres } from './postgres-server.js'
import { Author, Category, shop } from './shop.js'
import { readSql, runSql } from './run-sql.js'

describeChanges('SQLite', () => Promise.resolve({ url: () => Promise.resolve('sqlite::memory:') }))

const server = await startPostgres()
afterAll(() => server.close())
describeChanges('PostgreSQL', () => Promise.resolve({ url: () => server.createDatabase() }))

/** Those who listen at the server, as it sees them. */
async function listeners(database: Database): Promise<number> {
  const rows = await readSql(
    database,
    `select pid from pg_stat_activity where application_name = 'filigree listener' and datname = current_database()`,
  )
  return rows.length
}

describe('changes between processes on PostgreSQL', () => {
  let [here, there]: [Database, Database] = [] as never
  let url: string
  beforeEach(async () => {
    url = await server.createDatabase()
    here = await connect(url, { records: shop })
    there = await connect(url, { records: shop })
    await here.sync()
  })
  afterEach(() => Promise.all([here.close(), there.close()]))

  it('reach a process that follows, once and in order, by keys of either kind', async () => {
    const categories = await follow(there)
    const authors = await follow(there, Author)
    const a = await here.records(Category).create({ name: 'a' })
    await here.records(Category).update(a.id, { name: 'b' })
    await here.records(Category).delete(a.id)
    const ann = await here.records(Author).create({ name: 'Ann' })
    await Promise.all([categories.until(3), authors.until(1)])
    expect(categories.seen).toStrictEqual([
      ['created', a.id],
      ['updated', a.id],
      ['deleted', a.id],
    ])
    expect(authors.seen).toStrictEqual([['created', ann.id]])
  })

  it('are told once where they were made, though the server carries them too', async () => {
    const own = await follow(here)
    const other = await follow(there)
    const a = await here.records(Category).create({ name: 'a' })
    await other.until(1)
    const b = await there.records(Category).create({ name: 'b' })
    await Promise.all([own.until(2), other.until(2)])
    const c = await there.records(Category).create({ name: 'c' })
    await own.until(3)
    const expected = [a, b, c].map(({ id }) => ['created', id])
    expect(own.seen).toStrictEqual(expected)
    expect(other.seen).toStrictEqual(expected)
  })

  it('are part of the transaction: nothing is told of what is taken back', async () => {
    const other = await follow(there)
    await here
      .transaction(async (tx) => {
        await tx.records(Category).create({ name: 'a' })
        throw new Error('no')
      })
      .catch(() => undefined)
    const b = await here.transaction(async (tx) => {
      await tx
        .transaction(async (part) => {
          await part.records(Category).create({ name: 'c' })
          throw new Error('no')
        })
        .catch(() => undefined)
      return tx.records(Category).create({ name: 'b' })
    })
    await other.until(1)
    expect(other.seen).toStrictEqual([['created', b.id]])
  })

  it('travel in as many messages as it takes', async () => {
    const other = await follow(there)
    const names = Array.from({ length: 3000 }, (_, index) => ({ name: `n${index}` }))
    await here.records(Category).insertMany(names)
    await other.until(2)
    while (other.seen.flatMap(([, ...ids]) => ids).length < 3000) {
      await other.until(other.seen.length + 1)
    }
    const ids = (await here.records(Category).list()).map(({ id }) => id)
    expect(other.seen.flatMap(([, ...own]) => own)).toStrictEqual(ids)
  })

  it('are not sent while nobody else follows, and listening ends with the last follower', async () => {
    const sent = spyOnMessages(here)
    await here.records(Category).create({ name: 'a' })
    expect(await listeners(here)).toBe(0)
    const own = await follow(here)
    await here.records(Category).create({ name: 'b' })
    expect(own.seen).toHaveLength(1)
    expect(sent).toStrictEqual([])
    const [first, second] = [await follow(there), await follow(there)]
    expect(await listeners(here)).toBe(2)
    await here.records(Author).create({ name: 'Ann' })
    await here.records(Category).create({ name: 'c' })
    expect(sent).toHaveLength(1)
    first.stop()
    await here.records(Category).create({ name: 'd' })
    await second.until(2)
    second.stop()
    second.stop()
    own.stop()
    while ((await listeners(here)) > 0) await new Promise((resolve) => setImmediate(resolve))
    expect([here.feed.size, there.feed.size]).toStrictEqual([0, 0])
  })

  it('come again after the listening connection was cut, which is told', async () => {
    const other = await follow(there)
    await runSql(
      here,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'filigree listener' and datname = current_database()`,
    )
    await other.until(1)
    expect(other.seen).toStrictEqual([['lost']])
    const a = await here.records(Category).create({ name: 'a' })
    await other.until(2)
    expect(other.seen[1]).toStrictEqual(['created', a.id])
    expect(await listeners(here)).toBe(1)
  })

  it('tell of a deleted row the columns that a follower asked for, and no others', async () => {
    @Record({ rows: () => true })
    class Note {
      @Field('id') id!: number
      @Field('string') owner!: string
      @Field('string') secret!: string
    }
    here.table(Note)
    await here.sync()
    const owner = there.table(Note).byProperty.get('owner') as Column
    const other = await follow(there, Note as never, [owner])
    const sent = spyOnMessages(here)
    const { id } = await here.records(Note).create({ owner: 'ann', secret: 'x' })
    await here.records(Note).delete(id)
    await other.until(2)
    expect(other.seen[1]).toStrictEqual(['deleted', id, [{ owner: 'ann' }]])
    expect(JSON.stringify(sent)).not.toContain('secret')
  })

  it('tell what an updated row was and is, in one statement, whoever writes it at the same time', async () => {
    const name = there.table(Category).byProperty.get('name') as Column
    const told: [past: unknown, now: unknown][] = []
    await there.watch(Category, {
      columns: [name],
      needsRowValues: true,
      onChanges: ({ event, past, now }) => {
        if (event === 'updated') told.push([past?.[0]?.name, now?.[0]?.name])
      },
      end: () => undefined,
    })
    const { id } = await here.records(Category).create({ name: 'first' })
    const names = Array.from({ length: 12 }, (_, place) => `n${place}`)
    await Promise.all(names.map((one) => here.records(Category).update(id, { name: one })))
    while (told.length < names.length) await new Promise((resolve) => setTimeout(resolve, 5))
    const next = new Map(told as [string, string][])
    const chain: string[] = []
    for (let at = next.get('first'); at !== undefined; at = next.get(at)) chain.push(at)
    expect([...chain].sort()).toEqual([...names].sort())
    expect((await here.records(Category).find(id))?.name).toBe(chain.at(-1))
  })

  it('come from another process: every row that it has stored until it was killed', async () => {
    @Record
    class Entry {
      @Field('id') id!: number
      @Field('integer', { unique: true }) number!: number
    }
    here.table(Entry)
    await here.sync()
    const follower = await follow(here, Entry as never)
    const program = bundleCreatingProgram()
    const writer = spawn(process.execPath, [program, url])
    await follower.until(100)
    writer.kill('SIGKILL')
    await once(writer, 'exit')
    await rm(program)
    const stored = async (): Promise<unknown[]> =>
      (await here.records(Entry).list()).map((one) => one.id)
    while (follower.seen.length < (await stored()).length)
      await follower.until(follower.seen.length)
    expect(follower.seen).toStrictEqual((await stored()).map((id) => ['created', id]))
  })

  it('leave alone what others say on the same channel', async () => {
    const other = await follow(there)
    for (const text of [
      '',
      '{',
      '[]',
      '["x","category","created",["a",{}]]',
      '["x","no","created",[]]',
    ])
      await runSql(here, `select pg_notify('filigree_changes', '${text}')`)
    const a = await here.records(Category).create({ name: 'a' })
    await other.until(1)
    expect(other.seen).toStrictEqual([['created', a.id]])
  })
})

it('following comes back with the server, however long it was away', async () => {
  const own = await startOwnPostgres()
  const database = await connect(own.url, { records: shop })
  try {
    await database.sync()
    const follower = await follow(database)
    await own.stop()
    await expect(follow(database, Author)).rejects.toMatchObject({ status: 503 })
    await own.start()
    await follower.until(1)
    expect(follower.seen).toStrictEqual([['lost']])
    const other = await connect(own.url, { records: shop })
    const a = await other.records(Category).create({ name: 'a' })
    await follower.until(2)
    expect(follower.seen[1]).toStrictEqual(['created', a.id])
    await other.close()
  } finally {
    await database.close()
    await own.close()
  }
})

describe('messages', () => {
  it.each([
    ['nothing', [], undefined],
    ['numbers', Array.from({ length: 5000 }, (_, index) => index * 1e9), undefined],
    ['texts', Array.from({ length: 500 }, () => crypto.randomUUID()), undefined],
    ['what rows held', [1, 2, 3], [{ a: 'ä'.repeat(2000) }, undefined, { a: '"\\' }]],
  ])('hold less than 8,000 bytes and say the same: %s', async (_what, ids, past) => {
    const database = await connect('sqlite::memory:', { records: shop })
    const table = database.table(Category)
    await database.close()
    const changes = { event: 'deleted', table, ids, ...(past && { past }) } as RowChanges
    const texts = toMessages('origin', changes)
    for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThan(8000)
    const read = texts.map((text) => readMessage(text, [table])?.changes)
    expect(read.flatMap((one) => one?.ids ?? [])).toStrictEqual(ids)
    if (past !== undefined) expect(read.flatMap((one) => one?.past ?? [])).toStrictEqual(past)
  })

  it('leave out what a row held where that alone is too long', async () => {
    const database = await connect('sqlite::memory:', { records: shop })
    const table = database.table(Category)
    await database.close()
    const past = [{ a: 'x'.repeat(8000) }]
    const [text = '', ...more] = toMessages('origin', { event: 'deleted', table, ids: [1], past })
    expect(more).toStrictEqual([])
    expect(readMessage(text, [table])?.changes).toMatchObject({ ids: [1], past: [undefined] })
  })
})

function spyOnMessages({ context }: Database): string[] {
  const channel = context.engine.channel as EngineChannel
  const send = channel.send.bind(channel)
  const sent: string[] = []
  channel.send = (runner, messages) => {
    sent.push(...messages)
    return send(runner, messages)
  }
  return sent
}
