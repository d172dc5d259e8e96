/** Groups by local time, compared with `Intl`. Source: docs/records/search-and-aggregates.md, Groups of time. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  type Application,
  bootstrap,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Record,
  Secured,
  type Repository,
  type TimeUnit,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { randomNumbers } from '../random.js'

@Record({ softDelete: true })
@NoAuth
class Visit {
  @Field('id') id!: number
  @Field('datetime', { optional: true, nullable: true }) at?: string | null
  @Field('date') day!: string
  @Field('string') place!: string
  @Field('integer') guests!: number
  @Secured('boss') @Field('datetime', { optional: true, nullable: true }) leftAt?: string | null
}

@Controller('/visits', { crud: Visit })
@NoAuth
class Visits {}

@Module({ controllers: [Visits], records: [Visit] })
class Museum {}

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Africa/Casablanca',
  'Pacific/Apia',
]
const units: readonly TimeUnit[] = ['hour', 'day', 'week', 'month', 'quarter', 'year']

/** Timestamps around clock changes, at ends of years, and at random. */
function timestamps(count: number): string[] {
  const below = randomNumbers(11)
  const near = [
    '2026-03-29T01:00Z',
    '2026-10-25T01:00Z',
    '2026-03-08T07:00Z',
    '2026-11-01T06:00Z',
    '2026-04-04T15:00Z',
    '2026-10-03T15:30Z',
    '2018-11-04T03:00Z',
    '2018-02-18T02:00Z',
    '2010-03-14T03:31Z',
    '2010-11-07T02:31Z',
    '2026-02-15T02:00Z',
    '2011-12-30T10:00Z',
    '2026-01-01T00:00Z',
    '1918-04-15T01:00Z',
    '2090-03-26T01:00Z',
  ].map((text) => Date.parse(text))
  return Array.from({ length: count }, (_, index) => {
    const base = near[index % near.length] ?? 0
    const timestamp =
      index % 3 === 0
        ? Date.UTC(1880) + below(6_900_000) * 1_000_000
        : base + (below(20_000) - 10_000) * (index % 3 === 1 ? 1000 : 60_000)
    return new Date(timestamp).toISOString()
  })
}

const clocks = new Map(
  zones.map((zone) => [
    zone,
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    }),
  ]),
)

/** The expected group of a timestamp, computed with `Intl`. */
function localOf(timestamp: string, by: TimeUnit, zone: string): string {
  const [month = '', day = '', year = '', hour = '', minute = '', second = ''] =
    clocks.get(zone)?.format(new Date(timestamp)).match(/\d+/g) ?? []
  const date = `${year}-${month}-${day}`
  if (by === 'hour') {
    const local = Date.parse(`${date}T${hour}:${minute}:${second}Z`)
    const seconds = (local - Math.floor(Date.parse(timestamp) / 1000) * 1000) / 1000
    const sign = seconds < 0 ? '-' : '+'
    const distance = new Date(Math.abs(seconds) * 1000).toISOString().slice(11, 19)
    return `${date}T${hour}:00:00${sign}${distance.replace(/:00$/, '')}`
  }
  const first = new Date(`${date}T00:00:00Z`)
  if (by === 'week') first.setUTCDate(first.getUTCDate() - ((first.getUTCDay() + 6) % 7))
  if (by === 'month' || by === 'quarter' || by === 'year') first.setUTCDate(1)
  if (by === 'quarter') first.setUTCMonth(first.getUTCMonth() - (first.getUTCMonth() % 3))
  if (by === 'year') first.setUTCMonth(0)
  return first.toISOString().slice(0, 10)
}

const engines = await startBothEngines()

describe.each(engines)('groups of time on %s', (_, open) => {
  let app: Application
  let visits: Repository<Visit>
  const all = timestamps(300)
  const rows = all.map((at, index) => ({
    at,
    day: at.slice(0, 10),
    place: ['hall', 'park'][index % 2] ?? '',
    guests: index % 7,
  }))
  beforeAll(async () => {
    const env = { APP_JWT_SECRET: 'a secret of thirty-two characters' }
    app = await bootstrap(Museum, { listen: false, logger: false, database: await open(), env })
    visits = app.get(Database).records(Visit)
    await visits.insertMany(rows)
  })
  afterAll(() => app.close())

  const expectedGroups = (by: TimeUnit, zone: string, source = rows): object[] => {
    const groups = new Map<string, { at: string; count: number; sumGuests: number }>()
    for (const { at, guests } of [...source].sort((a, b) => (a.at < b.at ? -1 : 1))) {
      const name = localOf(at, by, zone)
      const group = groups.get(name) ?? { at: name, count: 0, sumGuests: 0 }
      groups.set(name, group)
      group.count++
      group.sumGuests += guests
    }
    return [...groups.values()]
  }
  const get = async (url: string): Promise<{ status: number; body: unknown }> => {
    const response = await app.inject({ method: 'GET', url })
    return { status: response.status, body: response.json() }
  }
  const query = async (text: string): Promise<{ data: unknown; errors?: object[] }> => {
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query: text } })
    return response.json() as { data: unknown; errors?: object[] }
  }

  it.each(zones.flatMap((zone) => units.map((by) => [by, zone] as const)))(
    'follow local time by %s in %s, through every interface, in one statement',
    async (by, zone) => {
      const statements: string[] = []
      const onStatement = (message: unknown): void => {
        const { sql } = message as { sql: string }
        // Other statements may read the catalogue at the same time.
        if (sql.includes('"visit"')) statements.push(sql)
      }
      subscribe('filigree:statement', onStatement)
      const found = await visits.aggregate({
        groupBy: [{ field: 'at', by, zone }],
        count: true,
        sum: ['guests'],
      })
      unsubscribe('filigree:statement', onStatement)
      const expected = expectedGroups(by, zone)
      expect(found).toStrictEqual(expected)
      expect(statements).toHaveLength(1)
      const parameters = `groupBy=at:${by}&zone=${encodeURIComponent(zone)}&count=true&sum=guests`
      expect(await get(`/visits/aggregate?${parameters}`)).toStrictEqual({
        status: 200,
        body: expected,
      })
      const groups = `[{ field: at, by: ${by.toUpperCase()}, zone: "${zone}" }]`
      const { data } = await query(
        `{ visitsAggregate(groupByTime: ${groups}) { at count sum { guests } } }`,
      )
      const graphqlRows = (expected as { at: string; count: number; sumGuests: number }[]).map(
        ({ at, count, sumGuests }) => ({ at, count, sum: { guests: sumGuests } }),
      )
      expect(data).toStrictEqual({ visitsAggregate: graphqlRows })
    },
  )

  it('use UTC if the local time has no date: before the year 1 and after 9999', async () => {
    const ends = [
      '0001-01-01T00:30:00.000Z',
      '0001-01-02T00:30:00.000Z',
      '9999-12-31T23:30:00.000Z',
    ]
    const ids: number[] = []
    for (const at of ends)
      ids.push((await visits.create({ at, day: '2026-01-01', place: 'end', guests: 1 })).id)
    const groups = async (by: TimeUnit, zone: string): Promise<unknown[]> =>
      (
        await visits.aggregate({ where: { place: 'end' }, groupBy: [{ field: 'at', by, zone }] })
      ).map(({ at }) => at)
    const days = {
      'America/New_York': ['0001-01-01', '9999-12-31'],
      'Asia/Kathmandu': ['0001-01-01', '0001-01-02', '9999-12-31'],
      UTC: ['0001-01-01', '0001-01-02', '9999-12-31'],
    }
    for (const [zone, expected] of Object.entries(days)) {
      expect(await groups('day', zone)).toEqual(expected)
      expect(await groups('week', zone)).toEqual(['0001-01-01', '9999-12-27'])
      expect(await groups('month', zone)).toEqual(['0001-01-01', '9999-12-01'])
      expect(await groups('quarter', zone)).toEqual(['0001-01-01', '9999-10-01'])
      expect(await groups('year', zone)).toEqual(['0001-01-01', '9999-01-01'])
    }
    expect(await groups('hour', 'America/New_York')).toEqual([
      '0001-01-01T00:00:00+00:00',
      '0001-01-01T19:00:00-04:56:02',
      '9999-12-31T18:00:00-05:00',
    ])
    expect((await groups('hour', 'Asia/Kathmandu')).at(-1)).toBe('9999-12-31T23:00:00+00:00')
    await visits.deleteMany(ids)
  })

  it('combine with other groups, conditions, orders and limits', async () => {
    const found = await visits.aggregate({
      where: { place: 'hall' },
      groupBy: ['place', { field: 'at', by: 'year' }],
      having: { count: { gte: 3 } },
      orderBy: { at: 'desc' },
      limit: 4,
    })
    const expected = expectedGroups(
      'year',
      'UTC',
      rows.filter(({ place }) => place === 'hall'),
    )
      .map((group) => ({
        place: 'hall',
        at: (group as { at: string }).at,
        count: (group as { count: number }).count,
      }))
      .filter(({ count }) => count >= 3)
      .reverse()
      .slice(0, 4)
    expect(found).toStrictEqual(expected)
    const url =
      '/visits/aggregate?groupBy=place,at:year&place=hall&having.count.gte=3&orderBy=-at&limit=4'
    expect((await get(url)).body).toStrictEqual(expected)
  })

  describe('sort by the group, whatever the order of the rows', () => {
    const added: number[] = []
    beforeAll(async () => {
      const visitsInOrder = [
        ['2027-03-02T10:00:00.000Z', 'done', 1],
        ['2027-03-03T10:00:00.000Z', 'open', 5],
        ['2027-03-09T10:00:00.000Z', 'open', 2],
        ['2027-03-10T10:00:00.000Z', 'done', 3],
        // These visits are all at 02:00 hours in Berlin, but in two different hours.
        ['2027-10-31T00:10:00.000Z', 'open', 4],
        ['2027-10-31T00:50:00.000Z', 'done', 4],
        ['2027-10-31T01:10:00.000Z', 'done', 4],
        ['2027-10-31T01:50:00.000Z', 'open', 4],
      ] as const
      for (const [at, place, guests] of visitsInOrder)
        added.push((await visits.create({ at, day: at.slice(0, 10), place, guests })).id)
    })
    afterAll(async () => {
      await visits.deleteMany(added)
    })
    const march = { at: { gte: '2027-03-01T00:00:00Z', lt: '2027-04-01T00:00:00Z' } }
    const between = 'at.gte=2027-03-01T00:00:00Z&at.lt=2027-04-01T00:00:00Z'

    it.each([
      ['at', ['2027-03-08', '2027-03-01']],
      ['day', ['2027-03-08', '2027-03-01']],
    ] as const)('for weeks of %s, with a second order', async (field, weeks) => {
      const found = await visits.aggregate({
        where: march,
        groupBy: [{ field, by: 'week' }, 'place'],
        orderBy: [{ [field]: 'desc' }, { place: 'asc' }],
      })
      const expected = weeks.flatMap((week) =>
        ['done', 'open'].map((place) => ({ [field]: week, place, count: 1 })),
      )
      expect(found).toStrictEqual(expected)
      const url = `/visits/aggregate?groupBy=${field}:week,place&orderBy=-${field},place&${between}`
      expect((await get(url)).body).toStrictEqual(expected)
      const { data } = await query(`{ visitsAggregate(
        where: { at: { gte: "2027-03-01T00:00:00Z", lt: "2027-04-01T00:00:00Z" } }
        groupByTime: [{ field: ${field}, by: WEEK }], groupBy: [place]
        orderBy: [{ ${field}: desc }, { place: asc }]
      ) { ${field} place count } }`)
      expect(data).toStrictEqual({ visitsAggregate: expected })
    })

    it('together with aggregates and having', async () => {
      const groups = async (...orderBy: object[]): Promise<unknown[]> =>
        (
          await visits.aggregate({
            where: march,
            groupBy: [{ field: 'at', by: 'month' }, 'place'],
            sum: ['guests'],
            having: { sumGuests: { gte: 4 } },
            orderBy: orderBy as never,
          })
        ).map(({ place, sumGuests }) => `${String(place)} ${String(sumGuests)}`)
      expect(await groups({ at: 'desc' }, { sumGuests: 'desc' })).toEqual(['open 7', 'done 4'])
      expect(await groups({ sumGuests: 'asc' }, { at: 'desc' })).toEqual(['done 4', 'open 7'])
    })

    it('for the repeated hour in autumn', async () => {
      const found = await visits.aggregate({
        where: { at: { gte: '2027-10-31T00:00:00Z', lt: '2027-11-01T00:00:00Z' } },
        groupBy: [{ field: 'at', by: 'hour', zone: 'Europe/Berlin' }, 'place'],
        orderBy: [{ at: 'desc' }, { place: 'asc' }],
      })
      expect(found).toStrictEqual([
        { at: '2027-10-31T02:00:00+01:00', place: 'done', count: 1 },
        { at: '2027-10-31T02:00:00+01:00', place: 'open', count: 1 },
        { at: '2027-10-31T02:00:00+02:00', place: 'done', count: 1 },
        { at: '2027-10-31T02:00:00+02:00', place: 'open', count: 1 },
      ])
    })
  })

  it('use dates unchanged in every zone, and sort null last', async () => {
    const [first] = await visits.aggregate({
      groupBy: [{ field: 'day', by: 'day', zone: 'Pacific/Apia' }],
      min: ['day'],
      limit: 1,
    })
    expect(first?.day).toBe(first?.minDay)
    const { id } = await visits.create({ day: '2026-01-01', place: 'x', guests: 0 })
    const found = await visits.aggregate({
      groupBy: [{ field: 'at', by: 'month', zone: 'Europe/Berlin' }],
    })
    await visits.delete(id)
    expect(found.at(-1)).toStrictEqual({ at: null, count: 1 })
  })

  it.each([
    [{ field: 'at', by: 'week', zone: 'Europe/Berln' }, 'groupBy.0.zone'],
    [{ field: 'at', by: 'week', zone: "UTC'; drop table visit" }, 'groupBy.0.zone'],
    [{ field: 'at', by: 'week', zone: '+02:00' }, 'groupBy.0.zone'],
    [{ field: 'at', by: 'fortnight' }, 'groupBy.0.by'],
    [{ field: 'at' }, 'groupBy.0.by'],
    [{ field: 'guests', by: 'day' }, 'groupBy.0.field'],
    [{ field: 'nothing', by: 'day' }, 'groupBy.0.field'],
    [{ field: 'day', by: 'hour' }, 'groupBy.0.by'],
    [{ field: 'at', by: 'day', zoned: 'UTC' }, 'groupBy.0.zoned'],
  ])('are rejected for %j', async (group, path) => {
    await expect(visits.aggregate({ groupBy: [group as never] })).rejects.toMatchObject({
      status: 400,
      errors: [{ path }],
    })
  })

  it('are rejected over REST and GraphQL for wrong fields, zones and duplicate names', async () => {
    const bad = [
      'groupBy=at:week&zone=Nowhere',
      'groupBy=at:century',
      'groupBy=guests:day',
      'groupBy=at:day:x',
      'groupBy=place&zone=UTC',
      'groupBy=leftAt:day',
      'groupBy=at:day,at:week',
    ]
    for (const one of bad) {
      const { status } = await get(`/visits/aggregate?${one}`)
      expect([one, status]).toStrictEqual([one, one.startsWith('groupBy=leftAt') ? 401 : 400])
    }
    for (const group of [
      '{ field: at, by: WEEK, zone: "Nowhere" }',
      '{ field: guests, by: DAY }',
      '{ field: leftAt, by: DAY }',
    ]) {
      const { errors } = await query(`{ visitsAggregate(groupByTime: [${group}]) { count } }`)
      expect(errors).toHaveLength(1)
    }
  })

  it('look up the name of a zone once, however many groups name it', async () => {
    const query =
      'query ($groups: [VisitTimeGroup!]) { visitsAggregate(groupByTime: $groups) { count } }'
    const groups = Array.from({ length: 1000 }, (_, index) => ({
      field: 'at',
      by: 'DAY',
      zone: index % 2 === 0 ? 'Europe/Helsinki' : 'europe/helsinki',
    }))
    const format = jest.spyOn(Intl, 'DateTimeFormat')
    try {
      const json = { query, variables: { groups } }
      const response = await app.inject({ method: 'POST', url: '/graphql', json })
      expect(response.json()).toMatchObject({
        errors: [{ message: 'groupBy has more than 50 fields' }],
      })
      expect(format.mock.calls.length).toBeLessThan(5)
    } finally {
      format.mockRestore()
    }
  })

  it('are described in the OpenAPI document and the GraphQL schema', async () => {
    const { body } = await get('/swagger/openapi.json')
    const text = JSON.stringify(body)
    expect(text).toContain('createdAt:week')
    expect(text).toContain('"name":"zone"')
    const { data } = await query('{ __type(name: "VisitTimeGroup") { inputFields { name } } }')
    expect(data).toStrictEqual({
      __type: { inputFields: [{ name: 'field' }, { name: 'by' }, { name: 'zone' }] },
    })
  })
})
