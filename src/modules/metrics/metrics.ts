/**
 * `filigree/metrics`: figures about an application, in the text format of Prometheus. It counts the framework's events;
 * labels are patterns, methods, tables and names of operations, never a path, an id or a document.
 */
import {
  ApplicationState,
  Controller,
  createModule,
  Doc,
  Get,
  NoAuth,
  Operational,
  reply,
  Secured,
  rejectUnknownOptions,
  type AnyDecorator,
  type Problem,
  type Reply,
} from '../../index.js'
import { Meter } from './meter.js'
import { contentTypes, formatFor, writeText } from './write-text.js'

export interface MetricsOptions {
  /** Default `/metrics`. */
  path?: string
  /**
   * True: any token is admitted. A role or several: only callers with one of them. False: open, also with
   * `auth: { closed: true }`. Default: as every GET.
   */
  secured?: boolean | string | readonly string[]
  /** With `workers`: each worker's own, with the label `worker`, instead of all together. Default false. */
  worker?: boolean
  /**
   * Buckets show the trace of the last request in them, of traces that are sampled, to scrapers that ask for OpenMetrics.
   * Default false.
   */
  exemplars?: boolean
}

/** Serves `/metrics`. */
export const metrics = createModule(function metrics(options: MetricsOptions = {}) {
  const { path = '/metrics', secured, worker = false, exemplars = false } = options

  class ApplicationMeter extends Meter {
    static inject = [ApplicationState]

    constructor(state: ApplicationState) {
      super(state, { exemplars })
    }
  }

  @Controller(path)
  @gate(secured)
  @Operational
  @Doc({ tags: ['metrics'] })
  class MetricsController {
    static inject = [ApplicationMeter]

    constructor(private readonly meter: ApplicationMeter) {}

    @Get('/')
    @Doc({
      description: 'Counters and gauges in the text format of Prometheus, or as OpenMetrics.',
    })
    async read(headers: Record<string, string>): Promise<Reply<string>> {
      const format = formatFor(headers.accept)
      return reply(writeText(await this.meter.read(worker), format))
        .type(contentTypes[format])
        .header('Cache-Control', 'no-store')
    }
  }

  return {
    problems: findProblems(options),
    providers: [ApplicationMeter],
    controllers: [MetricsController],
  }
})

function gate(secured: MetricsOptions['secured']): AnyDecorator {
  if (secured === undefined) return (() => undefined) as AnyDecorator
  if (secured === false) return NoAuth
  if (typeof secured === 'string') return Secured(secured)
  // Other values are reported as a fault at the start.
  return Secured(...(Array.isArray(secured) ? (secured as readonly string[]) : []))
}

/** Faults of the options. */
function findProblems(options: MetricsOptions): Problem[] {
  const { path, secured, worker, exemplars } = options as Readonly<Record<string, unknown>>
  const invalid = Object.entries({ path, secured, worker, exemplars }).flatMap(([name, value]) => {
    if (value === undefined) return []
    const isText = typeof value === 'string' && value !== ''
    const isRoles = Array.isArray(value) && value.length > 0
    if (name === 'path' && isText) return []
    if ((name === 'worker' || name === 'exemplars') && typeof value === 'boolean') return []
    if (name === 'secured' && (typeof value === 'boolean' || isText || isRoles)) return []
    const remedy =
      "path is a text; worker and exemplars are true or false; secured is true, a role or several: metrics({ secured: 'admin' })."
    const message = `metrics: ${name} is ${JSON.stringify(value)}.`
    return [{ code: 'INVALID_OPTION', message, remedy }]
  })
  return [
    ...invalid,
    ...rejectUnknownOptions(options, ['path', 'secured', 'worker', 'exemplars'], 'metrics'),
  ]
}
