/** Who reads what it wrote, of an application with a primary and a standby. Source: docs/records/postgresql-in-production.md, Replicas. */
import { describe, expect, it } from '@jest/globals'
import {
  type Application,
  Auth,
  bootstrap,
  type BootstrapOptions,
  connect,
  Module,
} from '../../src/index.js'
import { metrics } from '../../src/modules/metrics/metrics.js'
import {
  NoteModule,
  replicaGround,
  until,
  writeElsewhere,
  NoteController,
} from './replica-ground.js'

const ground = replicaGround()

@Module({ imports: [NoteModule, metrics()] })
class MeteredModule {}

type Headers = { [name: string]: string }

describe('In an application', () => {
  const start = async (options: BootstrapOptions = {}): Promise<Application> => {
    process.env.DATABASE_REPLICAS = ground.replica
    try {
      const app = await bootstrap(NoteModule, {
        database: `${ground.url}?replicaLag=3600000`,
        listen: false,
        logger: false,
        trustProxy: true,
        ...options,
      })
      ground.ends.push(() => app.close())
      return app
    } finally {
      delete process.env.DATABASE_REPLICAS
    }
  }
  const textsOf = async (app: Application, headers: Headers): Promise<unknown> =>
    (await app.inject({ url: '/notes', headers })).json()

  it('the pools of all servers are told of', async () => {
    const replicas = [ground.replica, 'postgres://127.0.0.1:1/nobody'].map(encodeURIComponent)
    const database = await connect(`${ground.url}?replicaLag=3600000&replicas=${replicas.join()}`)
    ground.ends.push(() => database.close())
    const app = await bootstrap(MeteredModule, { database, listen: false, logger: false })
    ground.ends.push(() => app.close())
    expect(await textsOf(app, {})).toEqual([])
    const { host } = new URL(ground.replica)
    const [replica, lost] = database.pool?.replicas ?? []
    expect(replica).toMatchObject({ name: host, isUp: true, most: 10 })
    expect(replica?.open).toBeGreaterThan(0)
    const none = { most: 0, open: 0, idle: 0, waiting: 0 }
    expect(lost).toEqual({ name: '127.0.0.1:1', isUp: false, ...none })
    const lines = (await app.inject('/metrics')).body.split('\n')
    for (const line of [
      'database_connections_max 10',
      `database_connections_max{replica="${host}"} 10`,
      'database_connections_max{replica="127.0.0.1:1"} 0',
      `database_connections_waiting{replica="${host}"} 0`,
      `database_connections{replica="${host}",state="used"} 0`,
      `database_replica_up{replica="${host}"} 1`,
      'database_replica_up{replica="127.0.0.1:1"} 0',
    ])
      expect(lines).toContain(line)
  })

  it.each<[string, (app: Application) => Promise<Headers>]>([
    ['an address', () => Promise.resolve({ 'x-forwarded-for': '10.0.0.1' })],
    [
      'a token',
      async (app) => {
        const token = await app.get(Auth).getToken({ sub: '7' })
        return { authorization: `Bearer ${token}`, 'x-forwarded-for': '10.0.0.2' }
      },
    ],
  ])('%s reads what it wrote, and others what the replica has', async (_who, sign) => {
    const app = await start()
    const headers = await sign(app)
    await ground.standby.pause()
    const json = { text: 'mine' }
    const written = await app.inject({ method: 'POST', url: '/notes/guarded', json, headers })
    expect(written.status).toBe(headers.authorization === undefined ? 401 : 200)
    if (written.status === 401) {
      await app.inject({ method: 'POST', url: '/notes', json, headers })
    }
    expect(await textsOf(app, headers)).toEqual(['mine'])
    const others = { 'x-forwarded-for': '10.0.0.9' }
    expect(await textsOf(app, others)).toEqual([])
    await ground.standby.resume()
    await until(async () => ((await textsOf(app, others)) as string[]).length === 1)
  })

  it('a session reads what it wrote from wherever', async () => {
    const app = await start()
    const begun = await app.inject({ method: 'POST', url: '/notes/session', json: { text: 'one' } })
    const cookie = String(begun.headers['set-cookie']).split(';')[0] as string
    await ground.standby.caughtUp()
    await ground.standby.pause()
    const json = { text: 'two' }
    const write = { method: 'POST', url: '/notes/session', json } as const
    await app.inject({ ...write, headers: { cookie, 'x-forwarded-for': '10.0.0.1' } })
    const here = { cookie, 'x-forwarded-for': '10.0.0.2' }
    expect(await textsOf(app, here)).toEqual(['one', 'two'])
    await until(async () => {
      const others = await textsOf(app, { 'x-forwarded-for': '10.0.0.3' })
      return JSON.stringify(others) === '["one"]'
    })
  })

  it('requests that may write, and answers that are kept, read from the primary', async () => {
    const app = await start()
    await ground.standby.pause()
    await writeElsewhere(ground, 'new')
    const headers = { 'x-forwarded-for': '10.0.0.1' }
    expect(await textsOf(app, headers)).toEqual([])
    const counted = await app.inject({ method: 'POST', url: '/notes/count', headers })
    expect(counted.json()).toBe(1)
    expect((await app.inject({ url: '/notes/kept', headers })).json()).toBe(1)
    expect(await textsOf(app, headers)).toEqual([])
  })

  it('queries of GraphQL read from replicas, mutations answer with what is there', async () => {
    const app = await start()
    const ask = async (query: string, address: string): Promise<unknown> => {
      const headers = {
        'x-forwarded-for': address,
        authorization: `Bearer ${await app.get(Auth).getToken({ sub: address })}`,
      }
      return (
        await app.inject({ method: 'POST', url: '/graphql', json: { query }, headers })
      ).json()
    }
    await ground.standby.pause()
    const id = await writeElsewhere(ground, 'new')
    const mutation = `mutation { createShelf(input: { name: "s", notes: [{ text: "a" }] }) { name notes { text shelf { name } } }
      updateNote(id: ${id}, input: { text: "seen" }) { text } }`
    expect(await ask(mutation, '10.0.0.1')).toEqual({
      data: {
        createShelf: { name: 's', notes: [{ text: 'a', shelf: { name: 's' } }] },
        updateNote: { text: 'seen' },
      },
    })
    const query = '{ notes { text } }'
    expect(await ask(query, '10.0.0.2')).toEqual({ data: { notes: [] } })
    expect(await ask(query, '10.0.0.1')).toMatchObject({
      data: { notes: [{ text: 'seen' }, { text: 'a' }] },
    })
  })

  it('replicas serve on while the primary is gone, and writes are refused', async () => {
    const app = await start({ database: `${ground.url}?replicaLag=200` })
    const writer = { 'x-forwarded-for': '10.0.0.1' }
    const json = { text: 'one' }
    const write = { method: 'POST', url: '/notes', json, headers: writer } as const
    expect((await app.inject(write)).status).toBe(200)
    const begun = await app.inject({ ...write, url: '/notes/session', json: { text: 'two' } })
    const cookie = String(begun.headers['set-cookie']).split(';')[0] as string
    const reader = { 'x-forwarded-for': '10.0.0.2' }
    await ground.standby.caughtUp()
    await ground.primary.stop()
    try {
      await until(async () => (await app.inject(write)).status === 503)
      // That the primary is gone is known a moment later.
      for (let served = 0; served < 100; served++) {
        const { status } = await app.inject({ url: '/notes', headers: reader })
        if (status !== 200) served = 0
      }
      expect(await textsOf(app, reader)).toEqual(['one', 'two'])
      // A token that was never seen here: whether it was revoked is read too.
      const token = await app.get(Auth).getToken({ sub: '8' })
      const headers = { authorization: `Bearer ${token}` }
      expect((await app.inject({ url: '/notes/secret', headers })).json()).toBe(2)
      expect((await app.inject({ url: '/notes/seen', headers: { cookie } })).json()).toBe(true)
      // Who wants readers to be sent here meanwhile says so.
      const database = app.get(NoteController).database
      await expect(database.check()).rejects.toMatchObject({ status: 503 })
      await database.check('reads')
    } finally {
      await ground.primary.start()
    }
    await until(async () => (await app.inject(write)).status === 200)
  })
})
