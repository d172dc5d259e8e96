/**
 * The shard that statements are about: rows of `@Record({ shardBy })` are found by their key and by the shard's value, which
 * is known from what a call says, or from the call around it. Source: decisions, Records: queries.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Condition } from '../filters/condition.js'
import { invalid } from '../filters/invalid.js'
import type { TableCodec } from '../model/codec.js'
import type { Column } from '../../engines/contract/table.js'
import { allOf, equals } from '../../sql/condition.js'
import type { Table } from '../model/table.js'

interface Codecs {
  codecOf(table: Table): TableCodec
}

interface Shard {
  /** By which records are sharded, `tenantId`. */
  readonly property: string
  readonly value: unknown
}

const ambient = new AsyncLocalStorage<Shard | undefined>()

/** Statements on records that are sharded by the same field are about this shard until the work has ended. */
export function inShard<R>({ shard }: Table, value: unknown, work: () => R): R {
  if (shard === undefined || value === undefined || value === null) return work()
  return ambient.run({ property: shard.property, value }, work)
}

/** The same by what an object says, e.g. options or values; without it as before. */
export function inShardOf<R>(table: Table, values: object | undefined, work: () => R): R {
  const { shard } = table
  if (shard === undefined || values === undefined) return work()
  return inShard(table, (values as Record<string, unknown>)[shard.property], work)
}

/** Runs what the application wrote itself, e.g. a hook: its statements say themselves which shard they are about. */
export function outsideShards<R>(work: () => R): R {
  return ambient.getStore() === undefined ? work() : ambient.run(undefined, work)
}

/** The shard's value, where it is known. */
export function currentShard({ shard }: Table): unknown {
  if (shard === undefined) return undefined
  const current = ambient.getStore()
  return current?.property === shard.property ? current.value : undefined
}

/** As the driver takes it. @throws {HttpError} 400 `VALIDATION` where it is not known, or none */
function shardOf(table: Table, context: Codecs, shard: Column): unknown {
  const value = currentShard(table)
  if (value === undefined) throw noShard(table)
  const codec = context.codecOf(table).byProperty.get(shard.property)
  if (codec?.accepts(value) !== true)
    throw invalid(shard.property, 'type', `must be of kind ${shard.field.kind}`)
  const encoded = codec.encode(value)
  // No row is in a shard that there cannot be.
  return codec.canStore(encoded) ? encoded : null
}

/** Nothing is looked for on every machine that is on one of them. */
export function noShard({ type, shard }: Table): Error {
  const name = shard?.property ?? ''
  return invalid(name, 'required', `must be given: ${type.name} is sharded by it`)
}

/**
 * What `keyIs` takes.
 *
 * @param values may name the shard; else it is that of the call
 * @throws {HttpError} 400 `VALIDATION` where the shard is not known
 */
export function keyValues(table: Table, context: Codecs, key: unknown, values?: object): unknown[] {
  const { shard } = table
  if (shard === undefined) return [key]
  return [key, inShardOf(table, values, () => shardOf(table, context, shard))]
}

/** True where a condition holds for rows of one shard at most, since it compares the column with one value. */
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
export function demandShard(table: Table, condition: Condition | undefined): void {
  if (table.shard !== undefined && !namesShard(condition, table.shard)) throw noShard(table)
}

/**
 * Adds the shard that is known, where the condition names none itself.
 *
 * @throws {HttpError} 400 `VALIDATION` where none is known
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

/** The rows of the shard that is known; `undefined` where none is. Its value stands among those of the reader. */
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

/** A row's shard is that of the call where its values name none. */
export function withShard<V extends object>(table: Table, values: V): V {
  const { shard } = table
  if (shard === undefined || (values as Record<string, unknown>)[shard.property] !== undefined)
    return values
  const value = currentShard(table)
  return value === undefined ? values : Object.assign({}, values, { [shard.property]: value })
}

/**
 * Takes the shard out of what changes a row, for a row stays where it is.
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
