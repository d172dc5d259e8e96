/** Runs every audit of graphql-http's own suite against the endpoint of an application. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, GraphQL, Module, type Application } from 'filigree'
import { serverAudits } from 'graphql-http'

const graphql = new GraphQL()
graphql.schema.addQuery('hello', { type: 'String', resolve: () => 'world' })
graphql.schema.addMutation('shout', { type: 'String', resolve: () => 'WORLD' })
graphql.registerRoute()

@Module({ graphql: [graphql] })
class AuditModule {}

let app: Application

beforeAll(async () => {
  app = await bootstrap(AuditModule, { listen: false, logger: false, env: {} })
})
afterAll(() => app.close())

const audits = serverAudits({
  url: 'http://localhost/graphql',
  fetchFn: (input: string, init?: RequestInit) => app.handle(new Request(input, init)),
})

describe('the audits of GraphQL over HTTP', () => {
  it('are all present', () => {
    expect(audits).toHaveLength(61)
  })

  it.each(audits.map((audit) => [audit.id, audit.name, audit] as const))(
    '%s %s',
    async (_id, _name, audit) => {
      const result = await audit.fn()
      expect(result).toMatchObject({ status: 'ok' })
    },
  )
})
