/** Live queries with common GraphQL clients, over WebSockets. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ApolloClient, ApolloLink, gql, InMemoryCache } from '@apollo/client'
import { GraphQLWsLink } from '@apollo/client/link/subscriptions'
import { Client as UrqlClient, subscriptionExchange } from '@urql/core'
import { createClient, type Client } from 'graphql-ws'
import { WebSocket } from 'ws'
import { bootstrap, Database, Field, Module, Record as Table, type Application } from 'filigree'
import { isLive, liveLink, liveSource, completeResults } from '../../../client/live-graphql.js'

@Table()
class Lamp {
  @Field('id') id!: number
  @Field('text') name!: string
}

@Module({ records: [Lamp] })
class LampsModule {}

let app: Application
let database: Database
let client: Client
beforeAll(async () => {
  app = await bootstrap(LampsModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    database: 'sqlite::memory:',
    env: {},
  })
  database = app.get(Database)
  client = createClient({
    url: `${app.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
  })
})
afterAll(async () => {
  await client.dispose()
  await app.close()
})

const text = 'query Lamps @live { lamps(orderBy: { id: asc }) { id name } }'

interface Lamps {
  lamps: { id: string; name: string }[]
}

/** Results in order of arrival, and a way to wait for one with these names. */
class Results {
  #names = ''
  #wake: () => void = () => undefined

  take(data: unknown): void {
    this.#names = (data as Lamps | undefined)?.lamps.map(({ name }) => name).join() ?? ''
    this.#wake()
  }

  async names(expected: string): Promise<void> {
    while (this.#names !== expected) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

/** The steps that every client must follow. */
async function live(results: Results): Promise<void> {
  const lamps = database.records(Lamp)
  for (const { id } of await lamps.list()) await lamps.delete(id)
  await results.names('')
  const { id } = await lamps.create({ name: 'a' })
  await results.names('a')
  await lamps.create({ name: 'b' })
  await results.names('a,b')
  await lamps.update(id, { name: 'c' })
  await results.names('c,b')
  await lamps.delete(id)
  await results.names('b')
}

describe('query @live over WebSockets', () => {
  it('sends differences, which completeResults combines', async () => {
    const results = new Results()
    const combine = completeResults()
    const versions: unknown[] = []
    const stop = client.subscribe<Lamps>(
      { query: text },
      {
        next: (result) => {
          versions.push((result.extensions as { live: { version: number } }).live.version)
          results.take(combine(result).data)
        },
        error: () => undefined,
        complete: () => undefined,
      },
    )
    await live(results)
    stop()
    expect(versions).toEqual(versions.map((_, place) => Number(versions[0]) + place))
  })

  it('works with Apollo Client', async () => {
    const apollo = new ApolloClient({
      cache: new InMemoryCache(),
      link: liveLink(ApolloLink).concat(new GraphQLWsLink(client)),
    })
    const results = new Results()
    const query = gql(text)
    expect(isLive(query)).toBe(true)
    const subscription = apollo.watchQuery<Lamps>({ query }).subscribe(({ data }) => {
      results.take(data)
    })
    await live(results)
    subscription.unsubscribe()
    apollo.stop()
  })

  it('works with urql', async () => {
    const urql = new UrqlClient({
      url: `${app.url}/graphql`,
      preferGetMethod: false,
      exchanges: [
        subscriptionExchange({
          isSubscriptionOperation: ({ kind, query }) => kind === 'subscription' || isLive(query),
          forwardSubscription: liveSource((request: { query?: string | undefined }) => ({
            subscribe: (sink) => ({
              unsubscribe: client.subscribe({ ...request, query: request.query ?? '' }, sink),
            }),
          })) as never,
        }),
      ],
    })
    const results = new Results()
    const subscription = urql.query<Lamps>(text, {}).subscribe(({ data }) => {
      results.take(data)
    })
    await live(results)
    subscription.unsubscribe()
  })

  it('leaves results unchanged that are not live, and documents without it', () => {
    const result = { data: { lamps: [] } }
    expect(completeResults()(result)).toBe(result)
    expect(isLive(gql('query Other { lamps { id } }'))).toBe(false)
  })
})
