/** Sorting by fields of related rows, with cursors, through every interface. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  Auth,
  BelongsTo,
  bootstrap,
  connect,
  Controller,
  type Database,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record,
  type Rel,
  Secured,
  type Row,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { sendGraphql } from './send-graphql.js'

@Record
class Country {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({
  softDelete: true,
  rows: (user) => (user?.sub === 'all' ? true : { isPublic: true }),
})
class Org {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('boolean') isPublic!: boolean
  @Field('decimal', { scale: 2, optional: true, nullable: true }) fee?: string | null
  @Field('integer') countryId!: number
  @BelongsTo(() => Country) country!: Rel<Country>
  @Secured('admin') @Field('integer') rating!: number
  @Field('string', { hidden: true }) note!: string
  @HasMany(() => Person) people!: Rel<Person[]>
}

@Record
@Secured('admin')
class Secret {
  @Field('id') id!: number
  @Field('string') word!: string
}
@Record
class Person {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { index: true, optional: true, nullable: true }) age?: number | null
  @Field('integer', { optional: true, nullable: true }) orgId?: number | null
  @BelongsTo(() => Org) org!: Rel<Org | null>
  @Field('integer', { optional: true, nullable: true }) secretId?: number | null
  @BelongsTo(() => Secret) secret!: Rel<Secret | null>
}

@Controller('/people', { crud: Person })
@NoAuth
class People {}

const records = [Country, Org, Secret, Person]

@Module({ records, controllers: [People] })
class Staff {}

interface Named {
  readonly name: string
}

const names = (rows: readonly Named[]): string => rows.map(({ name }) => name).join(' ')

describe.each(await startBothEngines())('orders by related rows on %s', (_name, open) => {
  let app: Application
  let database: Database
  let all: string
  let admin: string

  beforeAll(async () => {
    database = await connect(await open(), { records })
    await database.sync()
    app = await bootstrap(Staff, { database, listen: false, logger: false })
    all = await app.get(Auth).getToken({ sub: 'all' })
    admin = await app.get(Auth).getToken({ sub: 'all', roles: ['admin'] })
    await database.records(Country).createMany([{ name: 'Zambia' }, { name: 'Austria' }])
    const org = (name: string, isPublic: boolean, rating: number, countryId: number) => ({
      ...{
        name,
        isPublic,
        rating,
        countryId,
        note: '',
        fee: rating % 2 === 0 ? null : `${rating}`,
      },
    })
    const orgs = [org('Birch', true, 1, 1), org('Ash', true, 3, 2), org('Cedar', false, 2, 1)]
    await database.records(Org).createMany([...orgs, org('Aaa', true, 4, 2)])
    await database.records(Secret).create({ word: 'x' })
    // The organization of gone is soft-deleted.
    const people = [
      ['ann', 1],
      ['bob', 2],
      ['cy', 1],
      ['dan', null],
      ['eve', 3],
      ['flo', 2],
      ['gone', 4],
    ] as const
    await database.records(Person).createMany(
      people.map(([name, orgId], index) => ({
        name,
        orgId,
        age: index % 3 === 0 ? null : index,
      })),
    )
    await database.records(Person).update(7, { orgId: null })
    await database.records(Org).delete(4)
  })

  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const get = async (url: string, token?: string) => {
    const { status, headers, body } = await app.inject({ url, token })
    return { status, headers, body: JSON.parse(body) as unknown }
  }

  const list = async (query: string, token?: string): Promise<Named[]> => {
    const { status, body } = await get(`/people?${query}`, token)
    expect(status).toBe(200)
    return body as Named[]
  }

  const graphql = (query: string, token?: string) => sendGraphql(app, query, token)

  it('sort rows of a repository, with rows without a related row last', async () => {
    const people = database.records(Person)
    const found = await people.list({ orderBy: [{ org: { name: 'asc' } }, { name: 'desc' }] })
    expect(names(found)).toBe('flo bob cy ann eve gone dan')
    const reversed = await people.list({
      orderBy: { org: { name: { direction: 'desc', nulls: 'first' } } },
    })
    expect(names(reversed)).toBe('dan gone eve ann cy bob flo')
    const far = await people.list({ orderBy: { org: { country: { name: 'asc' }, name: 'desc' } } })
    expect(names(far)).toBe('bob flo eve ann cy dan gone')
  })

  it('continue after the cursor of a row', async () => {
    const people = database.records(Person)
    for (const orderBy of [
      [{ org: { name: 'asc' } }],
      [{ org: { name: { direction: 'desc', nulls: 'first' } } }, { age: 'desc' }],
      [{ age: { nulls: 'first' } }, { org: { fee: 'desc' } }],
      [{ org: { isPublic: 'desc', fee: 'asc' } }],
      [{ org: { country: { name: 'desc' } } }, { org: { id: 'asc' } }],
    ] as const) {
      const allRows = await people.list({ orderBy })
      const pages: Row<Person>[] = []
      for (let after: { after?: string } = {}; ;) {
        const page = await people.list({ orderBy, limit: 2, ...after })
        pages.push(...page)
        const last = page.at(-1)
        if (last === undefined || page.length < 2) break
        after = { after: people.cursorOf(last, orderBy) }
      }
      expect(names(pages)).toBe(names(allRows))
      expect(pages).toHaveLength(7)
    }
  })

  it('reject the cursor of a row that was not read in this order', async () => {
    const people = database.records(Person)
    const ann = (await people.find(1)) as Person
    expect(() => people.cursorOf(ann, { org: { name: 'asc' } })).toThrow(
      'cursorOf: org.name is a field of another record. Pass a row that list returned in this order.',
    )
  })

  it('sort distinct rows and filtered searches', async () => {
    const found = await database
      .records(Person)
      .list({ distinct: ['orgId'], orderBy: { org: { name: 'asc' } }, where: { id: { gt: 0 } } })
    expect(names(found)).toBe('bob ann eve dan')
  })

  it('accept dotted names in query strings, with links to the next pages', async () => {
    expect(names(await list('orderBy=org.name,-name', all))).toBe('flo bob cy ann eve gone dan')
    const found: Named[] = []
    let url: string | undefined = '/people?orderBy=-org.name,-name&limit=2'
    while (url !== undefined) {
      const response = await get(url, all)
      found.push(...(response.body as Named[]))
      url = /<([^>]*)>/.exec(response.headers.link ?? '')?.[1]
    }
    expect(names(found)).toBe('eve cy ann flo bob gone dan')
  })

  it('include related records with the rows', async () => {
    const found = await list('orderBy=-org.name&with=org&limit=3', all)
    expect(found).toMatchObject([
      { name: 'eve', org: { name: 'Cedar' } },
      { name: 'ann', org: { name: 'Birch' } },
      { name: 'cy', org: { name: 'Birch' } },
    ])
  })

  it('treat related rows the caller may not see as missing', async () => {
    expect(names(await list('orderBy=-org.name'))).toBe('ann cy bob flo dan eve gone')
    const { data } = await graphql('{ people(orderBy: [{ org: { name: desc } }]) { name } }')
    expect(names(data.people)).toBe('ann cy bob flo dan eve gone')
  })

  it('reject fields and relations the caller may not read', async () => {
    for (const orderBy of ['org.rating', 'secret.word']) {
      expect((await get(`/people?orderBy=${orderBy}`)).status).toBe(401)
      expect((await get(`/people?orderBy=${orderBy}`, all)).status).toBe(403)
      expect((await get(`/people?orderBy=${orderBy}`, admin)).status).toBe(200)
    }
    for (const order of ['{ org: { rating: asc } }', '{ secret: { word: asc } }']) {
      const list = `{ people(orderBy: [${order}]) { name } }`
      const page = `{ peoplePage(orderBy: [${order}]) { edges { cursor } } }`
      for (const query of [list, page]) {
        expect((await graphql(query)).errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED')
        expect((await graphql(query, all)).errors?.[0]?.extensions.code).toBe('FORBIDDEN')
        expect((await graphql(query, admin)).errors).toBeUndefined()
      }
    }
  })

  it.each([
    ['org.note', 'orderBy.org.note', 'unknown'],
    ['org.nam', 'orderBy.org.nam', 'unknown'],
    ['org', 'orderBy.org', 'type'],
    ['org.people.name', 'orderBy.org.people', 'type'],
    ['name.length', 'orderBy.name.length', 'unknown'],
    ['org..name', 'orderBy.org.', 'unknown'],
    ['org.__proto__', 'orderBy.org.__proto__', 'unknown'],
  ])('respond with 400 to orderBy=%s', async (orderBy, path, code) => {
    const response = await get(`/people?orderBy=${orderBy}`, admin)
    expect(response.status).toBe(400)
    const { errors } = response.body as { errors: object[] }
    expect(errors).toEqual([expect.objectContaining({ path })])
    if (code === 'unknown') expect(errors).toEqual([expect.objectContaining({ code })])
  })

  it('sort GraphQL lists, also nested ones and with resolvers', async () => {
    const order = 'orderBy: [{ org: { country: { name: asc } } }, { name: desc }]'
    const { data } = await graphql(`{ people(${order}) { name } }`, all)
    expect(names(data.people)).toBe('flo bob eve cy ann gone dan')
    const below = await graphql(
      `{ orgs(orderBy: [{ country: { name: desc } }, { name: asc }]) { name people(${order}) { name } } }`,
      all,
    )
    expect(below.data.orgs.map((org: { name: string }) => org.name)).toEqual([
      ...['Birch', 'Cedar', 'Ash'],
    ])
    expect(names(below.data.orgs[0].people)).toBe('cy ann')
    // A field error makes resolvers run.
    const mixed = await graphql(`{ people(${order}) { name org { rating } } }`, all)
    expect(mixed.errors?.length).toBeGreaterThan(0)
    expect(names(mixed.data.people)).toBe('flo bob eve cy ann gone dan')
  })

  it.each(['name', 'name org { rating }'])(
    'return pages with { %s } in both directions',
    async (selection) => {
      const order = 'orderBy: [{ org: { name: asc_nulls_first } }, { org: { fee: desc } }]'
      const expected = 'dan gone bob flo ann cy eve'
      const read = async (reading: 'first' | 'last'): Promise<string> => {
        const found: string[][] = []
        const [from, more, cursor] =
          reading === 'first'
            ? ['after', 'hasNextPage', 'endCursor']
            : ['before', 'hasPreviousPage', 'startCursor']
        for (let position = ''; ;) {
          const { data } = await graphql(
            `{ peoplePage(${order}, ${reading}: 2${position}) { totalCount edges { cursor node { ${selection} } } pageInfo { ${more} ${cursor} } } }`,
            all,
          )
          const { edges, pageInfo, totalCount } = data.peoplePage
          expect(totalCount).toBe(7)
          const page = edges.map(({ node }: { node: { name: string } }) => node.name)
          if (reading === 'first') found.push(page)
          else found.unshift(page)
          if (pageInfo[more] !== true) return found.flat().join(' ')
          position = `, ${from}: "${pageInfo[cursor]}"`
        }
      }
      expect(await read('first')).toBe(expected)
      expect(await read('last')).toBe(expected)
    },
  )

  it('are described in the API documents', async () => {
    const { paths } = (await get('/swagger/openapi.json')).body as {
      paths: { '/people': { get: { parameters: { name: string; description: string }[] } } }
    }
    const { parameters } = paths['/people'].get
    const { description = '' } = parameters.find(({ name }) => name === 'orderBy') ?? {}
    expect(description).toContain('`org.name`')
    const { data } = await graphql('{ __type(name: "PersonOrder") { inputFields { name } } }')
    expect(data.__type.inputFields.map(({ name }: { name: string }) => name)).toContain('org')
    const org = await graphql('{ __type(name: "OrgOrder") { inputFields { name } } }')
    const fields = org.data.__type.inputFields.map(({ name }: { name: string }) => name)
    expect(fields).toContain('country')
    expect(fields).not.toContain('people')
  })
})
