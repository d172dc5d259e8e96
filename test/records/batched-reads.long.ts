/** Batching of concurrent short reads, on PostgreSQL and PGlite. Source: header of postgres/batching/batch-calls.ts. */
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
import { openEngine } from '../contracts/statement-recorder.js'
import { describeSharedReads } from '../contracts/shared-reads.contract.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

describeSharedReads('PostgreSQL', async () =>
  openEngine(await server.createDatabase(), { log: silentLog }),
)
describeSharedReads('PGlite', async () => pglite().open({ log: silentLog }))

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

describe('batched reads of many clients', () => {
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

  const sendAs = async (sub: string, url: string, query?: string) => {
    const headers = { authorization: `Bearer ${tokens.get(sub) ?? ''}` }
    if (query === undefined) return app.inject({ method: 'GET', url, headers })
    return app.inject({ method: 'POST', url, headers, json: { query } })
  }

  it("return only the caller's own rows, over REST and GraphQL", async () => {
    const requests = Array.from({ length: 180 }, (_, n) => ({
      sub: people[n % 3] ?? '',
      id: ((n * 7) % 95) + 1,
    }))
    const rest = requests.map(({ sub, id }) => sendAs(sub, `/diaries/${id}`))
    const graphql = requests.map(({ sub, id }) =>
      sendAs(sub, '/graphql', `{ diary(id: ${id}) { id owner text } page(id: ${id}) { text } }`),
    )
    const canSee = ({ sub, id }: { sub: string; id: number }): boolean =>
      id <= 90 && people[id % 3] === sub
    for (const [n, response] of (await Promise.all(rest)).entries()) {
      const { sub, id } = requests[n] as (typeof requests)[number]
      expect(response.status).toBe(canSee({ sub, id }) ? 200 : 404)
      if (canSee({ sub, id })) expect(response.json()).toEqual({ id, owner: sub, text: `of ${id}` })
    }
    for (const [n, response] of (await Promise.all(graphql)).entries()) {
      const { sub, id } = requests[n] as (typeof requests)[number]
      expect(response.json()).toEqual({
        data: {
          diary: canSee({ sub, id }) ? { id: String(id), owner: sub, text: `of ${id}` } : null,
          page: id <= 90 ? { text: `page ${id}` } : null,
        },
      })
    }
  })

  it("list only the caller's own rows when all send the same query, over REST and GraphQL", async () => {
    const requests = Array.from({ length: 90 }, (_, n) => people[n % 3] ?? '')
    const lists = requests.map((sub) => sendAs(sub, '/diaries?limit=50&orderBy=-text'))
    const queries = requests.map((sub) =>
      sendAs(sub, '/graphql', '{ diaries(limit: 50) { id owner } }'),
    )
    const pages = requests.map((sub) => sendAs(sub, '/pages?limit=20'))
    const idsOf = (sub: string): number[] =>
      Array.from({ length: 90 }, (_, n) => n + 1).filter((id) => people[id % 3] === sub)
    for (const [n, response] of (await Promise.all(lists)).entries()) {
      const rows = response.json() as Diary[]
      expect(response.headers['x-total-count']).toBe('30')
      expect(rows.map(({ owner }) => owner)).toEqual(Array(30).fill(requests[n]))
      expect(rows.map(({ id }) => id).sort((a, b) => a - b)).toEqual(idsOf(requests[n] ?? ''))
    }
    for (const [n, response] of (await Promise.all(queries)).entries()) {
      const rows = idsOf(requests[n] ?? '').map((id) => ({ id: String(id), owner: requests[n] }))
      expect(response.json()).toEqual({ data: { diaries: rows } })
    }
    for (const response of await Promise.all(pages)) {
      const rows = Array.from({ length: 20 }, (_, n) => ({ id: n + 1, text: `page ${n + 1}` }))
      expect(response.json()).toEqual(rows)
      expect(response.headers['x-total-count']).toBe('90')
      expect(response.headers['etag']).toMatch(/^"[\w-]{27}"$/)
    }
  })
})
