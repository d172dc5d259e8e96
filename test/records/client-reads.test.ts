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
} from 'filigree'
import { connect, Database } from '../../src/records/database.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { frameworkQuery } from '../../src/engines/contract/statement.js'

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
/** Writes, then reads what may be locked. */
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

describe('reads of clients on PostgreSQL', () => {
  let server: PostgresServer
  let url: string
  let watcher: Database
  let observer: Database
  beforeAll(async () => {
    server = await startPostgres()
    url = await server.createDatabase()
    watcher = await connect(url, { records: [Item, Thing] })
    await watcher.sync()
    observer = await connect(url)
    await watcher.records(Item).insertMany([{ name: 'Lamp' }, { name: 'Chair' }])
  })
  afterAll(async () => {
    await watcher.close()
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

  /** While the table is locked every read of it waits on the server. */
  const locked = async <R>(work: () => Promise<R>): Promise<R> =>
    watcher.transaction(async (tx) => {
      await tx.kysely.executeQuery(sql('lock table item in access exclusive mode'))
      return work()
    })
  const sql = (text: string) =>
    ({ sql: text, parameters: [], query: { kind: 'RawNode' }, queryId: {} }) as never

  /** Statements about the table that the server is running for the application. */
  const running = async (): Promise<number> => {
    const { rows } = await observer.kysely.executeQuery<{ count: unknown }>(
      sql(
        `select count(*) as count from pg_stat_activity where datname = current_database()
          and state = 'active' and pid <> pg_backend_pid() and query like 'select%item%'`,
      ),
    )
    return Number(rows[0]?.count)
  }
  const until = async (wanted: (count: number) => boolean): Promise<number> => {
    for (;;) {
      const count = await running()
      if (wanted(count)) return count
    }
  }
  const address = (app: Application, path: string): string => new URL(path, app.url).href
  const ask = (app: Application, roots: number): Promise<Response> => {
    const fields = Array.from({ length: roots }, (_, index) => `a${index}: items { id }`)
    const body = JSON.stringify({ query: `{ ${fields.join(' ')} }` })
    const headers = { 'content-type': 'application/json' }
    return fetch(address(app, '/graphql'), { method: 'POST', headers, body })
  }

  it.each(['/items', '/items/1', '/graphql?query={items{id}}'])(
    'end with the answer, by %s',
    async (path) => {
      const app = await start(1500)
      await locked(async () => {
        const answer = await fetch(address(app, path))
        expect(answer.status).toBe(503)
        expect(await until((count) => count === 0)).toBe(0)
      })
      expect((await fetch(address(app, '/items/1'))).status).toBe(200)
      await app.close()
    },
  )

  it('end when the client leaves', async () => {
    const app = await start(20_000)
    await locked(async () => {
      const leaving: ClientRequest = send(address(app, '/items/1'))
      leaving.on('error', () => undefined)
      leaving.end()
      expect(await until((count) => count === 1)).toBe(1)
      leaving.destroy()
      expect(await until((count) => count === 0)).toBe(0)
    })
    await app.close()
  })

  it('end in a transaction once the time of the handler is over, and what it wrote is not there', async () => {
    const app = await start(1500)
    const before = await watcher.records(Thing).count()
    await locked(async () => {
      const late = await fetch(address(app, '/work'), { method: 'POST' })
      expect(late.status).toBe(503)
      expect(await until((count) => count === 0)).toBe(0)
    })
    expect(await watcher.records(Thing).count()).toBe(before)
    const again = await fetch(address(app, '/work'), { method: 'POST' })
    expect(again.status).toBe(200)
    expect(await watcher.records(Thing).count()).toBe(before + 1)
    await app.close()
  })

  it('take a share of the connections for one request', async () => {
    const app = await start(20_000)
    const answers = await locked(async () => {
      const asked = [ask(app, 20)]
      expect(await until((count) => count > 0)).toBeGreaterThan(0)
      asked.push(ask(app, 20))
      await until((count) => count >= 4)
      // Others have connections left, and are answered at once: this one asks for no row of the table.
      expect((await fetch(address(app, '/things'))).status).toBe(200)
      expect(await running()).toBeLessThanOrEqual(7)
      return asked
    })
    for (const answer of await Promise.all(answers)) {
      const { data } = (await answer.json()) as { data: object }
      expect(Object.keys(data)).toHaveLength(20)
    }
    await app.close()
  })

  it('have a time-out on the server, which changes of the schema have not', async () => {
    const app = await start(1234)
    const database = await connect(url, { records: [Item, Thing] })
    const shown = sql('show statement_timeout')
    const show = async (of: Database): Promise<unknown> =>
      (await of.kysely.executeQuery<object>(shown)).rows
    expect(await show(app.get(Database))).toEqual([{ statement_timeout: '1234ms' }])
    expect(await show(database)).toEqual([{ statement_timeout: '30s' }])
    const own = await connect(`${url}?statement_timeout=7000`, { records: [Item, Thing] })
    expect(await show(own)).toEqual([{ statement_timeout: '7s' }])
    await database.context.engine.changeSchema(async (runner) => {
      const { rows } = await runner.run(frameworkQuery('show statement_timeout'), [], 'all')
      expect(rows).toEqual([['0']])
    })
    expect(await show(database)).toEqual([{ statement_timeout: '30s' }])
    await Promise.all([app.close(), database.close(), own.close()])
  })

  it('wait for a lock as long as the address says, by default 10 seconds', async () => {
    const show = async (of: Database): Promise<unknown> =>
      (await of.kysely.executeQuery<object>(sql('show lock_timeout'))).rows
    expect(await show(observer)).toEqual([{ lock_timeout: '10s' }])
    const hasty = await connect(`${url}?lock_timeout=50`, { records: [Item, Thing] })
    const items = hasty.records(Item)
    await locked(async () => {
      await expect(items.count()).rejects.toMatchObject({ status: 503 })
      await expect(items.create({ name: 'Rug' })).rejects.toMatchObject({ status: 503 })
      const writing = hasty.transaction((tx) => tx.records(Item).create({ name: 'Rug' }))
      await expect(writing).rejects.toMatchObject({ status: 503 })
    })
    expect(await items.count({ name: 'Rug' })).toBe(0)
    await hasty.close()
  })

  it('cancel nothing of what runs next', async () => {
    const app = await start(3000)
    await locked(async () => {
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
