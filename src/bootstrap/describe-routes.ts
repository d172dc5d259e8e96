/** Describes planned routes as the OpenAPI document does, also before they are served. */
import { describeOperations } from '../openapi/document.js'
import { everyMember } from '../openapi/visible-members.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import type { DescribedRoutes } from '../serving/routes.js'

export function describeRoutes(planned: readonly PlannedRoute[]): DescribedRoutes {
  const all = planned.map(({ info }) => info)
  const describe: DescribedRoutes['describe'] = (routes, visible) => {
    const selected = new Set(routes ?? all)
    const isSelected = ({ info }: PlannedRoute): boolean => selected.has(info)
    const described = describeOperations(planned, isSelected, visible ?? everyMember)
    return {
      schemas: described.schemas,
      operations: new Map(
        [...described.operations].map(([{ info }, operation]) => [info, operation]),
      ),
    }
  }
  return { all, describe }
}
