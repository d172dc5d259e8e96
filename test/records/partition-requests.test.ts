/** A partitioned record behind routes, GraphQL and live queries, and the partitions of its table over time. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  connect,
  Controller,
  Database,
  Module,
  type Application,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { inspect } from 'node:util'
import { silentLog } from '../silent-log.js'
import { readSql, runSql } from './run-sql.js'
import { LogEvent, LogNote, LogReading, noonOf, partitioned } from './partitioned-log.js'

@Controller('/events', { crud: LogEvent })
class Events {}

@Controller('/readings', { crud: LogReading })
class Readings {}

@Module({ controllers: [Events, Readings], records: [LogEvent, LogNote, LogReading] })
class Shop {}

const engines = await startBothEngines()

describe.each(engines)('requests for a partitioned record on %s', (name, open) => {
  let app: Application
  const lines: string[] = []

  beforeAll(async () => {
    const error = (details: unknown, message?: string): void => {
      lines.push(`${message ?? ''} ${inspect(details)}`)
    }
    app = await bootstrap(Shop, {
      listen: false,
      logger: { ...silentLog, error },
      database: await open(),
      env: { APP_API_KEY: 'key' },
    })
  })
  afterAll(() => app.close())

  const send = (method: string, url: string, json?: object) =>
    app.inject({ method, url, headers: { authorization: 'Bearer key' }, ...(json && { json }) })

  it('create, list by the time, change and delete', async () => {
    const created = await send('POST', '/events', { title: 'one', at: noonOf(3) })
    const { id } = created.json() as LogEvent
    expect(created.status).toBe(201)
    const range = `at.gte=${noonOf(3)}&at.lt=${noonOf(4)}`
    expect((await send('GET', `/events?${range}`)).json()).toMatchObject([{ id }])
    expect((await send('PATCH', `/events/${id}`, { title: 'uno' })).json()).toMatchObject({ id })
    expect((await send('PATCH', `/events/${id}`, { at: noonOf(5) })).json()).toMatchObject({
      errors: [{ path: 'at', code: 'readOnly' }],
    })
    const query = `{ logevents(where: { at: { gte: "${noonOf(3)}" } }) { id } logevent(id: "${id}") { title } }`
    expect((await send('POST', '/graphql', { query })).json()).toEqual({
      data: { logevents: [{ id }], logevent: { title: 'uno' } },
    })
    expect((await send('DELETE', `/events/${id}`)).status).toBe(204)
  })

  it('answer a row without a partition with 500, and log the command', async () => {
    const far = { title: 'far', at: '2090-01-01T00:00:00.000Z' }
    const { status, body } = await send('POST', '/events', far)
    if (name === 'SQLite') {
      expect(status).toBe(201)
      return
    }
    expect(status).toBe(500)
    expect(body).not.toContain('partition')
    expect(lines.join('\n')).toContain('LogEvent: the table log_event has no partition for the row')
    expect(lines.join('\n')).toContain('npx filigree partitions')
  })

  it('reach live queries and the change feed', async () => {
    const changes: unknown[] = []
    const database = app.get(Database)
    const end = database.onChange((change) => changes.push(change))
    const { id } = await database.records(LogEvent).create({ title: 'live' })
    end()
    expect(changes).toMatchObject([{ event: 'created', id }])
  })

  it('can empty the tables of tests', async () => {
    const database = app.get(Database) as unknown as { empty(): Promise<void> }
    await database.empty()
    expect(await app.get(Database).records(LogEvent).count()).toBe(0)
    expect((await send('POST', '/events', { title: 'one' })).status).toBe(201)
  })
})

describe.each(engines)('the partitions of a table on %s', (name, open) => {
  const isPartitioned = name === 'PostgreSQL'
  const at = (months: number): number => {
    const now = new Date()
    return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 2)
  }

  it('are created ahead, and detached when they are old', async () => {
    const url = await open()
    let now = at(0)
    const database = await connect(url, { records: partitioned, now: () => now })
    try {
      await database.sync()
      const { id } = await database.records(LogEvent).create({ title: 'old', at: noonOf(3) })
      now = at(26)
      const plan = await database.maintainPartitions({ ahead: 1, dryRun: true })
      const reports = await database.maintainPartitions({ ahead: 1 })
      if (!isPartitioned) {
        expect([plan, reports]).toEqual([[], []])
        return
      }
      const [events] = reports
      expect(plan[0]).toMatchObject({ created: events?.created, detached: events?.detached })
      expect(events?.created).toHaveLength(2)
      // Those of this month and the next one ended 24 months before.
      expect(events?.detached).toHaveLength(2)
      expect(events?.failed).toEqual([])
      expect(await database.records(LogEvent).find(id)).toBeNull()
      const rows = await readSql(database, `select title from ${events?.detached[0] ?? ''}`)
      expect(rows).toEqual([['old']])
      expect((await database.maintainPartitions({ ahead: 1 }))[0]).toMatchObject({
        created: [],
        detached: [],
      })
      expect(await database.differences()).toEqual([])
    } finally {
      await database.close()
    }
  })

  it('are missed at the start in production', async () => {
    const url = await open()
    const database = await connect(url, { records: partitioned })
    await database.sync()
    await database.close()
    if (!isPartitioned) return
    const client = await connect(url, { records: partitioned })
    const names = await readSql(
      client,
      "select inhrelid::regclass::text from pg_inherits where inhparent = 'log_reading'::regclass order by 1",
    )
    for (const [name] of names.slice(1)) await runSql(client, `drop table ${String(name)}`)
    await client.close()
    const lines: string[] = []
    const app = await bootstrap(Shop, {
      listen: false,
      logger: {
        ...silentLog,
        warn: (_: unknown, message?: string) => void lines.push(message ?? ''),
      },
      database: url,
      env: { APP_API_KEY: 'k'.repeat(40), NODE_ENV: 'production' },
      publicUrl: 'https://shop.test',
      auth: { keys: false },
    })
    await app.close()
    expect(lines.join('\n')).toContain('log_reading has no partition for rows from')
  })
})
