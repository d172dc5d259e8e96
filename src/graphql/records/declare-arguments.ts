/** The arguments of a record's queries: those that the operation has in the table of inputs, in the types of the record. */
import {
  operationInputs,
  type ArgumentContent,
  type ReadOperation,
} from '../../records/clients/operation-inputs.js'
import type { ArgumentDeclaration } from '../declarations.js'
import type { RecordModel } from './model.js'
import { groupsOf, timeGroupsOf } from './names.js'

/** The types of arguments. Undefined if the record does not have the type. */
const argumentTypes: Readonly<Record<ArgumentContent, (model: RecordModel) => string | undefined>> =
  {
    integer: () => 'Int',
    cursor: () => 'String',
    key: () => 'ID',
    conditions: ({ name }) => `${name}Where`,
    order: ({ name }) => `[${name}Order!]`,
    fields: (model) => (groupsOf(model).length > 0 ? `[${model.name}Group!]` : undefined),
    timeGroups: (model) =>
      timeGroupsOf(model).length > 0 ? `[${model.name}TimeGroup!]` : undefined,
    groupConditions: ({ name }) => `${name}Having`,
    groupOrder: ({ name }) => `[${name}AggregateOrder!]`,
  }

export function declareArguments(
  model: RecordModel,
  operation: ReadOperation,
): Record<string, ArgumentDeclaration> {
  const args: Record<string, ArgumentDeclaration> = {}
  for (const [name, { argument }] of Object.entries(operationInputs[operation])) {
    if (argument === undefined) continue
    const { holds, ...declared } = argument
    const type = argumentTypes[holds](model)
    if (type !== undefined) args[name] = { type, ...declared }
  }
  return args
}
