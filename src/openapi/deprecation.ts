/**
 * `@Doc({ deprecated: { since, until } })`: how long a route works. Source: RFC 9745 (Deprecation) and RFC 8594
 * (Sunset).
 */

/** When a route became deprecated, and when it will stop working. */
export interface Deprecated {
  /** A moment, as a `Date` or in ISO 8601: `'2026-01-31'`. Sent as `Deprecation`. */
  since?: string | Date
  /** The same. Sent as `Sunset`. */
  until?: string | Date
}

/** @returns the fault, as the end of a sentence */
export function deprecationFault(value: unknown): string | undefined {
  if (typeof value === 'boolean') return undefined
  if (typeof value !== 'object' || value === null) return 'is neither true nor { since, until }'
  const { since, until } = value as Record<string, unknown>
  if (since === undefined && until === undefined) return 'names neither since nor until'
  for (const [name, moment] of Object.entries({ since, until })) {
    if (moment !== undefined && toTime(moment) === undefined) return `has no date as ${name}`
  }
  const [from, to] = [toTime(since), toTime(until)]
  return from !== undefined && to !== undefined && to < from ? 'ends before it begins' : undefined
}

/** @returns names and values in turn; undefined if no header is sent */
export function deprecationHeaders(value: unknown): readonly string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { since, until } = value as Deprecated
  const [from, to] = [toTime(since), toTime(until)]
  const headers = [
    ...(from === undefined ? [] : ['Deprecation', `@${Math.floor(from / 1000)}`]),
    ...(to === undefined ? [] : ['Sunset', new Date(to).toUTCString()]),
  ]
  return headers.length === 0 ? undefined : headers
}

function toTime(moment: unknown): number | undefined {
  const isText = typeof moment === 'string' && /^\d{4}-\d{2}-\d{2}(?:T.*)?$/.test(moment)
  if (!isText && !(moment instanceof Date)) return undefined
  const time = new Date(moment).getTime()
  return Number.isNaN(time) ? undefined : time
}
