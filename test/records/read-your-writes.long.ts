/** Read-your-writes in an application with a primary and a standby. Source: docs/records/postgresql-in-production.md, Replicas. */
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
import { NoteModule, startReplicas, writeElsewhere, NoteController } from './replica-setup.js'
import { waitUntil } from '../wait-until.js'

const cluster = startReplicas()

@Module({ imports: [NoteModule, metrics()] })
class MeteredModule {}

type Headers = { [name: string]: string }

describe('An application with replicas', () => {
  const start = async (options: BootstrapOptions = {}): Promise<Application> => {
    process.env.DATABASE_REPLICAS = cluster.replica
    try {
      const app = await bootstrap(NoteModule, {
        database: `${cluster.url}?replicaLag=3600000`,
        listen: false,
        logger: false,
        trustProxy: true,
        ...options,
      })
      cluster.cleanups.push(() => app.close())
      return app
    } finally {
      delete process.env.DATABASE_REPLICAS
    }
  }
  const textsOf = async (app: Application, headers: Headers): Promise<unknown> =>
    (await app.inject({ url: '/notes', headers })).json()

  it('reports the pools of all servers', async () => {
    const replicas = [cluster.replica, 'postgres://127.0.0.1:1/nobody'].map(encodeURIComponent)
    const database = await connect(`${cluster.url}?replicaLag=3600000&replicas=${replicas.join()}`)
    cluster.cleanups.push(() => database.close())
    const app = await bootstrap(MeteredModule, { database, listen: false, logger: false })
    cluster.cleanups.push(() => app.close())
    expect(await textsOf(app, {})).toEqual([])
    const { host } = new URL(cluster.replica)
    const [replica, unreachable] = database.pool?.replicas ?? []
    expect(replica).toMatchObject({ name: host, isUp: true, maxConnections: 10 })
    expect(replica?.open).toBeGreaterThan(0)
    const none = { maxConnections: 0, open: 0, idle: 0, waiting: 0 }
    expect(unreachable).toEqual({ name: '127.0.0.1:1', isUp: false, ...none })
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
    ['an IP address', () => Promise.resolve({ 'x-forwarded-for': '10.0.0.1' })],
    [
      'a token',
      async (app) => {
        const token = await app.get(Auth).getToken({ sub: '7' })
        return { authorization: `Bearer ${token}`, 'x-forwarded-for': '10.0.0.2' }
      },
    ],
  ])('lets %s read its own writes, while other callers read the replica', async (_who, signIn) => {
    const app = await start()
    const headers = await signIn(app)
    await cluster.standby.pause()
    const json = { text: 'mine' }
    const written = await app.inject({ method: 'POST', url: '/notes/guarded', json, headers })
    expect(written.status).toBe(headers.authorization === undefined ? 401 : 200)
    if (written.status === 401) {
      await app.inject({ method: 'POST', url: '/notes', json, headers })
    }
    expect(await textsOf(app, headers)).toEqual(['mine'])
    const otherCaller = { 'x-forwarded-for': '10.0.0.9' }
    expect(await textsOf(app, otherCaller)).toEqual([])
    await cluster.standby.resume()
    await waitUntil(async () => ((await textsOf(app, otherCaller)) as string[]).length === 1)
  })

  it('lets a session read its own writes from any address', async () => {
    const app = await start()
    const first = await app.inject({ method: 'POST', url: '/notes/session', json: { text: 'one' } })
    const cookie = String(first.headers['set-cookie']).split(';')[0] as string
    await cluster.standby.caughtUp()
    await cluster.standby.pause()
    const json = { text: 'two' }
    const write = { method: 'POST', url: '/notes/session', json } as const
    await app.inject({ ...write, headers: { cookie, 'x-forwarded-for': '10.0.0.1' } })
    const movedCaller = { cookie, 'x-forwarded-for': '10.0.0.2' }
    expect(await textsOf(app, movedCaller)).toEqual(['one', 'two'])
    await waitUntil(async () => {
      const otherTexts = await textsOf(app, { 'x-forwarded-for': '10.0.0.3' })
      return JSON.stringify(otherTexts) === '["one"]'
    })
  })

  it('reads from the primary for requests that may write, and for cached responses', async () => {
    const app = await start()
    await cluster.standby.pause()
    await writeElsewhere(cluster, 'new')
    const headers = { 'x-forwarded-for': '10.0.0.1' }
    expect(await textsOf(app, headers)).toEqual([])
    const countResponse = await app.inject({ method: 'POST', url: '/notes/count', headers })
    expect(countResponse.json()).toBe(1)
    expect((await app.inject({ url: '/notes/cached', headers })).json()).toBe(1)
    expect(await textsOf(app, headers)).toEqual([])
  })

  it('reads GraphQL queries from replicas, and mutation results from the primary', async () => {
    const app = await start()
    const graphql = async (query: string, address: string): Promise<unknown> => {
      const headers = {
        'x-forwarded-for': address,
        authorization: `Bearer ${await app.get(Auth).getToken({ sub: address })}`,
      }
      return (
        await app.inject({ method: 'POST', url: '/graphql', json: { query }, headers })
      ).json()
    }
    await cluster.standby.pause()
    const id = await writeElsewhere(cluster, 'new')
    const mutation = `mutation { createShelf(input: { name: "s", notes: [{ text: "a" }] }) { name notes { text shelf { name } } }
      updateNote(id: ${id}, input: { text: "seen" }) { text } }`
    expect(await graphql(mutation, '10.0.0.1')).toEqual({
      data: {
        createShelf: { name: 's', notes: [{ text: 'a', shelf: { name: 's' } }] },
        updateNote: { text: 'seen' },
      },
    })
    const query = '{ notes { text } }'
    expect(await graphql(query, '10.0.0.2')).toEqual({ data: { notes: [] } })
    expect(await graphql(query, '10.0.0.1')).toMatchObject({
      data: { notes: [{ text: 'seen' }, { text: 'a' }] },
    })
  })

  it('serves reads from replicas while the primary is down, and rejects writes', async () => {
    const app = await start({ database: `${cluster.url}?replicaLag=200` })
    const writer = { 'x-forwarded-for': '10.0.0.1' }
    const json = { text: 'one' }
    const write = { method: 'POST', url: '/notes', json, headers: writer } as const
    expect((await app.inject(write)).status).toBe(200)
    const first = await app.inject({ ...write, url: '/notes/session', json: { text: 'two' } })
    const cookie = String(first.headers['set-cookie']).split(';')[0] as string
    const reader = { 'x-forwarded-for': '10.0.0.2' }
    await cluster.standby.caughtUp()
    await cluster.primary.stop()
    try {
      await waitUntil(async () => (await app.inject(write)).status === 503)
      // The pool notices the outage shortly after the first failure.
      for (let served = 0; served < 100; served++) {
        const { status } = await app.inject({ url: '/notes', headers: reader })
        if (status !== 200) served = 0
      }
      expect(await textsOf(app, reader)).toEqual(['one', 'two'])
      // Verifying a new token also reads the revocations.
      const token = await app.get(Auth).getToken({ sub: '8' })
      const headers = { authorization: `Bearer ${token}` }
      expect((await app.inject({ url: '/notes/secret', headers })).json()).toBe(2)
      expect((await app.inject({ url: '/notes/seen', headers: { cookie } })).json()).toBe(true)
      // check() fails without the primary, but check('reads') passes.
      const database = app.get(NoteController).database
      await expect(database.check()).rejects.toMatchObject({ status: 503 })
      await database.check('reads')
    } finally {
      await cluster.primary.start()
    }
    await waitUntil(async () => (await app.inject(write)).status === 200)
  })
})
