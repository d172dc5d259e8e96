/** Compares the document of `crud` with the responses of the routes: statuses, headers, bodies. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import formatsPlugin from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  type Generated,
  HasMany,
  ManyToMany,
  Module,
  NoAuth,
  Record,
  type Rel,
  Secured,
} from 'filigree'

// A CommonJS module: its default export is at `default` for the compiler and at the top for Node.
const addFormats = formatsPlugin as unknown as (ajv: Ajv2020) => void

@NoAuth
@Record
class Label {
  @Field('id') id!: number
  @Field('string', { unique: true, default: 'new' }) name!: Generated<string>
}

@NoAuth
@Record({ version: true, timestamps: true, softDelete: true })
class Parcel {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { default: 7 }) seats!: Generated<number>
  @Field('integer', { default: 7, nullable: true }) maybe!: Generated<number | null>
  @Field('integer', { hidden: true, default: 5 }) limit!: Generated<number>
  @Field('string', { readOnly: true, default: 'open' }) state!: Generated<string>
  @Field('string', { optional: true, maxLength: 3 }) note?: string
  @Field('string', { optional: true, nullable: true }) hint?: string | null
  @Field('decimal', { precision: 8, scale: 2, default: '1' }) price!: Generated<string>
  @Field('bigint', { default: '0' }) sold!: Generated<string>
  @Field('date', { optional: true }) day?: string
  @Field('boolean', { default: false }) sent!: Generated<boolean>
  @Field('enum', { oneOf: ['a', 'b'], enum: 'Size', default: 'a' }) size!: Generated<string>
  @Field('json', { optional: true }) meta?: unknown
  @Field('string', { list: true, default: [] }) words!: Generated<string[]>
  @Secured() @Field('integer', { optional: true, nullable: true }) cost?: number | null
  @Field('integer', { optional: true, nullable: true }) boxId?: number | null
  @BelongsTo(() => Box) box!: Rel<Box>
  @ManyToMany(() => Label) labels!: Rel<Label[]>
}

@NoAuth
@Record
class Box {
  @Field('id') id!: number
  @HasMany(() => Parcel) parcels!: Rel<Parcel[]>
}

@Controller('/parcels', { crud: Parcel })
@NoAuth
class Parcels {}

@Controller('/labels', { crud: Label })
@NoAuth
class Labels {}

@Controller('/boxes', { crud: Box })
@NoAuth
class Boxes {}

@Module({ controllers: [Parcels, Labels, Boxes], records: [Parcel, Label, Box] })
class Post {}

interface Header {
  name: string
  in: string
}
interface ReceivedResponse {
  headers?: { [name: string]: object }
  content?: { [type: string]: object }
  $ref?: string
}
interface Operation {
  parameters?: Header[]
  responses: { [status: string]: ReceivedResponse }
}

interface CompactParameter {
  name: string
  in: string
  description?: string
  'x-filter'?: { name: string; operators: string[] }
}
interface Compact {
  'x-operators'?: object
  paths: { [path: string]: { get?: { description?: string; parameters?: CompactParameter[] } } }
}

function queryOf(document: Compact, path: string): CompactParameter[] {
  return (document.paths[path]?.get?.parameters ?? []).filter((one) => one.in === 'query')
}

/** The headers of every response, which the document does not repeat. */
const usual = /^(content-|x-content-type|access-control-|vary$|cache-control$|www-auth)/

describe('the document of crud and its routes', () => {
  let app: Application
  let ajv: Ajv2020
  let paths: { [path: string]: { [method: string]: Operation } }
  const key = { Authorization: 'Bearer key' }

  beforeAll(async () => {
    const env = { APP_API_KEY: 'key' }
    const settings = { listen: false, logger: false, database: 'sqlite::memory:', env } as const
    app = await bootstrap(Post, settings)
    const { body } = await app.inject({ method: 'GET', url: '/swagger/openapi.json' })
    const document = JSON.parse(body) as { paths: typeof paths }
    paths = document.paths
    ajv = new Ajv2020({ strict: false, logger: false })
    addFormats(ajv)
    ajv.addSchema(document, 'document')
    const records = app.get(Database)
    await records.records(Box).create({})
    await records.records(Label).create({ name: 'old' })
    await records.records(Parcel).createMany([{ name: 'a', boxId: 1 }, { name: 'b' }])
  })
  afterAll(() => app.close())

  interface SentRequest {
    method: string
    url: string
    headers?: { [name: string]: string }
    json?: object
  }

  /** Sends a request, and looks up the response in the document. @returns what the document lacks */
  async function disagreements(sent: SentRequest, expected: number): Promise<string[]> {
    const response = await app.inject(sent)
    const path = (sent.url.split('?')[0] ?? '').replace(/\/\d+$/, '/{id}')
    const operation = paths[path]?.[sent.method.toLowerCase()]
    const where = `${sent.method} ${sent.url} ${response.status}`
    if (response.status !== expected) return [`${where}: not ${expected}: ${response.body}`]
    const documented = operation?.responses[String(expected)]
    if (documented === undefined) return [`${where}: the status is not there`]
    const mismatches: string[] = []
    const named = Object.keys(documented.headers ?? {}).map((name) => name.toLowerCase())
    for (const name of Object.keys(response.headers))
      if (!usual.test(name) && !named.includes(name)) mismatches.push(`${where}: header ${name}`)
    for (const name of Object.keys(sent.headers ?? {})) {
      const isKnown = operation?.parameters?.some((one) => one.in === 'header' && one.name === name)
      if (name !== 'Authorization' && isKnown !== true)
        mismatches.push(`${where}: requires the header ${name}`)
    }
    if (response.body === '')
      return documented.content ? [...mismatches, `${where}: the body is missing`] : mismatches
    const place = `${path.replaceAll('/', '~1')}/${sent.method.toLowerCase()}/responses/${expected}`
    const target = documented.$ref ?? `#/paths/${encodeURI(place)}`
    const ref = `document${target}/content/application~1json/schema`
    const validate = ajv.compile({ $ref: ref })
    if (!validate(JSON.parse(response.body)))
      mismatches.push(`${where}: ${ajv.errorsText(validate.errors)} in ${response.body}`)
    return mismatches
  }

  const get = (url: string, headers = {}): SentRequest => ({ method: 'GET', url, headers })
  const send = (method: string, url: string, json?: object, headers = {}): SentRequest => ({
    method,
    url,
    headers,
    ...(json && { json }),
  })
  it('agree on statuses, headers and bodies', async () => {
    const parcel = { name: 'c', labelIds: [1] }
    const table: [SentRequest, number][] = [
      [get('/parcels'), 200],
      [get('/parcels', key), 200],
      [get('/parcels?limit=1&count=exact'), 200],
      [get('/parcels?count=estimate'), 200],
      [get('/parcels?with=labels,box.parcels'), 200],
      [get('/parcels?limit=x'), 400],
      [get('/parcels?cost.gte=1'), 401],
      [get('/parcels', { 'If-None-Match': '*' }), 304],
      [get('/parcels/1', key), 200],
      [get('/parcels/1?with=labels,box'), 200],
      [get('/parcels/1', { 'If-None-Match': '*' }), 304],
      [get('/parcels/1?fields=nothing'), 400],
      [get('/parcels/99'), 404],
      [get('/parcels/aggregate?groupBy=size&sum=price&count=true&max=createdAt'), 200],
      [get('/parcels/aggregate?sum=name'), 400],
      [send('POST', '/parcels', parcel), 201],
      [send('POST', '/parcels', { ...parcel, cost: 1 }, key), 201],
      [send('POST', '/parcels', { ...parcel, cost: 1 }), 401],
      [send('POST', '/parcels', { name: 1 }), 400],
      [send('POST', '/parcels', { name: 'd', boxId: 99 }), 409],
      [send('PATCH', '/parcels/1', { seats: 2 }), 200],
      [send('PATCH', '/parcels/1', { version: 2 }), 400],
      [send('PATCH', '/parcels/1', { boxId: 99 }), 409],
      [send('PATCH', '/parcels/99', { seats: 2 }), 404],
      [send('PATCH', '/parcels/1', { seats: 2 }, { 'If-Match': '"1"' }), 412],
      [send('PATCH', '/parcels/1', { seats: 2 }, { 'If-Match': 'x' }), 400],
      [send('PUT', '/parcels/1', parcel), 200],
      [send('PUT', '/parcels/1', {}), 400],
      [send('PUT', '/parcels/1', parcel, { 'If-Match': '"1"' }), 412],
      [send('PUT', '/parcels/99', parcel), 404],
      [send('DELETE', '/parcels/1', undefined, { 'If-Match': '"1"' }), 412],
      [send('DELETE', '/parcels/1', undefined, { 'If-Match': 'x' }), 400],
      [send('DELETE', '/parcels/2', undefined, { 'If-Match': '"1"' }), 204],
      [send('DELETE', '/parcels/2'), 404],
      [send('DELETE', '/boxes/1'), 409],
      [send('POST', '/labels', {}), 201],
      [send('POST', '/labels', {}), 409],
      [send('PUT', '/labels/1', { name: 'new' }), 409],
      [get('/labels/1'), 200],
      [send('DELETE', '/labels/2'), 204],
    ]
    const mismatches: string[] = []
    for (const [sent, status] of table) mismatches.push(...(await disagreements(sent, status)))
    expect(mismatches).toStrictEqual([])
  })

  it('agree on properties that are always present', () => {
    const { components } = app.openapi as unknown as {
      components: { schemas: { [name: string]: { required: string[] } } }
    }
    const required = components.schemas.Parcel?.required ?? []
    expect(required).toEqual(
      expect.arrayContaining(['id', 'name', 'seats', 'maybe', 'state', 'price', 'sent', 'version']),
    )
    for (const name of ['note', 'cost', 'limit', 'meta']) expect(required).not.toContain(name)
    expect(components.schemas.Label?.required).toStrictEqual(['id', 'name'])
  })

  it('lists one parameter for each field in the compact form, with operators that the server accepts', async () => {
    const compact = (await app.inject('/swagger/openapi.json?filters=compact')).json() as Compact
    const exact = app.openapi as unknown as Compact
    ajv.addSchema(compact, 'compact')
    expect(JSON.stringify(compact).length).toBeLessThan(JSON.stringify(exact).length / 2)
    for (const path of ['/parcels', '/parcels/aggregate']) {
      const filters = queryOf(compact, path).flatMap((one) => one['x-filter'] ?? [])
      const names = filters.map(({ name }) => name)
      expect(new Set(names).size).toBe(names.length)
      const plain = queryOf(compact, path).map(({ name }) => name)
      const accepted = filters.flatMap(({ name, operators }) =>
        operators.map((operator) => `${name}.${operator}`),
      )
      expect([...new Set([...plain, ...accepted])].sort()).toEqual(
        queryOf(exact, path)
          .map(({ name }) => name)
          .sort(),
      )
      for (const { operators } of filters)
        for (const operator of operators) expect(compact['x-operators']).toHaveProperty(operator)
    }
    expect(queryOf(compact, '/parcels').find(({ name }) => name === 'price')).toMatchObject({
      description: expect.stringContaining('Operators: eq, ne, gt, gte,'),
    })
    expect(compact.paths['/parcels']?.get?.description).toContain('- `gte`: Greater or equal.')
  })

  it('have the form of filters that the options choose', async () => {
    const docs = { filters: 'compact' } as const
    const settings = { listen: false, logger: false, database: 'sqlite::memory:', docs } as const
    await using small = await bootstrap(Post, { ...settings, env: { APP_API_KEY: 'key' } })
    const compact = (await small.inject('/swagger/openapi.json')).json() as Compact
    expect(compact).toHaveProperty('x-operators')
    expect(small.openapi).toEqual(compact)
    const exact = (await small.inject('/swagger/openapi.json?filters=exact')).json() as Compact
    expect(exact).toEqual(app.openapi)
    expect((await small.inject('/swagger/openapi.json?filters=other')).status).toBe(400)
  })

  it('require versions only where a record has them', () => {
    const headersOf = (path: string, method: string): string[] =>
      (paths[path]?.[method]?.parameters ?? [])
        .filter((one) => one.in === 'header')
        .map(({ name }) => name)
    for (const method of ['patch', 'put', 'delete']) {
      expect(headersOf('/parcels/{id}', method)).toStrictEqual(['If-Match', 'If-None-Match'])
      expect(headersOf('/labels/{id}', method)).toStrictEqual([])
      expect(paths['/labels/{id}']?.[method]?.responses).not.toHaveProperty('412')
    }
    expect(headersOf('/labels', 'get')).toStrictEqual(['If-None-Match'])
  })
})
