/** A thousand routes in fifty controllers, each with a provider: how long the application takes to come up. */
import { alternate, selectContenders } from '../harness/contenders.mjs'
import { toFigure } from '../harness/figures.mjs'
import { timeFirstResponse } from '../harness/first-response.mjs'
import { prefixOf } from '../servers/many-routes.mjs'

const env = { ROUTES: '1000' }
const all = [
  { name: 'Filigree', file: 'routes/filigree.mjs', env },
  { name: 'Fastify', file: 'routes/fastify.mjs', env },
  { name: 'Nest on Fastify', file: 'routes/nest-fastify.mjs', env },
]

export const row = {
  name: 'bootstrap',
  title: 'Start of 1,000 routes',
  targets: [{ of: 'Filigree', over: 'Nest on Fastify', atMost: 0.5 }],
  async measure(options) {
    const failures = []
    const contenders = selectContenders(all, options)
    const start = (name) =>
      timeFirstResponse(
        contenders.find((contender) => contender.name === name),
        `${prefixOf(999)}/7`,
      )
    const names = contenders.map(({ name }) => name)
    const results = await alternate(names, options.starts, start, failures)
    const bootstraps = {}
    const answers = {}
    for (const [name, starts] of Object.entries(results)) {
      bootstraps[name] = starts.map((times) => times.figures.bootstrapMilliseconds)
      answers[name] = starts.map((times) => times.milliseconds)
    }
    const figures = [
      toFigure('bootstrap, imports done', 'ms', 'lower', bootstraps),
      toFigure('process start to first answer', 'ms', 'lower', answers),
    ]
    return { figures, failures }
  },
}
