/**
 * A write that responds with 503 after its timeout is never stored, through every interface and method, while another transaction
 * locks the rows or the whole database. Source: decisions, Records: transactions.
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
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { waitUntil } from '../wait-until.js'
import { withStatementTimeout } from './open-database.js'

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

class WayInput {
  @Field('string') way!: string
}

const nested = { name: 'late', notes: { create: [{ text: 'late' }] } }

/** Resolves when the test has received the response, so that a handler can continue afterwards. */
let responded = Promise.resolve()
/** The write of a handler after the response. */
let lateWrite: Promise<unknown> = Promise.resolve()

/** Writes of a handler. */
const ways: Readonly<globalThis.Record<string, (database: Database) => unknown>> = {
  create: (database) => database.records(Desk).create({ name: 'late' }),
  'create after a read': async (database) => {
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
  'an update after a read': async (database) => {
    await database.records(Desk).find(1)
    return database.records(Desk).update(1, { name: 'one' })
  },
  'an uncancellable write': (database) =>
    database.records(Note).create({ text: 'late', deskId: 1 }),
  'a write that continues after the response': (database) => {
    lateWrite = responded
      .then(() => database.records(Desk).create({ name: 'left' }))
      .catch(() => undefined)
    return Promise.all([database.records(Desk).update(1, { name: 'late' }), lateWrite])
  },
}

@Controller('/ways')
@NoAuth
class Ways {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/', { body: WayInput }) async run(body: WayInput) {
    await ways[body.way]?.(this.database)
    return { done: true }
  }

  @Get('/', { query: WayInput }) async get(query: WayInput) {
    await ways[query.way]?.(this.database)
    return { done: true }
  }

  @Get('/learned', { query: WayInput }) async learned(query: WayInput) {
    await ways[query.way]?.(this.database)
    return { done: true }
  }

  @Post('/transaction', { body: WayInput, transaction: true }) async inTransaction(body: WayInput) {
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
    await ways[way as string]?.(current.app.get(Database))
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

const current: { app: Application } = { app: undefined as never }

let server: PostgresServer
const folder = mkdtempSync(join(tmpdir(), 'filigree-late-'))
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A database whose statements may run longer than handlers, so that no statement timeout ends them first. */
const withLongStatementTimeout = (url: string): EngineSource => withStatementTimeout(url, 30_000)

const engines: readonly (readonly [string, () => Promise<EngineSource>])[] = [
  [
    'SQLite in a file',
    () => Promise.resolve(withLongStatementTimeout(`sqlite:${join(folder, 'late.db')}`)),
  ],
  ['SQLite in memory', () => Promise.resolve(withLongStatementTimeout('sqlite::memory:'))],
  ['PostgreSQL', async () => withLongStatementTimeout(await server.createDatabase())],
  ['PGlite', () => Promise.resolve(pglite())],
]

interface RequestOptions {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly url: string
  readonly body?: unknown
}

const mutation = (text: string): RequestOptions => ({
  method: 'POST',
  url: '/graphql',
  body: { query: `mutation { ${text} }` },
})

const timesOut = (way: string): boolean =>
  way !== 'an uncancellable write' && way !== 'an update after a read'

const requests: readonly (readonly [string, RequestOptions])[] = [
  ...Object.keys(ways)
    .filter(timesOut)
    .map((way): [string, RequestOptions] => [
      `a handler's ${way}`,
      { method: 'POST', url: '/ways', body: { way } },
    ]),
  ...Object.keys(ways)
    .filter(timesOut)
    .map((way): [string, RequestOptions] => [
      `a GET's ${way}`,
      { method: 'GET', url: `/ways?way=${way}` },
    ]),
  ...Object.keys(ways)
    .filter(timesOut)
    .map((way): [string, RequestOptions] => [
      `a GET's ${way}, after many reads and one write of the same route`,
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
  ['a resolver', mutation('run(way: "create after a read")')],
  [
    'two mutations in one operation',
    mutation(
      'a: updateDesk(id: 1, input: { name: "l1" }) { id } b: updateDesk(id: 2, input: { name: "l2" }) { id }',
    ),
  ],
]

async function start(database: EngineSource): Promise<Application> {
  const times = { handler: 80 }
  const address = { port: 0, host: '127.0.0.1', logger: false } as const
  return (current.app = await bootstrap(Office, { ...address, database, times }))
}

async function send(app: Application, { method, url, body }: RequestOptions): Promise<number> {
  const response = await fetch(new URL(url, app.url), {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  await response.text()
  return response.status
}

describe.each(engines)('%s: writes after the timeout', (name, open) => {
  let app: Application
  let database: Database

  beforeAll(async () => {
    app = await start(await open())
    database = app.get(Database)
    await database.sync()
    await database.records(Desk).insertMany([{ name: 'one' }, { name: 'two' }])
    const learn = (way: string): Promise<number> =>
      send(app, { method: 'GET', url: `/ways/learned?way=${way}` })
    for (let count = 0; count < 20; count++) await learn('nothing')
    // On a slow machine it may exceed the timeout. Then try again.
    await waitUntil(async () => (await learn('an update after a read')) === 200)
  })
  afterAll(() => app.close())

  /** Runs `work` while a transaction blocks every other write. */
  const whileLocked = (work: () => Promise<void>): Promise<void> =>
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

  it.each(requests)('%s is not stored', async (_name, request) => {
    let markResponded = (): void => undefined
    responded = new Promise((resolve) => (markResponded = resolve))
    await whileLocked(async () => {
      // With a single writer, a route's transaction may give up before the timeout with 409.
      expect([409, 503]).toContain(await send(app, request))
      markResponded()
    })
    await lateWrite
    // Every waiting write runs before this one, or never.
    await database.records(Note).count()
    await database.transaction((tx) => tx.records(Desk).updateWhere({ id: 1 }, { name: 'one' }))
    expect(await names()).toEqual(['one', 'two'])
  })
})

describe('PostgreSQL: writes that exceed the timeout in a batch', () => {
  let app: Application
  let database: Database
  const rows = Array.from({ length: 60 }, (_, n) => n + 1)

  beforeAll(async () => {
    app = await start(withLongStatementTimeout(await server.createDatabase()))
    database = app.get(Database)
    await database.sync()
    await database.records(Desk).insertMany(rows.map((n) => ({ name: `desk ${n}` })))
    // Teaches the engine the parameter types, so that it batches the statement.
    const learn = (id: number): Promise<number> =>
      send(app, { method: 'PATCH', url: `/desks/${id}`, body: { name: `desk ${id}` } })
    await Promise.all(rows.map(learn))
  })
  afterAll(() => app.close())

  it('do not fail the updates in the same batch', async () => {
    const change = (id: number): Promise<number> =>
      send(app, { method: 'PATCH', url: `/desks/${id}`, body: { name: `changed ${id}` } })
    await database.transaction(async (tx) => {
      await tx.records(Desk).update(7, { name: 'held' })
      const statuses = await Promise.all([...rows, 7, 7].map(change))
      const isSeven = (index: number): boolean => index === 6 || index >= rows.length
      for (const [index, status] of statuses.entries()) if (isSeven(index)) expect(status).toBe(503)
      // On a slow machine other updates may exceed the timeout too. None of them may fail in another way.
      for (const status of statuses) expect([200, 503]).toContain(status)
    })
    expect(await database.records(Desk).find(7)).toMatchObject({ name: 'held' })
  })

  it('do not fail the creates in the same batch', async () => {
    const create = (n: number): Promise<number> =>
      send(app, { method: 'POST', url: '/desks', body: { name: `new ${n}` } })
    await database.transaction(async (tx) => {
      const { id } = await tx.records(Desk).create({ name: 'new 7' })
      const statuses = await Promise.all([...rows, 7].map(create))
      expect([statuses[6], statuses.at(-1)]).toEqual([503, 503])
      for (const status of statuses) expect([201, 503]).toContain(status)
      await tx.records(Desk).delete(id)
    })
    expect(await database.records(Desk).count({ name: 'new 7' })).toBe(0)
  })

  it('respond normally if the write finished before it could be cancelled', async () => {
    await sql`create function late_stay() returns trigger language plpgsql as $$ begin
      begin perform pg_sleep(20); exception when query_canceled then null; end;
      return new; end $$`.execute(database.kysely)
    await sql`create trigger late_stay before insert on late_note
      for each row execute function late_stay()`.execute(database.kysely)
    const way = 'an uncancellable write'
    expect(await send(app, { method: 'POST', url: '/ways', body: { way } })).toBe(200)
    expect(await database.records(Note).count()).toBe(1)
  })
})
