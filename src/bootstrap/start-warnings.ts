/** Logs warnings about an application; it starts nevertheless. */
import type { Problem } from '../errors/declaration-error.js'
import { findSlowPatterns } from '../fields/slow-patterns.js'
import { readShape } from '../fields/shape.js'
import type { Log } from '../core/log.js'
import { findRouteWarnings } from '../routing/route-warnings.js'
import type { Settings } from './options.js'
import type { PlannedRoute } from '../serving/planned-route.js'

/** Warns of routes that no request reaches, bodies that nothing checks and patterns that a client could make slow. */
export function logStartWarnings(
  planned: readonly PlannedRoute[],
  settings: Pick<Settings, 'trustProxy'>,
  log: Log,
): void {
  const routes = planned.map(({ route }) => route)
  for (const { code, message, remedy } of [
    ...findSlowInputPatterns(planned),
    ...findRouteWarnings(routes),
    ...findProxyWarnings(settings),
  ]) {
    log.warn({ code }, `${message} ${remedy}`)
  }
}

function findProxyWarnings({ trustProxy }: Pick<Settings, 'trustProxy'>): Problem[] {
  if (trustProxy !== true) return []
  return [
    {
      code: 'PROXY_TRUSTED_LEFT',
      message:
        'bootstrap: trustProxy is true, so that request.ip is what stands left in X-Forwarded-For.',
      remedy:
        'A client can write it there itself. Give the number of proxies in front: trustProxy: 1.',
    },
  ]
}

/** Of bodies and queries alone: nothing else is matched against what a client sends. */
function findSlowInputPatterns(planned: readonly PlannedRoute[]): Problem[] {
  const inputs = planned.flatMap(({ classes }) => [classes.body?.type, classes.query?.type])
  const types = new Set(inputs.filter((type) => type !== undefined))
  return findSlowPatterns([...types].map((type) => readShape(type)))
}
