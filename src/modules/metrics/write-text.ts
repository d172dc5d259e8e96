/**
 * Writes what is measured for Prometheus. Sources: Prometheus, Exposition formats, "Text-based format"; OpenMetrics 1.0,
 * "Text format".
 */
import type { Family } from './families.js'
import type { Exemplar } from './series.js'

export type Format = 'prometheus' | 'openmetrics'

export const contentTypes: Readonly<Record<Format, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** The format that a scraper would rather have; it may name both, with weights. */
export function formatFor(accept: string | undefined): Format {
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

export function writeText(families: readonly Family[], format: Format): string {
  const lines: string[] = []
  for (const family of families) writeFamily(lines, family, format)
  if (format === 'openmetrics') lines.push('# EOF')
  return `${lines.join('\n')}\n`
}

function writeFamily(lines: string[], family: Family, format: Format): void {
  const { name, type, help } = family
  const total = type === 'counter' ? `${name}_total` : name
  const shown = format === 'openmetrics' ? name : total
  lines.push(`# HELP ${shown} ${help}`, `# TYPE ${shown} ${type}`)
  if (family.type === 'histogram') {
    for (const sample of family.samples) writeHistogram(lines, family, sample, format)
    return
  }
  for (const [labels, value] of family.samples) lines.push(`${total}${inBraces(labels)} ${value}`)
}

function writeHistogram(
  lines: string[],
  { name, bounds }: Extract<Family, { type: 'histogram' }>,
  [labels, { counts, sum, exemplars }]: Extract<Family, { type: 'histogram' }>['samples'][number],
  format: Format,
): void {
  const before = labels === '' ? '' : `${labels},`
  let below = 0
  for (const [index, count] of counts.entries()) {
    below += count
    const bound = bounds[index]
    const le = bound === undefined ? '+Inf' : toBound(bound, format)
    const exemplar = format === 'openmetrics' ? toExemplar(exemplars?.[index]) : ''
    lines.push(`${name}_bucket{${before}le="${le}"} ${below}${exemplar}`)
  }
  lines.push(`${name}_sum${inBraces(labels)} ${sum}`, `${name}_count${inBraces(labels)} ${below}`)
}

/** OpenMetrics writes whole numbers as floats. */
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
