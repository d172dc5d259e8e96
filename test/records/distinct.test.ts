import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  bootstrap,
  connect,
  Controller,
  type Database,
  Field,
  type Generated,
  Module,
  NoAuth,
  Record,
  Secured,
} from '../../src/index.js'
import { failure } from '../contracts/database-fixture.js'
import { startBothEngines } from './both-engines.js'
import { randomNumbers } from '../random.js'

@Record<Shirt>({ softDelete: true, search: ['color'], rows: () => ({ visible: true }) })
@NoAuth
class Shirt {
  @Field('id') id!: number
  @Field('string', { nullable: true }) color!: string | null
  @Field('integer') size!: number
  @Field('decimal', { precision: 20, scale: 2 }) price!: string
  @Field('boolean', { default: true }) visible!: Generated<boolean>
  @Field('string', { list: true, default: [] }) tags!: Generated<string[]>
  @Secured('boss') @Field('integer', { default: 1 }) margin!: Generated<number>
  @Field('integer', { hidden: true, default: 2 }) secret!: Generated<number>
}

@Controller('/shirts', { crud: Shirt })
@NoAuth
class Shirts {}

@Module({ controllers: [Shirts], records: [Shirt] })
class Shop {}

describe.each(await startBothEngines())('distinct rows: %s', (_name, open) => {
  let database: Database
  let app: Application
  let all: Shirt[]
  beforeAll(async () => {
    database = await connect(await open(), { records: [Shirt] })
    await database.sync()
    app = await bootstrap(Shop, { database, listen: false })
    const next = randomNumbers(3)
    const shirts = database.records(Shirt)
    await shirts.insertMany(
      Array.from({ length: 200 }, () => ({
        color: ['red', 'Red', 'blue', 'ärmel', null][next(5)] ?? null,
        size: next(4),
        price: `${next(3)}.50`,
        visible: next(4) > 0,
      })),
    )
    for (const id of [1, 5, 9]) await shirts.delete(id)
    all = await shirts.list()
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const get = async (path: string) => {
    const response = await app.handle(new Request(`http://app.test${path}`))
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  const graphql = async (query: string) => {
    const response = await app.handle(
      new Request('http://app.test/graphql', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ query }),
      }),
    )
    return (await response.json()) as { data: { shirts: object[] }; errors?: { message: string }[] }
  }
  /** The first row of each combination of values, in the order of the list. */
  const firsts = (rows: readonly Shirt[], names: readonly (keyof Shirt)[]): Shirt[] => {
    const keys = new Set<string>()
    return rows.filter((row) => {
      const key = JSON.stringify(names.map((name) => row[name]))
      return !keys.has(key) && keys.add(key)
    })
  }

  it('are the first of equal rows, in 100 random queries', async () => {
    const next = randomNumbers(11)
    const names = ['color', 'size', 'price', 'visible'] as const
    const shirts = database.records(Shirt)
    for (let step = 0; step < 100; step++) {
      const distinct = names.filter(() => next(2) === 0)
      if (distinct.length === 0) continue
      const where = next(2) === 0 ? {} : { size: { lt: 1 + next(4) } }
      const orderBy =
        next(3) === 0 ? undefined : { [names[next(4)] ?? 'size']: next(2) ? 'desc' : 'asc' }
      const ordered = await shirts.list({ where, orderBy })
      const expected = firsts(ordered, distinct)
      const [limit, offset] = [next(20), next(5)]
      const found = await shirts.list({ where, orderBy, distinct, limit, offset })
      expect(found).toEqual(expected.slice(offset, offset + limit))
      expect(await shirts.list({ where, orderBy, distinct, offset })).toEqual(
        expected.slice(offset),
      )
      expect(await shirts.count(where, { distinct })).toBe(expected.length)
    }
  })

  it('are listed by REST, page by page, if the caller may see them', async () => {
    const visible = firsts(
      all.filter((shirt) => shirt.visible),
      ['color', 'size'],
    ).map(({ id }) => id)
    const foundIds: number[] = []
    let path: string | undefined = '/shirts?distinct=color,size&limit=4&fields=id'
    while (path !== undefined) {
      const { body, headers } = await get(path)
      expect(headers.get('X-Total-Count')).toBe(String(visible.length))
      foundIds.push(...body.map(({ id }: Shirt) => id))
      path = /<([^>]*)>/.exec(headers.get('Link') ?? '')?.[1]
    }
    expect(foundIds).toEqual(visible)
    const { body } = await get('/shirts?distinct=color&fields=color&orderBy=color')
    expect(body).toEqual(['Red', 'blue', 'red', 'ärmel', null].map((color) => ({ color })))
    const found = await get('/shirts?distinct=color&search=red')
    expect(found.body).toHaveLength(2)
  })

  it('are listed by GraphQL', async () => {
    const { data } = await graphql(
      '{ shirts(distinct: [color], orderBy: [{ color: desc }]) { color } }',
    )
    expect(data.shirts).toEqual(['ärmel', 'red', 'blue', 'Red', null].map((color) => ({ color })))
    const two = await graphql(
      '{ shirts(distinct: [color, size], limit: 2, offset: 1, where: { size: { lt: 2 } }) { id } }',
    )
    const expected = firsts(
      all.filter(({ visible, size }) => visible && size < 2),
      ['color', 'size'],
    )
    expect(two.data.shirts).toEqual(expected.slice(1, 3).map(({ id }) => ({ id: String(id) })))
    expect((await graphql('{ shirts(distinct: [colour]) { id } }')).errors).toHaveLength(1)
    expect((await graphql('{ shirts(distinct: [margin]) { id } }')).errors).toHaveLength(1)
  })

  it('require existing fields that the caller may read', async () => {
    for (const [names, status] of [
      ['colour', 400],
      ['tags', 400],
      ['secret', 400],
      ['__proto__', 400],
      ['margin', 401],
    ] as const)
      expect([names, (await get(`/shirts?distinct=${names}`)).status]).toEqual([names, status])
    for (const distinct of [[], ['colour'], ['tags'], 'color', [5], null])
      expect(await failure(database.records(Shirt).list({ distinct } as never))).toMatchObject({
        status: 400,
      })
    expect(await database.records(Shirt).count({}, { distinct: ['secret'] })).toBe(1)
    expect((await get('/shirts?distinct=color&after=zzz')).status).toBe(400)
  })
})
