/** Long reads of clients on SQLite: by threads, within a time, while others go on. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isThenable } from '../../src/core/maybe-promise.js'
import type { ClientReading, Engine, Runner } from '../../src/engines/contract/engine.js'
import { openSqlite } from '../../src/engines/sqlite/sqlite.js'
import { findDrivers } from './sqlite-drivers.js'
import {
  frameworkChange,
  frameworkQuery,
  frameworkScript,
} from '../../src/engines/contract/statement.js'

const drivers = await findDrivers()

/** Goes through all rows and calls a function for each. */
const long = frameworkQuery(
  `select count(*) from "item" as "t0" where filigree_fold("t0"."name") like ?`,
)
/** Would take minutes. */
const endless = frameworkQuery(
  `select count(*) from "item" as "t0", "item" as "t1" where filigree_fold("t0"."name" || "t1"."name") = ?`,
)
const quick = frameworkQuery('select "name" from "item" where "id" = ?', { bound: 1 })

/** A request whose end is up to the test. */
function ask(): ClientReading & { finish(): void } {
  const ends: (() => void)[] = []
  return {
    onFinished: (end) => void ends.push(end),
    finish: () => {
      for (const end of ends) end()
    },
  }
}

describe.each(drivers)('long reads of clients by %s', (driver) => {
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

  it('leave the loop to others, which are answered meanwhile', async () => {
    const reads = engine.clientReads!(ask())
    const reading = reads.run(long, ['item 1%'], 'first')
    expect(isThenable(reading)).toBe(true)
    expect(engine.clientReads!(ask()).run(quick, [7], 'first')).toEqual(['Item 7'])
    expect(await reading).toEqual([11111])
  })

  it('see what was committed before they began', async () => {
    await engine.run(
      frameworkChange('unknown', `insert into item (name) values ('Last')`),
      [],
      'count',
    )
    expect(await engine.clientReads!(ask()).run(long, ['last'], 'rows')).toEqual([[1]])
  })

  it('are an unavailable database once their time is over, and the next is answered', async () => {
    const other = await open(100)
    const reads = other.clientReads!(ask())
    await expect(reads.run(endless, ['x'], 'first')).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'The reads of the request took longer than 100 ms.',
    })
    // The time is the request's: its next read does not begin.
    await expect(reads.run(long, ['x'], 'first')).rejects.toMatchObject({ kind: 'unavailable' })
    await other.close()
    expect(await engine.clientReads!(ask()).run(long, ['item 2'], 'first')).toEqual([1])
  })

  it('end when nobody waits for them any more', async () => {
    const request = ask()
    const reading = engine.clientReads!(request).run(endless, ['x'], 'first')
    request.finish()
    await expect(reading).rejects.toMatchObject({
      message: 'The request has ended, so its read was canceled.',
    })
    expect(await engine.clientReads!(ask()).run(long, ['item 3'], 'first')).toEqual([1])
  })

  it('wait in line where there are more of them than threads', async () => {
    const many = Array.from({ length: 12 }, async (_, index) =>
      engine.clientReads!(ask()).run(long, [`item ${index + 1}`], 'first'),
    )
    expect(await Promise.all(many)).toEqual(many.map(() => [1]))
  })

  it("let a request's next statement wait for the first one of others", async () => {
    const [greedy, small] = [engine.clientReads!(ask()), engine.clientReads!(ask())]
    const ended: string[] = []
    const first = async (runner: Runner, name: string): Promise<void> => {
      await runner.run(long, ['item 1%'], 'first')
      ended.push(name)
    }
    const all = Array.from({ length: 12 }, (_, index) => first(greedy, `greedy ${index + 1}`))
    await Promise.all([...all, first(small, 'small')])
    // Some threads may have begun statements of the greedy one already.
    expect(ended.indexOf('small')).toBeLessThanOrEqual(5)
  })

  it('that surely end soon wait for no long one', async () => {
    const request = ask()
    const reads = engine.clientReads!(request)
    const endlessly = Array.from({ length: 8 }, async () => reads.run(endless, ['x'], 'first'))
    const soon = { ...long, bound: 20_000 }
    expect(await engine.clientReads!(ask()).run(soon, ['item 5'], 'first')).toEqual([1])
    request.finish()
    for (const one of endlessly) await expect(one).rejects.toMatchObject({ kind: 'unavailable' })
  })

  it('tell what is wrong with a statement', async () => {
    const wrong = frameworkQuery(`select json('{') from "item" as "t0" where "t0"."name" > ?`)
    await expect(engine.clientReads!(ask()).run(wrong, ['A'], 'rows')).rejects.toMatchObject({
      name: 'EngineError',
      message: 'malformed JSON',
    })
  })

  it('are made at once in memory, which no other connection sees', async () => {
    const memory = await openSqlite({ file: ':memory:', driver })
    expect(Reflect.get(memory, 'clientReads')).toBeUndefined()
    await memory.close()
  })
})
