/** Logs warnings about an application at its start. */
import type { Problem } from '../errors/declaration-error.js'
import { findSlowPatterns } from '../fields/slow-patterns.js'
import { readShape } from '../fields/shape.js'
import type { Log } from '../core/log.js'
import { findRouteWarnings } from '../routing/route-warnings.js'
import type { Settings } from './options.js'
import type { PlannedRoute } from '../serving/planned-route.js'

/** Warns of routes that no request reaches, bodies without checks, and patterns that clients could make slow. */
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
        'bootstrap: trustProxy is true, so request.ip is the leftmost entry of X-Forwarded-For.',
      remedy: 'A client can forge it. Give the number of proxies in front: trustProxy: 1.',
    },
  ]
}

/** Patterns of bodies and queries only: nothing else that clients send is matched. */
function findSlowInputPatterns(planned: readonly PlannedRoute[]): Problem[] {
  const inputs = planned.flatMap(({ classes }) => [classes.body?.type, classes.query?.type])
  const types = new Set(inputs.filter((type) => type !== undefined))
  return findSlowPatterns([...types].map((type) => readShape(type)))
}
