/** An application whose only database is a replica. Source: docs/records/postgresql-in-production.md, Replicas. */
import { describe, expect, it } from '@jest/globals'
import { type Application, Auth, bootstrap, connect } from '../../src/index.js'
import { Note, NoteModule, startReplicas, Shelf, writeElsewhere } from './replica-setup.js'
import { waitUntil } from '../wait-until.js'

const cluster = startReplicas()

const start = async (): Promise<{ app: Application; warnings: string[] }> => {
  const warnings: string[] = []
  const recordWarning = (_: object, message: string): unknown => warnings.push(message)
  const silent = (): undefined => undefined
  const app = await bootstrap(NoteModule, {
    database: cluster.replica,
    listen: false,
    logger: { debug: silent, info: silent, warn: recordWarning, error: silent } as never,
  })
  cluster.cleanups.push(() => app.close())
  return { app, warnings }
}

describe('An application on a replica only', () => {
  it('serves reads, rejects writes with 503 and a reason, and warns at the start', async () => {
    await writeElsewhere(cluster, 'one')
    await cluster.standby.caughtUp()
    const { app, warnings } = await start()
    expect(warnings).toContainEqual(
      expect.stringContaining('the database is a replica or read-only'),
    )
    expect((await app.inject({ url: '/notes' })).json()).toEqual(['one'])
    const write = { method: 'POST', url: '/notes', json: { text: 'two' } } as const
    const refused = await app.inject(write)
    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBe('1')
    expect(refused.json()).toMatchObject({
      error: 'The database does not accept writes at the moment: it is read-only.',
    })
    const mutation = { query: 'mutation { createNote(input: { text: "x" }) { id } }' }
    const headers = { authorization: `Bearer ${await app.get(Auth).getToken({ sub: '1' })}` }
    const mutated = await app.inject({ method: 'POST', url: '/graphql', json: mutation, headers })
    expect(mutated.status).toBe(503)
  })

  it('verifies tokens without replicated revocations, and has no sessions', async () => {
    const { app } = await start()
    const token = await app.get(Auth).getToken({ sub: '7' })
    expect(await app.get(Auth).verify(token)).toMatchObject({ sub: '7' })
    const session = { method: 'POST', url: '/notes/session', json: { text: 'x' } } as const
    expect((await app.inject(session)).status).toBe(503)
  })

  it('refuses to revoke tokens with 503, before and after the tables exist', async () => {
    const revokeAll = async () => (await start()).app.get(Auth).revokeAll('7')
    const refused = { status: 503 }
    await expect(revokeAll()).rejects.toMatchObject(refused)
    const primary = await bootstrap(NoteModule, {
      database: cluster.url,
      listen: false,
      logger: false,
    })
    cluster.cleanups.push(() => primary.close())
    await primary.get(Auth).revokeAll('8')
    await cluster.standby.caughtUp()
    await expect(revokeAll()).rejects.toMatchObject(refused)
  })

  it('applies revocations that are replicated later', async () => {
    const { app } = await start()
    const token = await app.get(Auth).getToken({ sub: '9' })
    const primary = await bootstrap(NoteModule, {
      database: cluster.url,
      listen: false,
      logger: false,
    })
    cluster.cleanups.push(() => primary.close())
    await primary.get(Auth).revokeAll('9')
    await waitUntil(async () => (await app.get(Auth).verify(token)) === null)
  })

  it('caches no responses, because it receives no changes', async () => {
    const { app } = await start()
    expect((await app.inject({ url: '/notes/cached' })).json()).toBe(0)
    await writeElsewhere(cluster, 'one')
    await waitUntil(async () => (await app.inject({ url: '/notes/cached' })).json() === 1)
  })

  it('reads in transactions of every isolation level', async () => {
    const database = await connect(cluster.replica, { records: [Note, Shelf] })
    cluster.cleanups.push(() => database.close())
    for (const isolation of ['repeatable read', 'serializable'] as const) {
      expect(await database.transaction((tx) => tx.records(Note).count(), { isolation })).toBe(0)
    }
    await expect(
      database.transaction((tx) => tx.records(Note).create({ text: 'x' })),
    ).rejects.toMatchObject({ status: 503, message: expect.stringContaining('read-only') })
  })

  it('does not start if the schema differs', async () => {
    const empty = cluster.standby.at(await cluster.primary.createDatabase())
    await cluster.standby.caughtUp()
    await expect(
      bootstrap(NoteModule, { database: empty, listen: false, logger: false }),
    ).rejects.toThrow('2 tables are missing: note, shelf.')
  })
})

it('An application starts read-only on its replicas while the primary is down, and writes when the primary is back', async () => {
  await writeElsewhere(cluster, 'one')
  await cluster.standby.caughtUp()
  await cluster.primary.stop()
  let isBack = false
  try {
    const app = await bootstrap(NoteModule, {
      database: `${cluster.url}?replicas=${encodeURIComponent(cluster.replica)}`,
      listen: false,
      logger: false,
    })
    cluster.cleanups.push(() => app.close())
    expect((await app.inject({ url: '/notes' })).json()).toEqual(['one'])
    const write = { method: 'POST', url: '/notes', json: { text: 'two' } } as const
    expect((await app.inject(write)).status).toBe(503)
    await cluster.primary.start()
    isBack = true
    await waitUntil(async () => (await app.inject(write)).status === 200)
    await waitUntil(async () => {
      const texts = (await app.inject({ url: '/notes' })).json() as string[]
      return (
        texts.length > 1 && texts.every((text, index) => text === (index === 0 ? 'one' : 'two'))
      )
    })
  } finally {
    if (!isBack) await cluster.primary.start()
  }
})

it('An application does not start if the primary is up and rejects the connection', async () => {
  const wrong = new URL(cluster.url)
  wrong.pathname = '/no_such_database'
  await expect(
    connect(wrong.href, { records: [Note, Shelf], replicas: [cluster.replica] }),
  ).rejects.toMatchObject({ problems: [{ code: 'DATABASE_UNREACHABLE' }] })
})
