import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  DeclarationError,
  GraphQL,
  Module,
  type Application,
  type RequestContext,
} from 'filigree'
import { createLibrary, written } from './library.js'

const json = 'application/json; charset=utf-8'
const newer = 'application/graphql-response+json; charset=utf-8'
const key = 'the-operators-own-key'

const graphql = createLibrary()
graphql.schema
  .addQuery('who', {
    type: 'String',
    resolve: (_root, _args, { user, request }: RequestContext) =>
      request.auth === undefined ? 'nobody' : (user?.sub ?? 'operator'),
  })
  .addQuery('secret', { type: 'String', secured: true, resolve: () => 'hush' })
  .addQuery('report', { type: 'String', secured: 'admin', resolve: () => 'all' })
  .addMutation('ping', { type: 'String', noAuth: true, resolve: () => 'pong' })
  .addQuery('visits', {
    type: 'Int',
    resolve: (_root, _args, { request: { session } }: RequestContext) => {
      session.visits = Number(session.visits ?? 0) + 1
      return session.visits
    },
  })
graphql.registerRoute()

const closed = createLibrary({ ide: false })
closed.registerRoute('/closed', { secured: true })
const open = createLibrary()
open.registerRoute('/open', { noAuth: true })
const persisted = createLibrary({
  documents: { from: { abc: '{ echo(text: "kept") }' }, only: true },
})
persisted.registerRoute('/persisted')
const cached = createLibrary({ maxAge: 60 })
cached.registerRoute('/cached')

@Module({ graphql: [graphql, closed, open, persisted, cached] })
class LibraryModule {}

let app: Application
beforeAll(async () => {
  app = await bootstrap(LibraryModule, {
    listen: false,
    logger: false,
    auth: { rotate: 'always' },
    env: { APP_API_KEY: key },
  })
})
afterAll(() => app.close())

interface Sent {
  path?: string
  headers?: Record<string, string>
  token?: string
}

function post(body: object, { path = '/graphql', headers = {}, token }: Sent = {}) {
  return app.inject({
    method: 'POST',
    url: path,
    json: body,
    headers,
    ...(token === undefined ? {} : { token }),
  })
}

function get(query: Record<string, string>, { path = '/graphql', headers = {}, token }: Sent = {}) {
  return app.inject({
    url: `${path}?${new URLSearchParams(query).toString()}`,
    headers,
    ...(token === undefined ? {} : { token }),
  })
}

const tokenOf = (payload: object) => app.get(Auth).getToken(payload as Record<string, unknown>)

describe('results', () => {
  it.each<[string | undefined, string, number, string]>([
    [undefined, '{ echo }', 200, json],
    ['*/*', '{ echo }', 200, json],
    ['application/json', '{ echo }', 200, json],
    ['application/graphql-response+json', '{ echo }', 200, newer],
    ['application/json, application/graphql-response+json', '{ echo }', 200, newer],
    ['application/json, application/graphql-response+json;q=0.9', '{ echo }', 200, json],
    ['application/graphql-response+json;q=0', '{ echo }', 406, json],
    ['text/html', '{ echo }', 406, json],
    [undefined, '{ echo', 200, json],
    ['application/graphql-response+json', '{ echo', 400, newer],
    ['application/graphql-response+json', '{ nothing }', 400, newer],
    [
      'application/graphql-response+json',
      'query ($n: Int!) { books(limit: $n) { id } }',
      400,
      newer,
    ],
    ['application/graphql-response+json', '{ books { isbn } }', 200, newer],
  ])('for Accept %s and %s have status %d and type %s', async (accept, query, status, type) => {
    const response = await post({ query }, { headers: accept === undefined ? {} : { accept } })
    expect([response.status, response.headers['content-type']]).toEqual([status, type])
    if (status !== 406) expect(response.headers.vary).toMatch(/^Accept\b/)
    const body = response.json() as { data?: unknown; errors?: unknown }
    if (status === 200) expect(body).toHaveProperty('data')
    if (status === 400) expect(body).not.toHaveProperty('data')
  })

  it('are the same with GET', async () => {
    const query = 'query ($t: String) { echo(text: $t) }'
    const response = await get({ query, variables: '{"t":"a b"}' })
    expect([response.status, response.body]).toEqual([200, '{"data":{"echo":"a b"}}'])
  })
})

describe('invalid requests', () => {
  it.each<[string, { body?: string; headers: Record<string, string> }, number]>([
    [
      'text/plain',
      { body: '{"query":"{ echo }"}', headers: { 'content-type': 'text/plain' } },
      415,
    ],
    [
      'a form',
      { body: 'query={echo}', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      415,
    ],
    [
      'multipart',
      { body: '--a--', headers: { 'content-type': 'multipart/form-data; boundary=a' } },
      415,
    ],
    ['no type', { body: '{"query":"{ echo }"}', headers: {} }, 415],
    [
      'another charset',
      {
        body: '{"query":"{ echo }"}',
        headers: { 'content-type': 'application/json; charset=latin1' },
      },
      415,
    ],
    ['no JSON', { body: '{"query":', headers: { 'content-type': 'application/json' } }, 400],
    ['a missing body', { headers: { 'content-type': 'application/json' } }, 400],
    [
      'a list',
      { body: '[{"query":"{ echo }"}]', headers: { 'content-type': 'application/json' } },
      400,
    ],
    [
      'a prototype key',
      {
        body: '{"query":"{ echo }","variables":{"__proto__":{"a":1}}}',
        headers: { 'content-type': 'application/json' },
      },
      400,
    ],
    [
      'more than 1 MiB',
      {
        body: `{"query":"${'a'.repeat(1_048_577)}"}`,
        headers: { 'content-type': 'application/json' },
      },
      413,
    ],
  ])('are refused: %s', async (_what, { body, headers }, status) => {
    const response = await app.inject({
      method: 'POST',
      url: '/graphql',
      headers,
      ...(body === undefined ? {} : { body }),
    })
    expect(response.status).toBe(status)
    const answer = response.json() as { error?: string; errors?: { message: string }[] }
    expect(answer.error).toEqual(expect.any(String))
    if (status === 400) expect(answer.errors?.[0]?.message).toBe(answer.error)
  })

  it.each([
    ['query=%7Becho%7D&query=%7Becho%7D', 'query occurs twice.'],
    ['query=%7Becho%7D&variables=%7B', 'The body is not valid JSON, see at position 1.'],
    ['query=%7Becho%7D&variables=%7B%22__proto__%22%3A1%7D', '"__proto__"'],
    ['query=%7Becho%7D&variables=[]', 'variables must be an object.'],
  ])('are refused with GET: ?%s', async (search, message) => {
    const response = await app.inject(`/graphql?${search}`)
    expect(response.status).toBe(400)
    expect((response.json() as { errors: { message: string }[] }).errors[0]?.message).toContain(
      message,
    )
  })

  it.each(['variables=', 'extensions=', 'operationName=', 'documentId=&variables=&extensions='])(
    'run with GET and empty parameters: %s',
    async (empty) => {
      const response = await app.inject(`/graphql?${empty}&query=%7B__typename%7D`)
      expect(response.json()).toEqual({ data: { __typename: 'Query' } })
    },
  )

  it.each(['PUT', 'DELETE', 'PATCH'])('are refused: %s', async (method) => {
    const response = await app.inject({ method, url: '/graphql', json: { query: '{ echo }' } })
    expect([response.status, response.headers.allow]).toEqual([405, 'GET, HEAD, POST, OPTIONS'])
  })
})

describe('access', () => {
  const mutation = 'mutation { addBook(input: { title: "x" }) { title } }'
  const refused = (path: string) => ({
    error: 'Unauthorized',
    code: 'UNAUTHENTICATED',
    data: null,
    errors: [{ message: 'Unauthorized', path: [path], extensions: { code: 'UNAUTHENTICATED' } }],
  })

  it('is public for queries, which know the caller nevertheless', async () => {
    expect((await post({ query: '{ who }' })).body).toBe('{"data":{"who":"nobody"}}')
    const token = await tokenOf({ sub: '7' })
    expect((await post({ query: '{ who }' }, { token })).body).toBe('{"data":{"who":"7"}}')
    expect((await post({ query: '{ who }' }, { token: key })).body).toBe(
      '{"data":{"who":"operator"}}',
    )
    const forged = await post({ query: '{ who }' }, { token: 'forged' })
    expect([forged.status, forged.headers['www-authenticate']]).toEqual([401, 'Bearer'])
    expect(forged.json()).toEqual({
      error: 'Unauthorized',
      code: 'UNAUTHENTICATED',
      data: null,
      errors: [{ message: 'Unauthorized', extensions: { code: 'UNAUTHENTICATED' } }],
    })
  })

  it.each([undefined, 'forged'])('requires a token for a mutation: %s', async (token) => {
    written.length = 0
    const response = await post({ query: mutation }, token === undefined ? {} : { token })
    expect(response.status).toBe(401)
    expect(response.headers['www-authenticate']).toBe('Bearer')
    expect(response.json()).toEqual(refused('addBook'))
    expect(written).toEqual([])
  })

  it('requires a token for a mutation, which renews the token', async () => {
    const response = await post({ query: mutation }, { token: await tokenOf({ sub: '7' }) })
    expect([response.status, response.body]).toEqual([200, '{"data":{"addBook":{"title":"x"}}}'])
    expect(response.headers.freshtoken).toEqual(expect.any(String))
  })

  it('renews no token for a public query', async () => {
    const response = await post({ query: '{ echo }' }, { token: await tokenOf({ sub: '7' }) })
    expect(response.headers.freshtoken).toBeUndefined()
  })

  it('requires a token for one secured field, with POST and GET, also in a fragment or skipped', async () => {
    const query = '{ ...F } fragment F on Query { echo a: secret @skip(if: true) }'
    for (const response of [await post({ query }), await get({ query })]) {
      expect(response.status).toBe(401)
      expect(response.json()).toEqual(refused('a'))
    }
  })

  it('requires a role', async () => {
    const query = '{ report }'
    const clerk = await post({ query }, { token: await tokenOf({ roles: ['clerk'] }) })
    expect(clerk.status).toBe(403)
    expect(clerk.json()).toMatchObject({
      error: 'Forbidden',
      code: 'FORBIDDEN',
      errors: [{ extensions: { code: 'FORBIDDEN' } }],
    })
    const admin = await post({ query }, { token: await tokenOf({ roles: ['admin'] }) })
    expect(admin.body).toBe('{"data":{"report":"all"}}')
  })

  it('is public for a mutation with noAuth', async () => {
    expect((await post({ query: 'mutation { ping }' })).body).toBe('{"data":{"ping":"pong"}}')
    const response = await post({
      query: `mutation { ping addBook(input: { title: "x" }) { id } }`,
    })
    expect(response.status).toBe(401)
  })

  it('is closed for queries by a secured route, introspection included, and open for mutations by a noAuth route', async () => {
    const path = '/closed'
    expect((await post({ query: '{ echo }' }, { path })).status).toBe(401)
    expect((await get({ query: '{ echo }' }, { path })).status).toBe(401)
    expect((await post({ query: '{ __schema { types { name } } }' }, { path })).status).toBe(401)
    expect((await post({ query: '{ echo }' }, { path, token: key })).status).toBe(200)
    expect((await post({ query: mutation }, { path: '/open' })).body).toBe(
      '{"data":{"addBook":{"title":"x"}}}',
    )
  })

  it.each([{}, { token: key }])(
    'returns 405 for a mutation with GET before any other check: %j',
    async (sent) => {
      written.length = 0
      const response = await get({ query: mutation }, sent)
      expect([response.status, response.headers.allow]).toEqual([405, 'POST'])
      expect(written).toEqual([])
    },
  )

  it('runs the query of a document with GET that also has a mutation', async () => {
    const query = `query A { echo } ${mutation.replace('mutation', 'mutation B')}`
    expect((await get({ query, operationName: 'A' })).body).toBe('{"data":{"echo":"nothing"}}')
    expect((await get({ query, operationName: 'B' })).status).toBe(405)
  })
})

describe('caches', () => {
  it('recognize anonymous responses to GET by their ETag', async () => {
    const first = await get({ query: '{ echo }' })
    expect(first.headers).toMatchObject({
      'cache-control': 'no-cache',
      vary: 'Accept, Authorization',
    })
    const { etag = '' } = first.headers as { etag?: string }
    const second = await get({ query: '{ echo }' }, { headers: { 'if-none-match': etag } })
    expect([second.status, second.body, second.headers.etag]).toEqual([304, '', etag])
    const other = await get(
      { query: '{ echo(text: "b") }' },
      { headers: { 'if-none-match': etag } },
    )
    expect([other.status, other.body]).toEqual([200, '{"data":{"echo":"b"}}'])
  })

  it('may store them for the configured time', async () => {
    const response = await get({ query: '{ echo }' }, { path: '/cached' })
    expect(response.headers['cache-control']).toBe('public, max-age=60')
  })

  it.each<[string, Record<string, string>, string | undefined, string]>([
    ['a caller with a token', { query: '{ echo }' }, key, 'private, no-store'],
    ['errors', { query: '{ books { isbn } }' }, undefined, 'no-store'],
  ])('store no response with %s', async (_what, query, token, control) => {
    const response = await get(query, token === undefined ? {} : { token })
    expect(response.headers['cache-control']).toBe(control)
    expect(response.headers.etag).toBeUndefined()
  })
})

describe('persisted documents', () => {
  const path = '/persisted'

  it.each([
    { documentId: 'abc' },
    { documentId: 'sha256:abc' },
    { extensions: { persistedQuery: { version: 1, sha256Hash: 'abc' } } },
    { query: '{ echo(text: "kept") }' },
  ])('run: %j', async (body) => {
    expect((await post(body, { path })).body).toBe('{"data":{"echo":"kept"}}')
  })

  it('run with GET', async () => {
    expect((await get({ documentId: 'abc' }, { path })).body).toBe('{"data":{"echo":"kept"}}')
  })

  it.each([{ documentId: 'abd' }, { documentId: '__proto__' }, { query: '{ echo }' }])(
    'are the only ones that run: %j does not',
    async (body) => {
      const response = await post(body, { path })
      expect(response.status).toBe(400)
      expect(response.json()).toMatchObject({
        data: null,
        errors: [{ extensions: { code: 'PERSISTED_DOCUMENT_NOT_FOUND' } }],
      })
    },
  )
})

describe('other features', () => {
  it('HEAD is GET without a body', async () => {
    const response = await app.inject({ method: 'HEAD', url: '/graphql?query=%7Becho%7D' })
    expect([response.status, response.body, response.headers['content-type']]).toEqual([
      200,
      '',
      json,
    ])
  })

  it('a resolver may use the session', async () => {
    const first = await post({ query: '{ visits }' })
    const cookie = String(first.headers['set-cookie']).split(';')[0] ?? ''
    const second = await post({ query: '{ visits }' }, { headers: { cookie } })
    expect([first.body, second.body]).toEqual(['{"data":{"visits":1}}', '{"data":{"visits":2}}'])
  })

  it('ignore the formToken that the browser client adds', async () => {
    expect((await post({ query: '{ echo }', formToken: 'x' })).body).toBe(
      '{"data":{"echo":"nothing"}}',
    )
  })

  it('accept a formToken where the application enables it', async () => {
    @Module({ graphql: [createLibrary().registerRoute()] })
    class Forms {}
    await using forms = await bootstrap(Forms, {
      listen: false,
      logger: false,
      auth: { formToken: true },
      env: { APP_API_KEY: key },
    })
    const query = 'mutation { addBook(input: { title: "x" }) { title } }'
    const statusWith = async (formToken: string) =>
      (await forms.inject({ url: '/graphql', json: { query, formToken } })).status
    expect([await statusWith(key), await statusWith('forged')]).toEqual([200, 401])
  })

  it('show the first instance of an application', () => {
    expect(app.graphql).toBe(graphql)
    expect(app.graphql.sdl).toContain('type Book {')
  })

  it('do not exist in an application without GraphQL', async () => {
    @Module({ graphql: [createLibrary().registerRoute()] })
    class Off {}
    await using off = await bootstrap(Off, {
      listen: false,
      logger: false,
      graphql: false,
      env: {},
    })
    expect((await off.inject('/graphql')).status).toBe(404)
    expect(() => off.graphql).toThrow('app.graphql: this application has no GraphQL.')
  })

  it('report the problems of all schemas with all others', async () => {
    const faulty = new GraphQL({ documents: './nowhere.json' })
    faulty.schema.addQuery('a', { type: 'Itm', resolve: () => null })
    const twin = createLibrary().registerRoute()
    @Module({ graphql: [faulty, twin, createLibrary().registerRoute('/graphql'), {} as never] })
    class Faulty {}
    const starting = bootstrap(Faulty, { listen: false, logger: false, env: {} })
    const failure: unknown = await starting.catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(DeclarationError)
    expect((failure as DeclarationError).problems.map(({ code }) => code)).toEqual([
      'NOT_A_GRAPHQL',
      'DUPLICATE_ROUTE',
      'UNKNOWN_TYPE',
      'INVALID_DOCUMENTS',
    ])
  })
})
