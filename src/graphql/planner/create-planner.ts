/** placeholder */
import type { GraphQLSchema } from 'graphql'
import type { RecordServices } from '../records/resolve-records.js'
import type { Planner } from '../planner-contract.js'
export function createPlanner(_schema: GraphQLSchema, _services: RecordServices): Planner {
  return { plan: () => undefined }
}
