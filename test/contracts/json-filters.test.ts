/** Filters on lists and inside JSON values: by repositories, REST and GraphQL, on both engines. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  bootstrap,
  connect,
  Controller,
  type Database,
  Field,
  Module,
  NoAuth,
  Record,
} from '../../src/index.js'
import { startBothEngines } from '../records/both-engines.js'

class Supplier {
  @Field('string') name!: string
  @Field('string', { hidden: true, optional: true }) contact?: string
  @Field('json', { optional: true }) terms?: unknown
}

class Delivery {
  @Field(() => Supplier) supplier!: Supplier
  @Field(() => [Supplier], { optional: true }) others?: Supplier[]
}

@Record
class Part {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('json', { optional: true }) meta?: unknown
  @Field('string', { list: true, optional: true }) tags?: string[]
  @Field('boolean', { list: true, optional: true }) flags?: boolean[]
  @Field('decimal', { list: true, optional: true, scale: 2 }) prices?: string[]
  @Field(() => Delivery, { optional: true }) delivery?: Delivery
}

@Controller('/parts', { crud: Part })
@NoAuth
class Parts {}

@Module({ controllers: [Parts], records: [Part] })
class Shop {}

const rows = [
  { name: 'one', meta: { a: { b: 1 }, list: ['x', 'y'] }, tags: ['red', "o'clock"] },
  { name: 'half', meta: { a: { b: 1.5 }, on: true }, tags: ['blue'], flags: [true] },
  { name: 'text', meta: { a: { b: '1' } }, tags: [], flags: [false] },
  { name: 'null', meta: { a: { b: null } }, prices: ['9.5'] },
  { name: 'none', meta: ['x'] },
  { name: 'nothing' },
  {
    name: 'delivered',
    delivery: {
      supplier: { name: 'North', contact: 'ann', terms: { days: 30 } },
      others: [{ name: 'South', contact: 'bob' }],
    },
  },
]

const path = ['a', 'b']
const cases: [object, string, string[]][] = [
  [{ meta: { path, eq: 1 } }, 'meta.path=a,b&meta.eq=1', ['one']],
  [{ meta: { path, gte: 1 } }, 'meta.path.a.b.gte=1', ['one', 'half']],
  [{ meta: { path, eq: '1' } }, 'meta.path.a.b=%221%22', ['text']],
  [{ meta: { path, in: [1, '1'] } }, 'meta.path.a.b.in=1,%221%22', ['one', 'text']],
  [
    { meta: { path, isNull: true } },
    'meta.path.a.b.isNull=true',
    ['null', 'none', 'nothing', 'delivered'],
  ],
  [
    { meta: { path, ne: 1 } },
    'meta.path=a,b&meta.ne=1',
    ['half', 'text', 'null', 'none', 'nothing', 'delivered'],
  ],
  [{ meta: { path, gt: 1, lt: 2 } }, 'meta.path=a,b&meta.gt=1&meta.lt=2', ['half']],
  [{ meta: { path: ['on'], eq: true } }, 'meta.path.on=true', ['half']],
  [{ meta: { path: ['list', '1'], startsWith: 'y' } }, 'meta.path.list.1.startsWith=y', ['one']],
  [{ meta: { path: ['0'], eq: 'x' } }, 'meta={"path":["0"],"eq":"x"}', ['none']],
  [
    { not: { meta: { path, eq: 1 } } },
    '',
    ['half', 'text', 'null', 'none', 'nothing', 'delivered'],
  ],
  [{ meta: { isNull: true } }, 'meta.isNull=true', ['nothing', 'delivered']],
  [
    { delivery: { path: ['supplier', 'name'], eq: 'North' } },
    'delivery.path.supplier.name=North',
    ['delivered'],
  ],
  [
    { delivery: { path: ['supplier', 'terms', 'days'], eq: 30 } },
    'delivery.path.supplier.terms.days=30',
    ['delivered'],
  ],
  [
    { delivery: { path: ['others', '0', 'name'], eq: 'South' } },
    'delivery.path.others.0.name=South',
    ['delivered'],
  ],
  [{ tags: { has: "o'clock" } }, "tags.has=o'clock", ['one']],
  [{ tags: { has: 're' } }, 'tags.has=re', []],
  [{ flags: { has: false } }, 'flags.has=false', ['text']],
  [{ prices: { has: '9.50' } }, 'prices.has=9.5', ['null']],
]

/** GraphQL names the parts of a nested class, and only lists and values of any JSON have paths. */
function withParts(where: object): object {
  const { delivery } = where as { delivery?: { path: [string, ...string[]] } }
  if (delivery === undefined) return where
  const { path, ...test } = delivery
  const [first, ...rest] = path
  if (first === 'others') return { delivery: { others: { path: rest, ...test } } }
  const [second = '', ...inner] = rest
  const part = inner.length === 0 ? test : { path: inner, ...test }
  return { delivery: { supplier: { [second]: part } } }
}

const engines = await startBothEngines()

describe.each(engines)('%s: filters on lists and inside JSON', (_name, open) => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Part] })
    await database.sync()
    for (const row of rows) await database.records(Part).create(row)
    const env = { APP_API_KEY: 'key' }
    app = await bootstrap(Shop, { database, listen: false, logger: false, env })
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  it.each(cases)(
    '%j finds the same rows by repository, GraphQL and REST',
    async (where, query, names) => {
      const listed = await database.records(Part).list({ where })
      expect(listed.map(({ name }) => name)).toEqual(names)
      const parts = names.map((name) => ({ name }))
      const document = 'query ($where: PartWhere) { parts(where: $where) { name } }'
      const filter = { where: withParts(where) }
      expect(await app.graphql.execute(document, filter)).toEqual({ data: { parts } })
      if (query === '') return
      const response = await app.inject({ url: `/parts?${query}` })
      expect({ status: response.status, body: response.json() }).toMatchObject({
        status: 200,
        body: parts,
      })
    },
  )

  it.each([{ a: '\0' }, { a: ['\ud800'] }, { '\0': 1 }, { a: { 'x\udc00': 1 } }, '\0'])(
    'refuses to store %j, which would break every later filter on the column',
    async (meta) => {
      const creating = database.records(Part).create({ name: 'poison', meta })
      await expect(creating).rejects.toMatchObject({ status: 400, errors: [{ path: 'meta' }] })
      const response = await app.inject({ url: '/parts', json: { name: 'poison', meta } })
      expect(response.status).toBe(400)
      const document = 'mutation ($input: PartInput!) { createPart(input: $input) { id } }'
      const input = { name: 'poison', meta: JSON.stringify(meta) }
      expect((await app.graphql.execute(document, { input })).errors).toHaveLength(1)
      const listed = await app.inject({ url: '/parts?meta.path.a.b.gte=1' })
      expect(listed.status).toBe(200)
    },
  )

  it.each([
    [['supplier', 'contact'], 'ann'],
    [['others', '0', 'contact'], 'bob'],
    [['others', '-1', 'contact'], 'bob'],
    [['supplier', 'phone'], '1'],
    [['others', 'contact'], 'bob'],
  ])('compares nothing with %j, which responses do not contain', async (path, value) => {
    const query = `delivery.path=${path.join(',')}&delivery.startsWith=${value}`
    const response = await app.inject({ url: `/parts?${query}` })
    expect({ status: response.status, ...(response.json() as object) }).toMatchObject({
      status: 400,
      errors: [{ path: 'delivery.path' }],
    })
    expect(response.body).not.toContain('Did you mean "contact"')
    const where = withParts({ delivery: { path, isNull: false } })
    for (const root of ['parts(where: $where) { name }', 'partCount(where: $where)']) {
      const document = `query ($where: PartWhere) { ${root} }`
      const { errors } = await app.graphql.execute(document, { where })
      expect(errors).toHaveLength(1)
      expect(JSON.stringify(errors)).toMatch(
        path[0] === 'others' ? /where\.delivery\.others\.path/ : /not defined by type/,
      )
    }
  })

  it('lets the program compare with hidden fields of nested classes', async () => {
    const where = { delivery: { path: ['supplier', 'contact'], eq: 'ann' } }
    expect(await database.records(Part).count(where)).toBe(1)
  })

  it('compares numbers written in a GraphQL document', async () => {
    const document = '{ parts(where: { meta: { path: ["a", "b"], eq: 1.5 } }) { name } }'
    expect(await app.graphql.execute(document)).toEqual({ data: { parts: [{ name: 'half' }] } })
  })

  it.each([
    ['meta=1', 'meta'],
    ['meta.eq=1', 'meta.eq'],
    ['meta.path=a', 'meta'],
    ['meta.path.a.gt=true', 'meta.gt'],
    ['meta={"path":["a\\""],"eq":1}', 'meta.path'],
    ['tags.has.x=1', 'tags.has.x'],
    ['tags=red', 'tags'],
    ['name.has=x', 'name.has'],
    ['name.between=1', 'name.between'],
    [`name.contains=${'x'.repeat(1001)}`, 'name.contains'],
  ])('refuses %s', async (query, at) => {
    const response = await app.inject({ url: `/parts?${query}` })
    expect({ status: response.status, ...(response.json() as object) }).toMatchObject({
      status: 400,
      errors: [{ path: at }],
    })
  })
})
