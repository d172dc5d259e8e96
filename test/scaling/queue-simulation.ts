/**
 * Simulates the latency of requests through queues with random arrivals: a process with one core and a database server with
 * several. The same seed returns the same result. Sources: Lindley's recursion; Kiefer and Wolfowitz.
 */
import { createRandom } from '../random.js'

export interface Stage {
  /** Arrivals per second. */
  readonly arrivals: number
  /** Mean service time of one request, in milliseconds. */
  readonly service: number
  /** Parallel servers. */
  readonly servers: number
}

export interface Latency {
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** True if more requests arrive than the servers can handle, so that the queue grows forever. */
  readonly overloaded: boolean
}

const warmUp = 2000

/** @param count the number of measured requests */
export function simulate(stages: readonly Stage[], count = 50_000, seed = 1): Latency {
  const random = createRandom(seed)
  const overloaded = stages.some(
    ({ arrivals, service, servers }) => arrivals * service >= 1000 * servers,
  )
  const times = new Float64Array(count)
  for (const stage of stages) addStage(times, stage, random)
  const sorted = times.sort()
  const at = (part: number): number => sorted[Math.floor(part * (count - 1))] ?? 0
  return { p50: at(0.5), p99: at(0.99), overloaded }
}

/** Adds the wait and the service time of a stage to each request. */
function addStage(times: Float64Array, stage: Stage, random: () => number): void {
  const { arrivals, service, servers } = stage
  // The times at which the servers become free, the earliest first.
  const free = new Float64Array(servers)
  let now = 0
  for (let index = -warmUp; index < times.length; index++) {
    now += (-Math.log(1 - random()) * 1000) / arrivals
    const begin = Math.max(now, free[0] as number)
    // Half of the service time is constant and half is random, which is typical for requests.
    const time = service * (0.5 - 0.5 * Math.log(1 - random()))
    free[0] = begin + time
    free.sort()
    if (index >= 0) times[index] = (times[index] as number) + begin + time - now
  }
}
