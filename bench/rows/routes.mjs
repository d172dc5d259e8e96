/**
 * From ten routes to ten thousand. Ten routes spread over the table are asked in turn, so that the size of the table is all
 * that differs; a third contender asks a thousand of them, where the handlers no longer stay warm either.
 */
import { measureLoad } from '../harness/load-row.mjs'
import { answerOf, prefixOf } from '../servers/many-routes.mjs'

/** A thousand addresses on `asked` routes that lie evenly among `routes`. */
const pathsOf = (routes, asked) =>
  Array.from({ length: 1000 }, (_, n) => `${prefixOf(((n % asked) * routes) / asked)}/${n}`)

const declare = (name, file, routes, asked) => ({
  name,
  file,
  env: { ROUTES: String(routes) },
  request: { paths: pathsOf(routes, asked) },
})

const contenders = [
  ['Filigree', 'routes/filigree.mjs'],
  ['Fastify', 'routes/fastify.mjs'],
].flatMap(([name, file]) => [
  declare(`${name}, 10 routes`, file, 10, 10),
  declare(`${name}, 10,000`, file, 10_000, 10),
  declare(`${name}, 10,000, 1,000 hot`, file, 10_000, 1000),
])

const few = contenders.filter(({ env }) => env.ROUTES === '10').map(({ name }) => name)
const probe = (n, not) => ({
  request: { path: `${prefixOf(n)}/42` },
  status: 200,
  json: answerOf(n, 42),
  not,
})

const probes = [
  probe(0),
  probe(9),
  probe(9999, few),
  { request: { path: `${prefixOf(0)}/lamp` }, status: [400, 404] },
  { request: { path: '/area0/nothing/42' }, status: 404 },
]

export const row = {
  name: 'routes',
  title: 'Ten routes and ten thousand',
  // A request that costs at most 1.1 times as much leaves 1 / 1.1 of the requests.
  targets: [{ of: 'Filigree, 10,000', over: 'Filigree, 10 routes', atLeast: 0.909 }],
  measure: (options) => measureLoad({ contenders, probes }, options),
}
