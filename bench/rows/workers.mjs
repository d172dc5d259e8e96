/** The typed GET from one process and from two, each on a core of its own where there are four: two for the load. */
import os from 'node:os'
import { measureLoad } from '../harness/load-row.mjs'
import { itemOf } from '../servers/contract.mjs'

const isWide = os.availableParallelism() >= 4
const [cores, loadCores] = isWide ? ['0,2', '1,3'] : []
const contender = (name, workers) => ({
  name,
  file: 'get/filigree.ts',
  env: { WORKERS: String(workers) },
  ...(workers > 1 && cores ? { cores } : {}),
})
const contenders = [contender('one process', 1), contender('workers: 2', 2)]

export const row = {
  name: 'workers',
  title: cores ? 'workers: 2, load from other cores' : 'workers: 2, the load shares their cores',
  targets: cores ? [{ of: 'workers: 2', over: 'one process', atLeast: 1.8 }] : [],
  async measure(options) {
    const request = { path: '/items/7' }
    const probes = [{ request, status: 200, json: itemOf(7) }]
    const { figures, failures } = await measureLoad(
      { contenders, probes, request },
      { ...options, loadCores },
    )
    // The time of the first process says nothing about the workers'.
    return { figures: figures.filter(({ unit }) => unit !== 'µs'), failures }
  },
}
