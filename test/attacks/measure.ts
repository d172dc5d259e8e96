/** What attacks measure: the processor time of a request, and the memory of the process. */
import { GraphQL, type Application, type InjectRequest } from 'filigree'
import type { AttackResult } from './attack.js'

/** A GraphQL endpoint whose only query returns its argument. */
export function createEchoGraphql(): GraphQL {
  const graphql = new GraphQL()
  graphql.schema.addQuery('echo', {
    type: 'String',
    args: { text: 'String' },
    resolve: (_root, { text }) => text,
  })
  graphql.registerRoute()
  return graphql
}

/** Measures the processor time of one request in milliseconds, as the minimum of three runs. Closes the application. */
export async function measureProcessorTime(
  app: Application,
  request: InjectRequest,
): Promise<AttackResult> {
  let minMs = Infinity
  let status = 0
  for (let round = 0; round < 3; round++) {
    const cpuBefore = process.cpuUsage()
    const response = await app.inject(request)
    const { user, system } = process.cpuUsage(cpuBefore)
    minMs = Math.min(minMs, (user + system) / 1000)
    ;({ status } = response)
  }
  await app.close()
  return { now: `${status} after ${minMs.toFixed(0)} ms of processor time`, isBlocked: minMs < 100 }
}

/** Samples the memory of the process. @returns a function that ends it, and returns the growth at the peak in MiB */
export function sampleGrowth(interval: number): () => number {
  const before = process.memoryUsage.rss()
  let peak = before
  const sampler = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, interval)
  return () => {
    clearInterval(sampler)
    return (peak - before) / 1024 / 1024
  }
}

/**
 * Watches the event loop by processor time, because other processes may delay it.
 *
 * @returns a function that ends it, and returns the longest turn in milliseconds
 */
export function watchTurns(): () => number {
  let last = process.cpuUsage()
  let longest = 0
  let isOver = false
  const next = (): void => {
    const { user, system } = process.cpuUsage(last)
    longest = Math.max(longest, (user + system) / 1000)
    last = process.cpuUsage()
    if (!isOver) setImmediate(next)
  }
  setImmediate(next)
  return () => {
    isOver = true
    return longest
  }
}
