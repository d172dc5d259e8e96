/** The nested list of GraphQL on SQLite: fifty items, each with its category. */
import { withSqliteShop } from '../harness/databases.mjs'
import { measureLoad } from '../harness/load-row.mjs'
import { ask, listQuery } from '../servers/shop-queries.mjs'
import { firstItems, itemWithCategory } from '../servers/shop.mjs'

const contenders = [
  { name: 'node:http, one statement', file: 'graphql/bare.mjs' },
  { name: 'Filigree', file: 'graphql/filigree.ts' },
  { name: 'Mercurius, JIT', file: 'graphql/mercurius.mjs', env: { JIT: '1' } },
  { name: 'Mercurius', file: 'graphql/mercurius.mjs' },
  { name: 'graphql-http', file: 'graphql/graphql-http.mjs' },
  { name: 'Yoga', file: 'graphql/yoga.mjs' },
  { name: 'Apollo', file: 'graphql/apollo.mjs' },
]

const request = ask(listQuery)
const probe = {
  request,
  status: 200,
  json: { data: { items: firstItems(50).map(itemWithCategory) } },
}
// Asked twice and more, since compiled operations answer only from the second time on.
const probes = [probe, probe, probe]

export const row = {
  name: 'graphql',
  title: 'GraphQL, 50 items with their categories, SQLite',
  targets: [
    { of: 'Filigree', over: 'node:http, one statement', atLeast: 0.85 },
    { of: 'Filigree', over: 'Mercurius, JIT', atLeast: 3 },
    { of: 'Filigree', over: 'graphql-http', atLeast: 10 },
    { of: 'Filigree', over: 'Yoga', atLeast: 10 },
    { of: 'Filigree', over: 'Apollo', atLeast: 10 },
  ],
  measure: (options) =>
    withSqliteShop((url) =>
      measureLoad({ contenders, probes, request, env: { DATABASE_URL: url } }, options),
    ),
}
