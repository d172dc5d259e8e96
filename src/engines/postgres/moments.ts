/**
 * Reads moments as PostgreSQL sends them: in the session's time zone, in ISO form. Source: PostgreSQL, Date/Time Types,
 * 8.5.2.
 */

/**
 * @param value `2026-11-20 11:00:00.5+01`, a Date from some drivers, or the value of a text column
 * @returns `2026-11-20T10:00:00.500Z`
 */
export function readMoment(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (typeof value !== 'string' || value.charCodeAt(10) !== blank) return value
  const inUtc = value.endsWith('+00')
  if (!inUtc) return toUtc(value)
  const fraction = value.slice(20, -3)
  return `${value.slice(0, 10)}T${value.slice(11, 19)}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
}

const blank = 32

function toUtc(value: string): string {
  const zone = /([+-]\d\d)(?::?(\d\d))?$/.exec(value)
  const local = value.slice(0, zone?.index).replace(' ', 'T')
  const date = new Date(`${local}${zone?.[1] ?? '+00'}:${zone?.[2] ?? '00'}`)
  return Number.isNaN(date.getTime()) ? value : date.toISOString()
}
