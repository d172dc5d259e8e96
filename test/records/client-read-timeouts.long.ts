import { request as send, type ClientRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
  connect,
  Database,
} from 'filigree'
import { countSessions } from './count-sessions.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { waitUntil } from '../wait-until.js'
import { engineOf, frameworkQuery } from './open-database.js'

@Record({ plural: 'items' })
class Item {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record
class Thing {
  @Field('id') id!: number
}

@Controller('/items', { crud: Item })
@NoAuth
class Items {}
@Controller('/things', { crud: Thing })
@NoAuth
class Things {}
/** Writes to one table, then reads another one that a test may have locked. */
@Controller('/work')
class Work {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/', { transaction: true, args: [] })
  @NoAuth
  async run(): Promise<object> {
    await this.database.records(Thing).create({})
    const items = await this.database.records(Item).count()
    return { items }
  }
}

@Module({ controllers: [Items, Things, Work], records: [Item, Thing] })
class Shop {}

describe('client reads on PostgreSQL', () => {
  let server: PostgresServer
  let url: string
  let owner: Database
  let observer: Database
  beforeAll(async () => {
    server = await startPostgres()
    url = await server.createDatabase()
    owner = await connect(url, { records: [Item, Thing] })
    await owner.sync()
    observer = await connect(url)
    await owner.records(Item).insertMany([{ name: 'Lamp' }, { name: 'Chair' }])
  })
  afterAll(async () => {
    await owner.close()
    await observer.close()
    await server.close()
  })

  const start = (handler: number): Promise<Application> =>
    bootstrap(Shop, {
      port: 0,
      host: '127.0.0.1',
      logger: false,
      database: url,
      times: { handler },
    })

  /** Runs `work` while the table is locked, so that every read of it waits on the server. */
  const whileLocked = async <R>(work: () => Promise<R>): Promise<R> =>
    owner.transaction(async (tx) => {
      await tx.kysely.executeQuery(sql('lock table item in access exclusive mode'))
      return work()
    })
  const sql = (text: string) =>
    ({ sql: text, parameters: [], query: { kind: 'RawNode' }, queryId: {} }) as never

  /** The number of statements on the table that the server runs for the application. */
  const running = (): Promise<number> =>
    countSessions(observer, "state = 'active' and query like 'select%item%'")
  const until = async (isExpected: (count: number) => boolean): Promise<number> => {
    let count = -1
    await waitUntil(async () => {
      count = await running()
      return isExpected(count)
    })
    return count
  }
  const address = (app: Application, path: string): string => new URL(path, app.url).href
  const queryRoots = (app: Application, roots: number): Promise<Response> => {
    const fields = Array.from({ length: roots }, (_, index) => `a${index}: items { id }`)
    const body = JSON.stringify({ query: `{ ${fields.join(' ')} }` })
    const headers = { 'content-type': 'application/json' }
    return fetch(address(app, '/graphql'), { method: 'POST', headers, body })
  }

  it.each(['/items', '/items/1', '/graphql?query={items{id}}'])(
    'end on the server with the 503 response to %s',
    async (path) => {
      const app = await start(1500)
      await whileLocked(async () => {
        const response = await fetch(address(app, path))
        expect(response.status).toBe(503)
        expect(await until((count) => count === 0)).toBe(0)
      })
      expect((await fetch(address(app, '/items/1'))).status).toBe(200)
      await app.close()
    },
  )

  it('end on the server when the client disconnects', async () => {
    const app = await start(20_000)
    await whileLocked(async () => {
      const leaving: ClientRequest = send(address(app, '/items/1'))
      leaving.on('error', () => undefined)
      leaving.end()
      expect(await until((count) => count === 1)).toBe(1)
      leaving.destroy()
      expect(await until((count) => count === 0)).toBe(0)
    })
    await app.close()
  })

  it('end inside a transaction at the handler timeout, and the transaction rolls back', async () => {
    const app = await start(1500)
    const before = await owner.records(Thing).count()
    await whileLocked(async () => {
      const timedOut = await fetch(address(app, '/work'), { method: 'POST' })
      expect(timedOut.status).toBe(503)
      expect(await until((count) => count === 0)).toBe(0)
    })
    expect(await owner.records(Thing).count()).toBe(before)
    const retried = await fetch(address(app, '/work'), { method: 'POST' })
    expect(retried.status).toBe(200)
    expect(await owner.records(Thing).count()).toBe(before + 1)
    await app.close()
  })

  it('use a limited share of the connections per request', async () => {
    const app = await start(20_000)
    const responses = await whileLocked(async () => {
      const pendingResponses = [queryRoots(app, 20)]
      expect(await until((count) => count > 0)).toBeGreaterThan(0)
      pendingResponses.push(queryRoots(app, 20))
      await until((count) => count >= 4)
      // Other requests still get connections. This one does not read the locked table.
      expect((await fetch(address(app, '/things'))).status).toBe(200)
      expect(await running()).toBeLessThanOrEqual(7)
      return pendingResponses
    })
    for (const response of await Promise.all(responses)) {
      const { data } = (await response.json()) as { data: object }
      expect(Object.keys(data)).toHaveLength(20)
    }
    await app.close()
  })

  it('have a statement timeout on the server, which schema changes do not have', async () => {
    const app = await start(1234)
    const database = await connect(url, { records: [Item, Thing] })
    const setting = sql('show statement_timeout')
    const show = async (db: Database): Promise<unknown> =>
      (await db.kysely.executeQuery<object>(setting)).rows
    expect(await show(app.get(Database))).toEqual([{ statement_timeout: '1234ms' }])
    expect(await show(database)).toEqual([{ statement_timeout: '30s' }])
    const customDatabase = await connect(`${url}?statement_timeout=7000`, {
      records: [Item, Thing],
    })
    expect(await show(customDatabase)).toEqual([{ statement_timeout: '7s' }])
    await engineOf(database).schema.change(async (runner) => {
      const { rows } = await runner.run(frameworkQuery('show statement_timeout'), [], 'all')
      expect(rows).toEqual([['0']])
    })
    expect(await show(database)).toEqual([{ statement_timeout: '30s' }])
    await Promise.all([app.close(), database.close(), customDatabase.close()])
  })

  it('wait for a lock as long as the URL says, by default 10 seconds', async () => {
    const show = async (db: Database): Promise<unknown> =>
      (await db.kysely.executeQuery<object>(sql('show lock_timeout'))).rows
    expect(await show(observer)).toEqual([{ lock_timeout: '10s' }])
    const impatient = await connect(`${url}?lock_timeout=50`, { records: [Item, Thing] })
    const items = impatient.records(Item)
    await whileLocked(async () => {
      await expect(items.count()).rejects.toMatchObject({ status: 503 })
      await expect(items.create({ name: 'Rug' })).rejects.toMatchObject({ status: 503 })
      const writing = impatient.transaction((tx) => tx.records(Item).create({ name: 'Rug' }))
      await expect(writing).rejects.toMatchObject({ status: 503 })
    })
    expect(await items.count({ name: 'Rug' })).toBe(0)
    await impatient.close()
  })

  it('do not cancel the next statement on the connection', async () => {
    const app = await start(3000)
    await whileLocked(async () => {
      const statuses = await Promise.all(
        Array.from({ length: 12 }, async () => (await fetch(address(app, '/items'))).status),
      )
      expect(new Set(statuses)).toEqual(new Set([503]))
    })
    const after = await Promise.all(
      Array.from({ length: 30 }, async () => (await fetch(address(app, '/items'))).status),
    )
    expect(new Set(after)).toEqual(new Set([200]))
    await app.close()
  })
})
