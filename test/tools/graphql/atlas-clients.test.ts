/**
 * Third-party GraphQL clients, used as in their manuals, with an atlas that listens on a port.
 *
 * @jest-environment node
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ApolloClient,
  CombinedGraphQLErrors,
  gql,
  HttpLink,
  InMemoryCache,
  ServerError,
} from '@apollo/client'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Client as UrqlClient, fetchExchange } from '@urql/core'
import { ClientError, GraphQLClient } from 'graphql-request'
import { createClient as createSseClient } from 'graphql-sse'
import { GraphQL, Module, type Application } from '../../../src/index.js'
import { AtlasModule } from '../../../samples/atlas/app.js'
import { logIn, startAtlas } from '../../samples/small-world.js'

const tides = new GraphQL({ maskErrors: true })
tides.schema
  .addQuery('broken', {
    type: 'Int',
    resolve: () => {
      throw new Error('the password of the gauge is 1234')
    },
  })
  .addSubscription('tide', {
    type: 'Int!',
    args: { days: 'Int!' },
    secured: true,
    async *subscribe(_root, { days }: { days: number }) {
      for (let day = 1; day <= days; day++) yield await Promise.resolve({ tide: day * 10 })
    },
  })
tides.registerRoute('/tides')

@Module({ imports: [AtlasModule], graphql: [tides] })
class CoastModule {}

let folder: string
let app: Application
let grace: string
let ada: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'filigree-atlas-'))
  const options = { listen: true, port: 0, host: '127.0.0.1' }
  app = await startAtlas({ url: 'sqlite::memory:', folder, module: CoastModule, options })
  grace = await logIn(app)
  ada = await logIn(app, 'ada', 'analytical')
})

afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

interface ClientResult {
  readonly data: unknown
  /** The status of a refusal, if the client reports it. */
  readonly status?: number | undefined
  readonly errors: readonly {
    readonly message: string
    readonly path?: readonly (string | number)[] | undefined
    readonly extensions?: Readonly<Record<string, unknown>> | undefined
  }[]
}

interface GraphqlRequest {
  readonly text: string
  readonly variables?: Readonly<Record<string, unknown>>
  readonly token?: string
  /** Default `/graphql`. */
  readonly at?: string
}

function bearer(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { Authorization: `Bearer ${token}` }
}

async function requestByClient(request: GraphqlRequest): Promise<ClientResult> {
  const { text, variables = {}, token, at = '/graphql' } = request
  const client = new GraphQLClient(app.url + at, { headers: bearer(token), errorPolicy: 'all' })
  try {
    const { data, errors = [] } = await client.rawRequest(text, variables)
    return { data, errors }
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    const { data = null, errors = [], status } = error.response
    return { data, errors, status }
  }
}

/** Sends queries by GET. */
async function requestByUrql(request: GraphqlRequest): Promise<ClientResult> {
  const { text, variables = {}, token, at = '/graphql' } = request
  const client = new UrqlClient({
    url: app.url + at,
    exchanges: [fetchExchange],
    fetchOptions: { headers: bearer(token) },
  })
  const run = text.startsWith('mutation') ? 'mutation' : 'query'
  const { data = null, error } = await client[run](text, variables)
  if (error?.networkError !== undefined) throw error.networkError
  const { status } = (error?.response ?? {}) as Partial<Response>
  return { data: data as unknown, errors: error?.graphQLErrors ?? [], status }
}

function createApollo({
  token,
  at = '/graphql',
}: Pick<GraphqlRequest, 'token' | 'at'>): ApolloClient {
  const link = new HttpLink({ uri: app.url + at, headers: bearer(token) })
  return new ApolloClient({ link, cache: new InMemoryCache() })
}

async function requestByApollo(request: GraphqlRequest): Promise<ClientResult> {
  const { text, variables = {} } = request
  const client = createApollo(request)
  const options = { variables, errorPolicy: 'all', fetchPolicy: 'no-cache' } as const
  const { data, error } = text.startsWith('mutation')
    ? await client.mutate({ mutation: gql(text), ...options })
    : await client.query({ query: gql(text), ...options })
  if (error instanceof Error && !CombinedGraphQLErrors.is(error)) throw error
  return { data: data ?? null, errors: CombinedGraphQLErrors.is(error) ? error.errors : [] }
}

const clients: readonly (readonly [string, (request: GraphqlRequest) => Promise<ClientResult>])[] =
  [
    ['graphql-request', requestByClient],
    ['@urql/core', requestByUrql],
    ['@apollo/client', requestByApollo],
  ]

/** @returns the codes of field errors with their paths */
function errorCodesOf({ errors }: ClientResult): unknown[] {
  return errors.map(({ path, extensions }) => [extensions?.code, path])
}

describe.each(clients)('%s', (_name, run) => {
  it('gets the results of queries with variables and computed fields', async () => {
    const text = `query Around($codes: [String!]!, $lat: Float!, $lng: Float!) {
      countries(where: { code: { in: $codes } }) {
        name
        cities(limit: 1) { name distance(lat: $lat, lng: $lng) }
      }
      cityCount
    }`
    const variables = { codes: ['IS'], lat: 64.14, lng: -21.9 }
    const { data, errors } = await run({ text, variables })
    expect(errors).toEqual([])
    expect(data).toMatchObject({
      countries: [{ name: 'Iceland', cities: [{ name: 'Reykjavík', distance: 0.5 }] }],
      cityCount: 10,
    })
  })

  it('writes with a token', async () => {
    const text = `mutation Found($input: CityInput) {
      createCity(input: $input) { id name country { code } }
    }`
    const variables = { input: { name: 'Nýborg', lat: 64.2, lng: -21.7, countryId: 1 } }
    const { data, errors } = await run({ text, variables, token: ada })
    expect(errors).toEqual([])
    expect(data).toMatchObject({ createCity: { name: 'Nýborg', country: { code: 'IS' } } })
    const { id } = (data as { createCity: { id: string } }).createCity
    const raze = { text: 'mutation Raze($id: ID!) { deleteCity(id: $id) }', variables: { id } }
    expect(await run({ ...raze, token: ada })).toMatchObject({ data: { deleteCity: true } })
  })

  it('gets partial results with their errors', async () => {
    const text = '{ countries(limit: 2000) { name } cityCount }'
    const answer = await run({ text })
    expect(answer.data).toEqual({ countries: null, cityCount: 10 })
    expect(errorCodesOf(answer)).toEqual([['VALIDATION', ['countries']]])
  })

  it('gets every error of an input with its path', async () => {
    const text = 'mutation { createCity(input: { name: "", lat: 91 }) { id } }'
    const answer = await run({ text, token: ada })
    expect(errorCodesOf(answer)).toEqual([['VALIDATION', ['createCity']]])
    const fieldErrors = answer.errors[0]?.extensions?.errors as { path: string; code: string }[]
    expect(fieldErrors.map(({ path, code }) => [path, code])).toEqual([
      ['input.name', 'minLength'],
      ['input.lat', 'max'],
      ['input.lng', 'required'],
      ['input.countryId', 'required'],
    ])
  })

  it.each<[string, number, () => GraphqlRequest, string, string]>([
    [
      'an unknown field',
      400,
      () => ({ text: '{ oceans { name } }' }),
      'GRAPHQL_VALIDATION_FAILED',
      'Cannot query field "oceans" on type "Query".',
    ],
    [
      'a variable of another type',
      400,
      () => ({ text: 'query Q($n: Int) { cities(limit: $n) { id } }', variables: { n: 'ten' } }),
      'BAD_VARIABLES',
      'Variable "$n" got invalid value "ten"; Int cannot represent non-integer value: "ten"',
    ],
    [
      'a mutation without a token',
      401,
      () => ({ text: 'mutation { deleteCity(id: 1) }' }),
      'UNAUTHENTICATED',
      'Unauthorized',
    ],
    [
      'a mutation with a token that is none',
      401,
      () => ({ text: 'mutation { deleteCity(id: 1) }', token: 'a.b.c' }),
      'UNAUTHENTICATED',
      'Unauthorized',
    ],
    [
      'a mutation without the role',
      403,
      () => ({ text: 'mutation { deleteCity(id: 1) }', token: grace }),
      'FORBIDDEN',
      'Forbidden',
    ],
  ])(
    'understands the refusal of %s, which is %d',
    async (_what, status, request, code, message) => {
      const answer = await run(request())
      expect(answer.data).toBeNull()
      expect(answer.errors.map(({ extensions }) => extensions?.code)).toEqual([code])
      expect(answer.errors[0]?.message).toBe(message)
      expect(answer.status ?? status).toBe(status)
    },
  )

  it('gets no details of an internal error', async () => {
    const answer = await run({ text: '{ broken }', at: '/tides' })
    expect(answer.data).toEqual({ broken: null })
    expect(errorCodesOf(answer)).toEqual([['INTERNAL_SERVER_ERROR', ['broken']]])
    expect(answer.errors[0]?.message).toBe('Internal server error')
  })
})

describe('@apollo/client with its cache', () => {
  it('updates earlier queries after a mutation', async () => {
    const client = createApollo({ token: ada })
    const query = gql('query City($id: ID!) { city(id: $id) { id name } }')
    const cityNames: unknown[] = []
    const watched = client
      .watchQuery<{ city: { name: string } }>({ query, variables: { id: '3' } })
      .subscribe(({ data }) => cityNames.push(data?.city))
    await client.query({ query, variables: { id: '3' } })
    await client.mutate({
      mutation: gql('mutation { updateCity(id: 3, input: { name: "Keflavík" }) { id name } }'),
    })
    watched.unsubscribe()
    expect(cityNames.at(-1)).toEqual({ __typename: 'City', id: '3', name: 'Keflavík' })
  })

  it('reports a response that is not GraphQL as a server error', async () => {
    const client = createApollo({ at: '/nowhere' })
    const { error } = await client.query({ query: gql('{ cityCount }'), errorPolicy: 'all' })
    expect(ServerError.is(error) && [error.statusCode, error.bodyText]).toEqual([
      404,
      '{"error":"Not found","code":"NOT_FOUND"}',
    ])
  })
})

describe('subscriptions', () => {
  const text = 'subscription Tides($days: Int!) { tide(days: $days) }'
  const values = [{ tide: 10 }, { tide: 20 }, { tide: 30 }]

  it('are received by graphql-sse in order, and end', async () => {
    const client = createSseClient({ url: `${app.url}/tides`, headers: bearer(grace) })
    const received: unknown[] = []
    for await (const { data } of client.iterate({ query: text, variables: { days: 3 } })) {
      received.push(data)
    }
    expect(received).toEqual(values)
    client.dispose()
  })

  it('send graphql-sse a city that is added over REST', async () => {
    let open = (): void => undefined
    const connected = new Promise<void>((resolve) => (open = resolve))
    const client = createSseClient({
      url: `${app.url}/graphql`,
      on: {
        connected: () => {
          open()
        },
      },
    })
    const query = 'subscription { cityChanged { event id city { name country { code } } } }'
    const events = client.iterate({ query })
    const first = events.next()
    await connected
    const json = { name: 'Vík', lat: 63.42, lng: -19.01, country: 'IS' }
    const added = await app.inject({ url: '/cities', json, token: grace })
    const { id } = added.json() as { id: number }
    expect((await first).value).toEqual({
      data: {
        cityChanged: {
          event: 'created',
          id: String(id),
          city: { name: 'Vík', country: { code: 'IS' } },
        },
      },
    })
    await events.return?.()
    client.dispose()
  })

  it('are received by @urql/core over fetch', async () => {
    const client = new UrqlClient({
      url: `${app.url}/tides`,
      exchanges: [fetchExchange],
      fetchSubscriptions: true,
      fetchOptions: { headers: bearer(grace) },
    })
    const received: unknown[] = []
    await new Promise<void>((resolve) => {
      client.subscription(text, { days: 3 }).subscribe(({ data, hasNext }) => {
        received.push(data)
        if (!hasNext || received.length === values.length) resolve()
      })
    })
    expect(received).toEqual(values)
  })

  it('are refused to graphql-sse without a token, with an error', async () => {
    const client = createSseClient({ url: `${app.url}/tides`, retryAttempts: 0 })
    const events = client.iterate({ query: text, variables: { days: 3 } })
    const refusal: unknown = await events.next().catch((error: unknown) => error)
    expect(refusal).toMatchObject({ response: { status: 401 } })
    client.dispose()
  })
})
