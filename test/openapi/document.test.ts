import { beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  createModule,
  Get,
  GraphQL,
  Module,
  type OpenApiDocument,
} from 'filigree'
import { health } from 'filigree/health'
import type { SchemaObject } from 'openapi3-ts/oas31'
import { FixtureModule } from './fixture-application.js'

let document: OpenApiDocument

beforeAll(async () => {
  await using app = await bootstrap(FixtureModule, { listen: false, logger: false })
  document = app.openapi
})

function operation(method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string) {
  return document.paths![path]![method]!
}

function statuses(method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string): string[] {
  return Object.keys(operation(method, path).responses!)
}

const anyJson = { type: ['object', 'array', 'string', 'number', 'boolean'] }
const items = '/items'
const item = '/items/{id}'

describe('app.openapi', () => {
  it('is an OpenAPI 3.1 document, written once', async () => {
    await using app = await bootstrap(FixtureModule, { listen: false, logger: false })
    expect(app.openapi.openapi).toBe('3.1.1')
    expect(app.openapi).toBe(app.openapi)
    expect(app.openapi).toEqual(JSON.parse(JSON.stringify(app.openapi)))
  })

  it('lists every application route, documented or not', async () => {
    await using app = await bootstrap(FixtureModule, { listen: false, logger: false })
    const operations = Object.values(document.paths!).flatMap((path) => Object.keys(path))
    expect(operations).toHaveLength(app.routes.length)
    expect(Object.keys(document.paths!)).toEqual([
      '/items',
      '/items/{id}',
      '/items/{name}#name-string',
      '/items/{key}/price',
      '/misc/contact',
      '/misc/photos/{album}',
      '/misc/report',
      '/misc/files/{path}',
      '/misc/caf%C3%A9/{x}/{id}',
      '/misc/hook',
    ])
  })

  it('lists routes of the application first, then GraphQL, routes of packages, probes and metrics', async () => {
    @Controller('/audit')
    class Audit {
      @Get('/') list(): string[] {
        return []
      }
    }
    const audit = createModule(() => ({ controllers: [Audit] }))
    const graphql = new GraphQL()
    graphql.schema.addQuery('hello', { type: 'String', resolve: () => 'hello' })
    graphql.registerRoute('/graphql')
    @Controller('/own')
    class Own {
      @Get('/') list(): string[] {
        return []
      }
    }
    @Module({ imports: [health(), audit()], controllers: [Own], graphql: [graphql] })
    class AppModule {}
    await using app = await bootstrap(AppModule, { listen: false, logger: false })
    expect(Object.keys(app.openapi.paths!)).toEqual([
      '/own',
      '/graphql',
      '/audit',
      '/health/live',
      '/health/ready',
    ])
  })

  it('names operations by controller and method, and duplicates by verb and path', () => {
    const ids = Object.values(document.paths!).flatMap((path) =>
      Object.values(path as object).map(({ operationId }) => operationId as string),
    )
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toContain('itemShow')
    expect(ids).toContain('miscHook_post_misc_hook')
    expect(ids).toContain('miscHook_put_misc_hook')
  })

  it('tags routes by @Doc, else by their controller, and describes tags by the class', () => {
    expect(operation('get', items).tags).toEqual(['items'])
    expect(operation('get', '/misc/report').tags).toEqual(['Misc'])
    expect(document.tags).toEqual([
      { name: 'items', description: 'Things on the shelf.' },
      { name: 'Misc' },
    ])
  })

  it('takes the summary from @Doc, a short description, or the name', () => {
    expect(operation('get', items).summary).toBe('Find items')
    expect(operation('get', item)).toMatchObject({ summary: 'One item', description: 'One item' })
    expect(operation('get', '/items/{name}#name-string').summary).toBe('By name')
    expect(operation('delete', item).deprecated).toBe(true)
    expect(operation('get', item)).not.toHaveProperty('deprecated')
  })
})

describe('parameters', () => {
  it('come from the pattern, by type', () => {
    expect(operation('get', item).parameters).toEqual([
      { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
    ])
    const odd = operation('get', '/misc/caf%C3%A9/{x}/{id}').parameters
    expect(odd).toMatchObject([
      { name: 'x', schema: { type: 'number' } },
      { name: 'id', schema: { type: 'string', format: 'uuid' } },
    ])
    expect(operation('get', '/misc/files/{path}').parameters).toMatchObject([
      { name: 'path', description: 'The rest of the path, slashes included.' },
    ])
  })

  it('come from the class of the query, field by field', () => {
    expect(operation('get', items).parameters).toEqual([
      {
        name: 'q',
        in: 'query',
        required: false,
        description: 'Part of the name.',
        schema: { type: 'string' },
      },
      {
        name: 'limit',
        in: 'query',
        required: false,
        schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
      },
      {
        name: 'tag',
        in: 'query',
        required: false,
        schema: { type: 'array', items: { type: 'string' } },
      },
      {
        name: 'sold',
        in: 'query',
        required: false,
        schema: { anyOf: [{ type: 'boolean' }, { type: 'integer', enum: [0, 1] }] },
      },
      {
        name: 'where',
        in: 'query',
        required: false,
        content: { 'application/json': { schema: anyJson } },
      },
    ])
  })

  it('come from the headers of @Doc', () => {
    expect(operation('patch', '/items/{key}/price').parameters).toContainEqual({
      name: 'If-Match',
      in: 'header',
      required: false,
      description: 'The version that is meant.',
      schema: { type: 'string' },
    })
  })
})

describe('bodies', () => {
  it('refer to the class, with the sample of @Doc', () => {
    expect(operation('post', items).requestBody).toEqual({
      required: true,
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/ItemInput' },
          example: { name: 'Lamp', price: 9.5 },
        },
        'application/x-www-form-urlencoded': {
          schema: { $ref: '#/components/schemas/ItemInput.form' },
        },
        'multipart/form-data': { schema: { $ref: '#/components/schemas/ItemInput.form' } },
      },
    })
  })

  it('allow empty values for optional fields in forms', () => {
    const { schemas } = document.components ?? {}
    const { color, price } = (schemas?.['ItemInput.form'] as { properties: object })
      .properties as Record<string, object>
    expect(color).toMatchObject({ anyOf: [{}, { type: 'string', enum: [''] }] })
    expect(price).not.toHaveProperty('anyOf')
  })

  it('are inferred from the sample without a class', () => {
    expect(operation('patch', '/items/{key}/price').requestBody).toEqual({
      content: {
        'application/json': {
          schema: { type: 'object', properties: { price: { type: 'integer' } } },
          example: { price: 5 },
        },
        'application/x-www-form-urlencoded': { schema: { type: 'object' } },
        'text/plain': { schema: { type: 'string' } },
        'multipart/form-data': { schema: { type: 'object' } },
        '*/*': { schema: {} },
      },
    })
  })

  it('are multipart with binary files for uploads', () => {
    expect(operation('post', '/misc/photos/{album}').requestBody).toEqual({
      required: true,
      content: {
        'multipart/form-data': {
          schema: {
            type: 'object',
            properties: {
              title: { type: 'string' },
              photo: { type: 'string', format: 'binary', description: 'A JPEG.' },
            },
          },
          example: { title: 'Sea' },
        },
      },
    })
  })

  it('are anything where nothing is declared, and absent for GET', () => {
    const { content } = operation('post', '/misc/hook').requestBody as { content: object }
    expect(Object.keys(content)).toEqual([
      'application/json',
      'application/x-www-form-urlencoded',
      'text/plain',
      'multipart/form-data',
      '*/*',
    ])
    expect(operation('get', items)).not.toHaveProperty('requestBody')
  })
})

describe('responses', () => {
  it.each([
    ['a public list with a query', 'get', items, ['200', '400', 'default']],
    ['a public lookup', 'get', item, ['200', '404', 'default']],
    [
      'a checked body behind a token',
      'post',
      items,
      ['201', '400', '401', '409', '413', '415', 'default'],
    ],
    [
      'a checked body behind a role',
      'put',
      item,
      ['200', '400', '401', '403', '404', '413', '415', 'default'],
    ],
    ['a role without a body', 'delete', item, ['204', '401', '403', '404', 'default']],
    [
      'a public checked body',
      'post',
      '/misc/contact',
      ['200', '400', '413', '415', '2XX', '3XX', 'default'],
    ],
    ['a read that @Doc secures', 'get', '/misc/report', ['200', '401', '2XX', '3XX', 'default']],
    ['a public read', 'get', '/misc/files/{path}', ['200', '2XX', '3XX', 'default']],
  ] as const)('of %s', (_, method, path, expected) => {
    expect(statuses(method, path)).toEqual(expected)
  })

  it('refer to the declared class, lists and statuses included', () => {
    expect(operation('get', items).responses!['200']).toEqual({
      description: 'OK',
      content: {
        'application/json': {
          schema: { type: 'array', items: { $ref: '#/components/schemas/Item' } },
        },
      },
    })
    expect(operation('post', items).responses!['409']).toEqual({
      description: 'The name is taken.',
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Conflict' },
          example: { error: 'Taken', code: 'CONFLICT' },
        },
      },
    })
  })

  it('are inferred from the sample without a class', () => {
    const { content } = operation('get', '/items/{name}#name-string').responses!['200']
    expect(content['application/json'].schema).toEqual({
      type: 'object',
      properties: {
        found: {
          type: 'array',
          items: {
            type: 'object',
            properties: { id: { type: 'integer' }, note: { type: 'null' } },
          },
        },
        total: { type: 'integer' },
      },
    })
    expect(operation('get', '/misc/report').responses!['200'].content).toEqual({
      'text/plain': { schema: { type: 'string' }, example: 'text' },
    })
  })

  it('name the header FreshToken only on successes behind a token', () => {
    const reference = { FreshToken: { $ref: '#/components/headers/FreshToken' } }
    expect(operation('post', items).responses!['201'].headers).toEqual(reference)
    expect(operation('get', items).responses!['200'].headers).toBeUndefined()
  })

  it('describe errors once, as JSON and as problem+json', () => {
    expect(document.components!.responses!.Unauthorized).toMatchObject({
      content: {
        'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } },
        'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemBody' } },
      },
    })
    expect(operation('delete', item).responses!['404']).toMatchObject({
      description: 'There was none.',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } } },
    })
  })
})

describe('security', () => {
  it.each([
    ['none for what is public', 'get', items, []],
    ['a token for writes', 'post', items, [{ bearerAuth: [] }]],
    ['none for @NoAuth', 'post', '/misc/contact', []],
    ['a token for @Doc({ secure: true })', 'get', '/misc/report', [{ bearerAuth: [] }]],
    ['either of two roles', 'put', item, [{ bearerAuth: ['admin'] }, { bearerAuth: ['editor'] }]],
    ['two roles together', 'delete', item, [{ bearerAuth: ['admin', 'audit'] }]],
  ] as const)('is %s', (_, method, path, expected) => {
    expect(operation(method, path).security).toEqual(expected)
  })

  it('is a bearer token', () => {
    expect(document.components!.securitySchemes).toMatchObject({
      bearerAuth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    })
    expect(document.components!.securitySchemes).not.toHaveProperty('cookieAuth')
  })

  it('is a cookie too where the application accepts tokens from one', async () => {
    const auth = { cookie: true }
    await using app = await bootstrap(FixtureModule, { listen: false, logger: false, auth })
    const { paths, components } = app.openapi
    expect(components!.securitySchemes!.cookieAuth).toMatchObject({
      type: 'apiKey',
      in: 'cookie',
      name: '__Host-app_token',
    })
    expect(paths![items]!.post!.security).toEqual([{ bearerAuth: [] }, { cookieAuth: [] }])
    expect(paths![item]!.put!.security).toEqual([
      { bearerAuth: ['admin'] },
      { cookieAuth: ['admin'] },
      { bearerAuth: ['editor'] },
      { cookieAuth: ['editor'] },
    ])
    expect(paths!['/misc/contact']!.post!.security).toEqual([])
  })
})

describe('components', () => {
  it('contain each class once, input and output apart where they differ', () => {
    expect(Object.keys(document.components!.schemas!)).toEqual([
      'Item',
      'Maker',
      'ItemInput',
      'MakerInput',
      'ItemInput.form',
      'Conflict',
      'Contact',
      'ErrorBody',
      'ProblemBody',
      'FieldError',
    ])
  })

  it('show no hidden field, and no read-only one in an input', () => {
    const item = document.components!.schemas!.Item as SchemaObject
    const input = document.components!.schemas!.ItemInput as SchemaObject
    expect(Object.keys(item.properties!)).not.toContain('secret')
    expect(item.required).toEqual(['id', 'name', 'price', 'color', 'createdAt'])
    expect(Object.keys(input.properties!)).toEqual([
      'name',
      'price',
      'color',
      'tags',
      'maker',
      'thumbnail',
      'extra',
    ])
    expect(input.required).toEqual(['name', 'price'])
  })

  it('read the rules of class-validator too', () => {
    expect(document.components!.schemas!.Contact).toEqual({
      type: 'object',
      properties: {
        email: { type: 'string', format: 'idn-email' },
        name: { type: ['string', 'null'], minLength: 2, maxLength: 40 },
      },
      required: ['email'],
      additionalProperties: false,
    })
  })
})
