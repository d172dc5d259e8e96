/** The routes among which the nearest ones are suggested to a developer, by the page of a 404 and by `filigree explain`. */
import { Problems } from '../errors/problems.js'
import type { NearRoute } from '../routing/nearest-routes.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import { reachable } from '../routing/route.js'
import type { ApplicationPlan } from './plan-application.js'

/** @returns the routes of controllers, the documentation and GraphQL */
export function suggestedRoutes({ routes, settings, graphql }: ApplicationPlan): NearRoute[] {
  const { docs, basePath } = settings
  const endpoints = graphql.instances.flatMap(({ routes: paths, ide }) =>
    paths.map(({ path }) => ({ method: ide ? 'GET' : 'POST', path })),
  )
  const framework = [
    ...(docs === undefined ? [] : [{ method: 'GET', path: docs.path }]),
    ...endpoints,
  ]
  return [
    ...reachable(routes).map(({ route }) => route),
    ...framework.flatMap(({ method, path }) => {
      const pattern = parsePattern(joinPaths(basePath, path), new Problems())
      return pattern === undefined ? [] : [{ method, pattern }]
    }),
  ]
}
