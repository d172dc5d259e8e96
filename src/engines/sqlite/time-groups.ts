/** Local time by SQLite's date functions, which know no zones. Source: SQLite, Date And Time Functions. */
import type { TimeGroup } from '../contract/time-group.js'

/** The distance from UTC may have seconds, which `datetime` reads as a modifier only. */
export const sqliteMomentOfHour = [
  "(select datetime(substr(h, 1, 19), iif(substr(h, 20, 1) = '-', '+', '-') || substr(h, 21)) from (select ",
  ' as h))',
] as const

export function sqliteTimeGroup({ unit, column, offset }: TimeGroup): string {
  switch (unit) {
    case 'hour':
      return `(select strftime('%Y-%m-%dT%H:00:00', ${column}, o) || o from (select ${offset} as o))`
    case 'day':
      return `date(${column}, ${offset})`
    case 'week':
      return `date(${column}, ${offset}, '-6 days', 'weekday 1')`
    case 'month':
      return `strftime('%Y-%m-01', ${column}, ${offset})`
    case 'quarter':
      return `(select substr(m, 1, 5) || substr('010101040404070707101010', 2 * substr(m, 6) - 1, 2) || '-01' from (select strftime('%Y-%m', ${column}, ${offset}) as m))`
    case 'year':
      return `strftime('%Y-01-01', ${column}, ${offset})`
  }
}
