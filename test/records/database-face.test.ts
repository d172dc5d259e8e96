import { afterEach, describe, expect, it } from '@jest/globals'
import { connect, Field, Record, type Change, type Database, type MissedChanges } from 'filigree'
import { startBothEngines } from './both-engines.js'

const engines = await startBothEngines()

@Record({ table: 'lamp' })
class Lamp {
  @Field('id') id!: number
}

/** What the type of a database must not show. */
type Hidden = 'watch' | 'runner' | 'announces' | 'atomically' | 'context' | 'feed' | 'tables'
const none: Extract<keyof Database, Hidden> extends never ? true : never = true

const opened: Database[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()))
})
const open = async (url: string): Promise<Database> => {
  const database = await connect(url, { records: [Lamp] })
  opened.push(database)
  return database
}

describe.each(engines)('the face of a database: %s', (name, address) => {
  it('shows no machinery, and tells of changes everywhere where the engine can', async () => {
    expect(none).toBe(true)
    const url = await address()
    const here = await open(url)
    await here.sync()
    const there = name === 'SQLite' ? here : await open(url)
    const local: unknown[] = []
    const seen: (Change | MissedChanges)[] = []
    const stopLocal = here.onChange(({ id }) => local.push(id))
    let check = (): void => undefined
    const until = (count: number): Promise<void> =>
      new Promise((resolve) => {
        check = () => {
          if (seen.length >= count) resolve()
        }
        check()
      })
    const stop = await here.onChange(
      (change) => {
        seen.push(change)
        check()
        throw new Error('of the listener')
      },
      { everywhere: true },
    )
    await there.records(Lamp).create({})
    await here.records(Lamp).create({})
    await until(2)
    expect(seen).toEqual(
      expect.arrayContaining([
        { event: 'created', record: Lamp, id: 1 },
        { event: 'created', record: Lamp, id: 2 },
      ]),
    )
    expect(local).toEqual(name === 'SQLite' ? [1, 2] : [2])
    stop()
    stopLocal()
    await here.records(Lamp).create({})
    expect(seen).toHaveLength(2)
  })
})
