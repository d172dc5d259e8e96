import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type AggregateOptions,
  type Application,
  bootstrap,
  connect,
  Controller,
  type Database,
  type ExactNumber,
  Field,
  type Generated,
  Module,
  type NewRow,
  NoAuth,
  Record,
  Secured,
} from '../../src/index.js'
import { failure } from '../contracts/database-fixture.js'
import { startBothEngines } from './both-engines.js'
import { randomNumbers } from '../random.js'

@Record({ softDelete: true, rows: () => ({ hiddenRow: { ne: true } }) })
class Sale {
  @Field('id') id!: number
  @Field('integer', { optional: true }) shopId?: number
  @Field('string') color!: string
  @Field('integer') pieces!: number
  @Field('numeric', { optional: true }) weight?: number
  @Field('decimal', { precision: 12, scale: 2, optional: true }) price?: ExactNumber
  @Field('decimal', { precision: 18, scale: 4 }) large!: ExactNumber
  @Field('decimal', { precision: 38, scale: 10 }) huge!: ExactNumber
  @Field('bigint') views!: ExactNumber
  @Field('boolean') paid!: boolean
  @Field('datetime') at!: string
  @Field('json', { optional: true }) meta?: unknown
  @Secured('boss') @Field('integer', { default: 1 }) margin!: Generated<number>
  @Field('integer', { hidden: true, default: 2 }) secret!: Generated<number>
  @Field('boolean', { default: false }) hiddenRow!: Generated<boolean>
}

@Controller('/sales', { crud: Sale })
@NoAuth
class Sales {}

@Module({ controllers: [Sales], records: [Sale] })
class Shop {}

function decimalOf(units: bigint, scale: number): string {
  const size = (units < 0n ? -units : units).toString().padStart(scale + 1, '0')
  return `${units < 0n ? '-' : ''}${size.slice(0, -scale)}.${size.slice(-scale)}`
}

function makeSales(count: number): NewRow<Sale>[] {
  const next = randomNumbers(7)
  const digits = (length: number): bigint =>
    BigInt(Array.from({ length }, () => String(next(10))).join('')) * (next(3) === 0 ? -1n : 1n)
  return Array.from({ length: count }, (): NewRow<Sale> => ({
    ...(next(5) === 0 ? {} : { shopId: next(4) }),
    color: ['red', 'blue', 'green', 'Ärger'][next(4)] ?? '',
    pieces: next(100) - 50,
    ...(next(4) === 0 ? {} : { weight: next(1000) / 8 }),
    ...(next(4) === 0 ? {} : { price: decimalOf(digits(9), 2) }),
    large: decimalOf(digits(18), 4),
    huge: decimalOf(digits(37), 10),
    views: digits(18).toString(),
    paid: next(2) === 0,
    at: new Date(1_700_000_000_000 + next(1e9)).toISOString(),
    hiddenRow: next(6) === 0,
  }))
}

type Row = globalThis.Record<string, unknown>

const scales: globalThis.Record<string, number> = { price: 2, large: 4, huge: 10, views: 0 }

function unitsOf(value: unknown): bigint {
  return BigInt(String(value).replace('.', ''))
}

function formatUnits(units: bigint, scale: number): string {
  return scale === 0 ? units.toString() : decimalOf(units, scale)
}

/** The aggregate, computed in plain JavaScript. */
function computeAggregate(operation: string, name: string, rows: readonly Row[]): unknown {
  const values = rows
    .map((row) => row[name])
    .filter((value) => value !== undefined && value !== null)
  if (values.length === 0) return null
  const scale = scales[name]
  if (operation === 'min' || operation === 'max') {
    const sorted = [...values].sort((a, b) => {
      if (scale !== undefined) return unitsOf(a) < unitsOf(b) ? -1 : 1
      return (a as number) < (b as number) ? -1 : 1
    })
    return operation === 'min' ? sorted[0] : sorted.at(-1)
  }
  if (scale === undefined) {
    const sum = values.reduce<number>((total, value) => total + (value as number), 0)
    return operation === 'sum' ? sum : sum / values.length
  }
  const sum = values.reduce<bigint>((total, value) => total + unitsOf(value), 0n)
  if (operation === 'sum') return formatUnits(sum, scale)
  const count = BigInt(values.length)
  const size = sum < 0n ? -sum : sum
  const mean = (size * 2n + count) / (count * 2n)
  return formatUnits(sum < 0n ? -mean : mean, scale)
}

function reference(all: readonly Row[], options: globalThis.Record<string, unknown>): Row[] {
  const groupBy = (options.groupBy ?? []) as string[]
  const groups = new Map<string, Row[]>()
  if (groupBy.length === 0) groups.set('', [...all])
  for (const row of groupBy.length === 0 ? [] : all) {
    const key = JSON.stringify(groupBy.map((name) => row[name] ?? null))
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  return [...groups.values()].map((rows) => {
    const groupRow: Row = {}
    for (const name of groupBy) groupRow[name] = rows[0]?.[name] ?? null
    if (options.count === true) groupRow.count = rows.length
    for (const operation of ['sum', 'avg', 'min', 'max'])
      for (const name of (options[operation] ?? []) as string[])
        groupRow[`${operation}${name.charAt(0).toUpperCase()}${name.slice(1)}`] = computeAggregate(
          operation,
          name,
          rows,
        )
    return groupRow
  })
}

const engines = await startBothEngines()

describe.each(engines)('%s: aggregates', (_name, open) => {
  let database: Database
  let storedRows: Row[]
  let app: Application
  const url = async (path: string): Promise<{ status: number; body: Row[] }> => {
    const response = await app.inject({ method: 'GET', url: path })
    return { status: response.status, body: JSON.parse(response.body) as Row[] }
  }

  beforeAll(async () => {
    database = await connect(await open(), { records: [Sale] })
    await database.sync()
    const sales = database.records(Sale)
    await sales.insertMany(makeSales(400))
    for (const id of [3, 77, 123]) await sales.delete(id)
    const env = { APP_API_KEY: 'key' }
    app = await bootstrap(Shop, { database, listen: false, logger: false, env })
    storedRows = (await sales.list()) as unknown as Row[]
  })
  afterAll(() => database.close())

  const sorted = (rows: readonly object[]): string[] =>
    rows.map((row) => JSON.stringify(row)).sort()

  it('matches a reference implementation for 150 random queries', async () => {
    const next = randomNumbers(11)
    const some = (names: readonly string[]): string[] => names.filter(() => next(3) === 0)
    for (let iteration = 0; iteration < 150; iteration++) {
      const options = {
        groupBy: some(['shopId', 'color', 'paid', 'at', 'price']).slice(0, 2),
        count: true,
        sum: some(['pieces', 'weight', 'price', 'large', 'huge', 'views']),
        avg: some(['price', 'large', 'huge']),
        min: some(['pieces', 'weight', 'price', 'huge', 'views', 'at', 'color']),
        max: some(['pieces', 'price', 'large', 'views', 'at', 'color']),
      }
      const minPieces = next(100) - 50
      const query = { ...options, where: { pieces: { gte: minPieces } } } as AggregateOptions<Sale>
      const found = await database.records(Sale).aggregate(query)
      const rows = storedRows.filter(({ pieces }) => (pieces as number) >= minPieces)
      expect(sorted(found)).toEqual(sorted(reference(rows, options)))
    }
  })

  it('sorts null last, for groups and aggregates, in both directions', async () => {
    const sales = database.records(Sale)
    const plain = await sales.aggregate({ groupBy: ['shopId'] })
    expect(plain.map(({ shopId }) => shopId)).toEqual([0, 1, 2, 3, null])
    expect(Object.keys(plain[0] ?? {})).toEqual(['shopId', 'count'])
    const down = await sales.aggregate({ groupBy: ['shopId'], orderBy: { shopId: 'desc' } })
    expect(down.map(({ shopId }) => shopId)).toEqual([3, 2, 1, 0, null])
    const first = await sales.aggregate({
      groupBy: ['shopId'],
      orderBy: { shopId: { nulls: 'first' } },
      limit: 2,
    })
    expect(first.map(({ shopId }) => shopId)).toEqual([null, 0])
  })

  it.each([
    'sumPieces',
    'sumPrice',
    'sumHuge',
    'sumLarge',
    'avgPrice',
    'sumViews',
    'count',
    'maxColor',
  ] as const)('orders by %s and filters groups with having', async (name) => {
    const sales = database.records(Sale)
    const [, operation = '', rest = ''] = /^(sum|avg|max)(.*)$/.exec(name) ?? []
    const field = rest.charAt(0).toLowerCase() + rest.slice(1)
    const aggregate = operation === '' ? { count: true } : { [operation]: [field] }
    const groupBy = ['color', 'paid'] as const
    const found = await sales.aggregate({ ...aggregate, groupBy, orderBy: { [name]: 'desc' } })
    const value = (row: object): unknown => (row as Row)[name]
    const compare = (a: unknown, b: unknown): number =>
      typeof a === 'string' && operation !== 'max'
        ? Number(unitsOf(a) - unitsOf(b) > 0n) - Number(unitsOf(a) - unitsOf(b) < 0n)
        : Number((a as number) > (b as number)) - Number((a as number) < (b as number))
    for (const [index, row] of found.slice(1).entries())
      expect(compare(value(found[index] as object), value(row))).toBeGreaterThanOrEqual(0)
    const limit = value(found[3] as object)
    const having = { [name]: { gte: limit } }
    const some = await sales.aggregate({
      ...aggregate,
      groupBy,
      having,
      orderBy: { [name]: 'desc' },
    })
    expect(some).toEqual(found.filter((row) => compare(value(row), limit) >= 0))
  })

  it('accepts every fitting operator in having', async () => {
    const sales = database.records(Sale)
    const groupBy = ['color'] as const
    const all = await sales.aggregate({ groupBy, count: true, max: ['color'] })
    const counts = all.map(({ count }) => Number(count)).sort((a, b) => a - b)
    const [smallest = 0, next = 0] = counts
    const countsHaving = async (having: object) =>
      (await sales.aggregate({ groupBy, count: true, having })).map(({ count }) => Number(count))
    const sorted = async (having: object) => (await countsHaving(having)).sort((a, b) => a - b)
    expect(await sorted({ count: { between: [smallest, next] } })).toEqual(
      counts.filter((count) => count >= smallest && count <= next),
    )
    expect(await sorted({ count: { in: [smallest, -1] } })).toEqual(
      counts.filter((count) => count === smallest),
    )
    expect(await sorted({ count: { in: [] } })).toEqual([])
    expect(await sorted({ sumPieces: { in: [null] } })).toEqual([])
    const texts = all.map((row) => (row as { maxColor: string | null }).maxColor)
    const [text = ''] = texts.filter((one) => one !== null)
    const start = text.slice(0, 2)
    expect(await countsHaving({ maxColor: { startsWith: start } })).toHaveLength(
      texts.filter((one) => one?.startsWith(start) === true).length,
    )
  })

  it('returns only the groups with count: false', async () => {
    const sales = database.records(Sale)
    const groups = await sales.aggregate({ groupBy: ['shopId'], count: false })
    expect(groups.map((row) => Object.keys(row))).toEqual(groups.map(() => ['shopId']))
    expect(groups.length).toBeGreaterThan(1)
    expect((await url('/sales/aggregate?groupBy=shopId&count=false')).body).toEqual(
      expect.arrayContaining([{ shopId: 1 }]),
    )
    expect(await url('/sales/aggregate?count=false')).toMatchObject({
      status: 400,
      body: { error: 'count must not be false without groupBy and without a value' },
    })
  })

  it('returns one row without groupBy, and no rows with it, when nothing matches', async () => {
    const sales = database.records(Sale)
    const where = { pieces: 1000 }
    const options = {
      where,
      count: true,
      sum: ['pieces', 'price'],
      avg: ['huge'],
      min: ['at'],
    } as const
    expect(await sales.aggregate(options)).toEqual([
      { count: 0, sumPieces: null, sumPrice: null, avgHuge: null, minAt: null },
    ])
    expect(await sales.aggregate({ ...options, groupBy: ['color'] })).toEqual([])
  })

  it.each([
    [{ sum: ['nothing'] }, 'sum.0'],
    [{ sum: ['color'] }, 'sum.0'],
    [{ avg: ['at'] }, 'avg.0'],
    [{ max: ['paid'] }, 'max.0'],
    [{ groupBy: ['meta'] }, 'groupBy.0'],
    [{ groupBy: ['shop'] }, 'groupBy.0'],
    [{ having: { sumNothing: 1 } }, 'having.sumNothing'],
    [{ having: { count: { like: 1 } } }, 'having.count.like'],
    [{ having: { count: { gte: 'x' } } }, 'having.count.gte'],
    [{ having: { count: { between: [1] } } }, 'having.count.between'],
    [{ having: { count: { between: [1, null] } } }, 'having.count.between.1'],
    [{ having: { count: { in: 5 } } }, 'having.count.in'],
    [{ having: { sumPrice: { gte: '1e3' } } }, 'having.sumPrice.gte'],
    [{ orderBy: { sumColor: 'asc' } }, 'orderBy.sumColor'],
    [{ orderBy: { count: 'up' } }, 'orderBy.count'],
    [{ sum: ['pieces'], orderBy: { count: 'desc' } }, 'orderBy.count'],
    [{ groupBy: ['color'], orderBy: { sumPieces: 'desc' } }, 'orderBy.sumPieces'],
    [{ limit: -1 }, 'limit'],
  ])('refuses %j', async (options, path) => {
    const error = await failure(database.records(Sale).aggregate(options as AggregateOptions<Sale>))
    expect(error).toMatchObject({ status: 400, errors: [{ path }] })
  })

  it('refuses unknown options', async () => {
    const options = { group: ['color'] } as AggregateOptions<Sale>
    await expect(database.records(Sale).aggregate(options)).rejects.toThrow(
      'aggregate: unknown option "group". Did you mean "groupBy"?',
    )
  })

  it('aggregates the rows the caller may see over REST', async () => {
    const visibleRows = storedRows.filter(({ hiddenRow }) => hiddenRow !== true)
    const options = { groupBy: ['color'], count: true, sum: ['price', 'pieces'] }
    const path = '/sales/aggregate?groupBy=color&count=true&sum=price,pieces'
    const { status, body } = await url(path)
    expect(status).toBe(200)
    expect(sorted(body)).toEqual(sorted(reference(visibleRows, options)))
    const ranked = await url(
      '/sales/aggregate?groupBy=shopId&sum=pieces&orderBy=-sumPieces&limit=2&paid=true',
    )
    const paid = reference(
      visibleRows.filter((row) => row.paid === true),
      { groupBy: ['shopId'], sum: ['pieces'] },
    )
    const best = paid.sort((a, b) => (b.sumPieces as number) - (a.sumPieces as number)).slice(0, 2)
    expect(ranked.body).toEqual(best)
    const few = await url('/sales/aggregate?groupBy=at&count=true&having.count.gte=1000')
    expect(few).toEqual({ status: 200, body: [] })
  })

  const graphql = async (query: string): Promise<Row> => {
    const body = JSON.stringify({ query })
    const headers = { 'content-type': 'application/json' }
    const response = await app.inject({ method: 'POST', url: '/graphql', headers, body })
    return JSON.parse(response.body) as Row
  }

  it('returns aggregates over GraphQL, nested by field', async () => {
    const visibleRows = storedRows.filter(({ hiddenRow }) => hiddenRow !== true)
    const options = { groupBy: ['shopId'], count: true, sum: ['price', 'pieces'], max: ['at'] }
    const rows = reference(visibleRows, options).map((row) => ({
      shopId: row.shopId,
      count: row.count,
      sum: { price: row.sumPrice, pieces: row.sumPieces },
      max: { at: row.maxAt },
    }))
    const fields =
      '{ shopId count sum { ...S } max { at } } } fragment S on SaleSum { price pieces }'
    const { data } = await graphql(`{ salesAggregate(groupBy: [shopId]) ${fields}`)
    const found = (data as { salesAggregate: Row[] }).salesAggregate
    expect(found.at(-1)?.shopId).toBeNull()
    expect(sorted(found)).toEqual(sorted(rows))
    const text = await graphql(`{ salesAggregate(groupBy: "shopId") ${fields}`)
    expect(text.data).toEqual(data)
    const one = await graphql(
      '{ salesAggregate(where: { pieces: { gt: 1000 } }) { count sum { price } color } }',
    )
    expect(one).toEqual({
      data: { salesAggregate: [{ count: 0, sum: { price: null }, color: null }] },
    })
    const best = await graphql(
      '{ salesAggregate(groupBy: [color], having: { count: { gte: 2 }, sumHuge: { ne: "0" } }, orderBy: [{ sumPieces: desc }], limit: 1) { color sum { pieces } } }',
    )
    const sums = reference(visibleRows, { groupBy: ['color'], sum: ['pieces'] })
    const top = sums.sort((a, b) => (b.sumPieces as number) - (a.sumPieces as number))[0]
    expect(best.data).toEqual({
      salesAggregate: [{ color: top?.color, sum: { pieces: top?.sumPieces } }],
    })
  })

  it.each([
    ['(groupBy: [secret]) { count }', 'VALIDATION'],
    ['(groupBy: [margin]) { count }', 'UNAUTHENTICATED'],
    ['{ sum { margin } }', 'UNAUTHENTICATED'],
    ['(orderBy: [{ avgMargin: asc }]) { count }', 'UNAUTHENTICATED'],
    ['(limit: 1001) { count }', 'VALIDATION'],
  ])('refuses salesAggregate%s', async (rest, code) => {
    const { errors } = await graphql(`{ salesAggregate${rest} }`)
    expect(errors).toMatchObject([{ extensions: { code } }])
  })

  it.each([
    ['sum=secret', 400],
    ['groupBy=secret', 400],
    ['secret=2', 400],
    ['sum=color', 400],
    ['groupBy=meta', 400],
    ['sum=price&having.sumPrice.gte=1e3', 400],
    ['having.count.gte=many', 400],
    ['unknown=1', 400],
    ['count=maybe', 400],
    ['limit=1001', 400],
    ['sum=margin', 401],
    ['groupBy=margin', 401],
    ['having.maxMargin.gte=1', 401],
    ['orderBy=avgMargin', 401],
    ['margin=1', 401],
  ])('responds to ?%s with %i', async (query, status) => {
    expect((await url(`/sales/aggregate?${query}`)).status).toBe(status)
  })

  it.each(['sum', 'min'])(
    'does not reveal a hidden field through %s, not even its type',
    async (operation) => {
      const responseFor = async (query: string, aggregateName: string): Promise<string> =>
        JSON.stringify((await url(`/sales/aggregate?${query}`)).body).replaceAll(
          aggregateName,
          'measure',
        )
      for (const query of ['orderBy=measure', 'having.measure.gte=1', 'having.measure.gte=x']) {
        const [hidden, missing] = [`${operation}Secret`, `${operation}Sacret`].map(
          (aggregateName) => responseFor(query.replace('measure', aggregateName), aggregateName),
        )
        expect(await hidden).toBe(await missing)
      }
    },
  )

  it.each(['__proto__', 'constructor', 'toString', 'constructor.prototype'])(
    'rejects the aggregate name %s and does not change shared prototypes',
    async (name) => {
      const { status } = await url(`/sales/aggregate?having.${name}.polluted=1`)
      const shared = [Object.prototype, Object, Reflect.get(Object.prototype, 'toString') as object]
      const polluted = shared.filter((one) => Object.hasOwn(one, 'polluted'))
      for (const one of shared) Reflect.deleteProperty(one, 'polluted')
      expect(polluted).toEqual([])
      expect(status).toBe(400)
    },
  )
})

@Record
class Probe {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('numeric', { optional: true, nullable: true }) value?: number | null
}
@Controller('/probes', { crud: Probe })
@NoAuth
class Probes {}
@Module({ controllers: [Probes], records: [Probe] })
class Laboratory {}

describe.each(engines)('%s: aggregates of doubles', (_name, open) => {
  let database: Database
  let app: Application
  const maxDouble = Number.MAX_VALUE
  beforeAll(async () => {
    database = await connect(await open(), { records: [Probe] })
    await database.sync()
    const groups: globalThis.Record<string, (number | null)[]> = {
      none: [null, null],
      usual: [0.1, 0.2, 3],
      tiny: [5e-324, 5e-324, 0],
      tinyAndUsual: [5e-324, 1, 1],
      square: [1e200, -1e200, 3],
      cancelled: [1e300, -1e300, 5e-324],
      mean: [1e308, 1e308],
      beyond: [1e308, 1e308, 1e308],
      below: [-1.5e308, -1.5e308],
      mixed: [1e308, 1e308, -1e308, -1e308],
    }
    const rows = Object.entries(groups).flatMap(([name, values]) =>
      values.map((value) => ({ name, value })),
    )
    await database.records(Probe).insertMany(rows)
    app = await bootstrap(Laboratory, { database, logger: false, listen: false })
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  it('are finite, whatever values the rows contain', async () => {
    const { status, body } = await app.inject({
      url: '/probes/aggregate?groupBy=name&sum=value&avg=value&orderBy=name',
    })
    expect([status, body]).toEqual([200, expect.any(String)])
    const near = (value: number): unknown => expect.closeTo(value, 10)
    const aggregates = (JSON.parse(body) as Row[]).map(({ name, sumValue, avgValue }) => [
      name,
      sumValue,
      avgValue,
    ])
    const size = (value: number): unknown => ({
      asymmetricMatch: (found: number) => Math.abs(found / value - 1) < 1e-12,
    })
    expect(aggregates).toEqual([
      ['below', -maxDouble, size(-1.5e308)],
      ['beyond', maxDouble, size(1e308)],
      ['cancelled', near(0), near(0)],
      ['mean', maxDouble, size(1e308)],
      ['mixed', near(0), near(0)],
      ['none', null, null],
      ['square', near(3), near(1)],
      ['tiny', near(0), near(0)],
      ['tinyAndUsual', near(2), near(2 / 3)],
      ['usual', near(3.3), near(1.1)],
    ])
    const ungrouped = await app.inject({ url: '/probes/aggregate?sum=value&avg=value' })
    expect(ungrouped.status).toBe(200)
    const graphql = await app.inject({
      method: 'POST',
      url: '/graphql',
      json: { query: '{ probesAggregate(groupBy: [name]) { sum { value } avg { value } } }' },
    })
    expect(graphql.json()).not.toHaveProperty('errors')
  })

  it('are compared and ordered by the returned value', async () => {
    const ordered = await app.inject({
      url: '/probes/aggregate?groupBy=name&having.sumValue.gte=1&orderBy=-sumValue,name&limit=3',
    })
    expect(ordered.json()).toMatchObject([{ name: 'beyond' }, { name: 'mean' }, { name: 'usual' }])
  })
})
