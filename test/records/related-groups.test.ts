/** Groups by fields of related records. Source: decisions, Records: queries, Aggregates. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  BelongsTo,
  bootstrap,
  connect,
  Controller,
  type Database,
  Field,
  type Generated,
  Module,
  NoAuth,
  Record,
  type Rel,
  Secured,
} from '../../src/index.js'
import { failure } from '../contracts/database-fixture.js'
import { sendGraphql } from './send-graphql.js'
import { startBothEngines } from './both-engines.js'

@Record
@NoAuth
class Project {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('decimal', { precision: 17, scale: 2, nullable: true, optional: true })
  budget?: string | null
  @Secured('boss') @Field('string', { default: 'x' }) secret!: Generated<string>
  @Field('string', { hidden: true, default: 'y' }) internal!: Generated<string>
}

@Record({
  softDelete: true,
  rows: (_claims, { by }) => by === 'key' || { open: true },
})
@NoAuth
class Sample {
  @Field('id') id!: number
  @Field('string') code!: string
  @Field('boolean', { default: true }) open!: Generated<boolean>
  @Field('datetime') takenAt!: string
  @Field('integer', { nullable: true }) projectId!: number | null
  @BelongsTo(() => Project) project!: Rel<Project> | null
}

@Record
@NoAuth
class Assay {
  @Field('id') id!: number
  @Field('integer') price!: number
  @Field('integer', { nullable: true }) sampleId!: number | null
  @BelongsTo(() => Sample) sample!: Rel<Sample> | null
}

@Controller('/assays', { crud: Assay })
@NoAuth
class Assays {}

@Module({ controllers: [Assays], records: [Project, Sample, Assay] })
class Laboratory {}

const engines = await startBothEngines()

describe.each(engines)('%s: groups by fields of related records', (_name, open) => {
  let app: Application
  let database: Database
  let boss: string
  beforeAll(async () => {
    database = await connect(await open(), { records: [Project, Sample, Assay] })
    await database.sync()
    const env = { APP_API_KEY: 'key', JWT_SECRET: 'x'.repeat(40) }
    app = await bootstrap(Laboratory, {
      database,
      listen: false,
      logger: false,
      graphql: true,
      env,
    })
    boss = 'key'
    await database.records(Project).createMany([
      { name: 'north', budget: '9.00' },
      { name: 'south', budget: '10.00' },
    ])
    await database.records(Sample).createMany([
      { code: 'a', takenAt: '2026-10-25T00:30:00.000Z', projectId: 1 },
      { code: 'b', takenAt: '2026-10-25T01:30:00.000Z', projectId: 2 },
      { code: 'c', takenAt: '2026-11-02T10:00:00.000Z', projectId: null },
      { code: 'shut', open: false, takenAt: '2026-11-02T10:00:00.000Z', projectId: 1 },
      { code: 'gone', takenAt: '2026-11-02T10:00:00.000Z', projectId: 2 },
    ])
    await database
      .records(Assay)
      .createMany(
        [1, 1, 2, 3, 4, 5, null].map((sampleId, index) => ({ sampleId, price: 10 ** index })),
      )
    const deleted = database.kysely
      .updateTable('sample')
      .set({ deleted_at: '2026-11-03T00:00:00.000Z' })
    await deleted.where('id', '=', 5).execute()
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const counted = { groupBy: ['sample.project.name'], count: true, sum: ['price'] } as const
  it('follows several relations, and counts missing and deleted rows as null', async () => {
    const rows = await database.records(Assay).aggregate(counted)
    const name: string | null | undefined = rows[0]?.['sample.project.name']
    expect(name).toBe('north')
    expect(rows).toEqual([
      { 'sample.project.name': 'north', count: 3, sumPrice: 10011 },
      { 'sample.project.name': 'south', count: 1, sumPrice: 100 },
      { 'sample.project.name': null, count: 3, sumPrice: 1101000 },
    ])
  })

  it('orders by the group, and filters groups', async () => {
    const assays = database.records(Assay)
    const flat = { ...counted, orderBy: { 'sample.project.name': 'desc' } } as const
    const names = (await assays.aggregate(flat)).map((row) => row['sample.project.name'])
    expect(names).toEqual(['south', 'north', null])
    expect(await assays.aggregate({ ...flat, having: { count: { lt: 2 } } })).toEqual([
      { 'sample.project.name': 'south', count: 1, sumPrice: 100 },
    ])
    expect(await assays.aggregate({ ...flat, limit: 1 })).toHaveLength(1)
  })

  it('orders decimals as numbers', async () => {
    const rows = await database.records(Assay).aggregate({ groupBy: ['sample.project.budget'] })
    expect(rows.map((row) => row['sample.project.budget'])).toEqual(['9.00', '10.00', null])
  })

  it('combines groups of the record and of related records', async () => {
    const groupBy = ['sampleId', 'sample.code', 'sample.open'] as const
    const rows = await database.records(Assay).aggregate({ groupBy, where: { price: { lt: 200 } } })
    expect(rows).toEqual([
      { sampleId: 1, 'sample.code': 'a', 'sample.open': true, count: 2 },
      { sampleId: 2, 'sample.code': 'b', 'sample.open': true, count: 1 },
    ])
  })

  it.each([
    ['month', ['2026-10-01', '2026-11-01', null]],
    [
      'hour',
      ['2026-10-25T02:00:00+02:00', '2026-10-25T02:00:00+01:00', '2026-11-02T11:00:00+01:00', null],
    ],
  ] as const)('groups related timestamps by %s', async (by, expected) => {
    const time = { field: 'sample.takenAt', by, zone: 'Europe/Berlin' } as const
    const rows = await database.records(Assay).aggregate({ groupBy: [time] })
    expect(rows.map((row) => row['sample.takenAt'])).toEqual(expected)
    const query = `groupBy=sample.takenAt:${by}&zone=Europe/Berlin&orderBy=-sample.takenAt`
    const response = await app.inject({ url: `/assays/aggregate?${query}`, token: boss })
    const keys = (response.json() as { 'sample.takenAt': string }[]).map((r) => r['sample.takenAt'])
    expect(keys).toEqual([...expected.slice(0, -1).reverse(), null])
  })

  it.each([
    ['sample.project.nam', 'names "nam", which is not a field of Project'],
    ['sample.projct.name', 'names "projct", which is not a relation of Sample'],
    ['sample', 'is a relation: name one of its fields'],
    ['a.b.c.d.e.f', 'is deeper than 4 levels'],
  ])('refuses %s', async (name, message) => {
    const error = await failure(database.records(Assay).aggregate({ groupBy: [name as never] }))
    expect(error.message).toContain(message)
    const { status, body } = await app.inject(`/assays/aggregate?groupBy=${name}`)
    expect(status).toBe(400)
    expect(body).toContain(message.split('"')[0])
  })

  it('shows clients only the values of rows that they may see', async () => {
    const url =
      '/assays/aggregate?groupBy=sample.project.name&count=true&orderBy=sample.project.name'
    const rows = (north: number, missing: number) => [
      { 'sample.project.name': 'north', count: north },
      { 'sample.project.name': 'south', count: 1 },
      { 'sample.project.name': null, count: missing },
    ]
    expect((await app.inject(url)).json()).toEqual(rows(2, 4))
    const query = `{ assaysAggregate(groupBy: [sample_project_name], orderBy: [{ sample: { project: { name: asc } } }]) {
      count sample { project { name } } } }`
    const { data, errors: found } = await sendGraphql(app, query)
    expect(found).toBeUndefined()
    expect(data.assaysAggregate).toEqual(
      rows(2, 4).map(({ count, 'sample.project.name': name }) => ({
        count,
        sample: { project: { name } },
      })),
    )
    const dotted = query.replace('sample_project_name', '"sample.project.name"')
    expect((await sendGraphql(app, dotted)).data).toEqual(data)
  })

  it('refuses fields that the caller may not read', async () => {
    const url = '/assays/aggregate?groupBy=sample.project'
    expect((await app.inject(`${url}.secret`)).status).toBe(401)
    expect((await app.inject(`${url}.internal`)).status).toBe(400)
    const query = '{ assaysAggregate(groupBy: [sample_project_secret]) { count } }'
    const { data, errors } = await sendGraphql(app, query)
    expect(data.assaysAggregate).toBeNull()
    expect(errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED')
    const hidden = '{ assaysAggregate(groupBy: [sample_project_internal]) { count } }'
    expect((await sendGraphql(app, hidden)).errors?.[0]?.extensions.code).toBe('VALIDATION')
  })

  it('groups related timestamps in GraphQL', async () => {
    const query = `{ assaysAggregate(groupByTime: [{ field: sample_takenAt, by: MONTH }]) {
      count sample { takenAt } } }`
    const { data, errors: found } = await sendGraphql(app, query)
    expect(found).toBeUndefined()
    expect(data.assaysAggregate).toEqual([
      { count: 3, sample: { takenAt: '2026-10-01' } },
      { count: 1, sample: { takenAt: '2026-11-01' } },
      { count: 3, sample: { takenAt: null } },
    ])
  })
})
