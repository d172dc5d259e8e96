/** Operations on one row of a sharded record: the argument that says the shard where the caller's `rows` do not say it. */
import type { ArgumentDeclaration, Arguments, FieldDeclaration } from '../declarations.js'
import { inShard } from '../../records/statements/shard.js'
import type { FieldModel, RecordModel } from './model.js'
import { toKeyValue } from './query-reader.js'

/** The field that the record is sharded by; `undefined` for other records, and where clients do not see it. */
function shardField({ table, fields }: RecordModel): FieldModel | undefined {
  if (table.shard === undefined) return undefined
  return [...fields.values()].find(({ column }) => column === table.shard)
}

/** @returns the declaration itself where there is nothing to say */
export function withShardArgument(model: RecordModel, field: FieldDeclaration): FieldDeclaration {
  const shard = shardField(model)
  if (shard === undefined) return field
  const argument: ArgumentDeclaration = {
    type: shard.type,
    description: `Where the ${model.name} is, unless the caller's rights or the input say it.`,
  }
  return {
    ...field,
    args: { ...field.args, [shard.name]: argument },
    resolve: (root, args, context, info) =>
      inGivenShard(model, args, () => field.resolve?.(root, args, context, info)),
  }
}

/** Runs in the shard that the argument names. */
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
