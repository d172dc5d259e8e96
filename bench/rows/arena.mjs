/** HttpArena's profiles `async-db`, `crud` and `api-4`, on one process of each contender. */
import { withPostgres } from '../harness/databases.mjs'
import { measureLoad } from '../harness/load-row.mjs'
import { processed, rowCount, tables, toItem, toPage, toRow } from '../servers/arena/arena.mjs'

const contenders = [
  { name: 'Filigree', file: 'arena/filigree.ts' },
  { name: 'Fastify + pg', file: 'arena/fastify.mjs' },
  { name: 'Hono + postgres.js', file: 'arena/hono.mjs' },
  { name: 'Nest + TypeORM', file: 'arena/nest.ts' },
]

async function fill(client) {
  for (const statement of tables) await client.query(statement)
  const rows = Array.from({ length: rowCount }, (_, n) => toRow(n + 1))
  for (let from = 0; from < rows.length; from += 10_000)
    await client.query('insert into items select * from json_populate_recordset(null::items, $1)', [
      JSON.stringify(rows.slice(from, from + 10_000)),
    ])
}

const firstRows = Array.from({ length: 2000 }, (_, n) => toRow(n + 1))
const between = (min, max, limit) => {
  const items = firstRows.filter(({ price }) => price >= min && price <= max).slice(0, limit)
  return { items: items.map(toItem), count: items.length }
}
const get = (path) => ({ path })
const range = (min, max, limit) => get(`/async-db?min=${min}&max=${max}&limit=${limit}`)
const send = (method, path, body) => ({
  method,
  path,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})
const answers = (request, json, status = 200) => ({ request, status, json })

const ranges = [5, 10, 20, 35, 50].map((limit) => range(10, 50, limit))
const rangeProbes = [7, 18, 33, 50].map((limit) =>
  answers(range(limit, 300, limit), between(limit, 300, limit)),
)

const find = (id) => get(`/crud/items/${id}`)
/** Keys as at random, the same for all. */
const keyOf = (n) => ((n * 7919) % 50_000) + 1
const change = (id) =>
  send('PUT', `/crud/items/${id}`, { name: `Alpha Widget ${id}`, price: 30, quantity: 5 })
const create = (id) =>
  send('POST', '/crud/items', {
    id,
    name: 'New Product',
    category: 'test',
    price: 25,
    quantity: 10,
  })
const office = (page) => get(`/crud/items?category=office&page=${page}&limit=10`)

/** Of twenty requests fifteen read, three change, one lists and one creates. */
const mix = Array.from({ length: 2000 }, (_, n) => {
  const place = n % 20
  if (place === 7) return office((n % 10) + 1)
  if (place === 14) return create(rowCount + 1 + n)
  if (place % 6 === 3) return change(keyOf(n))
  return find(keyOf(n))
})
const offices = firstRows.filter(({ category }) => category === 'office').map(toItem)
const created = toItem({ ...toRow(rowCount + 1), name: 'New Product', category: 'test', price: 25 })
const crudProbes = [
  answers(office(2), toPage(offices.slice(10, 20), { page: 2, limit: 10 })),
  { ...answers(find(17), toItem(toRow(17))), headers: { 'x-cache': 'MISS' } },
  { ...answers(find(17), toItem(toRow(17))), headers: { 'x-cache': 'HIT' } },
  answers(change(18), toItem({ ...toRow(18), price: 30, quantity: 5 })),
  answers(find(18), toItem({ ...toRow(18), price: 30, quantity: 5 })),
  { request: find(999_999), status: 404 },
  { request: change(999_999), status: 404 },
  answers(
    create(rowCount + 1),
    { ...created, quantity: 10, active: true, tags: [], rating: { score: 0, count: 0 } },
    201,
  ),
]

const baseline = get('/baseline11?a=1&b=2')
const pairs = [
  [1, 3],
  [5, 7],
  [10, 2],
  [15, 5],
  [25, 4],
  [40, 8],
  [50, 6],
]
const asJson = ([count, m]) => get(`/json/${count}?m=${m}`)
/** Of eight requests three are the baseline, three work on JSON, and two ask the database. */
const fourth = Array.from({ length: 280 }, (_, n) => {
  if (n % 8 < 3) return baseline
  return n % 8 < 6 ? asJson(pairs[n % 7]) : ranges[n % 5]
})
const baselineProbe = { request: baseline, status: 200, type: 'text/plain', text: '3' }
const jsonProbes = pairs.map((pair) => answers(asJson(pair), processed(...pair)))

const profiles = [
  ['async-db', 'a range of a table of 100,000 rows without an index', ranges, rangeProbes],
  ['crud', '75 % reads behind a cache of 200 ms, 15 % updates, lists, upserts', mix, crudProbes],
  ['api-4', 'sums, JSON, and a range', fourth, [baselineProbe, ...jsonProbes, ...rangeProbes]],
]

const toBenchRow = ([name, title, requests, probes]) => ({
  name: `arena-${name}`,
  group: 'arena',
  title: `HttpArena ${name}: ${title}`,
  targets: [{ of: 'Filigree', over: 'Fastify + pg', atLeast: 1 }],
  measure: (options) =>
    withPostgres(fill, (url) =>
      measureLoad(
        { contenders, probes, request: { requests }, env: { DATABASE_URL: url } },
        options,
      ),
    ),
})

export const rows = profiles.map(toBenchRow)
