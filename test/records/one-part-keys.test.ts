/** Keys of one field that the program gives, and the references to them. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Record,
  Secured,
  type Rel,
} from 'filigree'
import { testApplication, type TestApplication } from 'filigree/testing'
import { startBothEngines } from './both-engines.js'

@NoAuth
@Record({ key: ['code'] })
class Country {
  @Field('string') code!: string
  @Field('string') name!: string
}

@NoAuth
@Record()
class City {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { nullable: true, optional: true }) countryCode?: string | null
  @BelongsTo(() => Country) country!: Rel<Country> | null
}

@NoAuth
@Record({ key: ['countryCode', 'number'] })
class Postcode {
  @Field('string') countryCode!: string
  @Field('integer') number!: number
}

@NoAuth
@Record()
class Letter {
  @Field('id') id!: number
  @Field('string') countryCode!: string
  @Secured('clerk') @Field('integer') number!: number
  @BelongsTo(() => Postcode) postcode!: Rel<Postcode>
}

@Controller('/letters', { crud: Letter })
class Letters {}

@Controller('/cities', { crud: City })
class Cities {}

@Controller('/countries', { crud: Country })
class Countries {}

@Module({ controllers: [Cities, Countries, Letters], records: [City, Country, Letter, Postcode] })
class Atlas {}

describe.each(await startBothEngines())('a key of one given field on %s', (_name, open) => {
  let app: TestApplication

  beforeAll(async () => {
    app = await testApplication(Atlas, { database: await open() })
    const database = app.get(Database)
    for (const [code, name] of [
      ['DE', 'Germany'],
      ['PL', 'Poland'],
    ] as const)
      await database.records(Country).create({ code, name })
    for (const [name, countryCode] of [
      ['Berlin', 'DE'],
      ['Gdynia', 'PL'],
      ['Atlantis', null],
    ] as const)
      await database.records(City).create({ name, countryCode })
  })
  afterAll(() => app.close())

  const names = async (query: string): Promise<unknown> => {
    const { body } = await app.anonymous.get(`/cities?fields=name&${query}`)
    return Array.isArray(body) ? (body as { name: string }[]).map(({ name }) => name) : body
  }

  it('is compared in filters and sorts like other fields', async () => {
    expect(await names('countryCode=DE')).toEqual(['Berlin'])
    expect(await names('countryCode.ne=DE')).toEqual(['Gdynia', 'Atlantis'])
    expect(await names('countryCode.in=DE,PL')).toEqual(['Berlin', 'Gdynia'])
    expect(await names('countryCode.startsWith=P')).toEqual(['Gdynia'])
    expect(await names('countryCode.isNull=true')).toEqual(['Atlantis'])
    expect(await names('country.name=Poland&orderBy=-countryCode')).toEqual(['Gdynia'])
    const { body } = await app.anonymous.get('/countries?code.gte=E')
    expect(body).toMatchObject([{ code: 'PL' }])
  })

  it('protects a relation like each field that holds its key', async () => {
    const database = app.get(Database)
    await database.records(Postcode).create({ countryCode: 'DE', number: 10115 })
    await database.records(Letter).create({ countryCode: 'DE', number: 10115 })
    const path = '/letters?with=postcode'
    expect((await app.anonymous.get(path)).body).not.toMatchObject([{ postcode: {} }])
    expect((await app.as({ sub: 'ann', roles: ['clerk'] }).get(path)).body).toMatchObject([
      { postcode: { number: 10115 } },
    ])
  })

  it('is compared by programs and GraphQL', async () => {
    const cities = app.get(Database).records(City)
    expect(await cities.list({ where: { countryCode: 'DE' } })).toMatchObject([{ name: 'Berlin' }])
    const { data, errors } = await app.anonymous.graphql(
      '{ citys(where: { countryCode: { eq: "PL" } }) { name country { code } } country(code: "DE") { name } }',
    )
    expect(errors).toBeUndefined()
    expect(data).toEqual({
      citys: [{ name: 'Gdynia', country: { code: 'PL' } }],
      country: { name: 'Germany' },
    })
  })
})
