import { describe, expect, it } from '@jest/globals'
import { bootstrap, type OpenApiDocument } from 'filigree'
import { findBreakingChanges } from '../../src/openapi/breaking-changes.js'
import { FixtureModule } from './fixture-application.js'

type Components = Record<string, object>

function documentOf(paths: object, schemas: Components = {}): OpenApiDocument {
  return {
    openapi: '3.1.1',
    info: { title: 'API', version: '1' },
    paths,
    components: { schemas },
  } as OpenApiDocument
}

function changes(before: OpenApiDocument, after: OpenApiDocument): string[] {
  return findBreakingChanges(before, after).map(({ code, message }) => `${code} ${message}`)
}

function documentWithBody(schema: object, schemas?: Components): OpenApiDocument {
  const requestBody = { content: { 'application/json': { schema } } }
  return documentOf({ '/x': { post: { requestBody, responses: {} } } }, schemas)
}

function documentWithResponse(schema: object, schemas?: Components): OpenApiDocument {
  const responses = { 200: { description: 'OK', content: { 'application/json': { schema } } } }
  return documentOf({ '/x': { get: { responses } } }, schemas)
}

function object(properties: object, ...required: string[]): object {
  return { type: 'object', properties, required }
}

const text = { type: 'string' }
const number = { type: 'number' }

describe('findBreakingChanges in requests', () => {
  it.each<[string, object, object, string[]]>([
    ['a new optional field', object({}), object({ a: text }), []],
    [
      'a new required field',
      object({}),
      object({ a: text }, 'a'),
      ['FIELD_REQUIRED POST /x: body.a: it is required now.'],
    ],
    [
      'a field that became required',
      object({ a: text }),
      object({ a: text }, 'a'),
      ['FIELD_REQUIRED POST /x: body.a: it is required now.'],
    ],
    ['a field that became optional', object({ a: text }, 'a'), object({ a: text }), []],
    [
      'a removed field',
      object({ a: text }),
      object({}),
      ['FIELD_REMOVED POST /x: body.a: it was removed.'],
    ],
    ['an object that takes any field', object({ a: text }), { type: 'object' }, []],
    ['integers that became numbers', { type: 'integer' }, number, []],
    [
      'numbers that became integers',
      number,
      { type: 'integer' },
      ['TYPE_NARROWED POST /x: body: no number is taken any more.'],
    ],
    [
      'null that was accepted before',
      { type: ['string', 'null'] },
      text,
      ['TYPE_NARROWED POST /x: body: no null is taken any more.'],
    ],
    ['null that is taken now', text, { type: ['string', 'null'] }, []],
    [
      'anything that became text',
      {},
      text,
      ['TYPE_NARROWED POST /x: body: not everything is taken any more.'],
    ],
    [
      'tighter bounds',
      { ...number, minimum: 0, maximum: 9 },
      { ...number, minimum: 1, maximum: 8 },
      [
        'TYPE_NARROWED POST /x: body: minimum is 1 now.',
        'TYPE_NARROWED POST /x: body: maximum is 8 now.',
      ],
    ],
    ['wider bounds', { ...number, minimum: 1 }, number, []],
    [
      'a new pattern and format',
      text,
      { ...text, pattern: '^a', format: 'email' },
      [
        'TYPE_NARROWED POST /x: body: pattern is ^a now.',
        'TYPE_NARROWED POST /x: body: format is email now.',
      ],
    ],
    [
      'fewer values',
      { ...text, enum: ['a', 'b'] },
      { ...text, enum: ['b', 'c'] },
      ['TYPE_NARROWED POST /x: body: "a" was removed.'],
    ],
    [
      'values where all were taken',
      text,
      { ...text, enum: ['a'] },
      ['TYPE_NARROWED POST /x: body: only some values are accepted now.'],
    ],
    [
      'items of a list',
      { type: 'array', items: number },
      { type: 'array', items: text, minItems: 1 },
      [
        'TYPE_NARROWED POST /x: body: minItems is 1 now.',
        'TYPE_NARROWED POST /x: body[]: no number is taken any more.',
      ],
    ],
    [
      'one of several types',
      { anyOf: [text, number, { type: 'null' }] },
      { anyOf: [text, { type: 'null' }] },
      ['TYPE_NARROWED POST /x: body: no number is taken any more.'],
    ],
  ])('reports %s', (_, before, after, expected) => {
    expect(changes(documentWithBody(before), documentWithBody(after))).toEqual(expected)
  })

  it('follows references, in cycles too', () => {
    const tree = (leaf: object) => ({
      Tree: object({
        leaf,
        children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } },
      }),
    })
    const schema = { $ref: '#/components/schemas/Tree' }
    expect(
      changes(documentWithBody(schema, tree(text)), documentWithBody(schema, tree(number))),
    ).toEqual(['TYPE_NARROWED POST /x: body.leaf: no string is taken any more.'])
  })
})

describe('findBreakingChanges in responses', () => {
  it.each<[string, object, object, string[]]>([
    ['a new field', object({}), object({ a: text }, 'a'), []],
    [
      'a removed field',
      object({ a: text }),
      object({ b: text }),
      ['RESPONSE_FIELD_REMOVED GET /x: response 200.a: it was removed.'],
    ],
    [
      'fields that are not promised any more',
      object({ a: text }),
      { type: 'object' },
      ['RESPONSE_FIELD_REMOVED GET /x: response 200.a: it was removed.'],
    ],
    [
      'a field that may be absent',
      object({ a: text }, 'a'),
      object({ a: text }),
      ['RESPONSE_TYPE_CHANGED GET /x: response 200.a: it may be absent now.'],
    ],
    [
      'a field that may be null',
      object({ a: text }),
      object({ a: { type: ['string', 'null'] } }),
      ['RESPONSE_TYPE_CHANGED GET /x: response 200.a: it may be null now.'],
    ],
    [
      'a changed type',
      object({ a: number }),
      object({ a: text }),
      ['RESPONSE_TYPE_CHANGED GET /x: response 200.a: it may be string now.'],
    ],
    ['numbers that became integers', number, { type: 'integer' }, []],
    ['bounds', { ...number, maximum: 9 }, number, []],
    [
      'a type that is not told any more',
      text,
      {},
      ['RESPONSE_TYPE_CHANGED GET /x: response 200: it may be anything now.'],
    ],
  ])('reports %s', (_, before, after, expected) => {
    expect(changes(documentWithResponse(before), documentWithResponse(after))).toEqual(expected)
  })

  it('reports removed responses and media types', () => {
    const answering = (status: number, media: string): OpenApiDocument =>
      documentOf({
        '/x': { get: { responses: { [status]: { description: '', content: { [media]: {} } } } } },
      })
    expect(changes(answering(200, 'text/plain'), answering(201, 'text/plain'))).toEqual([
      'RESPONSE_REMOVED GET /x: response 200: it was removed.',
    ])
    expect(changes(answering(200, 'text/plain'), answering(200, 'text/html'))).toEqual([
      'RESPONSE_REMOVED GET /x: response 200: text/plain was removed.',
    ])
    expect(changes(answering(200, '*/*'), answering(200, 'text/html'))).toEqual([])
  })
})

describe('findBreakingChanges in routes', () => {
  const get = { responses: {} }

  it('reports removed routes, and allows renamed parameters', () => {
    const before = documentOf({ '/x/{id}': { get, delete: get } })
    const after = documentOf({ '/x/{key}': { get }, '/y': { get } })
    expect(changes(before, after)).toEqual(['ROUTE_REMOVED DELETE /x/{id}: it was removed.'])
    expect(changes(before, before)).toEqual([])
  })

  it('reports parameters', () => {
    const before = documentOf({
      '/x/{id}': {
        get: {
          ...get,
          parameters: [
            { name: 'id', in: 'path', required: true, schema: number },
            { name: 'q', in: 'query', schema: text },
            { name: 'limit', in: 'query', schema: number },
          ],
        },
      },
    })
    const after = documentOf({
      '/x/{key}': {
        get: {
          ...get,
          parameters: [
            { name: 'key', in: 'path', required: true, schema: { type: 'integer' } },
            { name: 'limit', in: 'query', required: true, schema: number },
            { name: 'page', in: 'query', schema: number },
          ],
        },
      },
    })
    expect(changes(before, after)).toEqual([
      'FIELD_REQUIRED GET /x/{id}: query limit: it is required now.',
      'TYPE_NARROWED GET /x/{id}: path parameter 1: no number is taken any more.',
      'FIELD_REMOVED GET /x/{id}: query q: it was removed.',
    ])
  })

  it('reports required bodies, and removed media types', () => {
    const posting = (requestBody?: object): OpenApiDocument =>
      documentOf({ '/x': { post: { requestBody, responses: {} } } })
    const json = { 'application/json': { schema: {} } }
    expect(changes(posting(), posting({ required: true, content: json }))).toEqual([
      'FIELD_REQUIRED POST /x: body: it is required now.',
    ])
    expect(changes(posting({ content: json }), posting({ content: { 'text/plain': {} } }))).toEqual(
      ['BODY_NARROWED POST /x: body: application/json was removed.'],
    )
  })

  it.each<[string, object[], object[], string[]]>([
    ['a token that becomes required', [], [{ bearerAuth: [] }], ['it needs a token now.']],
    ['a token that is not asked for any more', [{ bearerAuth: [] }], [], []],
    [
      'a role that is asked for',
      [{ bearerAuth: [] }],
      [{ bearerAuth: ['admin'] }, { bearerAuth: ['editor'] }],
      ['it needs a token with admin or editor now.'],
    ],
    [
      'one more way in',
      [{ bearerAuth: ['admin'] }],
      [{ bearerAuth: ['admin'] }, { bearerAuth: ['editor'] }],
      [],
    ],
    [
      'a second role in addition to the first',
      [{ bearerAuth: ['admin'] }],
      [{ bearerAuth: ['admin', 'audit'] }],
      ['it needs a token with admin and audit now.'],
    ],
  ])('reports %s', (_, before, after, expected) => {
    const guarded = (security: object[]): OpenApiDocument =>
      documentOf({ '/x': { get: { ...get, security } } })
    expect(changes(guarded(before), guarded(after))).toEqual(
      expected.map((message) => `ACCESS_NARROWED GET /x: ${message}`),
    )
  })
})

it('finds nothing where an application accepts tokens from a cookie, too', async () => {
  const options = { listen: false, logger: false } as const
  await using before = await bootstrap(FixtureModule, options)
  await using after = await bootstrap(FixtureModule, { ...options, auth: { cookie: true } })
  expect(findBreakingChanges(before.openapi, after.openapi)).toEqual([])
})
