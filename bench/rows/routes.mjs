/** From ten routes to ten thousand: the requests go round a thousand of the paths. */
import { measureLoad } from '../harness/load-row.mjs'
import { answerOf, prefixOf } from '../servers/many-routes.mjs'

const sizes = [10, 10_000]

const pathsOf = (routes) =>
  Array.from({ length: 1000 }, (_, n) => `${prefixOf(Math.floor((n * routes) / 1000))}/${n}`)

const contender = (name, file) =>
  sizes.map((routes) => ({
    name: `${name}, ${routes} routes`,
    file,
    env: { ROUTES: String(routes) },
    request: { paths: pathsOf(routes) },
  }))

const contenders = [
  ...contender('Filigree', 'routes/filigree.mjs'),
  ...contender('Fastify', 'routes/fastify.mjs'),
]

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
  targets: [{ of: 'Filigree, 10000 routes', over: 'Filigree, 10 routes', atLeast: 0.909 }],
  measure: (options) => measureLoad({ contenders, probes }, options),
}
