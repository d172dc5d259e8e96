/** The number of matches a search ranks, and the cost limit for related rows. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CompiledQuery } from 'kysely'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record,
  Resolve,
  type Rel,
  connect,
  Database,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { internalsOf } from './open-database.js'

@Record()
class Shop {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Text) texts!: Rel<Text[]>
}

@Record({ search: ['title', 'note'], searchLimit: 50 })
class Text {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string') note!: string
  @Field('integer') shopId!: number
  @BelongsTo(() => Shop) shop!: Rel<Shop>
  /** A resolver, which only graphql-js can run. */
  @Resolve('Int') size(): number {
    return this.title.length
  }
}

@Controller('/texts', { crud: Text })
@NoAuth
class Texts {}
@Controller('/shops', { crud: Shop })
@NoAuth
class Shops {}
@Module({ controllers: [Texts, Shops], records: [Shop, Text] })
class App {}

const engines = await startBothEngines()

describe.each(engines)('A search on %s', (_name, open) => {
  let database: Database
  let app: Awaited<ReturnType<typeof bootstrap>>

  beforeAll(async () => {
    database = await connect(await open(), { records: [Shop, Text] })
    await database.sync()
    const shops = await database.records(Shop).createMany([{ name: 'a' }, { name: 'b' }])
    const [first = 0, second = 0] = shops.map(({ id }) => id)
    const rows = Array.from({ length: 120 }, (_, index) => ({
      title: index === 40 ? 'lamp lamp' : 'other',
      note: index % 2 === 0 ? 'a lamp' : 'nothing',
      shopId: index >= 110 ? second : first,
    }))
    await database.records(Text).insertMany(rows)
    // 5,005 rows of one shop, but less than 5,000 of each on the average: a session of PostgreSQL that delays its statistics
    // counts these rows twice.
    const many = Array.from({ length: 4895 }, () => ({ title: 'x', note: 'x', shopId: first }))
    await database.records(Text).insertMany(many)
    // PostgreSQL publishes statistics with a delay.
    await database.kysely.executeQuery(CompiledQuery.raw('analyze'))
    await internalsOf(database).sizes.read()
    app = await bootstrap(App, { port: 0, logger: false, database, graphql: true })
  })
  afterAll(() => app.close())

  const get = async (path: string) => {
    const { status, body } = await app.inject({ url: path })
    const rows = JSON.parse(body) as { id: number }[]
    const { errors } = rows as unknown as { errors?: { code: string }[] }
    return { status, rows, code: errors?.[0]?.code }
  }
  const graphql = async (query: string) => {
    const url = '/graphql'
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', url, headers, body: JSON.stringify({ query }) } as const
    return JSON.parse((await app.inject(request)).body) as {
      data?: { [name: string]: unknown }
      errors?: { extensions: { code: string } }[]
    }
  }

  it('ranks a limited number of matches, best first', async () => {
    const { rows } = await get('/texts?search=lamp&limit=5')
    expect(rows).toHaveLength(5)
    expect(rows[0]?.id).toBe(41)
    const { data } = await graphql('{ texts(where: { search: "lamp" }, limit: 3) { id } }')
    expect((data?.texts as { id: string }[])[0]?.id).toBe('41')
  })

  it('applies other conditions before the limit', async () => {
    const { rows } = await get('/texts?search=lamp&shopId=2')
    expect(rows.map(({ id }) => id).sort()).toStrictEqual([111, 113, 115, 117, 119])
  })

  it('rejects a page beyond the limit', async () => {
    expect((await get('/texts?search=lamp&offset=40&limit=5')).status).toBe(200)
    const refused = await get('/texts?search=lamp&offset=48&limit=5')
    expect([refused.status, refused.code]).toStrictEqual([400, 'TOO_COSTLY'])
    const { errors } = await graphql(
      '{ texts(where: { search: "lamp" }, limit: 5, offset: 48) { id } }',
    )
    expect(errors?.[0]?.extensions.code).toBe('TOO_COSTLY')
  })

  it.each(['id', 'id size'])('rejects a GraphQL page beyond the limit: %s', async (node) => {
    const page = async (position: number) => {
      const after = Buffer.from(JSON.stringify(['search', position])).toString('base64')
      const { data, errors } = await graphql(`{
        textsPage(where: { search: "lamp" }, first: 5, after: "${after}") { edges { node { ${node} } } }
      }`)
      const { edges } = (data?.textsPage ?? { edges: undefined }) as { edges?: unknown[] }
      return edges?.length ?? errors?.[0]?.extensions.code
    }
    expect([await page(45), await page(46), await page(50)]).toEqual([
      5,
      'TOO_COSTLY',
      'TOO_COSTLY',
    ])
  })

  it('considers every match in counts, in other orders, and for the program', async () => {
    const { data } = await graphql('{ textCount(where: { search: "lamp" }) }')
    expect(data?.textCount).toBe(60)
    const ordered = await get('/texts?search=lamp&orderBy=-id&offset=55&limit=20')
    expect(ordered.rows).toHaveLength(5)
    expect(await database.records(Text).list({ search: 'lamp' })).toHaveLength(60)
  })

  it('returns related rows up to the cost limit', async () => {
    const refused = await get('/shops/1?with=texts')
    expect([refused.status, refused.code]).toStrictEqual([400, 'TOO_COSTLY'])
    expect((await get('/shops/2?with=texts')).status).toBe(200)
  })
})

@Record({ search: ['text'] })
class Memo {
  @Field('id') id!: number
  @Field('string') text!: string
}
@Controller('/memos', { crud: Memo })
@NoAuth
class Memos {}
@Module({ controllers: [Memos, Texts, Shops], records: [Memo, Shop, Text] })
class MemoApp {}

/** Requests pages that end within 20 matches, after the 20th and after the 50th one. @returns the REST status and whether GraphQL rejects it */
async function pagesOf(app: Awaited<ReturnType<typeof bootstrap>>, name: string) {
  const page = async (offset: number) => {
    const rest = await app.inject({ url: `/${name}?search=lamp&limit=5&offset=${offset}` })
    const query = `{ ${name}(where: { search: "lamp" }, limit: 5, offset: ${offset}) { id } }`
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ query })
    const graphqlResponse = await app.inject({ method: 'POST', url: '/graphql', headers, body })
    return [rest.status, graphqlResponse.body.includes('TOO_COSTLY')]
  }
  return [await page(5), await page(18), await page(48)]
}
const [found, refused] = [
  [200, false],
  [400, true],
]

describe.each(engines)('searchLimit of an application on %s', (_name, open) => {
  const options = { port: 0, logger: false, graphql: true } as const
  const memos = Array.from({ length: 60 }, () => ({ text: 'a lamp' }))
  const texts = memos.map(({ text }) => ({ title: text, note: text, shopId: 1 }))

  it('applies to records without their own limit', async () => {
    const app = await bootstrap(MemoApp, { ...options, database: await open(), searchLimit: 20 })
    const database = app.get(Database)
    await database.records(Memo).insertMany(memos)
    await database.records(Shop).create({ name: 'a' })
    await database.records(Text).insertMany(texts)
    expect(await pagesOf(app, 'memos')).toStrictEqual([found, refused, refused])
    expect(await pagesOf(app, 'texts')).toStrictEqual([found, found, refused])
    await app.close()
  })

  it('comes from connect if the database is already open', async () => {
    const database = await connect(await open(), { records: [Memo, Shop, Text], searchLimit: 20 })
    const app = await bootstrap(MemoApp, { ...options, database })
    await database.records(Memo).insertMany(memos)
    expect(await pagesOf(app, 'memos')).toStrictEqual([found, refused, refused])
    await app.close()
    await expect(bootstrap(MemoApp, { ...options, database, searchLimit: 30 })).rejects.toThrow(
      'bootstrap: searchLimit cannot be combined with an open database.',
    )
    await database.close()
  })
})

it.each([0, -1, 1.5, '50', null])('refuses searchLimit: %j', async (value) => {
  const searchLimit = value as number
  const message = `searchLimit is ${JSON.stringify(value)}.`
  const database = 'sqlite::memory:'
  const options = { listen: false, logger: false, database, searchLimit } as const
  await expect(bootstrap(MemoApp, options)).rejects.toThrow(`bootstrap: ${message}`)
  await expect(connect(database, { searchLimit })).rejects.toThrow(`connect: ${message}`)
})
