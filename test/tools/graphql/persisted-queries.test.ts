/** Automatic persisted queries with Apollo Client's link. */
import { createHash } from 'node:crypto'
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, GraphQL, Module, type Application } from 'filigree'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const graphql = new GraphQL().registerRoute('/graphql')
graphql.schema.addQuery('echo', {
  type: 'String',
  args: { text: 'String' },
  resolve: (_root, { text }) => text,
})

@Module({ graphql: [graphql] })
class EchoModule {}

let app: Application
beforeAll(async () => {
  app = await bootstrap(EchoModule, { port: 0, host: '127.0.0.1', logger: false, env: {} })
})
afterAll(() => app.close())

describe('automatic persisted queries', () => {
  it('work with Apollo’s own link, which sends the text when requested', async () => {
    const sent: string[] = []
    const http = new HttpLink({
      uri: `${app.url}/graphql`,
      fetch: async (url, init) => {
        sent.push(typeof init?.body === 'string' && init.body.includes('"query"') ? 'text' : 'hash')
        return fetch(url, init)
      },
    })
    const link = new PersistedQueryLink({ sha256 }).concat(http)
    const client = new ApolloClient({ link, cache: new InMemoryCache() })
    const query = gql`
      query Greeting {
        echo(text: "apollo")
      }
    `
    const runQuery = () => client.query({ query, fetchPolicy: 'no-cache' })
    expect((await runQuery()).data).toEqual({ echo: 'apollo' })
    expect((await runQuery()).data).toEqual({ echo: 'apollo' })
    expect(sent).toEqual(['hash', 'text', 'hash'])
  })
})
