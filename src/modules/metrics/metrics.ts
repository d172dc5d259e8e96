/** `filigree/metrics`: metrics in the text format of Prometheus, or as OpenMetrics. Labels are patterns, methods, tables and operation names, never a path, an id or a document. */
import type { Family, Exemplar } from './metric-families.js'
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
  declareOptions,
  option,
  type AnyDecorator,
  type OptionsOf,
  type Reply,
} from '../../index.js'
import { Meter } from './meter.js'

/** Source: Prometheus, Exposition formats, "Text-based format"; OpenMetrics 1.0, "Text format". */

type Format = 'prometheus' | 'openmetrics'

const contentTypes: Readonly<Record<Format, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** The format that a scraper prefers. It may accept both, with weights. */
function formatFor(accept: string | undefined): Format {
  const weights: Record<Format, number> = { prometheus: 0, openmetrics: 0 }
  for (const part of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = part.split(';').map((word) => word.trim().toLowerCase())
    const q = parameters.find((one) => one.startsWith('q='))
    const weight = q === undefined ? 1 : Number(q.slice(2)) || 0
    if (type === 'application/openmetrics-text')
      weights.openmetrics = Math.max(weights.openmetrics, weight)
    if (type === 'text/plain') weights.prometheus = Math.max(weights.prometheus, weight)
  }
  return weights.openmetrics > 0 && weights.openmetrics >= weights.prometheus
    ? 'openmetrics'
    : 'prometheus'
}

function writeText(families: readonly Family[], format: Format): string {
  const lines: string[] = []
  for (const family of families) writeFamily(lines, family, format)
  if (format === 'openmetrics') lines.push('# EOF')
  return `${lines.join('\n')}\n`
}

function writeFamily(lines: string[], family: Family, format: Format): void {
  const { name, type, help } = family
  const sampleName = type === 'counter' ? `${name}_total` : name
  const familyName = format === 'openmetrics' ? name : sampleName
  lines.push(`# HELP ${familyName} ${help}`, `# TYPE ${familyName} ${type}`)
  if (family.type === 'histogram') {
    for (const sample of family.samples) writeHistogram(lines, family, sample, format)
    return
  }
  for (const [labels, value] of family.samples)
    lines.push(`${sampleName}${inBraces(labels)} ${value}`)
}

function writeHistogram(
  lines: string[],
  { name, bounds }: Extract<Family, { type: 'histogram' }>,
  [labels, { counts, sum, exemplars }]: Extract<Family, { type: 'histogram' }>['samples'][number],
  format: Format,
): void {
  const labelPrefix = labels === '' ? '' : `${labels},`
  let cumulativeCount = 0
  for (const [index, count] of counts.entries()) {
    cumulativeCount += count
    const bound = bounds[index]
    const le = bound === undefined ? '+Inf' : toBound(bound, format)
    const exemplar = format === 'openmetrics' ? toExemplar(exemplars?.[index]) : ''
    lines.push(`${name}_bucket{${labelPrefix}le="${le}"} ${cumulativeCount}${exemplar}`)
  }
  lines.push(
    `${name}_sum${inBraces(labels)} ${sum}`,
    `${name}_count${inBraces(labels)} ${cumulativeCount}`,
  )
}

/** OpenMetrics writes integers as floats. */
function toBound(bound: number, format: Format): string {
  return format === 'openmetrics' && Number.isInteger(bound) ? `${bound}.0` : String(bound)
}

function toExemplar(exemplar: Exemplar | null | undefined): string {
  if (exemplar === null || exemplar === undefined) return ''
  return ` # {trace_id="${exemplar.traceId}"} ${exemplar.value} ${exemplar.at}`
}

function inBraces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

const metricsOptions = declareOptions({
  /** Default `/metrics`. */
  path: option
    .text("Write the path of the route: '/metrics'.", /^\/[^\s?#<>{}]*$/)
    .default('/metrics'),
  /**
   * True: any token is accepted. A role or a list of roles: only callers with one of them. False: open, even with `auth: { closed: true }`. Default: like every GET.
   */
  secured: option.of<boolean | string | readonly string[]>(
    (value) => typeof value === 'boolean' || isRoles(value),
    "Write true, false, a role or a list of roles: metrics({ secured: 'admin' }).",
  ),
  /** With `workers`: one series per worker, with the label `worker`, instead of the sum. Default false. */
  worker: option.flag().default(false),
  /** Adds the trace of the last sampled request to each bucket, for scrapers of OpenMetrics. Default false. */
  exemplars: option.flag().default(false),
})

export interface MetricsOptions extends OptionsOf<typeof metricsOptions> {}

/** Serves `/metrics`. */
export const metrics = createModule(function metrics(options: MetricsOptions = {}) {
  const { path, secured, worker, exemplars } = metricsOptions.read(options)

  class ApplicationMeter extends Meter {
    static inject = [ApplicationState]

    constructor(state: ApplicationState) {
      super(state, { exemplars })
    }
  }

  @Controller(path)
  @securedBy(secured)
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
    problems: metricsOptions.findProblems(options, 'metrics'),
    roles: typeof secured === 'boolean' ? [] : [secured ?? []].flat(),
    providers: [ApplicationMeter],
    controllers: [MetricsController],
  }
})

function securedBy(secured: MetricsOptions['secured']): AnyDecorator {
  if (secured === undefined) return (() => undefined) as AnyDecorator
  if (secured === false) return NoAuth
  return Secured(...(secured === true ? [] : [secured].flat()))
}

function isRoles(value: unknown): boolean {
  const roles: readonly unknown[] = Array.isArray(value) ? value : [value]
  return roles.length > 0 && roles.every((role) => typeof role === 'string' && role !== '')
}
