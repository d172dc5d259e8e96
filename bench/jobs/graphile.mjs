/** graphile-worker: `node jobs/graphile.mjs <address> [jobs]` in `bench/`. */
import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker'
import { measure } from './measure.mjs'

const [, , connectionString, size = '5000'] = process.argv
const logger = new Logger(() => () => {})
const shared = { connectionString, logger }

await runMigrations(shared)
const utils = await makeWorkerUtils(shared)
const thousand = Array.from({ length: 1000 }, () => ({ identifier: 'empty', payload: {} }))

await measure(
  {
    add: () => utils.addJob('empty', {}),
    addThousand: () => utils.addJobs(thousand),
    clear: () =>
      utils.withPgClient((client) => client.query('delete from graphile_worker._private_jobs')),
    work: async (concurrency, ran) => {
      const taskList = { empty: ran }
      const runner = await run({ ...shared, concurrency, taskList, noHandleSignals: true })
      return () => runner.stop()
    },
    close: () => utils.release(),
  },
  Number(size),
)
process.exit(0)
