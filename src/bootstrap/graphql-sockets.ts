/** Opens the endpoints of GraphQL to WebSockets, where `ws` is installed. */
import type { Problem } from '../errors/declaration-error.js'
import type { GraphQL } from '../graphql/graphql.js'
import { isSubscription } from '../graphql/subscription-body.js'
import type { TakeUpgrade } from '../http/upgrade.js'
import { joinPaths } from '../routing/pattern.js'
import { createUpgrades, type UpgradesOptions } from '../serving/sockets/upgrades.js'
import { hasWebSockets } from '../serving/sockets/web-socket.js'

/** Who asks for sockets is told at the start where there can be none. */
export function findSocketProblems(instances: readonly GraphQL[], problems: Problem[]): void {
  if (!instances.some(({ sockets }) => sockets === true) || hasWebSockets()) return
  problems.push({
    code: 'SOCKETS_DRIVER_MISSING',
    message:
      'bootstrap graphql: sockets is true, and the package ws, which speaks them, is not installed.',
    remedy: 'Run: npm install ws. Or leave sockets out.',
  })
}

/** @returns undefined where no endpoint takes sockets */
export function createGraphqlUpgrades(
  instances: readonly GraphQL[],
  basePath: string,
  options: Omit<UpgradesOptions, 'routes'>,
): TakeUpgrade | undefined {
  const routes = instances
    .filter(({ sockets }) => sockets !== false)
    .flatMap((instance) =>
      instance.routes.map(({ path }) => ({
        path: joinPaths(basePath, path),
        bytes: instance.limits.bytes,
        isSubscription: (body: unknown) => isSubscription(instance, body),
      })),
    )
  return createUpgrades({ ...options, routes })
}
