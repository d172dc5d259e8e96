import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, GraphQL, Module, type Application } from 'filigree'

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

function echoing(options: ConstructorParameters<typeof GraphQL>[0], path: string): GraphQL {
  const graphql = new GraphQL(options)
  graphql.schema.addQuery('echo', {
    type: 'String',
    args: { text: 'String' },
    resolve: (_root, { text }) => text,
  })
  graphql.registerRoute(path)
  return graphql
}

const storedDocuments = { abc: '{ echo(text: "kept") }' }

@Module({
  graphql: [
    echoing({}, '/graphql'),
    echoing({ documents: { from: storedDocuments, only: true } }, '/only'),
  ],
})
class EchoModule {}

let app: Application

beforeAll(async () => {
  app = await bootstrap(EchoModule, { port: 0, host: '127.0.0.1', logger: false, env: {} })
})
afterAll(() => app.close())

async function post(
  body: object,
  path = '/graphql',
  accept = 'application/json',
): Promise<{ status: number; json: unknown }> {
  const response = await app.inject({ method: 'POST', url: path, json: body, headers: { accept } })
  return { status: response.status, json: response.json() }
}

const extensions = (sha256Hash: string): object => ({
  extensions: { persistedQuery: { version: 1, sha256Hash } },
})

const notFound = {
  data: null,
  errors: [
    { message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } },
  ],
}

describe('automatic persisted queries', () => {
  it('are sent once with their text, then by their hash, with POST and GET', async () => {
    const query = '{ echo(text: "once") }'
    const byHash = extensions(hashOf(query))
    expect(await post(byHash)).toEqual({ status: 200, json: notFound })
    const data = { data: { echo: 'once' } }
    expect(await post({ query, ...byHash })).toEqual({ status: 200, json: data })
    expect(await post(byHash)).toEqual({ status: 200, json: data })
    const written = JSON.stringify((byHash as { extensions: object }).extensions)
    const url = `/graphql?extensions=${encodeURIComponent(written)}`
    expect((await app.inject({ method: 'GET', url })).json()).toEqual(data)
  })

  it('return 400 for graphql-response+json with an unknown hash', async () => {
    const type = 'application/graphql-response+json'
    const { status, json } = await post(extensions(hashOf('unknown')), '/graphql', type)
    expect([status, (json as { errors: unknown }).errors]).toEqual([400, notFound.errors])
  })

  it('are refused with the hash of another text, which is not stored', async () => {
    const hash = hashOf('{ echo(text: "mine") }')
    const wrong = await post({ query: '{ echo(text: "yours") }', ...extensions(hash) })
    expect(wrong).toMatchObject({
      status: 400,
      json: { errors: [{ extensions: { code: 'BAD_REQUEST' } }] },
    })
    expect(await post(extensions(hash))).toEqual({ status: 200, json: notFound })
  })

  it('are limited: the least recently used one is removed', async () => {
    const first = '{ first: echo }'
    await post({ query: first, ...extensions(hashOf(first)) })
    for (let count = 0; count < 1000; count++) {
      const query = `{ echo${count}: echo }`
      await post({ query, ...extensions(hashOf(query)) })
    }
    expect(await post(extensions(hashOf(first)))).toEqual({ status: 200, json: notFound })
    const last = '{ echo999: echo }'
    expect((await post(extensions(hashOf(last)))).json).toEqual({ data: { echo999: null } })
  })

  it('cannot bypass a list of documents', async () => {
    const query = '{ echo(text: "more") }'
    const responses = [
      await post({ query, ...extensions(hashOf(query)) }, '/only'),
      await post(extensions(hashOf(query)), '/only'),
    ]
    for (const { status, json } of responses) {
      expect(status).toBe(400)
      expect(json).toMatchObject({
        errors: [{ extensions: { code: 'PERSISTED_DOCUMENT_NOT_FOUND' } }],
      })
    }
  })
})

describe('a variable’s error', () => {
  it('has its path as in graphql-js', async () => {
    const graphql = new GraphQL()
    graphql.schema.addInput('Numbers', { num: 'Float!', list: '[Int!]' })
    graphql.schema.addQuery('sum', { type: 'Float', args: { i: 'Numbers!' }, resolve: () => 1 })
    const query = 'query ($i: Numbers!) { sum(i: $i) }'
    const messages = async (i: unknown): Promise<unknown> =>
      (await graphql.execute(query, { i })).errors?.map(({ message }) => message)
    expect(await messages({ num: 'cheap' })).toEqual([
      'Variable "$i" got invalid value "cheap" at "i.num"; Float cannot represent non numeric value: "cheap"',
    ])
    expect(await messages({ num: 1, list: [1, 'x'] })).toEqual([
      'Variable "$i" got invalid value "x" at "i.list[1]"; Int cannot represent non-integer value: "x"',
    ])
  })
})
