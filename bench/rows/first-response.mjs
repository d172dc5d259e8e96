/** Hello world: from starting the process to its first answer. */
import { alternate, selectContenders } from '../harness/contenders.mjs'
import { toFigure } from '../harness/figures.mjs'
import { timeFirstResponse } from '../harness/first-response.mjs'

const all = [
  { name: 'node:http', file: 'first-response/bare.mjs' },
  { name: 'Filigree', file: 'first-response/filigree.ts' },
  { name: 'Fastify', file: 'first-response/fastify.mjs' },
  { name: 'Nest on Fastify', file: 'first-response/nest-fastify.ts' },
]

export const row = {
  name: 'first-response',
  title: 'Hello world, process start to first answer',
  targets: [{ of: 'Filigree', over: 'node:http', atMost: 2.5 }],
  async measure(options) {
    const failures = []
    const contenders = selectContenders(all, options)
    const start = async (name) => {
      const contender = contenders.find((each) => each.name === name)
      return (await timeFirstResponse(contender, '/')).milliseconds
    }
    const names = contenders.map(({ name }) => name)
    const results = await alternate(names, options.starts, start, failures)
    return { figures: [toFigure('first answer', 'ms', 'lower', results)], failures }
  },
}
