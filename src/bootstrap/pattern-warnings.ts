/** Says in the log which patterns of inputs a client could make take for ever; the application starts nevertheless. */
import { findSlowPatterns } from '../fields/slow-patterns.js'
import { readShape } from '../fields/shape.js'
import type { Log } from '../http/log.js'
import type { PlannedRoute } from './plan-routes.js'

/** @param routes whose bodies and queries are looked at: nothing else is matched against what a client sends */
export function warnOfSlowPatterns(routes: readonly PlannedRoute[], log: Log): void {
  const inputs = routes.flatMap(({ classes }) => [classes.body?.type, classes.query?.type])
  const types = new Set(inputs.filter((type) => type !== undefined))
  for (const { code, message, remedy } of findSlowPatterns(
    [...types].map((type) => readShape(type)),
  )) {
    log.warn({ code }, `${message} ${remedy}`)
  }
}
