/** The operator `between` in repositories, REST, GraphQL, aggregates and the API documents. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Controller,
  Field,
  Module,
  NoAuth,
  Record,
  bootstrap,
  connect,
  skip,
} from '../../src/index.js'
import type { Application, Database, OpenApiDocument, Repository } from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

@Record()
class Sample {
  @Field('id') id!: number
  @Field('integer', { index: true, nullable: true }) size!: number | null
  @Field('decimal', { precision: 10, scale: 2 }) price!: string
  @Field('string') name!: string
  @Field('date') day!: string
  @Field('bigint') large!: string
  @Field('json') meta!: unknown
  @Field('boolean') visible!: boolean
}

@Controller('/samples', { crud: Sample })
@NoAuth
class Samples {}

@Module({ controllers: [Samples], records: [Sample] })
class App {}

const rows = Array.from({ length: 9 }, (_, index) => ({
  size: index === 8 ? null : index + 1,
  price: `${index + 1}.50`,
  name: 'abcdefghi'.charAt(index),
  day: `2026-01-0${index + 1}`,
  large: String(9_007_199_254_740_990n + BigInt(index)),
  meta: { width: index + 1 },
  visible: true,
}))

/** A filter by field, and the keys of the rows that it finds. */
const cases: [field: keyof Sample, bounds: [unknown, unknown], ids: number[]][] = [
  ['size', [3, 5], [3, 4, 5]],
  ['size', [5, 5], [5]],
  ['size', [5, 3], []],
  ['size', [-10, 100], [1, 2, 3, 4, 5, 6, 7, 8]],
  ['price', ['2.50', '4.00'], [2, 3]],
  ['name', ['b', 'd'], [2, 3, 4]],
  ['day', ['2026-01-02', '2026-01-03'], [2, 3]],
  ['large', ['9007199254740991', '9007199254740992'], [2, 3]],
  ['id', [8, 20], [8, 9]],
]

describe.each(await startBothEngines())('%s: between', (_name, open) => {
  let database: Database
  let application: Application
  let samples: Repository<Sample>

  beforeAll(async () => {
    database = await connect(await open(), { records: [Sample] })
    application = await bootstrap(App, { database, graphql: {}, listen: false, logger: false })
    samples = database.records(Sample)
    await samples.createMany(rows)
  })

  afterAll(async () => {
    await application.close()
    await database.close()
  })

  const get = async (url: string): Promise<{ status: number; ids: unknown }> => {
    const { status, body } = await application.inject({ url: `/samples?limit=100&${url}` })
    const read = JSON.parse(body) as { id: number }[]
    return { status, ids: status === 200 ? read.map(({ id }) => id) : read }
  }
  const graphql = async (
    query: string,
  ): Promise<{ data?: { samples: { id: string }[] } | null }> => {
    const { body } = await application.inject({ method: 'POST', url: '/graphql', json: { query } })
    return JSON.parse(body) as never
  }

  it.each(cases)('finds %s between %j', async (field, bounds, ids) => {
    const where = { [field]: { between: bounds } }
    const listed = await samples.list({ where: where as never })
    expect(listed.map(({ id }) => id)).toEqual(ids)
    expect(await samples.count(where as never)).toBe(ids.length)
    expect(await samples.count({ not: where } as never)).toBe(9 - ids.length)
    const [aggregates] = await samples.aggregate({ where: where as never, count: true })
    expect(aggregates).toEqual({ count: ids.length })
    expect(await get(`${field}.between=${bounds.join(',')}`)).toEqual({ status: 200, ids })
    const repeated = bounds.map((bound) => `${field}.between=${String(bound)}`).join('&')
    expect(await get(repeated)).toEqual({ status: 200, ids })
    const { data } = await graphql(
      `{ samples(where: { ${field}: { between: ${JSON.stringify(bounds)} } }, limit: 100) { id } }`,
    )
    expect(data?.samples.map(({ id }) => Number(id))).toEqual(ids)
  })

  it('compares values inside JSON', async () => {
    const where = { meta: { path: ['width'], between: [2, 4] as const } }
    expect((await samples.list({ where })).map(({ id }) => id)).toEqual([2, 3, 4])
    expect(await get('meta.path=width&meta.between=2,4')).toEqual({ status: 200, ids: [2, 3, 4] })
    expect(await get('meta.path.width.between=2,4')).toEqual({ status: 200, ids: [2, 3, 4] })
    const { data } = await graphql(
      '{ samples(where: { meta: { path: ["width"], between: [2, 4] } }) { id } }',
    )
    expect(data?.samples).toEqual([{ id: '2' }, { id: '3' }, { id: '4' }])
  })

  it.each([
    [{ size: { between: [1] } }],
    [{ size: { between: [1, 2, 3] } }],
    [{ size: { between: [] } }],
    [{ size: { between: 1 } }],
    [{ size: { between: null } }],
    [{ size: { between: [null, 2] } }],
    [{ size: { between: [1, null] } }],
    [{ size: { between: ['1', 2] } }],
    [{ visible: { between: [false, true] } }],
    [{ meta: { path: ['width'], between: [1] } }],
    [{ meta: { path: ['width'], between: [1, null] } }],
  ])('refuses %j', async (where) => {
    await expect(samples.list({ where: where as never })).rejects.toMatchObject({ status: 400 })
  })

  it.each([
    'size.between=1',
    'size.between=1,2,3',
    'size.between=',
    'size.between=1,x',
    'size.between=1,',
  ])('refuses ?%s', async (query) => {
    expect((await get(query)).status).toBe(400)
  })

  it('refuses undefined and skip as bounds, and accepts skip for the whole operator', async () => {
    for (const bound of [undefined, skip])
      await expect(samples.count({ size: { between: [1, bound as never] } })).rejects.toThrow(
        /^where\.size\.between\.1 is (undefined|skip)/,
      )
    expect(await samples.count({ size: { between: skip } })).toBe(9)
  })

  it('is described in the OpenAPI document and the GraphQL schema', async () => {
    const { body } = await application.inject({ url: '/swagger/openapi.json' })
    const { paths } = JSON.parse(body) as OpenApiDocument
    const parameters = JSON.stringify(paths?.['/samples'])
    for (const field of ['size', 'price', 'name', 'day', 'large', 'meta'])
      expect(parameters).toContain(`"${field}.between"`)
    expect(parameters).not.toContain('"visible.between"')
    const type = '{ __type(name: "IntFilter") { inputFields { name description } } }'
    const response = JSON.stringify(await graphql(type))
    expect(response).toContain('From the first of two values to the second, both included.')
  })
})
