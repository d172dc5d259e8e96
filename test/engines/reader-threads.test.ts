/** Reader threads for slow reads of clients on SQLite, with a timeout per request. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isThenable } from '../../src/core/maybe-promise.js'
import type { ClientReading, Engine, Runner } from '../../src/engines/contract/engine.js'
import { openSqlite } from '../../src/engines/sqlite/sqlite.js'
import { findDrivers } from '../records/sqlite-drivers.js'
import {
  frameworkChange,
  frameworkQuery,
  frameworkScript,
} from '../../src/engines/contract/statement.js'

const drivers = await findDrivers()

/** Reads all rows and calls a function for each. */
const slowRead = frameworkQuery(
  `select count(*) from "item" as "t0" where filigree_fold("t0"."name") like ?`,
)
/** A read that would take minutes. */
const endless = frameworkQuery(
  `select count(*) from "item" as "t0", "item" as "t1" where filigree_fold("t0"."name" || "t1"."name") = ?`,
)
const quickRead = frameworkQuery('select "name" from "item" where "id" = ?', { bound: 1 })

/** A request that the test finishes. */
function newRequest(client?: string): ClientReading & { finish(): void } {
  const ends: (() => void)[] = []
  return {
    client,
    onFinished: (end) => void ends.push(end),
    finish: () => {
      for (const end of ends) end()
    },
  }
}

describe.each(drivers)('slow reads with %s', (driver) => {
  let folder: string
  let engine: Engine
  const open = (readTime?: number): Promise<Engine> =>
    openSqlite({ file: join(folder, 'items.db'), driver, readTime })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-readers-'))
    engine = await open()
    await engine.run(
      frameworkScript(`create table item (id integer primary key, name text not null);
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
      insert into item select i, 'Item ' || i from n`),
      [],
      'nothing',
    )
  })
  afterAll(async () => {
    await engine.close()
    await rm(folder, { recursive: true })
  })

  it('do not block the event loop, and short reads run meanwhile', async () => {
    const reads = engine.requests.reads!(newRequest())
    const reading = reads.run(slowRead, ['item 1%'], 'first')
    expect(isThenable(reading)).toBe(true)
    expect(engine.requests.reads!(newRequest()).run(quickRead, [7], 'first')).toEqual(['Item 7'])
    expect(await reading).toEqual([11111])
  })

  it('see data that was committed before they started', async () => {
    await engine.run(
      frameworkChange('unknown', `insert into item (name) values ('Last')`),
      [],
      'count',
    )
    expect(await engine.requests.reads!(newRequest()).run(slowRead, ['last'], 'rows')).toEqual([
      [1],
    ])
  })

  it('fail as unavailable after the timeout, and the next request works', async () => {
    const other = await open(100)
    const reads = other.requests.reads!(newRequest())
    await expect(reads.run(endless, ['x'], 'first')).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'The reads of the request took longer than 100 ms.',
    })
    // The timeout applies to the request, so its next read does not start.
    await expect(reads.run(slowRead, ['x'], 'first')).rejects.toMatchObject({ kind: 'unavailable' })
    await other.close()
    expect(await engine.requests.reads!(newRequest()).run(slowRead, ['item 2'], 'first')).toEqual([
      1,
    ])
  })

  it('are cancelled when the request ends', async () => {
    const request = newRequest()
    const reading = engine.requests.reads!(request).run(endless, ['x'], 'first')
    request.finish()
    await expect(reading).rejects.toMatchObject({
      message: 'The request has ended, so its read was canceled.',
    })
    expect(await engine.requests.reads!(newRequest()).run(slowRead, ['item 3'], 'first')).toEqual([
      1,
    ])
  })

  it('queue when there are more reads than threads', async () => {
    const reads = Array.from({ length: 12 }, async (_, index) =>
      engine.requests.reads!(newRequest()).run(slowRead, [`item ${index + 1}`], 'first'),
    )
    expect(await Promise.all(reads)).toEqual(reads.map(() => [1]))
  })

  it('run the first statement of another request before the next one of the same request', async () => {
    const [greedy, small] = [
      engine.requests.reads!(newRequest()),
      engine.requests.reads!(newRequest()),
    ]
    const ended: string[] = []
    const first = async (runner: Runner, name: string): Promise<void> => {
      await runner.run(slowRead, ['item 1%'], 'first')
      ended.push(name)
    }
    const all = Array.from({ length: 12 }, (_, index) => first(greedy, `greedy ${index + 1}`))
    await Promise.all([...all, first(small, 'small')])
    // Some threads may already run statements of the greedy request.
    expect(ended.indexOf('small')).toBeLessThanOrEqual(5)
  })

  it('of one client leave a thread to other clients', async () => {
    const requests = Array.from({ length: 10 }, () => newRequest('greedy'))
    const endlessReads = requests.map(async (request) =>
      engine.requests.reads!(request).run(endless, ['x'], 'first'),
    )
    const small = engine.requests.reads!(newRequest('small'))
    for (const number of [6, 7])
      expect(await small.run(slowRead, [`item ${number}`], 'first')).toEqual([1])
    for (const request of requests) request.finish()
    for (const one of endlessReads) await expect(one).rejects.toMatchObject({ kind: 'unavailable' })
    expect(
      await engine.requests.reads!(newRequest('greedy')).run(slowRead, ['item 8'], 'first'),
    ).toEqual([1])
  })

  it('do not delay reads with a small row bound', async () => {
    const request = newRequest()
    const reads = engine.requests.reads!(request)
    const endlessReads = Array.from({ length: 8 }, async () => reads.run(endless, ['x'], 'first'))
    const boundedRead = { ...slowRead, bound: 20_000 }
    expect(
      await engine.requests.reads!(newRequest()).run(boundedRead, ['item 5'], 'first'),
    ).toEqual([1])
    request.finish()
    for (const one of endlessReads) await expect(one).rejects.toMatchObject({ kind: 'unavailable' })
  })

  it('report errors of the statement', async () => {
    const invalid = frameworkQuery(`select json('{') from "item" as "t0" where "t0"."name" > ?`)
    await expect(
      engine.requests.reads!(newRequest()).run(invalid, ['A'], 'rows'),
    ).rejects.toMatchObject({
      name: 'EngineError',
      message: 'malformed JSON',
    })
  })

  it('do not exist for in-memory databases, which other connections cannot see', async () => {
    const memory = await openSqlite({ file: ':memory:', driver })
    expect(memory.requests.reads).toBeUndefined()
    await memory.close()
  })
})
