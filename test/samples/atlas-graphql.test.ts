/** @jest-environment node */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application } from '../../src/index.js'
import { logIn, startAtlas } from './small-world.js'

let folder: string
let app: Application
let grace: string
let ada: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'filigree-atlas-'))
  app = await startAtlas({ url: 'sqlite::memory:', folder })
  grace = await logIn(app)
  ada = await logIn(app, 'ada', 'analytical')
})

afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

async function graphql(query: string, token?: string) {
  const sent = { url: '/graphql', json: { query } }
  const { status, body } = await app.inject(token === undefined ? sent : { ...sent, token })
  const { data, errors = [] } = JSON.parse(body) as {
    data: unknown
    errors?: { message: string; extensions: { code: string } }[]
  }
  return { status, data, codes: errors.map(({ extensions }) => extensions.code) }
}

describe('the atlas over GraphQL', () => {
  it('shows countries with their cities, and cities with their country', async () => {
    const query = `{
      countries(where: { code: { eq: "IS" } }) { name cities(limit: 2) { name country { flag } } }
      cityCount
    }`
    expect(await graphql(query)).toEqual({
      status: 200,
      data: {
        countries: [
          {
            name: 'Iceland',
            cities: [
              { name: 'Reykjavík', country: { flag: '⚑' } },
              { name: 'Kópavogur', country: { flag: '⚑' } },
            ],
          },
        ],
        cityCount: 10,
      },
      codes: [],
    })
  })

  it('computes the distance of a city with any selection', async () => {
    const query = '{ city(id: 2) { distance(lat: 64.14, lng: -21.9) } }'
    expect((await graphql(query)).data).toEqual({ city: { distance: 3.1 } })
  })

  it.each([
    ['createCountry', 'mutation { createCountry(input: { code: "XX" }) { id } }'],
    ['updateCountry', 'mutation { updateCountry(id: 1, input: { name: "x" }) { id } }'],
    ['deleteCountry', 'mutation { deleteCountry(id: 1) }'],
    ['createCity', 'mutation { createCity(input: { name: "x" }) { id } }'],
    ['updateCity', 'mutation { updateCity(id: 1, input: { name: "x" }) { id } }'],
    ['deleteCity', 'mutation { deleteCity(id: 1) }'],
    ['createUser', 'mutation { createUser(input: { name: "x", roles: ["admin"] }) { id } }'],
    ['deleteUser', 'mutation { deleteUser(id: 1) }'],
  ])('runs %s for administrators only', async (_name, mutation) => {
    expect(await graphql(mutation)).toEqual({ status: 401, data: null, codes: ['UNAUTHENTICATED'] })
    expect(await graphql(mutation, grace)).toEqual({
      status: 403,
      data: null,
      codes: ['FORBIDDEN'],
    })
    expect((await graphql('{ countryCount cityCount }')).data).toEqual({
      countryCount: 5,
      cityCount: 10,
    })
  })

  it('administrators can write', async () => {
    const create = `mutation {
      createCity(input: { name: "Nýborg", lat: 64.2, lng: -21.7, countryId: 1 }) { id country { code } }
    }`
    expect(await graphql(create, ada)).toEqual({
      status: 200,
      data: { createCity: { id: '11', country: { code: 'IS' } } },
      codes: [],
    })
    expect((await graphql('mutation { deleteCity(id: 11) }', ada)).data).toEqual({
      deleteCity: true,
    })
  })

  it('shows users to administrators only, and never passwords', async () => {
    expect(await graphql('{ users { name } }', grace)).toMatchObject({ status: 403, data: null })
    expect((await graphql('{ users { name roles } }', ada)).data).toEqual({
      users: [
        { name: 'ada', roles: ['admin'] },
        { name: 'grace', roles: [] },
      ],
    })
    expect(app.graphql.sdl).not.toMatch(/passwordHash|searchable/)
  })

  it('shows pictures, and has no mutations for them because they are uploaded', async () => {
    expect(await graphql('{ pictures { id } }')).toMatchObject({ data: { pictures: [] } })
    expect(app.graphql.sdl).not.toMatch(/(?:create|update|delete)Picture/)
  })
})
