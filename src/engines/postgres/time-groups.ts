/** Local time by PostgreSQL's `date_trunc`. The zone is the statement's, not the session's. */
import type { TimeGroup } from '../contract/time-group.js'

export function postgresTimeGroup({ unit, column, isDate, offset }: TimeGroup): string {
  const utc = `cast(${column} as timestamptz) at time zone 'UTC'`
  if (unit === 'hour')
    return `(select to_char(${utc} + cast(o as interval), 'YYYY-MM-DD"T"HH24":00:00"') || o from (select ${offset} as o) as zone)`
  const local = isDate ? `cast(${column} as timestamp)` : `${utc} + cast(${offset} as interval)`
  return `to_char(date_trunc('${unit}', ${local}), 'YYYY-MM-DD')`
}
