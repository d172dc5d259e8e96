/** One record by GraphQL, read with its category and, in a mutation, changed; on SQLite, with variables. */
import { withSqliteShop } from '../harness/databases.mjs'
import { measureLoad } from '../harness/load-row.mjs'
import { ask, oneQuery, updateMutation } from '../servers/shop-queries.mjs'
import { items, itemWithCategory } from '../servers/shop.mjs'

const all = [
  { name: 'node:http, one statement', file: 'graphql/bare.mjs' },
  { name: 'Filigree', file: 'graphql/filigree.ts' },
  { name: 'Mercurius, JIT', file: 'graphql/mercurius.mjs', env: { JIT: '1' } },
  { name: 'Mercurius', file: 'graphql/mercurius.mjs' },
]

const find = (id) => ask(oneQuery, { id: String(id) })
const update = (id, price) => ask(updateMutation, { id: String(id), input: { price } })
const found = (id) => ({
  request: find(id),
  status: 200,
  json: { data: { item: itemWithCategory(items[id - 1]) } },
})
const updated = (id, price) => ({
  request: update(id, price),
  status: 200,
  json: { data: { updateItem: { id: String(id), name: items[id - 1].name, price } } },
})

// The last mutation leaves the item as it was.
const probes = [
  found(7),
  found(7),
  found(7),
  found(1000),
  { request: find(4711), status: 200, json: { data: { item: null } } },
  updated(9, 12.25),
  updated(9, 99.5),
  updated(9, items[8].price),
  found(9),
]

const contenders = [
  ...all.map((each) => ({ ...each, request: find(7) })),
  ...all.map((each) => ({
    ...each,
    name: `${each.name}, mutation`,
    request: update(8, items[7].price),
  })),
]

export const row = {
  name: 'graphql-one',
  title: 'GraphQL, a single record and a mutation, SQLite',
  targets: [
    { of: 'Filigree', over: 'Mercurius, JIT', atLeast: 3 },
    { of: 'Filigree, mutation', over: 'Mercurius, JIT, mutation', atLeast: 3 },
  ],
  measure: (options) =>
    withSqliteShop((url) =>
      measureLoad({ contenders, probes, env: { DATABASE_URL: url } }, options),
    ),
}
