/** Reads timestamps of PostgreSQL. */

/**
 * Converts a timestamp of PostgreSQL, which is in the session's time zone and in ISO form. Its year may have five
 * digits or be before Christ although the year in UTC is not, and local mean time has seconds. Source: PostgreSQL,
 * Date/Time Types, 8.5.2.
 *
 * @param value `2026-11-20 11:00:00.5+01`, `0001-12-31 20:29:08-03:30:52 BC`, a Date from some drivers, or the value of
 * a text column
 * @returns `2026-11-20T10:00:00.500Z`
 */
export function readTimestamp(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (typeof value !== 'string') return value
  if (value.charCodeAt(10) !== blank || !value.endsWith('+00')) return toUtc(value)
  const fraction = value.slice(20, -3)
  return `${value.slice(0, 10)}T${value.slice(11, 19)}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
}

const blank = 32

const parts =
  /^(\d{4,5})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([+-])(\d\d)(?::?(\d\d))?(?::(\d\d))?)?( BC)?$/

function toUtc(value: string): string {
  const found = parts.exec(value)
  if (found === null) return value
  const [, year, month, day, hour, minute, second, fraction = '', sign] = found
  const [, , , , , , , , , zoneHour = 0, zoneMinute = 0, zoneSecond = 0, isBefore] = found
  const offset = Number(zoneHour) * 3600 + Number(zoneMinute) * 60 + Number(zoneSecond)
  const date = new Date(0)
  // The year before 1 is 1 BC.
  date.setUTCFullYear(isBefore ? 1 - Number(year) : Number(year), Number(month) - 1, Number(day))
  const seconds = Number(second) - (sign === '-' ? -offset : offset)
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'))
  date.setUTCHours(Number(hour), Number(minute), seconds, milliseconds)
  return date.toISOString()
}
