/** Timestamps of the years 0001 to 9999 through every interface, in all session time zones and date styles of PostgreSQL. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record,
  type Rel,
  type Repository,
} from 'filigree'
import { pgbouncer, startPgBouncer } from './pgbouncer.js'
import { Client, startPostgres } from './postgres-server.js'
import { createRandom } from '../random.js'

@Record()
@NoAuth
class Era {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Sight) sights?: Rel<Sight[]>
}

@Record()
@NoAuth
class Sight {
  @Field('id') id!: number
  @Field('datetime') at!: string
  @Field('datetime', { unique: true }) once!: string
  @Field('date', { default: '2026-03-04' }) day?: string
  @Field('datetime', { default: '0001-01-01T03:04:05.006Z' }) preset?: string
  @BelongsTo(() => Era) era?: Rel<Era>
  @Field('integer') eraId!: number
}

@Controller('/sights', { crud: Sight })
@NoAuth
class Sights {}
@Controller('/eras', { crud: Era })
@NoAuth
class Eras {}
@Module({ controllers: [Sights, Eras], records: [Sight, Era] })
class Observatory {}

const first = Date.parse('0001-01-01T00:00:00.000Z')
const last = Date.parse('9999-12-31T23:59:59.999Z')

/** Pseudo-random timestamps, the same in every run. */
function randomTimestamps(count: number): string[] {
  const random = createRandom(11)
  const ends = [first, first + 1, first + 3_600_000, last, last - 1, last - 3_600_000]
  const old = Array.from({ length: count }, () => first + Math.floor(random() * 60e12))
  const any = Array.from({ length: count }, () => first + Math.floor(random() * (last - first)))
  return [...new Set([...ends, ...old, ...any])].map((time) => new Date(time).toISOString())
}

const timestamps = randomTimestamps(60)
const sorted = timestamps.toSorted()

const server = await startPostgres()
const pooler =
  pgbouncer === undefined ? undefined : await startPgBouncer(await server.createDatabase())
afterAll(async () => {
  await pooler?.close()
  await server.close()
})

/** Creates a database whose sessions use the given time zone and date style. @returns its URL */
async function inZone(zone: string, style = 'ISO'): Promise<string> {
  const url = await server.createDatabase()
  const client = new Client({ connectionString: url })
  await client.connect()
  const alter = `alter database ${new URL(url).pathname.slice(1)} set`
  await client.query(`${alter} timezone = '${zone}'`)
  await client.query(`${alter} datestyle = '${style}'`)
  await client.end()
  return url
}

const zones = [
  'UTC',
  'Asia/Kabul',
  'America/St_Johns',
  'Europe/Amsterdam',
  'Africa/Monrovia',
  'Asia/Manila',
  'Pacific/Kiritimati',
  'Etc/GMT+12',
]
type Setup = [string, () => Promise<string>]
const setups: Setup[] = [
  ['SQLite', () => Promise.resolve('sqlite::memory:')],
  ...zones.map((zone): [string, () => Promise<string>] => [zone, () => inZone(zone)]),
  ...['German', 'SQL, DMY', 'Postgres, MDY'].map((style): [string, () => Promise<string>] => [
    style,
    () => inZone('America/St_Johns', style),
  ]),
  ['an address', async () => `${await inZone('UTC')}?options=-c%20datestyle=German`],
  ...(pooler === undefined
    ? []
    : [['a pooler', async () => pooler.through(await inZone('UTC', 'German'))] as Setup]),
]

describe.each(setups)('timestamps of all years on %s', (_name, open) => {
  let app: Application
  let database: Database
  let sights: Repository<Sight>
  beforeAll(async () => {
    app = await bootstrap(Observatory, { listen: false, logger: false, database: await open() })
    database = app.get(Database)
    sights = database.records(Sight)
    await database.records(Era).create({ name: 'all' })
    const rows = timestamps.map((at) => ({ at, once: at, eraId: 1 }))
    for (const row of rows.slice(0, 10)) expect(await sights.create(row)).toMatchObject(row)
    await sights.insertMany(rows.slice(10))
  })
  afterAll(() => app.close())

  const graphql = async (query: string): Promise<unknown> => {
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    const { data, errors } = response.json() as { data: unknown; errors?: object[] }
    expect(errors).toBeUndefined()
    return data
  }

  it('are read back as stored', async () => {
    const rows = await sights.list({ orderBy: { at: 'asc' }, limit: 200 })
    expect(rows.map(({ at }) => at)).toEqual(sorted)
    expect(rows.map(({ once }) => once)).toEqual(sorted)
    expect(new Set(rows.map(({ day }) => day))).toEqual(new Set(['2026-03-04']))
    expect(new Set(rows.map(({ preset }) => preset))).toEqual(new Set(['0001-01-01T03:04:05.006Z']))
    const [era] = await database.records(Era).list({ with: ['sights'] })
    expect(era?.sights.map(({ at }) => at).toSorted()).toEqual(sorted)
    for (const at of timestamps.slice(0, 20)) {
      expect(await sights.list({ where: { at } })).toMatchObject([{ at }])
      expect(await sights.list({ where: { at: { in: [at] } } })).toMatchObject([{ at }])
    }
  })

  it('work in aggregates, groups and pages', async () => {
    const ends = await sights.aggregate({ min: ['at'], max: ['at'] })
    expect(ends).toEqual([{ minAt: sorted[0], maxAt: sorted.at(-1) }])
    const groups = await sights.aggregate({ groupBy: ['at'], count: true, limit: 200 })
    expect((groups as unknown as Sight[]).map(({ at }) => at).toSorted()).toEqual(sorted)
    const found: string[] = []
    for (let after: string | undefined = ''; after !== undefined;) {
      const page: Sight[] = await sights.list({
        orderBy: { at: 'asc' },
        limit: 9,
        ...(after !== '' && { after }),
      })
      found.push(...page.map(({ at }) => at))
      const last = page.at(-1)
      after = last && sights.cursorOf(last, { at: 'asc' })
    }
    expect(found).toEqual(sorted)
  })

  it('are equal in REST and GraphQL', async () => {
    const listed = await app.inject({ url: '/sights?limit=200&orderBy=at' })
    expect((listed.json() as Sight[]).map(({ at }) => at)).toEqual(sorted)
    const embedded = await app.inject({ url: '/eras/1?with=sights' })
    const related = (embedded.json() as Era).sights ?? []
    expect(related.map(({ at }) => at).toSorted()).toEqual(sorted)
    const all = 'limit: 200, orderBy: { at: asc }'
    const data = await graphql(`{ sights(${all}) { at } eras { sights(${all}) { at once } }
      sightsAggregate { min { at } max { at } } }`)
    expect(data).toEqual({
      sights: sorted.map((at) => ({ at })),
      eras: [{ sights: sorted.map((at) => ({ at, once: at })) }],
      sightsAggregate: [{ min: { at: sorted[0] }, max: { at: sorted.at(-1) } }],
    })
  })

  it('are grouped by year', async () => {
    const years = await sights.aggregate({ groupBy: [{ field: 'at', by: 'year' }], count: true })
    const expected = [...new Set(sorted.map((at) => `${at.slice(0, 4)}-01-01`))]
    expect((years as unknown as Sight[]).map(({ at }) => at)).toEqual(expected)
  })

  it('can be written back', async () => {
    const [once = '', other = ''] = sorted
    expect(await sights.updateWhere({ once }, { at: other })).toBe(1)
    expect(await sights.list({ where: { once } })).toMatchObject([{ at: other }])
    const row = { at: once, once, eraId: 1 }
    expect(await sights.upsert(row, { by: 'once' })).toMatchObject(row)
    expect(await database.differences()).toEqual([])
  })
})
