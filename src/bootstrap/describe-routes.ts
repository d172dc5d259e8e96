/** Describes planned routes as the OpenAPI document does, also before they are served. */
import { describeOperations } from '../openapi/document.js'
import { everyMember } from '../openapi/visible-members.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import type { DescribedRoutes } from '../serving/routes.js'

export function describeRoutes(planned: readonly PlannedRoute[]): DescribedRoutes {
  const all = planned.map(({ info }) => info)
  return {
    all,
    describe: (routes = all, visible = everyMember) => {
      const selected = new Set(routes)
      const isSelected = ({ info }: PlannedRoute): boolean => selected.has(info)
      const { operations, schemas } = describeOperations(planned, isSelected, visible)
      return {
        schemas,
        operations: new Map([...operations].map(([{ info }, operation]) => [info, operation])),
      }
    },
  }
}
