/** Brief reads that go together, on PostgreSQL and in the process. Source: header of postgres/batching/batching-engine.ts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Record,
  type Application,
} from 'filigree'
import { silentLog } from '../silent-log.js'
import { connect, type Database, pglite } from '../../src/index.js'
import { openEngine } from '../contracts/statement-watch.js'
import { describeJoinedReads } from '../contracts/joined-reads.contract.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

describeJoinedReads('PostgreSQL', async () =>
  openEngine(await server.createDatabase(), { log: silentLog }),
)
describeJoinedReads('PGlite', async () => pglite().open({ log: silentLog }))

@Record({ rows: (user) => ({ owner: user?.sub ?? '' }) })
class Diary {
  @Field('id') id!: number
  @Field('string') owner!: string
  @Field('string') text!: string
}

@Record
class Page {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Controller('/diaries', { crud: Diary })
@NoAuth
class Diaries {}
@Controller('/pages', { crud: Page })
@NoAuth
class Pages {}
@Module({ controllers: [Diaries, Pages], records: [Diary, Page] })
class Library {}

describe('many clients at once', () => {
  let app: Application
  let database: Database
  const people = ['ann', 'bob', 'cyd']
  const tokens = new Map<string, string>()

  beforeAll(async () => {
    const url = await server.createDatabase()
    database = await connect(url, { records: [Diary, Page] })
    await database.sync()
    const ids = Array.from({ length: 90 }, (_, n) => n + 1)
    await database
      .records(Diary)
      .insertMany(ids.map((id) => ({ owner: people[id % 3] ?? '', text: `of ${id}` })))
    await database.records(Page).insertMany(ids.map((id) => ({ text: `page ${id}` })))
    app = await bootstrap(Library, { database: url, listen: false, logger: false })
    for (const sub of people) tokens.set(sub, await app.get(Auth).getToken({ sub }))
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const ask = async (sub: string, url: string, query?: string) => {
    const headers = { authorization: `Bearer ${tokens.get(sub) ?? ''}` }
    if (query === undefined) return app.inject({ method: 'GET', url, headers })
    return app.inject({ method: 'POST', url, headers, json: { query } })
  }

  it('each see their own rows alone, by crud and by GraphQL', async () => {
    const asked = Array.from({ length: 180 }, (_, n) => ({
      sub: people[n % 3] ?? '',
      id: ((n * 7) % 95) + 1,
    }))
    const rest = asked.map(({ sub, id }) => ask(sub, `/diaries/${id}`))
    const graphql = asked.map(({ sub, id }) =>
      ask(sub, '/graphql', `{ diary(id: ${id}) { id owner text } page(id: ${id}) { text } }`),
    )
    const mine = ({ sub, id }: { sub: string; id: number }): boolean =>
      id <= 90 && people[id % 3] === sub
    for (const [n, answer] of (await Promise.all(rest)).entries()) {
      const { sub, id } = asked[n] as (typeof asked)[number]
      expect(answer.status).toBe(mine({ sub, id }) ? 200 : 404)
      if (mine({ sub, id })) expect(answer.json()).toEqual({ id, owner: sub, text: `of ${id}` })
    }
    for (const [n, answer] of (await Promise.all(graphql)).entries()) {
      const { sub, id } = asked[n] as (typeof asked)[number]
      expect(answer.json()).toEqual({
        data: {
          diary: mine({ sub, id }) ? { id: String(id), owner: sub, text: `of ${id}` } : null,
          page: id <= 90 ? { text: `page ${id}` } : null,
        },
      })
    }
  })

  it('each list their own rows alone where all ask for the same, by crud and by GraphQL', async () => {
    const asked = Array.from({ length: 90 }, (_, n) => people[n % 3] ?? '')
    const lists = asked.map((sub) => ask(sub, '/diaries?limit=50&orderBy=-text'))
    const queries = asked.map((sub) => ask(sub, '/graphql', '{ diaries(limit: 50) { id owner } }'))
    const pages = asked.map((sub) => ask(sub, '/pages?limit=20'))
    const mine = (sub: string): number[] =>
      Array.from({ length: 90 }, (_, n) => n + 1).filter((id) => people[id % 3] === sub)
    for (const [n, answer] of (await Promise.all(lists)).entries()) {
      const rows = answer.json() as Diary[]
      expect(answer.headers['x-total-count']).toBe('30')
      expect(rows.map(({ owner }) => owner)).toEqual(Array(30).fill(asked[n]))
      expect(rows.map(({ id }) => id).sort((a, b) => a - b)).toEqual(mine(asked[n] ?? ''))
    }
    for (const [n, answer] of (await Promise.all(queries)).entries()) {
      const rows = mine(asked[n] ?? '').map((id) => ({ id: String(id), owner: asked[n] }))
      expect(answer.json()).toEqual({ data: { diaries: rows } })
    }
    for (const answer of await Promise.all(pages)) {
      const rows = Array.from({ length: 20 }, (_, n) => ({ id: n + 1, text: `page ${n + 1}` }))
      expect(answer.json()).toEqual(rows)
      expect(answer.headers['x-total-count']).toBe('90')
      expect(answer.headers['etag']).toMatch(/^"[\w-]{27}"$/)
    }
  })
})
