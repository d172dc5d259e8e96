/** Filigree's records without HTTP, found and changed by a key of one field and by a key of two. */
import { alternate, selectContenders, startContenders } from '../harness/contenders.mjs'
import { withPostgresShop, withSqliteShop } from '../harness/databases.mjs'
import { pick, toFigure } from '../harness/figures.mjs'
import { timeCalls } from '../harness/time-calls.mjs'

const contenders = [
  { name: 'one field', file: 'keys/filigree.ts', env: { KEY: 'one' } },
  { name: 'two fields', file: 'keys/filigree.ts', env: { KEY: 'two' } },
]

/** @param inFlight the number of calls at the same time */
async function measureOn(url, database, inFlight, options) {
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

export const row = {
  name: 'keys',
  title: 'Keys of two fields',
  // A call costs at most 1.1 times as much.
  targets: [0, 1, 2, 3].map((figure) => ({
    figure,
    of: 'two fields',
    over: 'one field',
    atLeast: 1 / 1.1,
  })),
  async measure(options) {
    const onSqlite = await withSqliteShop((url) => measureOn(url, 'SQLite', 1, options))
    const onPostgres = await withPostgresShop((url) => measureOn(url, 'PostgreSQL', 16, options))
    return {
      figures: [...onSqlite.figures, ...onPostgres.figures],
      failures: [...onSqlite.failures, ...onPostgres.failures],
    }
  },
}
