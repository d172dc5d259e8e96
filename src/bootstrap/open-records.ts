/** Logs at the start which records are open to everybody. Source: decisions, Second storey: rights. */
import type { Log } from '../core/log.js'
import { resolveClass } from '../metadata/class-reference.js'
import type { Class } from '../metadata/note.js'
import { readTables } from '../records/model/read-table.js'
import { policyOf } from '../records/rights/record-policy.js'
import { readController } from '../routing/controller.js'
import type { ApplicationPlan } from './plan-application.js'

type Plan = Pick<ApplicationPlan, 'routes' | 'graphql' | 'authOptions'>

/**
 * One line with all records that everybody can read and every token can write, unless a decorator says so explicitly.
 */
export function logOpenRecords(plan: Plan, log: Log): void {
  const names = openRecords(plan)
  if (names.length === 0) return
  log.info(
    { records: names },
    `Everybody can read and any token can write: ${names.join(', ')}. Restrict a record with @Secured, rows or mutations, or confirm with @NoAuth that it is meant.`,
  )
}

/** Records that everybody can read, where nothing says that it is meant. */
export function openRecords({ routes, graphql, authOptions }: Plan): string[] {
  if (authOptions.closed) return []
  const queried = graphql.instances
    .filter((one) => one.routes.some(({ access }) => access.read.open))
    .flatMap(({ schema }) => schema.records)
  // Records that filters and selections reach can be read as well.
  const reached = readTables(queried, []).filter((table) => policyOf(table).isSilent)
  const served = routes
    .filter(({ route, access }) => route.method === 'GET' && access.open)
    .flatMap(({ route }) => recordOf(route.controller))
  const silent = readTables(served, []).filter(
    (table) => policyOf(table).isSilent && served.includes(table.type),
  )
  return [...new Set([...reached, ...silent].map(({ type }) => type.name))].sort()
}

function recordOf(controller: Class): Class[] {
  const { crud } = readController(controller) ?? {}
  const record = crud === undefined ? undefined : resolveClass(crud)
  return record === undefined ? [] : [record]
}
