/** Filigree's records without HTTP, found by key in a table of 60 partitions and in one without partitions. */
import { alternate, selectContenders, startContenders } from '../harness/contenders.mjs'
import { withPostgresShop } from '../harness/databases.mjs'
import { pick, toFigure } from '../harness/figures.mjs'
import { timeCalls } from '../harness/time-calls.mjs'

const contenders = [
  { name: 'one table', file: 'partitions/filigree.ts', env: { PARTITIONS: '0' } },
  { name: '60 partitions', file: 'partitions/filigree.ts', env: { PARTITIONS: '60' } },
]

async function measureOn(url, options) {
  const failures = []
  const chosen = selectContenders(contenders, options)
  const started = await startContenders(chosen, { env: { DATABASE_URL: url }, failures })
  const byName = new Map(started.map(({ contender, server }) => [contender.name, server]))
  const figures = []
  try {
    for (const call of ['find', 'update']) {
      const run = (name) =>
        timeCalls(byName.get(name), call, { seconds: options.seconds, inFlight: 16 })
      const results = await alternate([...byName.keys()], options.rounds, run, failures)
      figures.push(toFigure(`${call}, PostgreSQL`, 'calls/s', 'higher', pick(results, 'perSecond')))
    }
  } finally {
    for (const server of byName.values()) await server.stop()
  }
  return { figures, failures }
}

export const row = {
  name: 'partitions',
  title: 'Partitions by time',
  targets: [{ figure: 0, of: '60 partitions', over: 'one table', atLeast: 0.7 }],
  measure: (options) => withPostgresShop((url) => measureOn(url, options)),
}
