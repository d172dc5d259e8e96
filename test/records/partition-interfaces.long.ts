/** A partitioned record behind each interface on PostgreSQL, next to changes of its partitions. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import {
  bootstrap,
  connect,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
  type Generated,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { idempotent } from 'filigree/idempotent'
import { copyDatabase } from '../../src/records/copy/copy-database.js'
import { makeMigration } from '../../src/records/migrations/make-migration.js'
import {
  announcedTablesOf,
  makeAnnouncements,
} from '../../src/records/migrations/announce-changes.js'
import { migrateUp } from '../../src/records/migrations/migrations.js'
import { openLive } from '../live/live-client.js'
import { silentLog } from '../silent-log.js'
import { waitUntil } from '../wait-until.js'
import { internalsOf } from './open-database.js'
import { LogEvent, LogNote, noonOf, partitioned } from './partitioned-log.js'
import { Client, startPostgres, type PostgresServer } from './postgres-server.js'

@Controller('/events', { crud: LogEvent })
class Events {}

@Controller('/notes', { crud: LogNote })
class Notes {}

@Record({ partitionBy: { field: 'at', every: 'month' }, writes: 'admin' })
@Admin({ history: true, list: ['title', 'at'] })
class Visit {
  @Field('id', { key: 'uuid' }) id!: Generated<string>
  @Field('datetime', { default: 'now' }) at!: Generated<string>
  @Field('string') title!: string
}

class Credentials {
  @Field('string') name!: string
}

@Controller('/login')
class Login {
  @Post('/', { body: Credentials }) @NoAuth signIn(): object {
    return {}
  }
}

const records = [...partitioned, Visit]

@Module({
  controllers: [Events, Notes, Login],
  records,
  imports: [
    idempotent(),
    admin({ path: '/admin', roles: 'admin', records: [Visit], login: { path: '/login' } }),
  ],
})
class Shop {}

let server: PostgresServer
let url: string
let folder: string
let app: Application
const lines: string[] = []

beforeAll(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  folder = await mkdtemp(join(tmpdir(), 'filigree-'))
  const database = await connect(url, { records })
  const options = { folder, engines: ['postgres'] }
  await makeMigration(internalsOf(database), 'first', options)
  await makeAnnouncements('install', announcedTablesOf(internalsOf(database).tables), options)
  await migrateUp(internalsOf(database), { folder })
  await database.close()
  const error = (details: unknown, message?: string): void => {
    lines.push(`${message ?? ''} ${inspect(details)}`)
  }
  app = await bootstrap(Shop, {
    ...{ database: url, port: 0, host: '127.0.0.1', env: { APP_API_KEY: 'key' } },
    logger: { ...silentLog, error },
  })
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true, force: true })
  await server.close()
})

const send = (method: string, path: string, json?: object) =>
  app.inject({ method, url: path, headers: { authorization: 'Bearer key' }, ...(json && { json }) })

async function runElsewhere(sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

const far = { title: 'far', at: '2090-01-01T00:00:00.000Z' }

it.each([
  ['POST', () => send('POST', '/events', far)],
  [
    'GraphQL',
    () =>
      send('POST', '/graphql', {
        query: `mutation { createLogEvent(input: { title: "far", at: "${far.at}" }) { id } }`,
      }),
  ],
])('logs a row without a partition as an error of the server, by %s', async (name, call) => {
  lines.length = 0
  const { status, body } = await call()
  expect([name, status]).toEqual(name === 'GraphQL' ? ['GraphQL', 200] : [name, 500])
  expect(body).toContain('INTERNAL')
  expect(lines.join('\n')).toContain('npx filigree partitions')
})

it('names the missing partition to a program, by insertMany', async () => {
  const events = app.get(Database).records(LogEvent)
  await expect(events.insertMany([far, far])).rejects.toThrow('has no partition for the row')
  expect(await events.count({ title: 'far' })).toBe(0)
})

it('shows live queries the writes of another program', async () => {
  const live = await openLive(`${app.url}/events?fields=id,title&title=foreign`)
  expect(await live.message()).toMatchObject({ version: 1, data: [] })
  const heard: unknown[] = []
  await app.get(Database).onChange(({ event }) => heard.push(event), { everywhere: true })
  const time = Date.parse(noonOf(9)).toString(16).padStart(12, '0')
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000009`
  await runElsewhere(
    `insert into log_event (id, at, title) values ('${id}', '${noonOf(9)}', 'foreign')`,
  )
  expect(await live.message()).toMatchObject({ version: 2, set: [{ id, title: 'foreign' }] })
  await runElsewhere(`delete from log_event where id = '${id}'`)
  expect(await live.message()).toMatchObject({ version: 3, gone: [id] })
  await waitUntil(() => heard.length === 2)
  expect(heard).toEqual(['created', 'deleted'])
  live.leave()
})

it('answers an idempotent write once', async () => {
  const create = () =>
    app.inject({
      method: 'POST',
      url: '/events',
      headers: { authorization: 'Bearer key', 'idempotency-key': 'partition-1' },
      json: { title: 'once' },
    })
  const [first, second] = [await create(), await create()]
  expect([first.status, second.body]).toEqual([201, first.body])
  expect(await app.get(Database).records(LogEvent).count({ title: 'once' })).toBe(1)
})

it('changes and deletes by a filter, and keeps its references', async () => {
  const events = app.get(Database).records(LogEvent)
  const notes = app.get(Database).records(LogNote)
  const [one, other] = await events.createMany([
    { title: 'group', at: noonOf(2) },
    { title: 'group', at: noonOf(2, 1) },
  ])
  await notes.create({ text: 'kept', logEventId: one?.id ?? '' })
  const missing = await send('POST', '/notes', {
    text: 'lost',
    logEventId: '00000000-0000-7000-8000-000000000000',
  })
  expect(missing.json()).toMatchObject({ errors: [{ path: 'logEventId' }] })
  expect(await events.updateWhere({ title: 'group' }, { title: 'regrouped' })).toBe(2)
  expect(await events.deleteWhere({ title: 'regrouped', at: noonOf(2) })).toBe(1)
  expect(await notes.count()).toBe(0)
  expect(await events.find(other?.id ?? '')).toMatchObject({ title: 'regrouped' })
})

it('updates by a key that exists, and creates otherwise', async () => {
  const events = app.get(Database).records(LogEvent)
  const { id } = await events.create({ title: 'first', at: noonOf(4) })
  expect(await events.upsert({ id, title: 'second' }, { by: 'id' })).toMatchObject({ id })
  expect(await events.list({ where: { id } })).toMatchObject([{ title: 'second' }])
})

it('has its rows and their history on the admin page', async () => {
  const desk = async (method: string, path: string, json?: object) => {
    const { status, body } = await send(method, `/admin/api/${path}`, json)
    return { status, body: JSON.parse(body) as { rows?: object[]; id?: string } }
  }
  const { status, body } = await desk('POST', 'rows/visits', { title: 'one', at: noonOf(6) })
  expect([status, body]).toEqual([201, expect.objectContaining({ title: 'one' })])
  const id = String(body.id)
  expect((await desk('PATCH', `rows/visits/${id}`, { title: 'two' })).status).toBe(200)
  expect((await desk('GET', 'rows/visits')).body).toMatchObject([{ id, title: 'two' }])
  const { rows = [] } = (await desk('GET', 'history/visits')).body
  expect(rows).toMatchObject([
    { kind: 'update', row: id, changes: [{ field: 'title', from: 'one', to: 'two' }] },
    { kind: 'create', row: id },
  ])
})

it('is copied from SQLite, and back', async () => {
  const addresses = [
    `sqlite:${join(folder, 'from.db')}`,
    await server.createDatabase(),
    `sqlite:${join(folder, 'back.db')}`,
  ]
  const databases = await Promise.all(addresses.map((one) => connect(one, { records })))
  try {
    for (const database of databases) await database.sync()
    const [source, target, back] = databases.map(internalsOf)
    if (source === undefined || target === undefined || back === undefined) throw new Error()
    const rows = Array.from({ length: 300 }, (_, index) => ({
      title: `${index}`,
      at: noonOf(1 + (index % 28)),
    }))
    await source.records(LogEvent).insertMany(rows)
    for (const [from, to] of [
      [source, target],
      [target, back],
    ] as const) {
      const { tables } = await copyDatabase({ source: from, target: to })
      expect(tables.filter(({ isEqual }) => !isEqual)).toEqual([])
    }
    expect(await target.records(LogEvent).count()).toBe(300)
    expect(await back.records(LogEvent).count()).toBe(300)
  } finally {
    for (const database of databases) await database.close()
  }
})

it('lets two processes create partitions at once', async () => {
  const now = () => Date.parse(noonOf(1, 8))
  const processes = await Promise.all([1, 2].map(() => connect(url, { records: partitioned, now })))
  try {
    const reports = await Promise.all(
      processes.map((database) => database.maintainPartitions({ detach: false })),
    )
    expect(reports.flat().flatMap(({ failed }) => failed)).toEqual([])
    const created = reports.flat().flatMap((report) => report.created)
    expect(new Set(created).size).toBe(created.length)
    expect(created.length).toBeGreaterThan(4)
  } finally {
    for (const database of processes) await database.close()
  }
})

it('detaches partitions while requests read them', async () => {
  const old = await app
    .get(Database)
    .records(LogEvent)
    .create({ title: 'old', at: noonOf(3) })
  const database = await connect(url, {
    records: partitioned,
    now: () => Date.parse(noonOf(1, 26)),
  })
  let isOver = false
  const read = async (): Promise<number[]> => {
    const statuses: number[] = []
    do {
      statuses.push((await send('GET', `/events/${old.id}`)).status)
      statuses.push((await send('GET', '/events?limit=5')).status)
    } while (!isOver)
    return statuses
  }
  const readers = Promise.all(Array.from({ length: 8 }, read))
  const [report] = await database.maintainPartitions().finally(() => (isOver = true))
  const statuses = new Set((await readers).flat())
  await database.close()
  expect(report?.failed).toEqual([])
  expect(report?.detached).toContain(`log_event_${noonOf(3).slice(0, 7).replace('-', '_')}`)
  expect([...statuses].filter((status) => status !== 200 && status !== 404)).toEqual([])
  expect((await send('GET', `/events/${old.id}`)).status).toBe(404)
})
