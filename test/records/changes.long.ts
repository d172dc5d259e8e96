import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Field, Record, connect, type Database } from '../../src/index.js'
import type { EngineChannel } from '../../src/engines/contract/engine.js'
import type { Column } from '../../src/engines/contract/table.js'
import { readMessage, toMessages, type RowChanges } from '../../src/records/changes/changes.js'
import { describeChanges } from '../contracts/changes.contract.js'
import { expectChangesOfBothKeys, follow } from './follower.js'
import { bundleProgram } from '../bundle-program.js'
import { startOwnPostgres, startPostgres } from './postgres-server.js'
import { startRedirectingProxy } from './redirecting-proxy.js'
import { Author, Category, shop } from './shop.js'
import { readSql, runSql } from './run-sql.js'
import { waitUntil } from '../wait-until.js'
import { engineOf, internalsOf } from './open-database.js'
import { silentLog } from '../silent-log.js'
import { followAll } from '../../src/records/changes/follow-changes.js'

describeChanges('SQLite', () => Promise.resolve({ url: () => Promise.resolve('sqlite::memory:') }))

const server = await startPostgres()
afterAll(() => server.close())
describeChanges('PostgreSQL', () => Promise.resolve({ url: () => server.createDatabase() }))

/** The number of listening connections of this database, as the server reports them. */
async function listeners(database: Database): Promise<number> {
  const rows = await readSql(
    database,
    `select pid from pg_stat_activity where application_name = 'filigree listener' and datname = current_database()`,
  )
  return rows.length
}

describe('changes between processes on PostgreSQL', () => {
  let [writer, reader]: [Database, Database] = [] as never
  let url: string
  beforeEach(async () => {
    url = await server.createDatabase()
    writer = await connect(url, { records: shop })
    reader = await connect(url, { records: shop })
    await writer.sync()
  })
  afterEach(() => Promise.all([writer.close(), reader.close()]))

  it('reach a following process once and in order, for both types of key', () =>
    expectChangesOfBothKeys(writer, reader))

  it('are reported once in the writing process, although the server sends them back to it', async () => {
    const localFollower = await follow(writer)
    const remoteFollower = await follow(reader)
    const a = await writer.records(Category).create({ name: 'a' })
    await remoteFollower.until(1)
    const b = await reader.records(Category).create({ name: 'b' })
    await Promise.all([localFollower.until(2), remoteFollower.until(2)])
    const c = await reader.records(Category).create({ name: 'c' })
    await localFollower.until(3)
    const expected = [a, b, c].map(({ id }) => ['created', id])
    expect(localFollower.changes).toStrictEqual(expected)
    expect(remoteFollower.changes).toStrictEqual(expected)
  })

  it('are part of the transaction: a rollback reports nothing', async () => {
    const remoteFollower = await follow(reader)
    await writer
      .transaction(async (tx) => {
        await tx.records(Category).create({ name: 'a' })
        throw new Error('no')
      })
      .catch(() => undefined)
    const b = await writer.transaction(async (tx) => {
      await tx
        .transaction(async (part) => {
          await part.records(Category).create({ name: 'c' })
          throw new Error('no')
        })
        .catch(() => undefined)
      return tx.records(Category).create({ name: 'b' })
    })
    await remoteFollower.until(1)
    expect(remoteFollower.changes).toStrictEqual([['created', b.id]])
  })

  it('are split into several messages when they are too large for one', async () => {
    const remoteFollower = await follow(reader)
    const names = Array.from({ length: 3000 }, (_, index) => ({ name: `n${index}` }))
    await writer.records(Category).insertMany(names)
    await remoteFollower.until(2)
    while (remoteFollower.changes.flatMap(([, ...ids]) => ids).length < 3000) {
      await remoteFollower.until(remoteFollower.changes.length + 1)
    }
    const ids = (await writer.records(Category).list()).map(({ id }) => id)
    expect(remoteFollower.changes.flatMap(([, ...rowIds]) => rowIds)).toStrictEqual(ids)
  })

  it('are not sent while no other process follows, and listening ends with the last follower', async () => {
    const sent = spyOnMessages(writer)
    await writer.records(Category).create({ name: 'a' })
    expect(await listeners(writer)).toBe(0)
    const localFollower = await follow(writer)
    await writer.records(Category).create({ name: 'b' })
    expect(localFollower.changes).toHaveLength(1)
    expect(sent).toStrictEqual([])
    const [first, second] = [await follow(reader), await follow(reader)]
    expect(await listeners(writer)).toBe(2)
    await writer.records(Author).create({ name: 'Ann' })
    await writer.records(Category).create({ name: 'c' })
    expect(sent).toHaveLength(1)
    first.stop()
    await writer.records(Category).create({ name: 'd' })
    await second.until(2)
    second.stop()
    second.stop()
    localFollower.stop()
    await waitUntil(async () => (await listeners(writer)) === 0)
    expect([internalsOf(writer).feed.size, internalsOf(reader).feed.size]).toStrictEqual([0, 0])
  })

  it('resume after the listening connection was cut, and the cut is reported', async () => {
    const remoteFollower = await follow(reader)
    await runSql(
      writer,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'filigree listener' and datname = current_database()`,
    )
    await remoteFollower.until(1)
    expect(remoteFollower.changes).toStrictEqual([['lost']])
    const a = await writer.records(Category).create({ name: 'a' })
    await remoteFollower.until(2)
    expect(remoteFollower.changes[1]).toStrictEqual(['created', a.id])
    expect(await listeners(writer)).toBe(1)
  })

  it('resume although a balancer holds the new connection at a server that is down', async () => {
    const proxy = await startRedirectingProxy(url)
    const behind = await connect(proxy.through(url), { records: shop })
    try {
      const remoteFollower = await follow(behind)
      const held = proxy.holdNext()
      await runSql(
        writer,
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'filigree listener' and datname = current_database()`,
      )
      const heldConnection = (await held).resume()
      // The pool opens a second connection.
      await Promise.all([1, 2].map(() => readSql(behind, 'select pg_sleep(0.1)')))
      await remoteFollower.until(1)
      const a = await writer.records(Category).create({ name: 'a' })
      await remoteFollower.until(2)
      expect(remoteFollower.changes).toStrictEqual([['lost'], ['created', a.id]])
      expect(heldConnection.destroyed).toBe(false)
    } finally {
      await behind.close()
      await proxy.close()
    }
  })

  it('report the requested columns of a deleted row, and no other columns', async () => {
    @Record({ rows: () => true })
    class Note {
      @Field('id') id!: number
      @Field('string') owner!: string
      @Field('string') secret!: string
    }
    internalsOf(writer).table(Note)
    await writer.sync()
    const owner = internalsOf(reader).table(Note).byProperty.get('owner') as Column
    const remoteFollower = await follow(reader, Note as never, [owner])
    const sent = spyOnMessages(writer)
    const { id } = await writer.records(Note).create({ owner: 'ann', secret: 'x' })
    await writer.records(Note).delete(id)
    await remoteFollower.until(2)
    expect(remoteFollower.changes[1]).toStrictEqual(['deleted', id, [{ owner: 'ann' }]])
    expect(JSON.stringify(sent)).not.toContain('secret')
  })

  it('report an updated row before and after the update, even for concurrent updates', async () => {
    const name = internalsOf(reader).table(Category).byProperty.get('name') as Column
    const observedUpdates: [past: unknown, now: unknown][] = []
    await internalsOf(reader).watch(Category, {
      columns: [name],
      needsRowValues: true,
      onChanges: ({ event, past, now }) => {
        if (event === 'updated') observedUpdates.push([past?.[0]?.name, now?.[0]?.name])
      },
      end: () => undefined,
    })
    const { id } = await writer.records(Category).create({ name: 'first' })
    const names = Array.from({ length: 12 }, (_, place) => `n${place}`)
    await Promise.all(names.map((one) => writer.records(Category).update(id, { name: one })))
    await waitUntil(() => observedUpdates.length >= names.length)
    const next = new Map(observedUpdates as [string, string][])
    const chain: string[] = []
    for (let at = next.get('first'); at !== undefined; at = next.get(at)) chain.push(at)
    expect([...chain].sort()).toEqual([...names].sort())
    expect((await writer.records(Category).find(id))?.name).toBe(chain.at(-1))
  })

  it('reach a follower for every stored row when the writing process is killed', async () => {
    @Record
    class Entry {
      @Field('id') id!: number
      @Field('integer', { unique: true }) number!: number
    }
    internalsOf(writer).table(Entry)
    await writer.sync()
    const follower = await follow(writer, Entry as never)
    const program = bundleProgram('records/creating-process')
    const writingProcess = spawn(process.execPath, [program, url])
    await follower.until(100)
    writingProcess.kill('SIGKILL')
    await once(writingProcess, 'exit')
    await rm(program)
    const stored = async (): Promise<unknown[]> =>
      (await writer.records(Entry).list()).map((one) => one.id)
    await waitUntil(async () => follower.changes.length >= (await stored()).length)
    expect(follower.changes).toStrictEqual((await stored()).map((id) => ['created', id]))
  })

  it('ignore foreign messages on the same channel', async () => {
    const remoteFollower = await follow(reader)
    for (const text of [
      '',
      '{',
      '[]',
      '["x","category","created",["a",{}]]',
      '["x","no","created",[]]',
    ])
      await runSql(writer, `select pg_notify('filigree_changes', '${text}')`)
    const a = await writer.records(Category).create({ name: 'a' })
    await remoteFollower.until(1)
    expect(remoteFollower.changes).toStrictEqual([['created', a.id]])
  })
})

it('following resumes after the server was down', async () => {
  const ownServer = await startOwnPostgres()
  const database = await connect(ownServer.url, { records: shop })
  try {
    await database.sync()
    const follower = await follow(database)
    await ownServer.stop()
    await expect(follow(database, Author)).rejects.toMatchObject({ status: 503 })
    await ownServer.start()
    await follower.until(1)
    expect(follower.changes).toStrictEqual([['lost']])
    const remoteFollower = await connect(ownServer.url, { records: shop })
    const a = await remoteFollower.records(Category).create({ name: 'a' })
    await follower.until(2)
    expect(follower.changes[1]).toStrictEqual(['created', a.id])
    await remoteFollower.close()
  } finally {
    await database.close()
    await ownServer.close()
  }
})

describe('change messages', () => {
  it.each([
    ['nothing', [], undefined],
    ['numbers', Array.from({ length: 5000 }, (_, index) => index * 1e9), undefined],
    ['texts', Array.from({ length: 500 }, (_, index) => `${index}`.padStart(36, 'a')), undefined],
    ['row values', [1, 2, 3], [{ a: 'ä'.repeat(2000) }, undefined, { a: '"\\' }]],
  ])('stay below 8,000 bytes and keep the content: %s', async (_what, ids, past) => {
    const database = await connect('sqlite::memory:', { records: shop })
    const table = internalsOf(database).table(Category)
    await database.close()
    const changes = { event: 'deleted', table, ids, ...(past && { past }) } as RowChanges
    const texts = toMessages('origin', changes)
    for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThan(8000)
    const read = texts.map((text) => readMessage(text, [table])?.changes)
    expect(read.flatMap((one) => one?.ids ?? [])).toStrictEqual(ids)
    if (past !== undefined) expect(read.flatMap((one) => one?.past ?? [])).toStrictEqual(past)
  })

  it('leave out the row values when they are too long for one message', async () => {
    const database = await connect('sqlite::memory:', { records: shop })
    const table = internalsOf(database).table(Category)
    await database.close()
    const past = [{ a: 'x'.repeat(8000) }]
    const [text = '', ...more] = toMessages('origin', { event: 'deleted', table, ids: [1], past })
    expect(more).toStrictEqual([])
    expect(readMessage(text, [table])?.changes).toMatchObject({ ids: [1], past: [undefined] })
  })
})

function spyOnMessages(database: Database): string[] {
  const channel = engineOf(database).processes?.channel as EngineChannel
  const send = channel.send.bind(channel)
  const sent: string[] = []
  channel.send = (runner, messages) => {
    sent.push(...messages)
    return send(runner, messages)
  }
  return sent
}

type Options = Parameters<typeof followAll>

/** A feed whose watch calls resolve when the test calls `resolvers`. */
function controlledFeed(): {
  feed: Options[0]['feed']
  watched: string[]
  resolvers: (() => void)[]
  ended: string[]
} {
  const watched: string[] = []
  const ended: string[] = []
  const resolvers: (() => void)[] = []
  const watch = ({ name }: { name: string }) => {
    watched.push(name)
    return new Promise<() => void>((resolve, reject) => {
      resolvers.push(() => {
        if (name === 'broken') reject(new Error('no such table'))
        else resolve(() => ended.push(name))
      })
    })
  }
  return { feed: { watch } as unknown as Options[0]['feed'], watched, resolvers, ended }
}

const tables = (...names: string[]): Options[1] =>
  names.map((name) => ({ name, type: class {} })) as unknown as Options[1]

describe('followAll', () => {
  it('starts watching all tables concurrently, and ends them together', async () => {
    const { feed, watched, resolvers, ended } = controlledFeed()
    const following = followAll({ feed, log: silentLog }, tables('a', 'b', 'c'), () => undefined)
    expect(watched).toEqual(['a', 'b', 'c'])
    for (const one of resolvers) one()
    ;(await following)()
    expect(ended).toEqual(['a', 'b', 'c'])
  })

  it('ends the watches that started when one fails', async () => {
    const { feed, resolvers, ended } = controlledFeed()
    const following = followAll(
      { feed, log: silentLog },
      tables('a', 'broken', 'c'),
      () => undefined,
    )
    for (const one of resolvers) one()
    await expect(following).rejects.toThrow('no such table')
    expect(ended).toEqual(['a', 'c'])
  })
})
