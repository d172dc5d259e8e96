/**
 * The arguments of a record's queries: those that the operation has in the table of inputs, in the types of the record.
 * Those of lists that no planned statement reads become options of the record's list.
 */
import {
  operationInputs,
  type ArgumentContent,
  type ReadOperation,
} from '../../records/clients/operation-inputs.js'
import type { ArgumentDeclaration, FieldArguments } from '../declarations.js'
import type { RecordModel } from './model.js'
import { declareKey, hasKeyParts } from './row-keys.js'
import { groupsOf, hasTimeGroups, readGroups } from './names.js'

/** The types of arguments. Undefined if the record does not have the type. */
const argumentTypes: Readonly<Record<ArgumentContent, (model: RecordModel) => string | undefined>> =
  {
    integer: () => 'Int',
    cursor: () => 'String',
    key: (model) => (hasKeyParts(model) ? undefined : 'ID'),
    conditions: ({ name }) => `${name}Where`,
    order: ({ name }) => `[${name}Order!]`,
    fields: (model) => (groupsOf(model).length > 0 ? `[${model.name}Group!]` : undefined),
    timeGroups: (model) => (hasTimeGroups(model) ? `[${model.name}TimeGroup!]` : undefined),
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
    if (holds === 'key' && hasKeyParts(model)) Object.assign(args, declareKey(model))
    const type = argumentTypes[holds](model)
    if (type !== undefined) args[name] = { type, ...declared }
  }
  return args
}

/** The inputs of a list that only the record's own list reads. Lists of related rows do not have them. */
const unplannedInputs = Object.entries(operationInputs.list).flatMap(([name, { argument }]) =>
  argument === undefined || Object.hasOwn(operationInputs.related, name)
    ? []
    : [{ name, holds: argument.holds }],
)

/** Whether the arguments of a list contain one that no planned statement reads. */
export function hasUnplannedInput(args: FieldArguments): boolean {
  for (const { name } of unplannedInputs) if ((args[name] ?? undefined) !== undefined) return true
  return false
}

/** The same arguments as options of the record's list. @throws {HttpError} 400 `VALIDATION` */
export function readUnplannedInputs(
  model: RecordModel,
  args: FieldArguments,
): Record<string, unknown> {
  const options: Record<string, unknown> = {}
  for (const { name, holds } of unplannedInputs) {
    const value = args[name] ?? undefined
    if (value === undefined) continue
    options[name] = holds === 'fields' ? readGroups(model, value, name, 0) : value
  }
  return options
}
