/** PostgreSQL over HTTP: the routes of a record and GraphQL's questions, beside the same work written by hand. */
import { withPostgresShop } from '../harness/databases.mjs'
import { measureLoad } from '../harness/load-row.mjs'
import { sendJson } from '../servers/json-request.mjs'
import {
  ask,
  listBehindQuery,
  listQuery,
  oneQuery,
  updateMutation,
} from '../servers/shop-queries.mjs'
import { firstItems, items, itemWithCategory } from '../servers/shop.mjs'

const filigree = { name: 'Filigree', file: 'postgres/filigree.ts' }
const fastify = { name: 'Fastify + pg', file: 'postgres/fastify.mjs' }
const hono = { name: 'Hono + postgres.js', file: 'postgres/hono.mjs' }
const nest = { name: 'Nest + TypeORM', file: 'postgres/nest.ts' }
const mercurius = { name: 'Mercurius, JIT', file: 'graphql/mercurius.mjs', env: { JIT: '1' } }

/** Keys in an order that looks like none, the same for all. */
const keys = items.map(({ id }) => ((id * 617) % items.length) + 1)
const inTurn = (make, count = 500) => ({ requests: keys.slice(0, count).map(make) })
const at = (path, request) => ({ ...request, path })
const item = (id) => items[id - 1]
const isFound = (request, answer, status = 200) => ({ request, status, json: answer })

const find = (id) => ({ path: `/items/${id}` })
const behind = (id) => ({ path: `/items?limit=20&id.gt=${id}` })
/** Some fifty rows have the category; their price differs for each request. */
const cheapest = (id) => 5 + (id % 250) / 10
const by = (id) => ({
  path: `/items?limit=20&categoryId=${(id % 20) + 1}&price.gte=${cheapest(id)}`,
})
const rowsBy = (id) =>
  items.filter(({ categoryId, price }) => categoryId === (id % 20) + 1 && price >= cheapest(id))
const nestedBehind = (id) => ask(listBehindQuery, { id: String(id) })
const create = (n) => sendJson('POST', '/items', { name: `New ${n}`, price: 12.5, categoryId: 3 })
const sell = (itemId, pieces = 2) => sendJson('POST', '/sales', { pieces, itemId })
const update = (id, price = item(id).price) => sendJson('PATCH', `/items/${id}`, { price })
const one = (id) => ask(oneQuery, { id: String(id) })
const mutation = (id, price = item(id).price) =>
  ask(updateMutation, { id: String(id), input: { price } })

/** Twenty rows that follow each other: whoever changes the same ones takes them in the same order. */
const twenty = (n) => items.slice((n % 50) * 20, (n % 50) * 20 + 20)
const prices = (n) =>
  sendJson('POST', '/prices', { prices: twenty(n).map(({ id, price }) => ({ id, price })) })
const twentyMutations = `mutation (${twenty(0)
  .map((_, n) => `$i${n}: ID!, $p${n}: Float!`)
  .join(', ')}) {
  ${twenty(0)
    .map((_, n) => `m${n}: updateItem(id: $i${n}, input: { price: $p${n} }) { id price }`)
    .join('\n')}
}`
const mutations = (n) =>
  ask(
    twentyMutations,
    Object.fromEntries(
      twenty(n).flatMap(({ id, price }, place) => [
        [`i${place}`, String(id)],
        [`p${place}`, price],
      ]),
    ),
  )
const mutated = (n) => ({
  data: Object.fromEntries(
    twenty(n).map(({ id, price }, place) => [`m${place}`, { id: String(id), price }]),
  ),
})

const isUpdated = (id, price) => isFound(update(id, price), { ...item(id), price })
const isMutated = (id, price, to = '/graphql') =>
  isFound(at(to, mutation(id, price)), {
    data: { updateItem: { id: String(id), name: item(id).name, price } },
  })
const isOne = (id, to = '/graphql') =>
  isFound(at(to, one(id)), {
    data: { item: id > items.length ? null : itemWithCategory(item(id)) },
  })
const isNestedBehind = (id, to = '/graphql') =>
  isFound(at(to, nestedBehind(id)), {
    data: { items: items.slice(id, id + 50).map(itemWithCategory) },
  })
const nestedAnswer = { data: { items: firstItems(50).map(itemWithCategory) } }

/** The same question to a fixed route. */
const fixed = (contender, path, requests, probes) => ({
  ...contender,
  request: { requests: requests.requests.map((request) => at(path, request)) },
  probes,
})

const definitions = [
  {
    name: 'find',
    title: 'one record by its key',
    request: inTurn(find),
    probes: [
      isFound(find(7), item(7)),
      isFound(find(1000), item(1000)),
      { request: find(4711), status: 404 },
    ],
    contenders: [filigree, fastify, hono, nest],
    over: [['Fastify + pg', 2]],
  },
  {
    name: 'list',
    title: 'twenty records with their total, the same for all',
    request: { path: '/items?limit=20' },
    probes: [
      {
        ...isFound({ path: '/items?limit=20' }, firstItems(20)),
        headers: { 'x-total-count': '1000' },
      },
    ],
    contenders: [
      filigree,
      fastify,
      {
        ...fastify,
        name: 'Fastify + pg, JSON of the database',
        request: { path: '/items-json?limit=20' },
        probes: [isFound({ path: '/items-json?limit=20' }, firstItems(20))],
      },
      hono,
      nest,
    ],
    over: [['Fastify + pg', 1.2]],
  },
  {
    name: 'list-own',
    title: 'twenty records with their total, other ones for each request',
    request: inTurn(behind),
    probes: [
      {
        ...isFound(behind(1000), []),
        headers: { 'x-total-count': '0' },
      },
      {
        ...isFound(behind(7), items.slice(7, 27)),
        headers: { 'x-total-count': '993' },
      },
    ],
    contenders: [filigree, fastify, hono],
    over: [['Fastify + pg', 1]],
  },
  {
    name: 'list-by',
    title: 'twenty records by two columns with their total, other ones for each request',
    request: inTurn(by),
    probes: [7, 999].map((id) => ({
      ...isFound(by(id), rowsBy(id).slice(0, 20)),
      headers: { 'x-total-count': String(rowsBy(id).length) },
    })),
    contenders: [filigree, fastify, hono],
    over: [['Fastify + pg', 1]],
  },
  {
    name: 'create',
    title: 'a record created',
    request: inTurn(create, 20),
    // Each contender has made the same number of rows before it.
    probes: [{ request: create(1), status: 201 }],
    contenders: [filigree, fastify, hono, nest],
    over: [['Fastify + pg', 1.5]],
  },
  {
    name: 'create-hooked',
    title: 'a record created whose hook reads another one, in a serializable transaction',
    request: inTurn((id) => sell(id)),
    probes: [
      { request: sell(1), status: 201 },
      { request: sell(1, 1_000_000), status: 409 },
    ],
    contenders: [filigree, fastify],
    over: [['Fastify + pg', 1]],
  },
  {
    name: 'update',
    title: 'a record changed',
    request: inTurn((id) => update(id)),
    probes: [isUpdated(9, 12.25), isUpdated(9, item(9).price)],
    contenders: [filigree, fastify, hono, nest],
    over: [['Fastify + pg', 1]],
  },
  {
    name: 'updates-20',
    title: 'twenty records changed by one request',
    request: { requests: Array.from({ length: 50 }, (_, n) => prices(n)) },
    probes: [isFound(prices(0), { changed: 20 }), isFound(prices(49), { changed: 20 })],
    contenders: [
      filigree,
      fastify,
      fixed(
        { ...fastify, name: 'Fastify + pg, a loop' },
        '/prices-loop',
        {
          requests: Array.from({ length: 50 }, (_, n) => prices(n)),
        },
        [isFound(at('/prices-loop', prices(0)), { changed: 20 })],
      ),
      hono,
      nest,
    ],
    over: [
      ['Fastify + pg', 0.8],
      ['Fastify + pg, a loop', 2],
    ],
  },
  {
    name: 'graphql-one',
    title: 'GraphQL, one record with its category, beside fixed routes',
    request: inTurn(one),
    probes: [isOne(7), isOne(1000), isOne(4711)],
    contenders: [
      filigree,
      fixed(fastify, '/one', inTurn(one), [isOne(7, '/one'), isOne(4711, '/one')]),
      fixed(hono, '/one', inTurn(one), [isOne(7, '/one'), isOne(4711, '/one')]),
      mercurius,
    ],
    over: [['Fastify + pg', 2]],
  },
  {
    name: 'graphql-nested',
    title:
      'GraphQL, the same fifty records with their categories, beside fixed routes of one statement',
    request: { requests: [ask(listQuery)] },
    probes: [isFound(ask(listQuery), nestedAnswer)],
    contenders: [
      filigree,
      fixed(fastify, '/nested', { requests: [ask(listQuery)] }, [
        isFound(at('/nested', ask(listQuery)), nestedAnswer),
      ]),
      fixed(hono, '/nested', { requests: [ask(listQuery)] }, [
        isFound(at('/nested', ask(listQuery)), nestedAnswer),
      ]),
      mercurius,
    ],
    over: [['Fastify + pg', 1]],
  },
  {
    name: 'graphql-nested-own',
    title: 'GraphQL, fifty records with their categories, other ones for each request',
    request: inTurn(nestedBehind),
    probes: [isNestedBehind(7), isNestedBehind(990)],
    contenders: [
      filigree,
      fixed(
        fastify,
        '/nested-own',
        inTurn(nestedBehind),
        [7, 990].map((id) => isNestedBehind(id, '/nested-own')),
      ),
      fixed(
        hono,
        '/nested-own',
        inTurn(nestedBehind),
        [7, 990].map((id) => isNestedBehind(id, '/nested-own')),
      ),
    ],
    over: [['Fastify + pg', 1]],
  },
  {
    name: 'graphql-mutation',
    title: 'GraphQL, a record changed, beside fixed routes',
    request: inTurn((id) => mutation(id)),
    probes: [isMutated(9, 12.25), isMutated(9, item(9).price)],
    contenders: [
      filigree,
      fixed(
        fastify,
        '/mutation',
        inTurn((id) => mutation(id)),
        [isMutated(9, 12.25, '/mutation'), isMutated(9, item(9).price, '/mutation')],
      ),
      mercurius,
    ],
    over: [
      ['Fastify + pg', 1],
      ['Mercurius, JIT', 1],
    ],
  },
  {
    name: 'graphql-mutations-20',
    title: 'GraphQL, twenty mutations in one operation',
    request: { requests: Array.from({ length: 50 }, (_, n) => mutations(n)) },
    probes: [isFound(mutations(0), mutated(0)), isFound(mutations(49), mutated(49))],
    contenders: [filigree, mercurius],
    over: [['Mercurius, JIT', 2]],
  },
]

export const rows = definitions.map(({ name, title, request, probes, contenders, over }) => ({
  name: `postgres-${name}`,
  group: 'postgres',
  title: `PostgreSQL: ${title}`,
  targets: over.flatMap(([other, atLeast]) => [
    { of: 'Filigree', over: other, atLeast },
    { figure: 2, of: 'Filigree', over: other, atMost: 1 },
  ]),
  measure: (options) =>
    withPostgresShop((url) =>
      measureLoad({ contenders, probes, request, env: { DATABASE_URL: url } }, options),
    ),
}))
