/** Checks whether the process can serve requests. Checks run at most once a second. A hanging check is repeated when it ends, or after ten timeouts. */
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks'
import type { ApplicationState } from '../../index.js'

/** Milliseconds between two measurements of the histogram. */
const resolution = 20
/** Milliseconds for which a measured delay counts. */
const window = 5000

export class LoopDelay {
  readonly #maxDelay: number
  #histogram: IntervalHistogram | undefined
  #since = 0

  /** @param maxDelay the largest acceptable delay, in milliseconds */
  constructor(maxDelay: number) {
    this.#maxDelay = maxDelay
  }

  start(): void {
    this.#histogram = monitorEventLoopDelay({ resolution })
    this.#histogram.enable()
    this.#since = performance.now()
  }

  stop(): void {
    this.#histogram?.disable()
    this.#histogram = undefined
  }

  /** False if the delay was too long since the last call, or in the last seconds. */
  isFine(): boolean {
    const histogram = this.#histogram
    if (histogram === undefined) return true
    // Nanoseconds between two measurements.
    const worst = histogram.max / 1e6 - resolution
    if (performance.now() - this.#since > window) {
      histogram.reset()
      this.#since = performance.now()
    }
    return worst <= this.#maxDelay
  }
}

export interface Report {
  readonly status: 'ok' | 'failing' | 'closing'
  /** By name: the database, the event loop, and the methods with `@HealthCheck`. */
  readonly checks?: Readonly<Record<string, 'ok' | 'failing'>>
}

export interface ReadinessOptions {
  readonly state: ApplicationState
  readonly delay: LoopDelay
  /** Milliseconds that a check may take. */
  readonly timeout: number
  /** Whether the database must accept writes, or only reads. */
  readonly ready: 'writes' | 'reads'
}

/** Milliseconds for which a report is reused. */
const reportLifetimeMs = 1000

/** After this many timeouts, a hanging check is run again. */
const maxTimeouts = 10

interface RunningCheck {
  readonly result: Promise<boolean>
  readonly since: number
}

export class Readiness {
  readonly #options: ReadinessOptions
  readonly #runningChecks = new Map<() => unknown, RunningCheck>()
  #report: Promise<Report> | undefined
  #expiresAt = 0
  #checks: readonly NamedCheck[] | undefined

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  read(): Report | Promise<Report> {
    if (this.#options.state.closing) return { status: 'closing' }
    if (this.#report === undefined || performance.now() >= this.#expiresAt) {
      this.#expiresAt = Infinity
      this.#report = this.#createReport().finally(() => {
        this.#expiresAt = performance.now() + reportLifetimeMs
      })
    }
    return this.#report
  }

  async #createReport(): Promise<Report> {
    const { delay } = this.#options
    this.#checks ??= this.#collectChecks()
    const results = await Promise.all(
      this.#checks.map(async ({ name, check }) => [name, await this.#run(check)] as const),
    )
    const checks: Record<string, 'ok' | 'failing'> = {}
    for (const [name, fine] of [...results, ['eventLoop', delay.isFine()] as const]) {
      // Two checks with the same name share an entry, which shows the worse result.
      checks[name] = fine && checks[name] !== 'failing' ? 'ok' : 'failing'
    }
    const isFine = Object.values(checks).every((check) => check === 'ok')
    return { status: isFine ? 'ok' : 'failing', checks }
  }

  #collectChecks(): readonly NamedCheck[] {
    const { state, ready } = this.#options
    const { database, checks } = state
    const check = (): unknown => (ready === 'reads' ? database?.check('reads') : database?.check())
    return database === undefined ? checks : [{ name: 'database', check }, ...checks]
  }

  /** False if the check throws, returns false, or takes too long. */
  async #run(check: () => unknown): Promise<boolean> {
    const { timeout } = this.#options
    const now = performance.now()
    let running = this.#runningChecks.get(check)
    if (running === undefined || now - running.since > maxTimeouts * timeout) {
      const started = { since: now, result: passes(check) }
      running = started
      this.#runningChecks.set(check, started)
      void started.result.finally(() => {
        if (this.#runningChecks.get(check) === started) this.#runningChecks.delete(check)
      })
    }
    let timer: NodeJS.Timeout | undefined
    const timedOut = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, timeout, false)
    })
    const fine = await Promise.race([running.result, timedOut])
    clearTimeout(timer)
    return fine
  }
}

interface NamedCheck {
  readonly name: string
  readonly check: () => unknown
}

async function passes(check: () => unknown): Promise<boolean> {
  try {
    return (await check()) !== false
  } catch {
    return false
  }
}
