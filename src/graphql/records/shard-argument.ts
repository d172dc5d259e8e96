/**
 * The argument with the shard for operations on one row of a sharded record. Clients need it if the caller's row filter
 * does not determine the shard.
 */
import type { ArgumentDeclaration, Arguments, FieldDeclaration } from '../declarations.js'
import { inShard } from '../../records/statements/shard.js'
import type { FieldModel, RecordModel } from './model.js'
import { toKeyValue } from './query-reader.js'

/** The field that the record is sharded by; `undefined` if the record is not sharded, or if the field is hidden. */
function shardField({ table, fields }: RecordModel): FieldModel | undefined {
  if (table.shard === undefined) return undefined
  return [...fields.values()].find(({ column }) => column === table.shard)
}

/** @returns the declaration unchanged if the record needs no shard argument */
export function withShardArgument(model: RecordModel, field: FieldDeclaration): FieldDeclaration {
  const shard = shardField(model)
  if (shard === undefined) return field
  const argument: ArgumentDeclaration = {
    type: shard.type,
    description: `The shard of the ${model.name}. Required if neither the caller's rights nor the input determine it.`,
  }
  return {
    ...field,
    args: { ...field.args, [shard.name]: argument },
    resolve: (root, args, context, info) =>
      inGivenShard(model, args, () => field.resolve?.(root, args, context, info)),
  }
}

/** Runs `work` in the shard of the argument. */
export function inGivenShard<R>(model: RecordModel, args: Arguments, work: () => R): R {
  const shard = shardField(model)
  const argument = shard && args[shard.name]
  if (shard === undefined || argument === undefined || argument === null) return work()
  const { column, ids, name } = shard
  const value =
    ids !== undefined && typeof argument === 'string'
      ? toKeyValue(column, ids, argument, name)
      : argument
  return inShard(model.table, value, work)
}
