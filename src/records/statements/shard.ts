/**
 * The shard of statements. Rows of `@Record({ shardBy })` are found by their key and by the shard's value, which comes
 * from the options of a call or from the surrounding call. Source: decisions, Records: queries.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Condition, Table } from '../model/table.js'
import { invalid } from '../filters/query-errors.js'
import type { TableCodec } from '../model/codec.js'
import type { Column } from '../../engines/contract/table.js'
import { allOf, equals } from '../../sql/condition.js'

interface Codecs {
  codecOf(table: Table): TableCodec
}

interface Shard {
  /** The property by which records are sharded, such as `tenantId`. */
  readonly property: string
  readonly value: unknown
}

const ambient = new AsyncLocalStorage<Shard | undefined>()

/** Until the work ends, statements on records that are sharded by the same field use this shard. */
export function inShard<R>({ shard }: Table, value: unknown, work: () => R): R {
  if (shard === undefined || value === undefined || value === null) return work()
  return ambient.run({ property: shard.property, value }, work)
}

/** As `inShard`, with the shard of an object such as options or values. Without a shard in it, nothing changes. */
export function inShardOf<R>(table: Table, values: object | undefined, work: () => R): R {
  const { shard } = table
  if (shard === undefined || values === undefined) return work()
  return inShard(table, (values as Record<string, unknown>)[shard.property], work)
}

/** Runs code of the application, such as a hook, whose statements must name their shard themselves. */
export function outsideShards<R>(work: () => R): R {
  return ambient.getStore() === undefined ? work() : ambient.run(undefined, work)
}

/** The value of the current shard, if there is one. */
export function currentShard({ shard }: Table): unknown {
  if (shard === undefined) return undefined
  const current = ambient.getStore()
  return current?.property === shard.property ? current.value : undefined
}

/** The current shard in the driver's form. @throws {HttpError} 400 `VALIDATION` if it is unknown or invalid */
export function shardOf(table: Table, context: Codecs, shard: Column): unknown {
  const value = currentShard(table)
  if (value === undefined) throw noShard(table)
  const codec = context.codecOf(table).byProperty.get(shard.property)
  if (codec?.accepts(value) !== true)
    throw invalid(shard.property, 'type', `must be of kind ${shard.field.kind}`)
  const encoded = codec.encode(value)
  // No row is in a shard that cannot exist.
  return codec.canStore(encoded) ? encoded : null
}

/** The error for a query without a shard: a row in one shard is not searched in all shards. */
export function noShard({ type, shard }: Table): Error {
  const name = shard?.property ?? ''
  return invalid(name, 'required', `must be given: ${type.name} is sharded by it`)
}

/**
 * The values for `keyIs`.
 *
 * @param values may name the shard; default, the shard of the call
 * @throws {HttpError} 400 `VALIDATION` if the shard is unknown
 */
export function keyValues(table: Table, context: Codecs, key: unknown, values?: object): unknown[] {
  const { shard } = table
  if (shard === undefined) return [key]
  return [key, inShardOf(table, values, () => shardOf(table, context, shard))]
}

/** True if a condition holds only for rows of one shard, because it compares the column with one value. */
function namesShard(condition: Condition | undefined, shard: Column): boolean {
  switch (condition?.kind) {
    case 'all':
      return condition.parts.some((part) => namesShard(part, shard))
    case 'any':
      return condition.parts.length === 0
    case 'compare':
      return (
        condition.operator === 'eq' && condition.path === undefined && condition.column === shard
      )
    default:
      return false
  }
}

/**
 * Refuses a statement that would go to every shard.
 *
 * @throws {HttpError} 400 `VALIDATION`
 */
export function checkShard(table: Table, condition: Condition | undefined): void {
  if (table.shard !== undefined && !namesShard(condition, table.shard)) throw noShard(table)
}

/**
 * Adds the current shard to a condition that does not name one.
 *
 * @throws {HttpError} 400 `VALIDATION` if there is no current shard
 */
export function boundToShard(
  table: Table,
  context: Codecs,
  reader: { readonly values: unknown[]; key: string },
  condition: Condition | undefined,
): Condition | undefined {
  if (table.shard === undefined || namesShard(condition, table.shard)) return condition
  const ofShard = shardCondition(table, context, reader)
  if (ofShard === undefined) throw noShard(table)
  return allOf(condition, ofShard)
}

/**
 * A condition for the rows of the current shard; `undefined` without one. Its value is added to the reader's values.
 */
export function shardCondition(
  table: Table,
  context: Codecs,
  reader: { readonly values: unknown[]; key: string },
): Condition | undefined {
  const { shard } = table
  if (shard === undefined || currentShard(table) === undefined) return undefined
  reader.key += '#'
  return equals(shard, reader.values.push(shardOf(table, context, shard)) - 1)
}

/** Adds the shard of the call to values that do not name one. */
export function withShard<V extends object>(table: Table, values: V): V {
  const { shard } = table
  if (shard === undefined || (values as Record<string, unknown>)[shard.property] !== undefined)
    return values
  const value = currentShard(table)
  return value === undefined ? values : Object.assign({}, values, { [shard.property]: value })
}

/**
 * Removes the shard from the changes of a row, because a row cannot move to another shard.
 *
 * @throws {HttpError} 400 `VALIDATION` for another shard
 */
export function withoutShard<V extends object>(table: Table, values: V): V {
  const { shard } = table
  if (shard === undefined || !(shard.property in values)) return values
  const { [shard.property]: newShard, ...otherValues } = values as Record<string, unknown>
  const current = currentShard(table)
  if (newShard !== undefined && current !== undefined && newShard !== current)
    throw invalid(shard.property, 'readOnly', 'cannot be changed')
  return otherValues as V
}
