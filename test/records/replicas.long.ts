/** Read replicas with a real primary and standby. Source: docs/records/postgresql-in-production.md, Replicas. */
import { describe, expect, it } from '@jest/globals'
import { silentLog } from '../silent-log.js'
import { connect, type Row } from '../../src/index.js'
import type { EngineCaller, OtherProcesses } from '../../src/engines/contract/engine.js'
import { Note, open, startReplicas, Shelf, writeElsewhere } from './replica-setup.js'
import { waitUntil } from '../wait-until.js'
import { engineOf, internalsOf } from './open-database.js'

const cluster = startReplicas()

describe('Replicas', () => {
  it('serve reads outside of transactions', async () => {
    const database = await open(cluster, { replicas: [cluster.replica] })
    const notes = database.records(Note)
    await cluster.standby.pause()
    const id = await writeElsewhere(cluster, 'new')
    expect(await notes.find(id)).toBeNull()
    expect(await notes.count()).toBe(0)
    expect(await database.kysely.selectFrom('note').selectAll().execute()).toEqual([])
    expect(await database.transaction((tx) => tx.records(Note).count())).toBe(1)
    await cluster.standby.resume()
    await waitUntil(async () => (await notes.count()) === 1)
  })

  it('can be set in the database URL', async () => {
    const database = await connect(
      `${cluster.url}?replicas=${encodeURIComponent(cluster.replica)}&replicaLag=3600000`,
      { records: [Note, Shelf] },
    )
    cluster.cleanups.push(() => database.close())
    await cluster.standby.pause()
    await writeElsewhere(cluster, 'new')
    expect(await database.records(Note).count()).toBe(0)
  })

  it('are skipped when they lag behind the limit', async () => {
    const database = await open(cluster, { replicas: [cluster.replica], replicaLag: 200 })
    await cluster.standby.pause()
    await writeElsewhere(cluster, 'new')
    await waitUntil(async () => (await database.records(Note).count()) === 1)
    const second = await writeElsewhere(cluster, 'second')
    expect(await database.records(Note).find(second)).toMatchObject({ text: 'second' })
  })

  it('are not read by a caller until they have its writes', async () => {
    const database = await open(cluster, { replicas: [cluster.replica] })
    const notes = database.records(Note)
    await cluster.standby.pause()
    const { id } = await notes.create({ text: 'mine' })
    expect(await notes.find(id)).toMatchObject({ text: 'mine' })
    await database.transaction((tx) => tx.records(Note).update(id, { text: 'changed' }))
    expect(await notes.find(id)).toMatchObject({ text: 'changed' })
    expect(await database.kysely.selectFrom('note').select('text').execute()).toHaveLength(1)
  })

  it('are not read by a caller until they have its batched writes', async () => {
    const database = await open(cluster, { replicas: [cluster.replica] })
    const notes = database.records(Note)
    await cluster.standby.caughtUp()
    await cluster.standby.pause()
    const creating: Promise<Row<Note>>[] = []
    await internalsOf(database).pipelinedWrites.send((run) => {
      for (const text of ['one', 'two']) creating.push(run(() => notes.create({ text })))
    })
    const [one, two] = await Promise.all(creating)
    expect([one, two]).toMatchObject([{ text: 'one' }, { text: 'two' }])
    expect(await notes.find(two?.id ?? 0)).toMatchObject({ text: 'two' })
  })

  it('are not read by callers whose writes another process reports', async () => {
    const listeners: ((names: readonly string[]) => void)[] = []
    const notifications: (readonly string[])[] = []
    const otherProcesses: OtherProcesses = {
      notify: (names) => {
        notifications.push(names)
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
    const writing = await open(cluster, { replicas: [cluster.replica] })
    const reading = await open(cluster, { replicas: [cluster.replica] })
    engineOf(writing).requests.followCallers?.(callerOf('a'), otherProcesses)
    engineOf(reading).requests.followCallers?.(callerOf('a'), otherProcesses)
    await cluster.standby.pause()
    const { id } = await writing.records(Note).create({ text: 'mine' })
    expect(notifications).toEqual([['a']])
    expect(await reading.records(Note).find(id)).toMatchObject({ text: 'mine' })
    engineOf(reading).requests.followCallers?.(callerOf('b'), otherProcesses)
    expect(await reading.records(Note).find(id)).toBeNull()
  })

  it('are skipped when lost, and used again when back', async () => {
    const messages: string[] = []
    const record = (_: object, message: string): unknown => messages.push(message)
    const log = { ...silentLog, warn: record, info: record }
    const database = await open(cluster, { replicas: [cluster.replica], log, replicaLag: 500 })
    const notes = database.records(Note)
    await notes.create({ text: 'one' })
    await cluster.standby.stop()
    try {
      for (let index = 0; index < 20; index++) expect(await notes.count()).toBe(1)
      await waitUntil(async () => {
        await notes.count()
        return messages.includes('a replica of the database was lost; reads go elsewhere')
      })
    } finally {
      await cluster.standby.start()
    }
    await waitUntil(async () => {
      expect(await notes.count()).toBe(1)
      return messages.includes('a replica of the database is back')
    })
  })

  it('may be down at the start', async () => {
    await cluster.standby.stop()
    const database = await open(cluster, { replicas: [cluster.replica] }).finally(() =>
      cluster.standby.start(),
    )
    await database.records(Note).create({ text: 'one' })
    expect(await database.records(Note).count()).toBe(1)
  })
})

it('a replica URL that is not PostgreSQL is rejected', async () => {
  const refused = { problems: [{ code: 'DATABASE_URL' }] }
  await expect(connect('sqlite::memory:', { replicas: [cluster.replica] })).rejects.toMatchObject(
    refused,
  )
  await expect(connect(cluster.url, { replicas: ['mysql://a/b'] })).rejects.toMatchObject(refused)
  await expect(connect(cluster.url, { replicas: ['nowhere'] })).rejects.toMatchObject(refused)
})
