/**
 * Types that graphql-codegen makes of the atlas's schema, in a program that uses them.
 *
 * @jest-environment node
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codegen } from '@graphql-codegen/core'
import * as operations from '@graphql-codegen/typescript-operations'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parse } from 'graphql'
import type { Application } from '../../../src/index.js'
import { root, runNode, withFolder } from '../../openapi/command.js'
import { logIn, startAtlas } from '../../samples/small-world.js'

const named = 'fragment Named on City { id name }'
const around = `query Around($where: CountryWhere, $lat: Float!, $lng: Float!) {
  countries(where: $where, orderBy: [{ name: desc }], limit: 1) {
    name
    cities(limit: 1) { ...Named distance(lat: $lat, lng: $lng) country { code } }
  }
  cityCount
  citiesPage(first: 1) { totalCount edges { node { ...Named } } }
}`
const found = 'mutation Found($input: CityInput) { createCity(input: $input) { ...Named } }'

/** A client program. Its arguments are the URL, a token, and both operations. */
const program = `
import { GraphQLClient } from 'graphql-request'
import type * as Types from './operations.js'

const [url = '', token = '', around = '', found = ''] = process.argv.slice(2)
const client = new GraphQLClient(url, { headers: { Authorization: 'Bearer ' + token } })

const { countries, cityCount, citiesPage } = await client.request<
  Types.AroundQuery,
  Types.AroundQueryVariables
>(around, {
  where: { code: { in: ['IS'] }, cities: { lat: { gt: 64 } } },
  lat: 64.14,
  lng: -21.9,
})
const city = countries?.[0]?.cities?.[0]
const name: string | null | undefined = city?.name
const distance: number | null | undefined = city?.distance
const { createCity } = await client.request<Types.FoundMutation, Types.FoundMutationVariables>(
  found,
  { input: { name: 'Nýborg', lat: 64.2, lng: -21.7, countryId: 1 } },
)
const total = citiesPage?.totalCount
console.log(JSON.stringify([name, distance, cityCount, total, createCity?.name]))

// @ts-expect-error: a country has no mayor.
void countries?.[0]?.mayor
// @ts-expect-error: the query does not select the region.
void countries?.[0]?.region
// @ts-expect-error: the point is missing.
const pointless: Types.AroundQueryVariables = {}
// @ts-expect-error: filters compare values of the same type.
const wrong: Types.AroundQueryVariables = { where: { code: { gt: 5 } }, lat: 1, lng: 1 }
// @ts-expect-error: hidden fields are not in inputs.
const hidden: Types.CityInput = { searchable: 'x' }
void [pointless, wrong, hidden]
`

let folder: string
let app: Application
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'filigree-atlas-'))
  const options = { listen: true, port: 0, host: '127.0.0.1' }
  app = await startAtlas({ url: 'sqlite::memory:', folder, options })
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('the schema of the atlas, as graphql-codegen reads it', () => {
  it('gives types to a client that compiles and works', async () => {
    const generated = await codegen({
      schema: parse(app.graphql.sdl),
      documents: [
        { location: 'operations.graphql', document: parse([around, found, named].join('\n')) },
      ],
      config: {},
      filename: 'operations.ts',
      plugins: [{ operations: {} }],
      pluginMap: { operations },
    })
    const files = {
      'operations.ts': generated,
      'program.ts': program,
      'package.json': '{ "type": "module" }',
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          strict: true,
          exactOptionalPropertyTypes: true,
          target: 'es2023',
          lib: ['es2023', 'dom', 'dom.iterable'],
          module: 'nodenext',
          types: ['node'],
          skipLibCheck: true,
        },
      }),
    }
    const token = await logIn(app, 'ada', 'analytical')
    const tools = join(import.meta.dirname, '..')
    const use = async (at: string) => ({
      compiled: await runNode(join(root, 'node_modules/typescript7/bin/tsc'), '-p', at),
      ran: await runNode(
        join(at, 'program.js'),
        `${app.url}/graphql`,
        token,
        ...[around, found].map((text) => text + named),
      ),
    })
    const { compiled, ran } = await withFolder(files, use, tools)
    expect(compiled).toEqual({ code: 0, output: '' })
    expect(JSON.parse(ran.output)).toEqual(['Reykjavík', 0.5, 10, 10, 'Nýborg'])
  })
})
