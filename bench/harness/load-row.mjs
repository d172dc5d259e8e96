/** The rows that ask one thing of several servers, as often as they can answer. */
import { alternate, selectContenders, startContenders } from './contenders.mjs'
import { pick, toFigure } from './figures.mjs'
import { loadServer } from './load.mjs'

/**
 * Measures requests per second of every contender in turn.
 *
 * @param row `{ contenders: [{ name, file, request?, env? }], request, probes, env? }`; a contender's own request takes the place of the row's
 * @returns `{ figures: [requests per second, 99th percentile in ms], failures }`
 */
export async function measureLoad(row, options) {
  const failures = []
  const contenders = selectContenders(row.contenders, options.contenders)
  const started = await startContenders(contenders, { ...row, failures })
  const byName = new Map(started.map((entry) => [entry.contender.name, entry]))
  const load = (name, seconds) => {
    const { contender, server } = byName.get(name)
    return loadServer(server.url, contender.request ?? row.request, { ...options, seconds })
  }
  try {
    const names = [...byName.keys()]
    if (options.warmup > 0) await alternate(names, 1, (name) => load(name, options.warmup), [])
    const results = await alternate(
      names,
      options.rounds,
      (name) => load(name, options.seconds),
      failures,
    )
    const waits = pick(results, 'p99')
    for (const name of Object.keys(waits)) waits[name] = waits[name].map((wait) => wait / 1000)
    const figures = [
      toFigure('requests', 'requests/s', 'higher', pick(results, 'perSecond')),
      toFigure('99th percentile', 'ms', 'lower', waits),
    ]
    return { figures, failures }
  } finally {
    for (const { server } of started) await server.stop()
  }
}
