/** `filigree/health`: `/health/live` reports that the process responds, `/health/ready` whether it should receive requests. Both are open to all callers, so a failure shows only the name of its check. */
import {
  ApplicationState,
  Controller,
  createModule,
  declareOptions,
  Doc,
  Get,
  HealthCheck,
  NoAuth,
  Operational,
  reply,
  option,
  type OptionsOf,
  type Reply,
} from '../../index.js'
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks'

const healthOptions = declareOptions({
  /** The prefix of `/live` and `/ready`. Default `/health`. */
  path: option
    .text("Write the path of the route: '/health'.", /^\/[^\s?#<>{}]*$/)
    .default('/health'),
  /** Milliseconds after which a check counts as failed. Default 800, because probes wait one second. */
  timeout: option.milliseconds().default(800),
  /** The delay of the event loop, in milliseconds, from which the process is not ready. Default 1,000. */
  eventLoopDelay: option.milliseconds().default(1000),
  /**
   * Milliseconds for which the port stays open, but not ready, when the application closes. Default 1,000. 0 closes it immediately.
   */
  leaving: option.milliseconds().default(1000),
  /**
   * `'writes'`: ready while the database accepts writes. `'reads'`: also ready while the primary is down and a replica answers reads. Default `'writes'`.
   */
  ready: option.oneOf('writes', 'reads').default('writes'),
})

export interface HealthOptions extends OptionsOf<typeof healthOptions> {}

/** Serves `/health/live` and `/health/ready`. */
export const health = createModule(function health(options: HealthOptions = {}) {
  const { path, timeout, eventLoopDelay, leaving, ready } = healthOptions.read(options)

  /** The state of both probes, and the delay before the application closes. */
  class HealthProbe {
    static inject = [ApplicationState]
    readonly #delay = new LoopDelay(eventLoopDelay)
    readonly #readiness: Readiness

    constructor(private readonly state: ApplicationState) {
      this.#readiness = new Readiness({ state, delay: this.#delay, timeout, ready })
    }

    onStart(): void {
      this.#delay.start()
      HealthCheck.warnUnlisted(this.state)
    }

    /** Keeps the port open for a while, so that probes on new connections see that the application closes. */
    async onClosing(): Promise<void> {
      if (!this.state.listening || leaving === 0) return
      await new Promise((resolve) => setTimeout(resolve, leaving))
    }

    onStop(): void {
      this.#delay.stop()
    }

    ready(): Report | Promise<Report> {
      return this.#readiness.read()
    }
  }

  @Controller(path)
  @NoAuth
  @Operational
  @Doc({ tags: ['health'] })
  class HealthController {
    static inject = [HealthProbe]

    constructor(private readonly probe: HealthProbe) {}

    @Get('/live')
    @Doc({ description: 'The process responds.', exampleResponse: { status: 'ok' } })
    live(): Reply<{ status: string }> {
      return withoutCaching(reply({ status: 'ok' }))
    }

    @Get('/ready')
    @Doc({
      description: 'The process can serve requests; 503 if it cannot.',
      exampleResponse: { status: 'ok', checks: { database: 'ok', eventLoop: 'ok' } },
      responses: { 503: 'A check has failed, or the application is closing.' },
    })
    async ready(): Promise<Reply<Report>> {
      const report = await this.probe.ready()
      return withoutCaching(reply(report, report.status === 'ok' ? 200 : 503))
    }
  }

  return {
    problems: healthOptions.findProblems(options, 'health'),
    providers: [HealthProbe],
    controllers: [HealthController],
  }
})

function withoutCaching<T>(answer: Reply<T>): Reply<T> {
  return answer.header('Cache-Control', 'no-store')
}

/** Milliseconds between two measurements of the histogram. */
const resolution = 20
/** Milliseconds for which a measured delay counts. */
const window = 5000

class LoopDelay {
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

interface Report {
  readonly status: 'ok' | 'failing' | 'closing'
  /** By name: the database, the event loop, and the methods with `@HealthCheck`. */
  readonly checks?: Readonly<Record<string, 'ok' | 'failing'>>
}

interface ReadinessOptions {
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

class Readiness {
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
