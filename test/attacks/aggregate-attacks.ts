/** Attacks by one anonymous GraphQL query that groups rows by local time in many time zones. */
import { bootstrap, connect, Field, GraphQL, Module, NoAuth, Record } from 'filigree'
import type { Attack } from './attack.js'
import { measureProcessorTime } from './measure.js'

@Record
@NoAuth
class Visit {
  @Field('id') id!: number
  @Field('datetime') at!: string
}

const query = `query ($groups: [VisitTimeGroup!]) {
  ${Array.from({ length: 20 }, (_, index) => `a${index}: visitsAggregate(groupByTime: $groups) { count }`).join('\n')}
}`

export const attacks: readonly Attack[] = [
  {
    name: 'one GraphQL query: 20 aggregates by 7,000 groups of time each',
    before: 'the event loop is blocked for 12 s',
    measures: true,
    run: async () => {
      const database = await connect('sqlite::memory:', { records: [Visit] })
      await database.sync()
      const graphql = new GraphQL()
      graphql.schema.fromOrm(Visit)
      graphql.registerRoute()
      @Module({ records: [Visit], graphql: [graphql] })
      class VisitModule {}
      const app = await bootstrap(VisitModule, { listen: false, logger: false, env: {}, database })
      const groups = Array.from({ length: 7000 }, () => ({
        field: 'at',
        by: 'DAY',
        zone: 'Europe/Berlin',
      }))
      const body = JSON.stringify({ query, variables: { groups } })
      const headers = { 'content-type': 'application/json' }
      return measureProcessorTime(app, { method: 'POST', url: '/graphql', headers, body })
    },
  },
]
