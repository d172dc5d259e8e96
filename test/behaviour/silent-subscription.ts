/** A GraphQL endpoint at `/hand-made` with a subscription that waits. */
import { GraphQL } from 'filigree'

/** @param source the texts of the subscription `silence` */
export function createSilentGraphql(source: () => AsyncIterable<string>): GraphQL {
  const graphql = new GraphQL()
  graphql.schema.addQuery('ok', { type: 'Boolean', resolve: () => true })
  graphql.schema.addSubscription('silence', {
    type: 'String',
    async *subscribe() {
      for await (const text of source()) yield { silence: text }
    },
  })
  graphql.registerRoute('/hand-made')
  return graphql
}
