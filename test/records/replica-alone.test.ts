/** An application whose database is a replica. Source: docs/records/postgresql-in-production.md, Replicas. */
import { describe, expect, it } from '@jest/globals'
import { type Application, Auth, bootstrap, connect } from '../../src/index.js'
import { Note, NoteModule, replicaGround, Shelf, until, writeElsewhere } from './replica-ground.js'

const ground = replicaGround()

const start = async (): Promise<{ app: Application; told: string[] }> => {
  const told: string[] = []
  const tell = (_: object, message: string): unknown => told.push(message)
  const silent = (): undefined => undefined
  const app = await bootstrap(NoteModule, {
    database: ground.replica,
    listen: false,
    logger: { debug: silent, info: silent, warn: tell, error: silent } as never,
  })
  ground.ends.push(() => app.close())
  return { app, told }
}

describe('A replica alone', () => {
  it('answers reads, and writes with 503 that says why; the log says so at the start', async () => {
    await writeElsewhere(ground, 'one')
    await ground.standby.caughtUp()
    const { app, told } = await start()
    expect(told).toContainEqual(expect.stringContaining('the database is a replica or read-only'))
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

  it('knows tokens, though no revocations have come, and has no sessions', async () => {
    const { app } = await start()
    const token = await app.get(Auth).getToken({ sub: '7' })
    expect(await app.get(Auth).verify(token)).toMatchObject({ sub: '7' })
    const session = { method: 'POST', url: '/notes/session', json: { text: 'x' } } as const
    expect((await app.inject(session)).status).toBe(503)
  })

  it('heeds revocations that come later', async () => {
    const { app } = await start()
    const token = await app.get(Auth).getToken({ sub: '9' })
    const primary = await bootstrap(NoteModule, {
      database: ground.url,
      listen: false,
      logger: false,
    })
    ground.ends.push(() => primary.close())
    await primary.get(Auth).revokeAll('9')
    await until(async () => (await app.get(Auth).verify(token)) === null)
  })

  it('keeps no answers, since it hears of no changes', async () => {
    const { app } = await start()
    expect((await app.inject({ url: '/notes/kept' })).json()).toBe(0)
    await writeElsewhere(ground, 'one')
    await until(async () => (await app.inject({ url: '/notes/kept' })).json() === 1)
  })

  it('reads in transactions of every isolation', async () => {
    const database = await connect(ground.replica, { records: [Note, Shelf] })
    ground.ends.push(() => database.close())
    for (const isolation of ['repeatable read', 'serializable'] as const) {
      expect(await database.transaction((tx) => tx.records(Note).count(), { isolation })).toBe(0)
    }
    await expect(
      database.transaction((tx) => tx.records(Note).create({ text: 'x' })),
    ).rejects.toMatchObject({ status: 503, message: expect.stringContaining('read-only') })
  })

  it('is no start where the schema is another', async () => {
    const empty = ground.standby.at(await ground.primary.createDatabase())
    await ground.standby.caughtUp()
    await expect(
      bootstrap(NoteModule, { database: empty, listen: false, logger: false }),
    ).rejects.toThrow('Table note is missing.')
  })
})

it('An application starts read-only by its replicas while the primary is gone, and writes when it is back', async () => {
  await writeElsewhere(ground, 'one')
  await ground.standby.caughtUp()
  await ground.primary.stop()
  let isBack = false
  try {
    const app = await bootstrap(NoteModule, {
      database: `${ground.url}?replicas=${encodeURIComponent(ground.replica)}`,
      listen: false,
      logger: false,
    })
    ground.ends.push(() => app.close())
    expect((await app.inject({ url: '/notes' })).json()).toEqual(['one'])
    const write = { method: 'POST', url: '/notes', json: { text: 'two' } } as const
    expect((await app.inject(write)).status).toBe(503)
    await ground.primary.start()
    isBack = true
    await until(async () => (await app.inject(write)).status === 200)
    await until(async () => {
      const texts = (await app.inject({ url: '/notes' })).json() as string[]
      return (
        texts.length > 1 && texts.every((text, index) => text === (index === 0 ? 'one' : 'two'))
      )
    })
  } finally {
    if (!isBack) await ground.primary.start()
  }
})

it('An application does not start where the primary is there and refuses it', async () => {
  const wrong = new URL(ground.url)
  wrong.pathname = '/no_such_database'
  await expect(
    connect(wrong.href, { records: [Note, Shelf], replicas: [ground.replica] }),
  ).rejects.toMatchObject({ problems: [{ code: 'DATABASE_UNREACHABLE' }] })
})
