/**
 * Connections between the coordinator and a worker are cut in a commit. The record on the worker, and its job, history and
 * idempotency key on the coordinator, are stored together or not at all.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { AdminEntry } from 'filigree/admin'
import { JobEntry } from 'filigree/jobs'
import { CommitProxy, type CommitCut } from './commit-cuts.js'
import {
  citusUrl,
  moveWorker,
  openEmptyCitus,
  runOnCitus,
  workerOf,
  type Worker,
} from './coordinator.js'
import { Depot, Item, type Answer } from './depot.js'

/** The coordinator must be able to connect to the proxy of the suite. */
const isLocal = ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(citusUrl).hostname)

const cuts: readonly (readonly [name: string, cut: CommitCut])[] = [
  ['before the worker receives the transaction', { message: 1, loses: 'request' }],
  ['before the coordinator knows the answer', { message: 1, loses: 'response' }],
  ['before the worker knows the decision', { message: 2, loses: 'request' }],
  ['after the worker has followed the decision', { message: 2, loses: 'response' }],
]

if (!isLocal)
  console.log('Cut commits were not tested: the coordinator is on another machine than the tests.')

;(isLocal ? describe : describe.skip)('a commit whose connection is cut', () => {
  let depot: Depot
  let worker: Worker
  let proxy: CommitProxy

  beforeAll(async () => {
    depot = await Depot.open(await openEmptyCitus())
    worker = await workerOf('item', 'a')
    proxy = new CommitProxy(worker.host, worker.port)
    await moveWorker(worker, '127.0.0.1', await proxy.listen())
  })
  afterAll(async () => {
    Item.afterWrites = () => Promise.resolve()
    await moveWorker(worker, worker.host, worker.port)
    await proxy.close()
    await depot.close()
  })

  /** Sends a request with a key until its result is known. Between, Citus ends what was prepared, as it does every minute. */
  async function sendUntilKnown(name: string): Promise<Answer> {
    const body = { tenantId: 'a', name }
    for (;;) {
      const answer = await depot.send('a', 'POST', '/items/work', body, { 'idempotency-key': name })
      await runOnCitus('select recover_prepared_transactions()')
      if (!answer.headers.has('retry-after')) return answer
    }
  }

  it.each(cuts)('stores everything once: %s', async (name, cut) => {
    const names = Array.from({ length: 5 }, (_, index) => `${name} ${index}`)
    const before = proxy.cuts
    for (const one of names) {
      let isFirst = true
      Item.afterWrites = async () => {
        if (isFirst) proxy.cutLast(cut)
        isFirst = false
        return Promise.resolve()
      }
      const { status, body } = await sendUntilKnown(one)
      if (status !== 200) expect([status, body]).toMatchObject([409, { code: 'IDEMPOTENCY_DONE' }])
    }
    expect(proxy.cuts).toBeGreaterThan(before)
    const items = await depot.database
      .records(Item)
      .list({ where: { tenantId: 'a', name: { in: names } }, limit: 100 })
    expect(items.map((item) => item.name).sort()).toEqual([...names].sort())
    const ids = items.map(({ id }) => id).sort()
    const jobs = await depot.database.records(JobEntry).list({ limit: 100 })
    const ofJobs = jobs.map((job) => (job.body as { id: string }).id)
    expect(ofJobs.filter((id) => ids.includes(id)).sort()).toEqual(ids)
    expect(await depot.database.records(AdminEntry).count({ kind: 'create' })).toBe(jobs.length)
  })
})
