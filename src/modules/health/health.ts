/** `filigree/health`: `/health/live` reports that the process responds, `/health/ready` whether it should receive requests. Both are open to all callers, so a failure shows only the name of its check. */
import {
  ApplicationState,
  Controller,
  createModule,
  Doc,
  Get,
  HealthCheck,
  NoAuth,
  Operational,
  reply,
  rejectUnknownOptions,
  type Problem,
  type Reply,
} from '../../index.js'
import { LoopDelay, Readiness, type Report } from './readiness.js'

export interface HealthOptions {
  /** The prefix of `/live` and `/ready`. Default `/health`. */
  path?: string
  /** Milliseconds after which a check counts as failed. Default 800, because probes wait one second. */
  timeout?: number
  /** The delay of the event loop, in milliseconds, from which the process is not ready. Default 1,000. */
  eventLoopDelay?: number
  /**
   * Milliseconds for which the port stays open, but not ready, when the application closes. Default 1,000. 0 closes it immediately.
   */
  leaving?: number
  /**
   * `'writes'`: ready while the database accepts writes. `'reads'`: also ready while the primary is down and a replica answers reads. Default `'writes'`.
   */
  ready?: 'writes' | 'reads'
}

const defaults = {
  path: '/health',
  timeout: 800,
  eventLoopDelay: 1000,
  leaving: 1000,
  ready: 'writes' as const,
}

/** Serves `/health/live` and `/health/ready`. */
export const health = createModule(function health(options: HealthOptions = {}) {
  const { path, timeout, eventLoopDelay, leaving, ready } = {
    ...defaults,
    ...withoutUndefined(options),
  }

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
    problems: findProblems(options),
    check: HealthCheck.findUnlisted,
    providers: [HealthProbe],
    controllers: [HealthController],
  }
})

function withoutCaching<T>(answer: Reply<T>): Reply<T> {
  return answer.header('Cache-Control', 'no-store')
}

function withoutUndefined(options: HealthOptions): HealthOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** Problems of the options. */
function findProblems(options: HealthOptions): Problem[] {
  const invalid = Object.entries(withoutUndefined(options)).flatMap(
    ([name, value]: [string, unknown]) => {
      const fits =
        name === 'path'
          ? typeof value === 'string'
          : name === 'ready'
            ? value === 'writes' || value === 'reads'
            : !(name in defaults) || (typeof value === 'number' && value >= 0 && value < 2 ** 31)
      if (fits) return []
      const remedy =
        "path is a string, ready is 'writes' or 'reads'; timeout, eventLoopDelay and leaving are milliseconds."
      const message = `health: ${name} is ${JSON.stringify(value)}.`
      return [{ code: 'INVALID_OPTION', message, remedy }]
    },
  )
  return [...invalid, ...rejectUnknownOptions(options, Object.keys(defaults), 'health')]
}
