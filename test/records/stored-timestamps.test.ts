/** Timestamps that another program stored in SQLite in a form of its own count as the same moments. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Record as Table,
  type Application,
} from '../../src/index.js'
import { readSql, runSql } from './run-sql.js'

@NoAuth
@Table({ plural: 'visits', indexes: [{ fields: ['place', '-at'] }] })
class Visit {
  @Field('id') id!: number
  @Field('string') place!: string
  @Field('datetime', { index: true }) at!: string
  @Field('datetime', { unique: true, optional: true, nullable: true }) once?: string | null
}

@Controller('/visits', { crud: Visit })
class VisitController {}

@Module({ controllers: [VisitController], records: [Visit] })
class VisitModule {}

/** The stored texts, in the order of time, with the form in which they are read. */
const moments: readonly (readonly [stored: string, read: string])[] = [
  ['2026-11-19', '2026-11-19T00:00:00.000Z'],
  ['2026-11-20T10:00:00+02:00', '2026-11-20T08:00:00.000Z'],
  ['2026-11-20 10:00:00', '2026-11-20T10:00:00.000Z'],
  ['2026-11-20T10:00:00.123Z', '2026-11-20T10:00:00.123Z'],
  ['2026-11-20T10:00:00.123999Z', '2026-11-20T10:00:00.123Z'],
  ['2026-11-20T10:00:00.5Z', '2026-11-20T10:00:00.500Z'],
  ['2026-11-20T10:00:01Z', '2026-11-20T10:00:01.000Z'],
  ['2026-11-20 10:00:01.000001', '2026-11-20T10:00:01.000Z'],
  ['2026-11-20T10:00:59.999999Z', '2026-11-20T10:00:59.999Z'],
  ['2026-11-20 08:31:00.25-02:30', '2026-11-20T11:01:00.250Z'],
]
const times = moments.map(([, read]) => read)

describe('stored forms of timestamps on SQLite', () => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    app = await bootstrap(VisitModule, { port: 0, logger: false, database: 'sqlite::memory:' })
    database = app.get(Database)
    for (const [stored] of [...moments].reverse())
      await runSql(database, `insert into visit (place, at) values ('a', '${stored}')`)
  })
  afterAll(() => app.close())
  const visits = () => database.records(Visit)
  const graphql = async (query: string) => {
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    return (response.json() as { data: { [name: string]: unknown } }).data
  }

  it.each(['asc', 'desc'] as const)('give pages by cursor without gaps, %s', async (direction) => {
    const expected = direction === 'asc' ? times : [...times].reverse()
    const orderBy = { at: direction }
    const found: string[] = []
    const ids = new Set<number>()
    let after: string | undefined
    for (;;) {
      const page = await visits().list({ orderBy, limit: 3, ...(after !== undefined && { after }) })
      const last = page.at(-1)
      if (last === undefined) break
      for (const { id, at } of page) {
        ids.add(id)
        found.push(at)
      }
      after = visits().cursorOf(last, orderBy)
    }
    expect(found).toEqual(expected)
    expect(ids.size).toBe(times.length)
  })

  it('give pages of REST and GraphQL without gaps', async () => {
    const found: string[] = []
    let url: string | undefined = '/visits?orderBy=at&limit=3'
    while (url !== undefined) {
      const page = await app.inject({ url })
      found.push(...(page.json() as Visit[]).map(({ at }) => at))
      url = /<([^>]+)>; rel="next"/
        .exec(String(page.headers.link))?.[1]
        ?.replace(/^https?:\/\/[^/]+/, '')
    }
    expect(found).toEqual(times)
    expect(await graphql('{ visits(orderBy: [{ at: desc }]) { at } }')).toEqual({
      visits: [...times].reverse().map((at) => ({ at })),
    })
  })

  it('are found by every comparison', async () => {
    for (const [index, at] of times.entries()) {
      const count = (where: object) => visits().count({ at: where })
      const same = times.filter((time) => time === at).length
      const first = times.indexOf(at)
      expect(await count({ eq: at })).toBe(same)
      expect(await count({ in: [at] })).toBe(same)
      expect(await count({ lt: at })).toBe(first)
      expect(await count({ gte: at })).toBe(times.length - first)
      expect(await count({ between: [at, at] })).toBe(same)
      expect(await count({ ne: at })).toBe(times.length - same)
      expect(index).toBeGreaterThanOrEqual(first)
    }
  })

  it('are grouped, counted and compared by aggregates', async () => {
    const groups = await visits().aggregate({ groupBy: ['at'], count: true })
    expect(groups.map(({ at }) => at)).toEqual([...new Set(times)])
    expect(await visits().aggregate({ min: ['at'], max: ['at'] })).toMatchObject([
      { minAt: times[0], maxAt: times.at(-1) },
    ])
    expect(await visits().count({}, { distinct: ['at'] })).toBe(new Set(times).size)
    const days = await visits().aggregate({ groupBy: [{ field: 'at', by: 'day' }], count: true })
    expect(days).toMatchObject([{ count: 1 }, { count: times.length - 1 }])
  })

  it('use indexes for orders and filters', async () => {
    const plan = async (query: string) =>
      JSON.stringify(await readSql(database, `explain query plan ${query}`))
    const statements: string[] = []
    const listener = (message: unknown): void => {
      statements.push((message as { sql: string }).sql)
    }
    subscribe('filigree:statement', listener)
    await visits().list({ orderBy: { at: 'asc' }, limit: 2 })
    await visits().list({ where: { at: { gt: times[0]! } }, orderBy: { at: 'asc' } })
    await visits().list({ where: { place: 'a' }, orderBy: { at: 'desc' }, limit: 2 })
    unsubscribe('filigree:statement', listener)
    expect(statements).toHaveLength(3)
    for (const sql of statements) {
      const text = await plan(sql.replace(/\?/g, '1'))
      expect(text).toContain('USING INDEX')
      expect(text).not.toContain('TEMP B-TREE')
    }
  })

  it('are unique as moments, and upsert finds them', async () => {
    await runSql(
      database,
      `insert into visit (place, at, once) values ('b', '2026-12-01', '2026-12-01 10:00:00')`,
    )
    const once = '2026-12-01T10:00:00.000Z'
    await expect(visits().create({ place: 'c', at: once, once })).rejects.toMatchObject({
      status: 409,
      errors: [{ path: 'once', code: 'unique' }],
    })
    const row = await visits().upsert({ place: 'd', at: once, once }, { by: 'once' })
    expect(row).toMatchObject({ place: 'd', once })
    expect(await visits().count({ once })).toBe(1)
  })

  it('leave nothing to change in the schema', async () => {
    expect(await database.differences()).toEqual([])
  })
})
