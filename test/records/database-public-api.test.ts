import { afterEach, describe, expect, it } from '@jest/globals'
import { connect, Field, Record, type Change, type Database, type MissedChanges } from 'filigree'
import { startBothEngines } from './both-engines.js'

const engines = await startBothEngines()

@Record({ table: 'lamp' })
class Lamp {
  @Field('id') id!: number
}

/** Internal members that the public type of a database must not have. */
type Hidden = 'watch' | 'runner' | 'announces' | 'atomically' | 'context' | 'feed' | 'tables'
const hasNoInternals: Extract<keyof Database, Hidden> extends never ? true : never = true

const opened: Database[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()))
})
const open = async (url: string): Promise<Database> => {
  const database = await connect(url, { records: [Lamp] })
  opened.push(database)
  return database
}

describe.each(engines)('the public API of a database: %s', (name, address) => {
  it('hides internals, and reports changes of all processes if the engine can', async () => {
    expect(hasNoInternals).toBe(true)
    const url = await address()
    const database = await open(url)
    await database.sync()
    const writer = name === 'SQLite' ? database : await open(url)
    const local: unknown[] = []
    const everywhereChanges: (Change | MissedChanges)[] = []
    const stopLocal = database.onChange(({ id }) => local.push(id))
    let check = (): void => undefined
    const until = (count: number): Promise<void> =>
      new Promise((resolve) => {
        check = () => {
          if (everywhereChanges.length >= count) resolve()
        }
        check()
      })
    const stop = await database.onChange(
      (change) => {
        everywhereChanges.push(change)
        check()
        throw new Error('of the listener')
      },
      { everywhere: true },
    )
    await writer.records(Lamp).create({})
    await database.records(Lamp).create({})
    await until(2)
    expect(everywhereChanges).toEqual(
      expect.arrayContaining([
        { event: 'created', record: Lamp, id: 1 },
        { event: 'created', record: Lamp, id: 2 },
      ]),
    )
    expect(local).toEqual(name === 'SQLite' ? [1, 2] : [2])
    stop()
    stopLocal()
    await database.records(Lamp).create({})
    expect(everywhereChanges).toHaveLength(2)
  })
})
