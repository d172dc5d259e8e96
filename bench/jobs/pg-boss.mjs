/**
 * pg-boss: `node jobs/pg-boss.mjs <address> [jobs]` in `bench/`. `work` waits half a second between two batches at least, so runs are
 * measured by `fetch` and `complete` in batches, which is its fastest way. The time to the start is measured with `work`.
 */
import PgBoss from 'pg-boss'
import { measure } from './measure.mjs'

const [, , connectionString, size = '5000'] = process.argv
const boss = new PgBoss({ connectionString, supervise: false, schedule: false })
boss.on('error', (error) => console.error(error))
await boss.start()
await boss.createQueue('empty')
const thousand = Array.from({ length: 1000 }, () => ({ name: 'empty', data: {} }))

async function inBatches(batchSize, ran) {
  let goesOn = true
  const loop = async () => {
    while (goesOn) {
      const jobs = await boss.fetch('empty', { batchSize })
      if (jobs.length === 0) break
      for (const job of jobs) ran(job)
      await boss.complete(
        'empty',
        jobs.map(({ id }) => id),
      )
    }
  }
  const ended = loop()
  return async () => {
    goesOn = false
    await ended
  }
}

async function byWork(batchSize, ran) {
  await boss.work('empty', { batchSize, pollingIntervalSeconds: 0.5 }, async (jobs) => {
    for (const job of jobs) ran(job)
  })
  return () => boss.offWork('empty')
}

await measure(
  {
    add: () => boss.send('empty', {}),
    addThousand: () => boss.insert(thousand),
    clear: () => boss.clearStorage(),
    // Of ten the time to the start is asked.
    work: (concurrency, ran) =>
      concurrency === 10 ? byWork(concurrency, ran) : inBatches(concurrency, ran),
    close: () => boss.stop({ graceful: false }),
    fewer: 60,
  },
  Number(size),
)
process.exit(0)
