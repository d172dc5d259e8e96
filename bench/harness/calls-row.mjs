/** Measures calls that contenders run in their own process, without HTTP, on one database. */
import { alternate, selectContenders, startContenders } from './contenders.mjs'
import { pick, toFigure } from './figures.mjs'
import { timeCalls } from './time-calls.mjs'

/**
 * @param place `{ url, database, inFlight }`: the address, its name in the titles, and the number of calls at the same time
 * @returns a figure for `find` and one for `update`
 */
export async function measureCalls(contenders, { url, database, inFlight }, options) {
  const failures = []
  const chosen = selectContenders(contenders, options)
  const started = await startContenders(chosen, { env: { DATABASE_URL: url }, failures })
  const byName = new Map(started.map(({ contender, server }) => [contender.name, server]))
  const figures = []
  try {
    for (const call of ['find', 'update']) {
      const run = (name) =>
        timeCalls(byName.get(name), call, { seconds: options.seconds, inFlight })
      const results = await alternate([...byName.keys()], options.rounds, run, failures)
      const title = `${call}, ${database}`
      figures.push(toFigure(title, 'calls/s', 'higher', pick(results, 'perSecond')))
    }
  } finally {
    for (const server of byName.values()) await server.stop()
  }
  return { figures, failures }
}
