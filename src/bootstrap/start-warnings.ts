/** Says in the log what is odd about an application and no fault; it starts nevertheless. */
import type { Problem } from '../errors/declaration-error.js'
import { findSlowPatterns } from '../fields/slow-patterns.js'
import { readShape } from '../fields/shape.js'
import type { Log } from '../core/log.js'
import { findRouteWarnings } from '../routing/route-warnings.js'
import type { PlannedRoute } from '../serving/planned-route.js'

/** Warns of routes that no request reaches, bodies that nothing checks and patterns that a client could make slow. */
export function logStartWarnings(planned: readonly PlannedRoute[], log: Log): void {
  const routes = planned.map(({ route }) => route)
  for (const { code, message, remedy } of [
    ...findSlowInputPatterns(planned),
    ...findRouteWarnings(routes),
  ]) {
    log.warn({ code }, `${message} ${remedy}`)
  }
}

/** Of bodies and queries alone: nothing else is matched against what a client sends. */
function findSlowInputPatterns(planned: readonly PlannedRoute[]): Problem[] {
  const inputs = planned.flatMap(({ classes }) => [classes.body?.type, classes.query?.type])
  const types = new Set(inputs.filter((type) => type !== undefined))
  return findSlowPatterns([...types].map((type) => readShape(type)))
}
