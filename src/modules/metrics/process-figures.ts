/** Measures this process: the delay of its event loop, its memory and its processor time. Read by the meter. */
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks'
import { counter, gauge, type Family } from './families.js'

/** Milliseconds between two measurements of the event loop. */
const resolution = 20

export class ProcessFigures {
  #delay: IntervalHistogram | undefined

  start(): void {
    this.#delay = monitorEventLoopDelay({ resolution })
    this.#delay.enable()
  }

  stop(): void {
    this.#delay?.disable()
  }

  /** Delays count from the read before. */
  read(): Family[] {
    const delay = this.#delay
    const late = (share: string, percentile: number): Family => {
      const value = delay === undefined ? 0 : secondsLate(delay, percentile)
      const help = 'The delay of the event loop since the last scrape.'
      return gauge(`nodejs_eventloop_delay_${share}_seconds`, help, value, 'max')
    }
    const delays = [late('p50', 50), late('p99', 99), late('max', 100)]
    delay?.reset()
    return [...delays, ...memory(), processorTime(), startTime()]
  }
}

/** The seconds that the process has used a processor, of the user and of the system. */
export function processorTime(): Family {
  const { user, system } = process.cpuUsage()
  return counter('process_cpu_seconds', 'Processor time.', (user + system) / 1e6)
}

function memory(): Family[] {
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  return [
    gauge('process_resident_memory_bytes', 'Memory of the process.', rss),
    gauge('nodejs_heap_used_bytes', 'Heap memory in use.', heapUsed),
    gauge('nodejs_heap_total_bytes', 'Heap memory reserved.', heapTotal),
    gauge('nodejs_external_memory_bytes', 'Memory of buffers and native objects.', external),
  ]
}

function startTime(): Family {
  const started = Math.round(performance.timeOrigin) / 1000
  const help = 'Start time of the process, in seconds since 1970.'
  return gauge('process_start_time_seconds', help, started, 'min')
}

/**
 * The histogram records the time between measurements: what exceeds the resolution is delay. An empty histogram means
 * none.
 */
function secondsLate(delay: IntervalHistogram, percentile: number): number {
  if (delay.count === 0) return 0
  return Math.max(0, Math.round(delay.percentile(percentile) / 1000 - resolution * 1000) / 1e6)
}
