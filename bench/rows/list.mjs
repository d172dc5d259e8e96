/** A flat list over REST: fifty records from SQLite. */
import { withSqliteShop } from '../harness/databases.mjs'
import { measureLoad } from '../harness/load-row.mjs'
import { firstItems } from '../servers/shop.mjs'

const contenders = [
  { name: 'node:http + better-sqlite3', file: 'list/bare.mjs' },
  { name: 'Filigree', file: 'list/filigree.ts' },
  { name: 'Fastify + better-sqlite3', file: 'list/fastify.mjs' },
]

const request = { path: '/items' }
const probes = [
  { request, status: 200, json: firstItems(50) },
  { request: { path: '/nothing' }, status: 404 },
]

export const row = {
  name: 'list',
  title: 'REST list of 50 records, SQLite',
  targets: [{ of: 'Filigree', over: 'node:http + better-sqlite3', atLeast: 0.9 }],
  measure: (options) =>
    withSqliteShop((url) =>
      measureLoad({ contenders, probes, request, env: { DATABASE_URL: url } }, options),
    ),
}
