/** Three levels of GraphQL, lists in lists: categories, their items, their reviews; on SQLite and on PostgreSQL. */
import { withPostgresShop, withSqliteShop } from '../harness/databases.mjs'
import { measureLoad } from '../harness/load-row.mjs'
import { ask, deepQuery, deepQueryOfTables } from '../servers/shop-queries.mjs'
import { categoryTree } from '../servers/shop.mjs'

const all = [
  { name: 'node:http, one statement', file: 'graphql/bare.mjs' },
  { name: 'Filigree', file: 'graphql/filigree.ts' },
  { name: 'Mercurius, JIT', file: 'graphql/mercurius.mjs', env: { JIT: '1' } },
]

const request = ask(deepQuery)
const json = { data: { categories: categoryTree(10, 10, 5) } }
const probe = { request, status: 200, json }
const probes = [probe, probe, probe]

const requestOfTables = ask(deepQueryOfTables)
const withNumbers = JSON.parse(JSON.stringify(json), (key, value) =>
  key === 'id' ? Number(value) : value,
)
const postgraphile = {
  name: 'PostGraphile, PostgreSQL',
  file: 'graphql/postgraphile.mjs',
  request: requestOfTables,
  probes: [{ request: requestOfTables, status: 200, json: withNumbers }],
}

/** The contenders on each database; those on PostgreSQL say so in their names. */
const onBoth = (sqlite, postgres) => [
  ...all.map((each) => ({ ...each, env: { ...each.env, DATABASE_URL: sqlite } })),
  ...all.map((each) => ({
    ...each,
    name: `${each.name}, PostgreSQL`,
    env: { ...each.env, DATABASE_URL: postgres },
  })),
  { ...postgraphile, env: { DATABASE_URL: postgres } },
]

export const row = {
  name: 'graphql-deep',
  title: 'GraphQL, three levels of lists, SQLite and PostgreSQL',
  targets: [
    { of: 'Filigree', over: 'Mercurius, JIT', atLeast: 5 },
    { of: 'Filigree, PostgreSQL', over: 'Mercurius, JIT, PostgreSQL', atLeast: 5 },
  ],
  measure: (options) =>
    withSqliteShop((sqlite) =>
      withPostgresShop((postgres) =>
        measureLoad({ contenders: onBoth(sqlite, postgres), probes, request }, options),
      ),
    ),
}
