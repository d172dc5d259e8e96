/** Runs routes of a sharded record in the shard that the request names, unless the caller's `rows` determine it. */
import type { HttpRequest } from '../../http/request.js'
import type { DeclaredParameter } from '../../openapi/parameters.js'
import { invalid } from '../filters/invalid.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { inShard } from '../statements/shard.js'
import type { RouteOptions } from '../../routing/decorators.js'
import type { DocumentedOperation } from './crud-document.js'

interface ShardedRoute {
  readonly operation: DocumentedOperation
  readonly options: RouteOptions
  readonly run: (...args: never[]) => unknown
}

/** True for operations that name the shard among their filters. */
function hasFilter(operation: DocumentedOperation): boolean {
  return operation === 'list' || operation === 'aggregate'
}

/**
 * @returns a function that runs work in the shard of `?tenantId=`. @throws {HttpError} 400 `VALIDATION` for an
 * invalid shard
 */
export function runInShard(
  table: Table,
  { operation, options, run }: ShardedRoute,
): (...args: never[]) => unknown {
  const { shard } = table
  const requestIndex = options.args?.indexOf('request') ?? -1
  if (shard === undefined || shard.field.hidden || requestIndex < 0 || hasFilter(operation))
    return run
  return (...args) => {
    const request = args[requestIndex] as HttpRequest | undefined
    return inShard(table, request && readShardOf(shard, request), () => run(...args))
  }
}

function readShardOf(
  { property, field, storage }: Column,
  { query }: HttpRequest,
): string | number | undefined {
  const text = query[property]
  if (text === undefined) return undefined
  const value = typeof text === 'string' ? field.entry.fromText(text) : undefined
  if (typeof value === 'string' || typeof value === 'number') return value
  throw invalid(property, 'type', `must be one ${storage === 'integer' ? 'integer' : 'text'}`)
}

export function shardParameters(
  { type, shard }: Table,
  operation: DocumentedOperation,
): readonly DeclaredParameter[] {
  if (shard === undefined || shard.field.hidden || hasFilter(operation)) return []
  const description = `Where the ${type.name} is, unless the caller's rights or the body say it.`
  const schema = { type: shard.storage === 'integer' ? 'integer' : 'string' }
  return [{ name: shard.property, description, schema }]
}
