/**
 * `filigree/metrics`: figures about an application, in the text format of Prometheus. It counts the framework's events;
 * labels are patterns, methods, tables and names of operations, never a path, an id or a document.
 */
import {
  Controller,
  createModule,
  Doc,
  Get,
  NoAuth,
  Operational,
  reply,
  Secured,
  unknownOptions,
  type AnyDecorator,
  type Problem,
  type Reply,
} from '../../index.js'
import { Meter } from './meter.js'

export interface MetricsOptions {
  /** Default `/metrics`. */
  path?: string
  /**
   * True: any token is admitted. A role or several: only callers with one of them. False: open, also with
   * `auth: { closed: true }`. Default: as every GET.
   */
  secured?: boolean | string | readonly string[]
}

/** Serves `/metrics`. */
export const metrics = createModule(function metrics(options: MetricsOptions = {}) {
  const { path = '/metrics', secured } = options

  @Controller(path)
  @gate(secured)
  @Operational
  @Doc({ tags: ['metrics'] })
  class MetricsController {
    static inject = [Meter]

    constructor(private readonly meter: Meter) {}

    @Get('/')
    @Doc({ description: 'Counters and gauges in the text format of Prometheus.' })
    read(): Reply<string> {
      return reply(this.meter.write())
        .type('text/plain; version=0.0.4; charset=utf-8')
        .header('Cache-Control', 'no-store')
    }
  }

  return { problems: findProblems(options), providers: [Meter], controllers: [MetricsController] }
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
  const { path, secured } = options as Readonly<Record<string, unknown>>
  const invalid = Object.entries({ path, secured }).flatMap(([name, value]) => {
    if (value === undefined) return []
    const isText = typeof value === 'string' && value !== ''
    const isRoles = Array.isArray(value) && value.length > 0
    if (name === 'path' && isText) return []
    if (name === 'secured' && (typeof value === 'boolean' || isText || isRoles)) return []
    const remedy =
      "path is a text; secured is true, a role or several: metrics({ secured: 'admin' })."
    const message = `metrics: ${name} is ${JSON.stringify(value)}.`
    return [{ code: 'INVALID_OPTION', message, remedy }]
  })
  return [...invalid, ...unknownOptions(options, ['path', 'secured'], 'metrics')]
}
