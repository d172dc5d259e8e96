/** Replicas of a database: a primary and a standby, both real. Source: docs/records/postgresql-in-production.md, Replicas. */
import { describe, expect, it } from '@jest/globals'
import { silentLog } from '../silent-log.js'
import { connect } from '../../src/index.js'
import type { EngineCaller, OtherProcesses } from '../../src/engines/contract/request-context.js'
import { Note, open, replicaGround, Shelf, until, writeElsewhere } from './replica-ground.js'

const ground = replicaGround()

describe('Replicas', () => {
  it('answer reads outside transactions', async () => {
    const database = await open(ground, { replicas: [ground.replica] })
    const notes = database.records(Note)
    await ground.standby.pause()
    const id = await writeElsewhere(ground, 'new')
    expect(await notes.find(id)).toBeNull()
    expect(await notes.count()).toBe(0)
    expect(await database.kysely.selectFrom('note').selectAll().execute()).toEqual([])
    expect(await database.transaction((tx) => tx.records(Note).count())).toBe(1)
    await ground.standby.resume()
    await until(async () => (await notes.count()) === 1)
  })

  it('are told in the address too', async () => {
    const database = await connect(
      `${ground.url}?replicas=${encodeURIComponent(ground.replica)}&replicaLag=3600000`,
      { records: [Note, Shelf] },
    )
    ground.ends.push(() => database.close())
    await ground.standby.pause()
    await writeElsewhere(ground, 'new')
    expect(await database.records(Note).count()).toBe(0)
  })

  it('are passed over when they are behind more than the bound', async () => {
    const database = await open(ground, { replicas: [ground.replica], replicaLag: 200 })
    await ground.standby.pause()
    await writeElsewhere(ground, 'new')
    await until(async () => (await database.records(Note).count()) === 1)
    const second = await writeElsewhere(ground, 'second')
    expect(await database.records(Note).find(second)).toMatchObject({ text: 'second' })
  })

  it('are not read by who has written, before they have it', async () => {
    const database = await open(ground, { replicas: [ground.replica] })
    const notes = database.records(Note)
    await ground.standby.pause()
    const { id } = await notes.create({ text: 'mine' })
    expect(await notes.find(id)).toMatchObject({ text: 'mine' })
    await database.transaction((tx) => tx.records(Note).update(id, { text: 'changed' }))
    expect(await notes.find(id)).toMatchObject({ text: 'changed' })
    expect(await database.kysely.selectFrom('note').select('text').execute()).toHaveLength(1)
  })

  it('are not read by who has written in a line, before they have it', async () => {
    const database = await open(ground, { replicas: [ground.replica] })
    const notes = database.records(Note)
    await ground.standby.caughtUp()
    await ground.standby.pause()
    const line = await database.line.open()
    const made = ['one', 'two'].map(async (text) => line?.run(() => notes.create({ text })))
    line?.end()
    const [one, two] = await Promise.all(made)
    expect([one, two]).toMatchObject([{ text: 'one' }, { text: 'two' }])
    expect(await notes.find(two?.id ?? 0)).toMatchObject({ text: 'two' })
  })

  it('are not read by whose writes other workers tell of', async () => {
    const listeners: ((names: readonly string[]) => void)[] = []
    const told: (readonly string[])[] = []
    const others: OtherProcesses = {
      notify: (names) => {
        told.push(names)
        for (const listener of listeners) listener(names)
      },
      onNotified: (listener) => {
        listeners.push(listener)
        return () => undefined
      },
    }
    const callerOf = (name: string) => (): EngineCaller => ({
      isFresh: false,
      names: [name],
      ownNames: [name],
      hasWritten: false,
    })
    const writing = await open(ground, { replicas: [ground.replica] })
    const reading = await open(ground, { replicas: [ground.replica] })
    writing.context.engine.followCallers?.(callerOf('a'), others)
    reading.context.engine.followCallers?.(callerOf('a'), others)
    await ground.standby.pause()
    const { id } = await writing.records(Note).create({ text: 'mine' })
    expect(told).toEqual([['a']])
    expect(await reading.records(Note).find(id)).toMatchObject({ text: 'mine' })
    reading.context.engine.followCallers?.(callerOf('b'), others)
    expect(await reading.records(Note).find(id)).toBeNull()
  })

  it('that are lost are left out, and come back', async () => {
    const told: string[] = []
    const tell = (_: object, message: string): unknown => told.push(message)
    const log = { ...silentLog, warn: tell, info: tell }
    const database = await open(ground, { replicas: [ground.replica], log, replicaLag: 500 })
    const notes = database.records(Note)
    await notes.create({ text: 'one' })
    await ground.standby.stop()
    try {
      for (let index = 0; index < 20; index++) expect(await notes.count()).toBe(1)
      await until(async () => {
        await notes.count()
        return told.includes('a replica of the database was lost; reads go elsewhere')
      })
    } finally {
      await ground.standby.start()
    }
    await until(async () => {
      expect(await notes.count()).toBe(1)
      return told.includes('a replica of the database is back')
    })
  })

  it('may be gone at the start', async () => {
    await ground.standby.stop()
    const database = await open(ground, { replicas: [ground.replica] }).finally(() =>
      ground.standby.start(),
    )
    await database.records(Note).create({ text: 'one' })
    expect(await database.records(Note).count()).toBe(1)
  })
})

it('DATABASE_REPLICAS is refused where it names no PostgreSQL', async () => {
  const refused = { problems: [{ code: 'DATABASE_URL' }] }
  await expect(connect('sqlite::memory:', { replicas: [ground.replica] })).rejects.toMatchObject(
    refused,
  )
  await expect(connect(ground.url, { replicas: ['mysql://a/b'] })).rejects.toMatchObject(refused)
  await expect(connect(ground.url, { replicas: ['nowhere'] })).rejects.toMatchObject(refused)
})
