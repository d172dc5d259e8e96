/**
 * How long requests wait where cores are busy: two queues, a process of one core and a database server of several, run with
 * random arrivals. The same seed gives the same figures. Sources: Lindley's recursion; Kiefer and Wolfowitz.
 */
import { createRandom } from '../random.js'

export interface Stage {
  /** A second. */
  readonly arrivals: number
  /** Milliseconds of one request, in the mean. */
  readonly service: number
  /** That serve at once. */
  readonly servers: number
}

export interface Latency {
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** More comes than is done: what waits grows without end. */
  readonly overloaded: boolean
}

const warmUp = 2000

/** @param count requests that are looked at */
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

/** Adds to each request its wait and its service. */
function addStage(times: Float64Array, stage: Stage, random: () => number): void {
  const { arrivals, service, servers } = stage
  // When each server is free, the soonest first.
  const free = new Float64Array(servers)
  let now = 0
  for (let index = -warmUp; index < times.length; index++) {
    now += (-Math.log(1 - random()) * 1000) / arrivals
    const begin = Math.max(now, free[0] as number)
    // Half of it always, half by chance: requests are less alike than clockwork and more than dice.
    const time = service * (0.5 - 0.5 * Math.log(1 - random()))
    free[0] = begin + time
    free.sort()
    if (index >= 0) times[index] = (times[index] as number) + begin + time - now
  }
}
