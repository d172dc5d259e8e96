/** Batched updates of requests, over REST and GraphQL. Source: header of postgres/batching/update-queue.ts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
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
import { connect, type Database } from '../../src/index.js'
import { openEngine, StatementRecorder } from '../contracts/statement-recorder.js'
import { isBatched, isUpdate } from './batched-update-table.js'
import { countSessions, waitsForLock } from './count-sessions.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { waitUntil } from '../wait-until.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

@Record({ table: 'joined_diary', rows: (user) => ({ owner: user?.sub ?? '' }) })
class Diary {
  @Field('id') id!: number
  @Field('string', { readOnly: true }) owner!: string
  @Field('string') text!: string
}
@Controller('/diaries', { crud: Diary })
@NoAuth
class Diaries {}
@Module({ controllers: [Diaries], records: [Diary] })
class Library {}

describe('concurrent updates of many clients', () => {
  let app: Application
  let database: Database
  const people = ['ann', 'bob', 'cyd']
  const tokens = new Map<string, string>()
  const ownerOf = (id: number): string => people[id % 3] ?? ''

  beforeAll(async () => {
    const url = await server.createDatabase()
    database = await connect(url, { records: [Diary] })
    await database.sync()
    const ids = Array.from({ length: 90 }, (_, n) => n + 1)
    await database
      .records(Diary)
      .insertMany(ids.map((id) => ({ owner: ownerOf(id), text: `of ${id}` })))
    app = await bootstrap(Library, { database: url, listen: false, logger: false })
    for (const sub of people) tokens.set(sub, await app.get(Auth).getToken({ sub }))
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const send = (sub: string, request: { method: string; url: string; json: object }) =>
    app.inject({ ...request, headers: { authorization: `Bearer ${tokens.get(sub) ?? ''}` } })
  const patch = (sub: string, id: number, text: string) =>
    send(sub, { method: 'PATCH', url: `/diaries/${id}`, json: { text } })
  const mutate = (sub: string, id: number, text: string) =>
    send(sub, {
      method: 'POST',
      url: '/graphql',
      json: {
        query:
          'mutation ($id: ID!, $text: String!) { updateDiary(id: $id, input: { text: $text }) { id text } }',
        variables: { id, text },
      },
    })

  it("change only the caller's own rows, over REST and GraphQL", async () => {
    const requests = Array.from({ length: 180 }, (_, n) => ({
      sub: ownerOf(n),
      id: ((n * 7) % 95) + 1,
    }))
    for (const [name, change] of [
      ['patched', patch],
      ['mutated', mutate],
    ] as const) {
      const results = await Promise.all(
        requests.map(({ sub, id }) => change(sub, id, `${name} by ${sub}`)),
      )
      for (const [n, response] of results.entries()) {
        const { sub, id } = requests[n] as (typeof requests)[number]
        const isMine = id <= 90 && ownerOf(id) === sub
        const text = `${name} by ${sub}`
        if (name === 'patched') {
          expect(response.status).toBe(isMine ? 200 : 404)
          if (isMine) expect(response.json()).toEqual({ id, owner: sub, text })
        } else {
          const data = (response.json() as { data: { updateDiary: unknown } | null }).data
          expect(data?.updateDiary ?? null).toEqual(isMine ? { id: String(id), text } : null)
        }
      }
      const touched = new Set(
        requests.filter(({ sub, id }) => ownerOf(id) === sub).map(({ id }) => id),
      )
      const stored = await database.records(Diary).list({ limit: 100 })
      for (const { id, owner, text } of stored)
        expect(text === `${name} by ${owner}`).toBe(touched.has(id))
    }
  })
})

@Record({ table: 'joined_ledger', plural: 'ledgers' })
@NoAuth
class Ledger {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('decimal', { precision: 12, scale: 2 }) worth!: string
}
@Module({ records: [Ledger] })
class Office {}

describe('updates in one GraphQL operation', () => {
  const watch = new StatementRecorder()
  let app: Application
  let database: Database
  let url: string

  beforeAll(async () => {
    url = await server.createDatabase()
    const engine = watch.around(await openEngine(url, { log: silentLog }))
    database = await connect({
      engine: { open: () => Promise.resolve(engine) },
      records: [Ledger],
    })
    await database.sync()
    await database
      .records(Ledger)
      .insertMany(Array.from({ length: 80 }, (_, n) => ({ name: `of ${n + 1}`, worth: '1.00' })))
    await sql`alter table joined_ledger add constraint not_cursed check (name <> 'cursed')`.execute(
      database.kysely,
    )
    app = await bootstrap(Office, { database, listen: false, logger: false })
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const rename = async (changes: readonly (readonly [id: number, name: string])[]) => {
    const fields = changes.map(
      ([id, name], n) => `m${n}: updateLedger(id: ${id}, input: { name: "${name}" }) { id name }`,
    )
    const json = { query: `mutation { ${fields.join(' ')} }` }
    const response = await app.inject({ method: 'POST', url: '/graphql', json })
    return response.json() as {
      data: globalThis.Record<string, unknown>
      errors?: readonly { path: readonly string[] }[]
    }
  }
  const named = (changes: readonly (readonly [id: number, name: string])[]) =>
    Object.fromEntries(changes.map(([id, name], n) => [`m${n}`, { id: String(id), name }]))
  const four = (first: number, name: string) =>
    [0, 1, 2, 3].map((n) => [first + n, `${name} ${n}`] as const)
  const warmUp = async () => {
    await rename(four(1, 'warm'))
    await watch.settled()
    await rename(four(1, 'warm'))
    await watch.settled()
  }

  it('are one statement when they set the same fields of different rows', async () => {
    await warmUp()
    const changes = four(10, 'together').toReversed()
    let response: unknown
    const statements = await watch.during(async () => {
      response = await rename(changes)
    })
    expect(response).toEqual({ data: named(changes) })
    expect(statements.filter(isUpdate).map(isBatched)).toEqual([true])
  })

  it('return their own results next to concurrent operations', async () => {
    await warmUp()
    const lists = Array.from({ length: 12 }, (_, n) => four(n * 4 + 20, `list ${n}`))
    for (const word of ['once', 'again']) {
      const all = lists.map((list) => list.map(([id, name]) => [id, `${name} ${word}`] as const))
      const results = await Promise.all(all.map(rename))
      expect(results).toEqual(all.map((changes) => ({ data: named(changes) })))
      await watch.settled()
    }
  })

  it('run separately and in order when one of them fails', async () => {
    await warmUp()
    const cursed = await rename([
      [15, 'a'],
      [16, 'cursed'],
      [17, 'c'],
    ])
    expect(cursed.data).toEqual({
      m0: { id: '15', name: 'a' },
      m1: null,
      m2: { id: '17', name: 'c' },
    })
    expect(cursed.errors?.map(({ path }) => path)).toEqual([['m1']])
    const missing = await rename([
      [15, 'd'],
      [9999, 'e'],
      [17, 'f'],
    ])
    expect(missing.data).toMatchObject({ m0: { name: 'd' }, m1: null, m2: { name: 'f' } })
    const twice = await rename([
      [18, 'first'],
      [19, 'other'],
      [18, 'second'],
    ])
    expect(twice.data).toEqual(
      named([
        [18, 'first'],
        [19, 'other'],
        [18, 'second'],
      ]),
    )
    const stored = await database.records(Ledger).list({ where: { id: { gte: 15, lte: 18 } } })
    expect(stored.map(({ name }) => name)).toEqual(['d', 'of 16', 'f', 'second'])
  })

  const untilStatementWaits = () =>
    waitUntil(async () => (await countSessions(database, waitsForLock)) > 0)

  it('keep their order while a row is locked: no later update becomes visible first', async () => {
    await warmUp()
    const other = await connect(url, { records: [Ledger] })
    let response: ReturnType<typeof rename> | undefined
    await other.transaction(
      async (tx) => {
        const ledgers = tx.records(Ledger)
        await ledgers.find(71, { lock: true })
        response = rename([
          [70, 'before'],
          [71, 'held'],
          [72, 'behind'],
        ])
        await untilStatementWaits()
        await ledgers.update(71, { worth: '7.00' })
        expect((await other.records(Ledger).find(72))?.name).toBe('of 72')
      },
      { isolation: 'read committed' },
    )
    expect((await response)?.data).toMatchObject({ m1: { name: 'held' }, m2: { name: 'behind' } })
    expect(await database.records(Ledger).find(71)).toMatchObject({ name: 'held', worth: '7.00' })
    await other.close()
  })
})
