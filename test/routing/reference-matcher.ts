/** A slow and simple implementation of the routing rules: try every pattern, then choose the best one segment by segment. */
import type { Pattern, Segment } from '../../src/routing/pattern.js'

export interface Reference {
  readonly index: number
  readonly values: readonly (string | number)[]
}

const order = ['static', 'int', 'float', 'uuid', 'slug', 'string', 'path']

export function matchSlowly(patterns: readonly Pattern[], path: string): Reference | undefined {
  const matches = patterns.flatMap((pattern, index) => {
    const values = matchOne(pattern, path)
    return values === undefined ? [] : [{ index, values, ranks: pattern.segments.map(rank) }]
  })
  matches.sort((a, b) => compare(a.ranks, b.ranks))
  return matches[0]
}

function matchOne(pattern: Pattern, path: string): (string | number)[] | undefined {
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  const parts = trimmed === '/' && path === '/' ? [] : trimmed.slice(1).split('/')
  const values: (string | number)[] = []
  for (const [index, segment] of pattern.segments.entries()) {
    if (segment.kind === 'parameter' && segment.type.name === 'path') {
      const rest = parts.slice(index).map(decodeURIComponent).join('/')
      return rest === '' ? undefined : [...values, rest]
    }
    const part = parts[index]
    if (part === undefined || part === '') return undefined
    const text = decodeURIComponent(part)
    if (segment.kind === 'static') {
      if (segment.text !== text) return undefined
      continue
    }
    const value = convert(segment.type.name, text)
    if (value === undefined) return undefined
    values.push(value)
  }
  return parts.length === pattern.segments.length ? values : undefined
}

function convert(type: string, text: string): string | number | undefined {
  switch (type) {
    case 'int': {
      const value = /^-?[0-9]+$/.test(text) ? Number(text) : NaN
      return Number.isSafeInteger(value) ? value + 0 : undefined
    }
    case 'float': {
      const value = /^-?([0-9]+|[0-9]*\.[0-9]+)$/.test(text) ? Number(text) : NaN
      return Number.isFinite(value) ? value + 0 : undefined
    }
    case 'uuid':
      return /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text)
        ? text.toLowerCase()
        : undefined
    case 'slug':
      return /^[A-Za-z0-9_-]+$/.test(text) ? text : undefined
    default:
      return text
  }
}

function rank(segment: Segment): number {
  return order.indexOf(segment.kind === 'static' ? 'static' : segment.type.name)
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    if (value !== other) return value - other
  }
  return -1
}
