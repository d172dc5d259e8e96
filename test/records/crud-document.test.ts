import { beforeAll, afterAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  bootstrap,
  connect,
  Controller,
  Field,
  ManyToMany,
  Module,
  NoAuth,
  Record,
  type Rel,
} from '../../src/index.js'

@Record
class Label {
  @Field('id') id!: number
}

@Record
class Parcel {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('numeric', { min: 0 }) price!: number
  @Field('boolean', { default: false }) sent!: boolean
  @Field('json', { optional: true }) meta?: unknown
  @Field('string', { hidden: true, optional: true }) secret?: string
  @ManyToMany(() => Label) labels!: Rel<Label[]>
}

@Controller('/parcels', { crud: Parcel })
@NoAuth
class Parcels {}

@Module({ controllers: [Parcels], records: [Parcel, Label] })
class Post {}

interface Operation {
  parameters?: { name: string; in: string; schema: globalThis.Record<string, unknown> }[]
  description?: string
  responses: globalThis.Record<string, { headers?: object }>
  requestBody?: object
}

describe('the OpenAPI document of crud routes', () => {
  let app: Application
  let paths: globalThis.Record<string, globalThis.Record<string, Operation>>
  let document: string

  beforeAll(async () => {
    const database = await connect('sqlite::memory:', { records: [Parcel, Label] })
    await database.sync()
    const env = { APP_API_KEY: 'key' }
    app = await bootstrap(Post, { database, listen: false, logger: false, env })
    document = (await app.inject({ method: 'GET', url: '/swagger/openapi.json' })).body
    paths = (JSON.parse(document) as { paths: typeof paths }).paths
  })
  afterAll(() => app.close())

  const names = (operation: Operation | undefined): string[] =>
    (operation?.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name)

  it('lists every query parameter, and the server accepts each', async () => {
    const list = paths['/parcels']?.get
    const parameterNames = names(list)
    expect(parameterNames).toEqual(
      expect.arrayContaining([
        'limit',
        'offset',
        'orderBy',
        'after',
        'count',
        'with',
        'fields',
        'name',
        'name.startsWith',
        'price',
        'price.gte',
        'price.in',
        'sent.isNull',
        'meta.path',
      ]),
    )
    expect(new Set(parameterNames).size).toBe(parameterNames.length)
    expect(parameterNames.some((name) => name.startsWith('secret'))).toBe(false)
    expect(list?.description).toContain('labels')
    for (const name of parameterNames.filter((one) => one !== 'orderBy')) {
      const { body } = await app.inject({ method: 'GET', url: `/parcels?${name}=~` })
      expect(body).not.toContain('is unknown')
    }
    expect((await app.inject({ method: 'GET', url: '/parcels?name.starts=x' })).status).toBe(400)
  })

  it('describes aggregates, single rows and bodies', () => {
    const aggregate = names(paths['/parcels/aggregate']?.get)
    expect(aggregate).toEqual(
      expect.arrayContaining(['groupBy', 'sum', 'avg', 'count', 'limit', 'price.gte']),
    )
    expect(names(paths['/parcels/{id}']?.get)).toEqual(['with', 'fields', 'counts'])
    expect(document).toContain('"labelIds"')
  })

  it('describes headers and error responses', () => {
    const { get, post } = paths['/parcels'] ?? {}
    expect(Object.keys(get?.responses['200']?.headers ?? {})).toEqual(
      expect.arrayContaining(['X-Total-Count', 'X-Total-Count-Estimate', 'Link', 'ETag']),
    )
    expect(Object.keys(get?.responses ?? {})).toContain('400')
    expect(Object.keys(post?.responses ?? {})).toEqual(
      expect.arrayContaining(['201', '400', '409']),
    )
    expect(Object.keys(post?.responses['201']?.headers ?? {})).toContain('Location')
    const { patch, delete: remove } = paths['/parcels/{id}'] ?? {}
    expect(Object.keys(patch?.responses ?? {})).toEqual(
      expect.arrayContaining(['200', '400', '404', '409']),
    )
    expect(Object.keys(remove?.responses ?? {})).toEqual(
      expect.arrayContaining(['204', '404', '409']),
    )
  })
})
