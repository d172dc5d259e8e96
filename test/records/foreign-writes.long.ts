/** Writes of another program, which triggers announce: live queries, caches and listeners see them. Source: decisions, Coexistence. */
import { createRequire } from 'node:module'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import {
  bootstrap,
  connect,
  Controller,
  Database,
  Field,
  Get,
  ManyToMany,
  Module,
  Record,
  type Application,
  type Rel,
} from '../../src/index.js'
import {
  announcedTablesOf,
  makeAnnouncements,
  readAnnouncements,
} from '../../src/records/migrations/announce-changes.js'
import { makeMigration } from '../../src/records/migrations/make-migration.js'
import { migrateDown, migrateUp } from '../../src/records/migrations/migrations.js'
import { CacheFor } from '../../src/modules/cache/cache.js'
import { subscribe } from '../graphql/event-client.js'
import { openLive } from '../live/live-client.js'
import { waitUntil } from '../wait-until.js'
import { internalsOf } from './open-database.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

interface Client {
  connect(): Promise<void>
  query(sql: string): Promise<unknown>
  end(): Promise<void>
}

const { Client } = createRequire(import.meta.url)('pg') as {
  Client: new (options: object) => Client
}

@Record
class Tag {
  @Field('id') id!: number
  @Field('string') name!: string
  @ManyToMany(() => Ticket) tickets!: Rel<Ticket[]>
}

@Record({ softDelete: true })
class Ticket {
  @Field('id') id!: number
  @Field('string') subject!: string
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
}

@Record({ key: ['orderId', 'line'] })
class OrderLine {
  @Field('string') orderId!: string
  @Field('integer') line!: number
  @Field('integer') amount!: number
}

@Record({ table: 'parcel', schema: 'depot', managed: false })
class Parcel {
  @Field('id') id!: number
  @Field('string') label!: string
}

const records = [Ticket, Tag, OrderLine, Parcel]
let calls = 0

@Controller('/tickets', { crud: Ticket })
class Tickets {}

@Controller('/cached')
class CachedController {
  static inject = [Database]
  constructor(private readonly database: Database) {}
  @Get('/tickets') @CacheFor('60s') async tickets() {
    calls++
    return await this.database.records(Ticket).list()
  }
}

@Module({ controllers: [Tickets, CachedController], records })
class App {}

/** Without the table of another program, which a file does not have. */
@Module({ controllers: [Tickets, CachedController], records: [Ticket, Tag] })
class FileApp {}

let server: PostgresServer
let folder: string
let url: string
let app: Application
let other: Client

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

beforeEach(async () => {
  calls = 0
  folder = await mkdtemp(join(tmpdir(), 'filigree-'))
  url = await server.createDatabase()
  other = new Client({ connectionString: url, application_name: 'warehouse' })
  await other.connect()
  await other.query(
    'create schema depot; create table depot.parcel (id bigserial primary key, label text not null)',
  )
  const database = await connect(url, { records })
  const options = { folder, engines: ['postgres'] }
  await makeMigration(internalsOf(database), 'first', options)
  const { tables } = internalsOf(database)
  await makeAnnouncements('install', announcedTablesOf(tables), options)
  await migrateUp(internalsOf(database), { folder })
  await database.close()
  app = await bootstrap(App, {
    ...{ database: url, graphql: false, logger: false, port: 0, host: '127.0.0.1', env: {} },
  })
})

afterEach(async () => {
  await other.end()
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

/** Collects the changes that the application hears from any process. */
async function hear(): Promise<unknown[]> {
  const heard: unknown[] = []
  await app.get(Database).onChange(
    (change) => {
      const { event, record } = change
      heard.push([event, record.name, 'id' in change ? change.id : undefined])
    },
    { everywhere: true },
  )
  return heard
}

it('gives a live query the new row of another program', async () => {
  const live = await openLive(`${app.url}/tickets?fields=id,subject`)
  expect(await live.message()).toEqual({ version: 1, data: [] })
  await other.query(`insert into ticket (subject) values ('from elsewhere')`)
  expect(await live.message()).toMatchObject({
    version: 2,
    set: [{ id: 1, subject: 'from elsewhere' }],
  })
  await other.query(`update ticket set deleted_at = now()`)
  expect(await live.message()).toMatchObject({ version: 3, gone: [1] })
  live.leave()
})

it('renews a cached response', async () => {
  const read = async () => (await fetch(`${app.url}/cached/tickets`)).json()
  await read()
  expect([await read(), calls]).toEqual([[], 1])
  await other.query(`insert into ticket (subject) values ('new')`)
  await waitUntil(async () => ((await read()) as unknown[]).length === 1)
  expect(calls).toBe(2)
})

it('names the rows of inserts, updates and deletions, and their keys', async () => {
  const heard = await hear()
  await other.query(`insert into ticket (subject) values ('a'), ('b')`)
  await other.query(`update ticket set subject = 'c' where id = 1`)
  await other.query(`update ticket set deleted_at = now() where id = 2`)
  await other.query(`update ticket set subject = 'd' where id = 7`)
  await other.query(`update ticket set id = 9 where id = 1`)
  await other.query(`delete from ticket where id = 9`)
  await other.query(`insert into order_line (order_id, line, amount) values ('a"1', 2, 5)`)
  await other.query(`insert into depot.parcel (label) values ('of another schema')`)
  await waitUntil(() => heard.length === 9)
  expect(heard).toEqual([
    ['created', 'Ticket', 1],
    ['created', 'Ticket', 2],
    ['updated', 'Ticket', 1],
    ['deleted', 'Ticket', 2],
    ['updated', 'Ticket', 9],
    ['deleted', 'Ticket', 1],
    ['deleted', 'Ticket', 9],
    ['created', 'OrderLine', '["a\\"1",2]'],
    ['created', 'Parcel', 1],
  ])
})

it('announces many rows, a truncation and links without naming rows', async () => {
  const heard = await hear()
  await other.query(`insert into ticket (subject) select 'x' from generate_series(1, 101)`)
  await waitUntil(() => heard.length === 1)
  await other.query('truncate order_line')
  await waitUntil(() => heard.length === 2)
  await other.query(`insert into tag (name) values ('t')`)
  await waitUntil(() => heard.length === 3)
  await other.query(`insert into tag_ticket (tag_id, ticket_id) values (1, 1)`)
  await waitUntil(() => heard.length === 5)
  expect(heard.slice(0, 3)).toEqual([
    ['lost', 'Ticket', undefined],
    ['lost', 'OrderLine', undefined],
    ['created', 'Tag', 1],
  ])
  expect(new Set(heard.slice(3).map(String))).toEqual(new Set(['lost,Tag,', 'lost,Ticket,']))
})

it('sends at most 101 messages for a transaction of many statements', async () => {
  const heard = await hear()
  await other.query('begin')
  for (let count = 0; count < 150; count++)
    await other.query(`insert into ticket (subject) values ('${count}')`)
  await other.query('commit')
  await waitUntil(() => heard.length === 101)
  await sleep(100)
  expect(heard).toHaveLength(101)
  expect(heard.at(-1)).toEqual(['lost', 'Ticket', undefined])
  // The next transaction counts anew.
  await other.query(`insert into ticket (subject) values ('last')`)
  await waitUntil(() => heard.length === 102)
  expect(heard.at(-1)).toEqual(['created', 'Ticket', 151])
})

it('announces the writes of a user with few privileges, who cannot use the function', async () => {
  const heard = await hear()
  const password = 'p'
  const role = `clerk_${process.pid}_${Date.now()}`
  await other.query(`create role ${role} login password '${password}'`)
  await other.query(`grant select, insert on ticket to ${role}`)
  await other.query(`grant usage on all sequences in schema public to ${role}`)
  await other.query(`create schema ${role} authorization ${role}`)
  try {
    await other.query(`set role ${role}`)
    await other.query(`insert into ticket (subject) values ('clerk')`)
    await other.query(`create table ${role}.own (id int)`)
    const forged = `create trigger forged after insert on ${role}.own for each statement
      execute function public.filigree_announce('select 1')`
    await expect(other.query(forged)).rejects.toThrow('permission denied')
  } finally {
    await other.query(`reset role; drop owned by ${role}; drop role ${role}`)
  }
  await waitUntil(() => heard.length === 1)
  expect(heard).toEqual([['created', 'Ticket', 1]])
})

it('reaches a process that polls for messages', async () => {
  const polling = await connect(`${url}?listen=poll`, { records })
  const heard: unknown[] = []
  await polling.onChange((change) => heard.push([change.event, change.record.name]), {
    everywhere: true,
  })
  await other.query(`insert into ticket (subject) values ('polled')`)
  await other.query(`begin; insert into ticket (subject) values ('never'); rollback`)
  await other.query('truncate order_line')
  await waitUntil(() => heard.length === 2)
  expect(heard).toEqual([
    ['created', 'Ticket'],
    ['lost', 'OrderLine'],
  ])
  await polling.close()
})

it('sends a subscription of GraphQL the rows of another program', async () => {
  const desk = await bootstrap(FileApp, {
    ...{ database: url, logger: false, port: 0, host: '127.0.0.1', env: {} },
  })
  const document = 'subscription { ticketChanged { event id ticket { subject } } }'
  const client = await subscribe(`${desk.url}/graphql`, document, {})
  await other.query(`insert into ticket (subject) values ('red')`)
  expect(await client.next()).toEqual({
    data: { ticketChanged: { event: 'created', id: '1', ticket: { subject: 'red' } } },
  })
  await other.query(`delete from ticket`)
  expect(await client.next()).toEqual({
    data: { ticketChanged: { event: 'deleted', id: '1', ticket: null } },
  })
  await desk.close()
})

it('says nothing of a transaction that is rolled back', async () => {
  const heard = await hear()
  await other.query(`begin; insert into ticket (subject) values ('never'); rollback`)
  await other.query(`begin; savepoint s; insert into ticket (subject) values ('never')`)
  await other.query(`rollback to s; insert into tag (name) values ('always'); commit`)
  await waitUntil(() => heard.length > 0)
  expect(heard).toEqual([['created', 'Tag', 1]])
})

it('does not announce the writes of the application twice', async () => {
  const heard = await hear()
  const second = await connect(url, { records })
  await second.records(Ticket).create({ subject: 'own' })
  await app.get(Database).records(Ticket).create({ subject: 'own too' })
  await other.query(`insert into tag (name) values ('end')`)
  await waitUntil(() => heard.some((one) => String(one).includes('Tag')))
  expect(heard).toEqual([
    ['created', 'Ticket', 1],
    ['created', 'Ticket', 2],
    ['created', 'Tag', 1],
  ])
  await second.close()
})

it('tells the state of each table, and can be undone', async () => {
  const database = internalsOf(app.get(Database))
  const states = async () => {
    const found = await readAnnouncements(database.tables, database.context)
    return Object.fromEntries(found?.map(({ table, state }) => [table, state]) ?? [])
  }
  const names = ['ticket', 'tag', 'order_line', 'depot.parcel', 'tag_ticket']
  expect(await states()).toEqual(Object.fromEntries(names.map((name) => [name, 'announced'])))
  await other.query('drop trigger filigree_truncate on tag')
  expect(await states()).toMatchObject({ ticket: 'announced', tag: 'outdated' })
  await migrateDown(database, { folder, steps: 1 })
  expect(await states()).toEqual(Object.fromEntries(names.map((name) => [name, 'not announced'])))
  expect(await database.differences()).toEqual([])
})

it('sees writes of other connections to a file of SQLite', async () => {
  const address = `sqlite:${join(folder, 'app.db')}`
  const desk = await bootstrap(FileApp, {
    ...{ database: address, graphql: false, logger: false, port: 0, host: '127.0.0.1', env: {} },
  })
  const elsewhere = await connect(address, { records: [Ticket, Tag] })
  const read = async () => (await fetch(`${desk.url}/cached/tickets`)).json()
  await read()
  expect([await read(), calls]).toEqual([[], 1])
  const live = await openLive(`${desk.url}/tickets?fields=id,subject`)
  expect(await live.message()).toEqual({ version: 1, data: [] })
  await elsewhere.records(Ticket).create({ subject: 'from elsewhere' })
  expect(await read()).toMatchObject([{ subject: 'from elsewhere' }])
  expect([await read(), calls]).toMatchObject([[{ id: 1 }], 2])
  expect(await live.message()).toMatchObject({ set: [{ id: 1, subject: 'from elsewhere' }] })
  await desk.get(Database).records(Ticket).create({ subject: 'own' })
  expect(await read()).toHaveLength(2)
  const database = internalsOf(elsewhere)
  expect(await readAnnouncements(database.tables, database.context)).toBeUndefined()
  live.leave()
  await elsewhere.close()
  await desk.close()
})
