/**
 * What was answered 503 for its time was not done, by whichever door and repository it was written, while somebody holds the
 * rows or the whole database. Source: decisions, Records: transactions.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  GraphQL,
  HasMany,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
  type Rel,
} from 'filigree'
import { sql } from 'kysely'
import { type EngineSource, pglite } from '../../src/index.js'
import { openEngine } from '../../src/engines/engine-for-url.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

@Record({ table: 'late_desk' })
class Desk {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @HasMany(() => Note) notes?: Note[]
}

@Record({ table: 'late_note' })
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('integer') deskId!: number
  @BelongsTo(() => Desk) desk!: Rel<Desk>
}

class Wish {
  @Field('string') way!: string
}

const nested = { name: 'late', notes: { create: [{ text: 'late' }] } }

/** What a handler does with injected repositories. */
const ways: Readonly<globalThis.Record<string, (database: Database) => unknown>> = {
  create: (database) => database.records(Desk).create({ name: 'late' }),
  'create behind a read': async (database) => {
    await database.records(Desk).find(1)
    return database.records(Desk).create({ name: 'late' })
  },
  'nested create': (database) => database.records(Desk).create(nested),
  createMany: (database) => database.records(Desk).createMany([{ name: 'l1' }, { name: 'l2' }]),
  insertMany: (database) => database.records(Desk).insertMany([{ name: 'l1' }, { name: 'l2' }]),
  update: (database) => database.records(Desk).update(1, { name: 'late' }),
  updateMany: (database) => database.records(Desk).updateMany([{ id: 1, name: 'late' }]),
  updateWhere: (database) => database.records(Desk).updateWhere({ id: 1 }, { name: 'late' }),
  upsert: (database) => database.records(Desk).upsert({ id: 1, name: 'late' }, { by: 'id' }),
  delete: (database) => database.records(Desk).delete(2),
  deleteWhere: (database) => database.records(Desk).deleteWhere({ id: 2 }),
  kysely: (database) =>
    database.kysely.updateTable('late_desk').set({ name: 'late' }).where('id', '=', 1).execute(),
  'kysely.transaction': (database) =>
    database.kysely.transaction().execute(async (trx) => {
      await trx.updateTable('late_desk').set({ name: 'late' }).where('id', '=', 1).execute()
    }),
  transaction: (database) =>
    database.transaction(async (tx) => tx.records(Desk).update(1, { name: 'late' })),
  'a change behind a read': async (database) => {
    await database.records(Desk).find(1)
    return database.records(Desk).update(1, { name: 'one' })
  },
  'a stubborn one': (database) => database.records(Note).create({ text: 'late', deskId: 1 }),
  'what is left running': (database) =>
    Promise.all([
      database.records(Desk).update(1, { name: 'late' }),
      new Promise((resolve) => {
        const create = (): void => {
          database.records(Desk).create({ name: 'left' }).then(resolve, resolve)
        }
        // Behind the answer.
        setTimeout(create, 150)
      }),
    ]),
}

@Controller('/ways')
@NoAuth
class Ways {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/', { body: Wish }) async run(body: Wish) {
    await ways[body.way]?.(this.database)
    return { done: true }
  }

  @Get('/', { query: Wish }) async get(query: Wish) {
    await ways[query.way]?.(this.database)
    return { done: true }
  }

  @Get('/learned', { query: Wish }) async learned(query: Wish) {
    await ways[query.way]?.(this.database)
    return { done: true }
  }

  @Post('/transaction', { body: Wish, transaction: true }) async within(body: Wish) {
    await ways[body.way]?.(this.database)
    return { done: true }
  }
}

@Controller('/desks', { crud: Desk })
@NoAuth
class Desks {}

const graphql = new GraphQL()
graphql.schema.addQuery('ok', { type: 'Boolean', resolve: () => true }).addMutation('run', {
  type: 'Boolean',
  noAuth: true,
  args: { way: 'String' },
  resolve: async (_parent, { way }) => {
    await ways[way as string]?.(held.app.get(Database))
    return true
  },
})
graphql.schema.fromOrm(Desk).fromOrm(Note)
graphql.registerRoute('/graphql', { noAuth: true })

@Module({
  controllers: [Ways, Desks],
  records: [Desk, Note],
  graphql: [graphql],
})
class Office {}

const held: { app: Application } = { app: undefined as never }

let server: PostgresServer
const folder = mkdtempSync(join(tmpdir(), 'filigree-late-'))
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Whose statements may take longer than handlers, so that nothing else ends them in time. */
const slow = (url: string): EngineSource => ({
  open: (options) => openEngine(url, { ...options, statementTimeout: 30_000 }),
})

const engines: readonly (readonly [string, () => Promise<EngineSource>])[] = [
  ['SQLite in a file', () => Promise.resolve(slow(`sqlite:${join(folder, 'late.db')}`))],
  ['SQLite in memory', () => Promise.resolve(slow('sqlite::memory:'))],
  ['PostgreSQL', async () => slow(await server.createDatabase())],
  ['PGlite', () => Promise.resolve(pglite())],
]

interface Ask {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly url: string
  readonly body?: unknown
}

const mutation = (text: string): Ask => ({
  method: 'POST',
  url: '/graphql',
  body: { query: `mutation { ${text} }` },
})

const isLate = (way: string): boolean =>
  way !== 'a stubborn one' && way !== 'a change behind a read'

const doors: readonly (readonly [string, Ask])[] = [
  ...Object.keys(ways)
    .filter(isLate)
    .map((way): [string, Ask] => [
      `a handler's ${way}`,
      { method: 'POST', url: '/ways', body: { way } },
    ]),
  ...Object.keys(ways)
    .filter(isLate)
    .map((way): [string, Ask] => [`a GET's ${way}`, { method: 'GET', url: `/ways?way=${way}` }]),
  ...Object.keys(ways)
    .filter(isLate)
    .map((way): [string, Ask] => [
      `a GET's ${way}, behind many that changed nothing and one that did`,
      { method: 'GET', url: `/ways/learned?way=${way}` },
    ]),
  ["a route's transaction", { method: 'POST', url: '/ways/transaction', body: { way: 'update' } }],
  ['a created row', { method: 'POST', url: '/desks', body: { name: 'late' } }],
  ['a changed row', { method: 'PATCH', url: '/desks/1', body: { name: 'late' } }],
  ['a replaced row', { method: 'PUT', url: '/desks/1', body: { name: 'late' } }],
  ['a deleted row', { method: 'DELETE', url: '/desks/2' }],
  ['a created record', mutation('createDesk(input: { name: "late" }) { id }')],
  [
    'a created record with others',
    mutation('createDesk(input: { name: "late", notes: { create: [{ text: "late" }] } }) { id }'),
  ],
  ['a changed record', mutation('updateDesk(id: 1, input: { name: "late" }) { id }')],
  ['a deleted record', mutation('deleteDesk(id: 2)')],
  ['a resolver', mutation('run(way: "create behind a read")')],
  [
    'several in a line',
    mutation(
      'a: updateDesk(id: 1, input: { name: "l1" }) { id } b: updateDesk(id: 2, input: { name: "l2" }) { id }',
    ),
  ],
]

async function start(database: EngineSource): Promise<Application> {
  const times = { handler: 80 }
  const place = { port: 0, host: '127.0.0.1', logger: false } as const
  return (held.app = await bootstrap(Office, { ...place, database, times }))
}

async function ask(app: Application, { method, url, body }: Ask): Promise<number> {
  const answer = await fetch(new URL(url, app.url), {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  await answer.text()
  return answer.status
}

describe.each(engines)('%s: what is late', (name, open) => {
  let app: Application
  let database: Database

  beforeAll(async () => {
    app = await start(await open())
    database = app.get(Database)
    await database.sync()
    await database.records(Desk).insertMany([{ name: 'one' }, { name: 'two' }])
    const learn = (way: string): Promise<number> =>
      ask(app, { method: 'GET', url: `/ways/learned?way=${way}` })
    for (let count = 0; count < 20; count++) await learn('nothing')
    // On a slow machine it may be late.
    while ((await learn('a change behind a read')) !== 200)
      await new Promise((resolve) => setImmediate(resolve))
  })
  afterAll(() => app.close())

  /** Nobody else writes meanwhile. */
  const holding = (work: () => Promise<void>): Promise<void> =>
    database.transaction(async (tx) => {
      if (name === 'PostgreSQL')
        await sql`lock table late_desk in share row exclusive mode`.execute(tx.kysely)
      else await tx.records(Desk).updateWhere({ id: 1 }, { name: 'one' })
      await work()
    })

  const names = async (): Promise<string[]> => {
    const desks = await database.records(Desk).list({ orderBy: { id: 'asc' } })
    return desks.map((desk) => desk.name)
  }

  it.each(doors)('%s is not done', async (_door, request) => {
    await holding(async () => {
      // A route's transaction gives up in time to say so where there is one writer.
      expect([409, 503]).toContain(await ask(app, request))
    })
    // Whatever waited goes before this one, or never.
    await database.records(Note).count()
    await database.transaction((tx) => tx.records(Desk).updateWhere({ id: 1 }, { name: 'one' }))
    expect(await names()).toEqual(['one', 'two'])
  })
})

describe('PostgreSQL: what is late beside others', () => {
  let app: Application
  let database: Database
  const rows = Array.from({ length: 60 }, (_, n) => n + 1)

  beforeAll(async () => {
    app = await start(slow(await server.createDatabase()))
    database = app.get(Database)
    await database.sync()
    await database.records(Desk).insertMany(rows.map((n) => ({ name: `desk ${n}` })))
    // Learns how its statements go together.
    const learn = (id: number): Promise<number> =>
      ask(app, { method: 'PATCH', url: `/desks/${id}`, body: { name: `desk ${id}` } })
    await Promise.all(rows.map(learn))
  })
  afterAll(() => app.close())

  it('does not fail the changes that it goes together with', async () => {
    const change = (id: number): Promise<number> =>
      ask(app, { method: 'PATCH', url: `/desks/${id}`, body: { name: `changed ${id}` } })
    await database.transaction(async (tx) => {
      await tx.records(Desk).update(7, { name: 'held' })
      const statuses = await Promise.all([...rows, 7, 7].map(change))
      const isSeven = (place: number): boolean => place === 6 || place >= rows.length
      for (const [place, status] of statuses.entries()) if (isSeven(place)) expect(status).toBe(503)
      // On a slow machine some of the others may be late too; none of them fails otherwise.
      for (const status of statuses) expect([200, 503]).toContain(status)
    })
    expect(await database.records(Desk).find(7)).toMatchObject({ name: 'held' })
  })

  it('does not fail the new rows that it goes together with', async () => {
    const create = (n: number): Promise<number> =>
      ask(app, { method: 'POST', url: '/desks', body: { name: `new ${n}` } })
    await database.transaction(async (tx) => {
      const { id } = await tx.records(Desk).create({ name: 'new 7' })
      const statuses = await Promise.all([...rows, 7].map(create))
      expect([statuses[6], statuses.at(-1)]).toEqual([503, 503])
      for (const status of statuses) expect([201, 503]).toContain(status)
      await tx.records(Desk).delete(id)
    })
    expect(await database.records(Desk).count({ name: 'new 7' })).toBe(0)
  })

  it('answers what was done before it could be cancelled', async () => {
    await sql`create function late_stay() returns trigger language plpgsql as $$ begin
      begin perform pg_sleep(20); exception when query_canceled then null; end;
      return new; end $$`.execute(database.kysely)
    await sql`create trigger late_stay before insert on late_note
      for each row execute function late_stay()`.execute(database.kysely)
    const way = 'a stubborn one'
    expect(await ask(app, { method: 'POST', url: '/ways', body: { way } })).toBe(200)
    expect(await database.records(Note).count()).toBe(1)
  })
})
