/** GraphQL over WebSockets: one record with its category, each connection's next operation once it has the answer. */
import { withSqliteShop } from '../harness/databases.mjs'
import { measureLoad } from '../harness/load-row.mjs'
import { loadWithMessages } from '../harness/load.mjs'
import { oneQuery } from '../servers/shop-queries.mjs'
import { items, itemWithCategory } from '../servers/shop.mjs'

// Mercurius' loaders work over HTTP only.
const contenders = [
  { name: 'ws, one statement', file: 'graphql/bare-messages.mjs' },
  { name: 'Filigree', file: 'graphql/filigree.ts' },
  { name: 'graphql-ws', file: 'graphql/graphql-ws.mjs' },
]

// The client compares the data of each message.
const request = {
  query: oneQuery,
  variables: { id: '7' },
  data: { item: itemWithCategory(items[6]) },
}

export const row = {
  name: 'messages',
  title: 'GraphQL over WebSockets, a single record, SQLite',
  targets: [{ of: 'Filigree', over: 'graphql-ws', atLeast: 2 }],
  measure: (options) =>
    withSqliteShop((url) =>
      measureLoad(
        { contenders, request, load: loadWithMessages, env: { DATABASE_URL: url } },
        options,
      ),
    ),
}
