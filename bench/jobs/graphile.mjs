/** graphile-worker beside ours: the same jobs on the same server. `node jobs/graphile.mjs <address> [jobs]` */
import { makeWorkerUtils, runMigrations, run } from 'graphile-worker'

const [, , connectionString, size = '5000'] = process.argv
const count = Number(size)
const quiet = () => () => undefined
const { Logger } = await import('graphile-worker')
const logger = new Logger(quiet)

function tell(what, amount, began, processor) {
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(processor)
  const processorMicroseconds = Math.round((user + system) / amount)
  console.log(
    JSON.stringify({ what, perSecond: Math.round(amount / seconds), processorMicroseconds }),
  )
}

await runMigrations({ connectionString, logger })
const utils = await makeWorkerUtils({ connectionString, logger })
let [began, processor] = [performance.now(), process.cpuUsage()]
for (let index = 0; index < count; index++) await utils.addJob('empty', {})
tell('added one by one', count, began, processor)
;[began, processor] = [performance.now(), process.cpuUsage()]
const thousand = Array.from({ length: 1000 }, () => ({ identifier: 'empty', payload: {} }))
for (let index = 0; index < count; index += 1000) await utils.addJobs(thousand)
tell('added by 1,000', Math.ceil(count / 1000) * 1000, began, processor)
await utils.withPgClient((client) => client.query('delete from graphile_worker._private_jobs'))

for (const concurrency of [1, 4, 24]) {
  for (let index = 0; index < count; index += 1000) await utils.addJobs(thousand)
  let ran = 0
  let done
  const over = new Promise((resolve) => {
    done = resolve
  })
  ;[began, processor] = [performance.now(), process.cpuUsage()]
  const taskList = {
    empty: () => {
      if (++ran === count) done()
    },
  }
  const runner = await run({
    connectionString,
    concurrency,
    logger,
    taskList,
    noHandleSignals: true,
  })
  await over
  tell(`run, ${concurrency} at once`, count, began, processor)
  await runner.stop()
}

{
  const times = []
  let started = 0
  let done = () => undefined
  const taskList = {
    timed: () => {
      started = performance.now()
      done()
    },
  }
  const runner = await run({
    connectionString,
    concurrency: 10,
    logger,
    taskList,
    noHandleSignals: true,
  })
  for (let index = 0; index < 300; index++) {
    const over = new Promise((resolve) => {
      done = resolve
    })
    await utils.addJob('timed', {})
    const committed = performance.now()
    await over
    times.push(Math.max(0, started - committed))
  }
  times.sort((one, other) => one - other)
  console.log(
    JSON.stringify({ what: 'from commit to start in ms', p50: times[150], p99: times[297] }),
  )
  await runner.stop()
}
process.exit(0)
