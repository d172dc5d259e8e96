import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { validate } from '@readme/openapi-parser'
import { bootstrap, type Application, type OpenApiDocument } from 'filigree'
import { AtlasModule } from '../../samples/atlas/app.js'
import { root, runNode, withFolder } from '../openapi/command.js'
import { FixtureModule } from '../openapi/fixture-application.js'
import { OddModule } from '../openapi/unusual-application.js'
import type { Class } from '../public-types.js'

const apiKey = 'a-key-for-the-tests-alone'
let app: Application

beforeAll(async () => {
  app = await bootstrap(FixtureModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: { APP_API_KEY: apiKey },
  })
})

afterAll(() => app.close())

async function documentOf(module: Class): Promise<OpenApiDocument> {
  const options = { listen: false, logger: false, database: 'sqlite::memory:' } as const
  await using started = await bootstrap(module, options)
  return started.openapi
}

describe.each([
  ['with every feature', FixtureModule],
  ['of the atlas', AtlasModule],
  ['with unusual names', OddModule],
])('the document %s, checked by other tools', (_, module) => {
  it('has no error by the recommended rules of @redocly/cli', async () => {
    const text = JSON.stringify(await documentOf(module))
    const { code, output } = await withFolder({ 'openapi.json': text }, (folder) =>
      runNode(
        join(import.meta.dirname, 'node_modules/@redocly/cli/bin/cli.js'),
        'lint',
        join(folder, 'openapi.json'),
        '--extends=recommended',
        '--format=json',
      ),
    )
    const report = JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1))
    const errors = report.problems.filter((problem: Judged) => problem.severity === 'error')
    expect(errors).toEqual([])
    expect(report.totals.errors).toBe(0)
    expect(code).toBe(0)
  })

  it('is valid by the schema of OpenAPI 3.1, and every reference resolves', async () => {
    const copy = structuredClone(await documentOf(module))
    const result = await validate(copy as Parameters<typeof validate>[0])
    expect(result).toMatchObject({ valid: true })
  })
})

interface Judged {
  readonly severity: string
}

describe('the document, read by another tool', () => {
  it('gives types to a generated client, which works', async () => {
    const files = {
      'openapi.json': JSON.stringify(app.openapi),
      'program.ts': program,
      'package.json': '{ "type": "module" }',
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          strict: true,
          target: 'es2023',
          lib: ['es2023', 'dom', 'dom.iterable'],
          module: 'nodenext',
          types: ['node'],
          skipLibCheck: true,
        },
      }),
    }
    const use = async (folder: string) => ({
      generation: await runNode(
        join(import.meta.dirname, 'node_modules/openapi-typescript/bin/cli.js'),
        join(folder, 'openapi.json'),
        '--output',
        join(folder, 'api.ts'),
        // A default makes a field optional in requests.
        '--default-non-nullable=false',
      ),
      compiled: await runNode(join(root, 'node_modules/typescript7/bin/tsc'), '-p', folder),
      ran: await runNode(join(folder, 'program.js'), app.url, apiKey),
    })
    const { generation, compiled, ran } = await withFolder(files, use, import.meta.dirname)
    expect(generation).toMatchObject({ code: 0 })
    expect(compiled).toEqual({ code: 0, output: '' })
    expect(JSON.parse(ran.output)).toEqual({
      found: 'Lamp',
      missing: [404, 'Not found'],
      created: [201, 'Vase', 'red'],
      refused: [400, ['price']],
      byName: { found: [], total: 4 },
      anonymous: [401, 'Unauthorized'],
      types: ['number', 'string', true],
    })
  })
})

/** Every line that is expected not to compile has a type error. */
const program = `
import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

const [, , baseUrl = '', token = ''] = process.argv
const client = createClient<paths>({ baseUrl, headers: { Authorization: 'Bearer ' + token } })
const stranger = createClient<paths>({ baseUrl })

const list = await client.GET('/items', { params: { query: { limit: 5, tag: ['a', 'b'] } } })
const found: string | undefined = list.data?.[0]?.name
const missing = await client.GET('/items/{id}', { params: { path: { id: 4711 } } })
const created = await client.POST('/items', { body: { name: 'Vase', price: 3, color: 'red' } })
const item: components['schemas']['Item'] = created.data!
const id: number = item.id
const createdAt: string = item.createdAt
// @ts-expect-error a price is a number
const refused = await client.POST('/items', { body: { name: 'Vase', price: 'three' } })
const errorPaths = (refused.error as components['schemas']['ErrorBody']).errors?.map(({ path }) => path)
const byName = await client.GET('/items/{name}#name-string', { params: { path: { name: 'Lamp' } } })
const anonymous = await stranger.POST('/items', { body: { name: 'Vase', price: 3 } })
const unauthorized = anonymous.error as components['schemas']['ErrorBody']
type Sent = keyof components['schemas']['ItemInput']
const serverOwn: [Extract<Sent, 'id' | 'createdAt' | 'secret'>] extends [never] ? true : false = true
// @ts-expect-error there is no such colour
void (() => client.POST('/items', { body: { name: 'Vase', price: 3, color: 'blue' } }))
// @ts-expect-error there is no such path
void (() => client.GET('/nowhere'))
// @ts-expect-error this path cannot be deleted without its id
void (() => client.DELETE('/items/{id}'))

console.log(JSON.stringify({
  found,
  missing: [missing.response.status, (missing.error as components['schemas']['ErrorBody']).error],
  created: [created.response.status, item.name, item.color],
  refused: [refused.response.status, errorPaths],
  byName: byName.data,
  anonymous: [anonymous.response.status, unauthorized.error],
  types: [typeof id, typeof createdAt, serverOwn],
}))
`
