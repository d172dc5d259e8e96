/** BullMQ: `node jobs/bullmq.mjs <port of redis> [jobs]` in `bench/`. */
import { Queue, Worker } from 'bullmq'
import { measure } from './measure.mjs'

const [, , port, size = '5000'] = process.argv
const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null }
const queue = new Queue('jobs', { connection })
const thousand = Array.from({ length: 1000 }, () => ({ name: 'empty', data: {} }))

await measure(
  {
    add: () => queue.add('empty', {}),
    addThousand: () => queue.addBulk(thousand),
    clear: () => queue.obliterate({ force: true }),
    work: async (concurrency, ran) => {
      const worker = new Worker('jobs', async (job) => ran(job), { connection, concurrency })
      await worker.waitUntilReady()
      return () => worker.close()
    },
    close: () => queue.close(),
  },
  Number(size),
)
process.exit(0)
