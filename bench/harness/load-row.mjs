/** The rows that ask one thing of several servers, as often as they can answer. */
import { alternate, selectContenders, startContenders } from './contenders.mjs'
import { pick, toFigure } from './figures.mjs'
import { loadServer } from './load.mjs'
import { readProcessorTime } from './processor-time.mjs'

/** One round: what the load saw, and what the server's process needed for it. */
async function loadOnce({ contender, server }, { request, load = loadServer }, options) {
  const before = readProcessorTime(server.pid)
  const result = await load(server.url, contender.request ?? request, options, server.figures)
  const used = before === undefined ? undefined : readProcessorTime(server.pid) - before
  return { perSecond: result.perSecond, wait: result.p99 / 1000, cost: used / result.requests }
}

/**
 * Measures requests per second of every contender in turn.
 *
 * @param row `{ contenders: [{ name, file, request?, probes?, env? }], request, probes?, load?, env? }`; a contender's own request and probes take the place of the row's, `load` the place of `loadServer`, with what the server announced as its last argument
 * @returns `{ figures: [requests per second, processor time, 99th percentile], failures }`
 */
export async function measureLoad(row, options) {
  const failures = []
  const contenders = selectContenders(row.contenders, options)
  const started = await startContenders(contenders, { ...row, failures })
  const byName = new Map(started.map((entry) => [entry.contender.name, entry]))
  const load = (name, seconds) => loadOnce(byName.get(name), row, { ...options, seconds })
  try {
    const names = [...byName.keys()]
    if (options.warmup > 0) await alternate(names, 1, (name) => load(name, options.warmup), [])
    const once = (name) => load(name, options.seconds)
    const results = await alternate(names, options.rounds, once, failures)
    const figures = [
      toFigure('requests', 'requests/s', 'higher', pick(results, 'perSecond')),
      toFigure('processor time a request', 'µs', 'lower', pick(results, 'cost')),
      toFigure('99th percentile', 'ms', 'lower', pick(results, 'wait')),
    ]
    return { figures: figures.filter(({ contenders }) => isMeasured(contenders)), failures }
  } finally {
    for (const { server } of started) await server.stop()
  }
}

/** Without `/proc` there is no processor time. */
const isMeasured = (contenders) => Object.values(contenders).every(({ median }) => !isNaN(median))
