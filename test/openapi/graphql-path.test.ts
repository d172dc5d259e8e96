import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from '@jest/globals'
import { bootstrap, Field, GraphQL, Module, Record, type OpenApiDocument } from 'filigree'
import type { BootstrapOptions } from '../../src/index.js'

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

const graphql = new GraphQL()
graphql.schema.addQuery('hello', { type: 'String', resolve: () => 'hello' })
graphql.registerRoute('/hello', { secured: 'admin' })

@Module({ records: [Lamp], graphql: [graphql] })
class LampModule {}

async function documentOf(options: BootstrapOptions = {}): Promise<OpenApiDocument> {
  const fixed = { listen: false, logger: false, database: 'sqlite::memory:' } as const
  await using app = await bootstrap(LampModule, { ...fixed, ...options })
  return app.openapi
}

describe('the endpoints of GraphQL in the document', () => {
  it('are at their paths, with request and response', async () => {
    const document = await documentOf()
    const { get, post } = document.paths?.['/graphql'] ?? {}
    expect(post?.requestBody).toMatchObject({
      content: { 'application/json': { schema: { properties: { query: { type: 'string' } } } } },
    })
    expect(get?.parameters?.map((parameter) => 'name' in parameter && parameter.name)).toContain(
      'query',
    )
    expect(post?.security).toEqual([{}, { bearerAuth: [] }])
    expect(document.paths?.['/hello']?.post?.security).toEqual([{ bearerAuth: ['admin'] }])
    expect(document.components?.securitySchemes).toHaveProperty('bearerAuth')
    const ids = Object.values(document.paths ?? {}).flatMap((path) =>
      Object.values(path as object).map(({ operationId }) => operationId as string),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('document the response of a refused operation', async () => {
    const fixed = { listen: false, logger: false, database: 'sqlite::memory:' } as const
    await using app = await bootstrap(LampModule, fixed)
    const { responses } = app.openapi.paths?.['/graphql']?.post ?? {}
    for (const [status, url, json] of [
      [400, '/graphql', { query: 7 }],
      [400, '/graphql', []],
      [401, '/hello', { query: '{ hello }' }],
    ] as const) {
      const response = await app.inject({ method: 'POST', url, json })
      expect(response.status).toBe(status)
      const { content } = responses?.[status] as { content: { [type: string]: { schema: object } } }
      const check = new Ajv2020({ strict: false }).compile(content['application/json']!.schema)
      expect([check(JSON.parse(response.body)), check.errors]).toEqual([true, null])
    }
  })

  it('describe the items of a stream in 3.2', async () => {
    const older = await documentOf()
    const newer = await documentOf({ docs: { openapi: '3.2' } })
    expect([older.openapi, newer.openapi]).toEqual(['3.1.1', '3.2.0'])
    const streamOf = (document: OpenApiDocument): unknown => {
      const response: unknown = document.paths?.['/graphql']?.post?.responses?.[200]
      return (response as { content: { [type: string]: object } }).content['text/event-stream']
    }
    expect(streamOf(older)).toEqual({ schema: { type: 'string' } })
    expect(streamOf(newer)).toMatchObject({ itemSchema: { properties: { data: {} } } })
    await expect(documentOf({ docs: { openapi: '4' as '3.1' } })).rejects.toThrow(
      'docs: openapi is "4"',
    )
  })

  it('are absent where GraphQL is off', async () => {
    const document = await documentOf({ graphql: false })
    expect(document.paths).toEqual({})
  })
})
