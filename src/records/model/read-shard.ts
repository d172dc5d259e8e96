/**
 * Reads `@Record({ shardBy })`, the field by which rows are distributed over machines, and checks the relations of
 * sharded records.
 */
import type { Problem } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Class } from '../../metadata/class-metadata.js'
import type { RecordOptions } from './record.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation, Table } from './table.js'

interface ShardSource {
  readonly type: Class
  readonly options: Readonly<RecordOptions>
  readonly columns: readonly Column[]
}

/** @returns `undefined` if the record is not sharded, or if the option is invalid */
export function readShard(
  { type, options, columns }: ShardSource,
  problems: Problem[],
): Column | undefined {
  const { shardBy } = options
  if (shardBy === undefined) return undefined
  const where = `@Record of ${type.name}: shardBy`
  const column = columns.find(({ property }) => property === shardBy)
  if (column === undefined) {
    const suggestion = didYouMean(
      shardBy,
      columns.map(({ property }) => property),
    )
    const remedy =
      `${suggestion} Name a field of ${type.name}, as in { shardBy: 'tenantId' }.`.trim()
    problems.push(problemOf(`${where} names "${shardBy}", which is not a field.`, remedy))
    return undefined
  }
  const { storage, isBoolean, isKey, nullable, field } = column
  const isPlain = (storage === 'text' || storage === 'integer') && !isBoolean
  if (isKey || !isPlain) {
    const message = `${where} names "${shardBy}", which is ${isKey ? 'the primary key' : 'not a text or integer'}.`
    problems.push(
      problemOf(message, "Name a field of kind 'string' or 'integer': the tenant's key."),
    )
    return undefined
  }
  if (nullable || field.rules.default !== undefined) {
    const message = `${where} names "${shardBy}", which is not required.`
    const remedy = `Make it required: remove nullable, optional and default from ${shardBy}.`
    problems.push(problemOf(message, remedy))
    return undefined
  }
  return column
}

/** @returns the shard columns of both records, if they are sharded by the same field */
export function shardsOf(table: Table, target: Table): Relation['shards'] {
  const { shard: local } = table
  const { shard: foreign } = target
  if (local === undefined || foreign === undefined || local.property !== foreign.property)
    return undefined
  return Object.freeze({ local, foreign })
}

/**
 * Reports relations between rows on different machines. Relations to records that are not sharded are allowed, because
 * every machine has their rows.
 */
export function checkShards(relation: Relation, problems: Problem[]): void {
  const { name, kind, table, target, local, foreign, shards, onDelete } = relation
  if (table.shard === undefined && target.shard === undefined) return
  const where = `${table.type.name}.${name}`
  if (kind === 'manyToMany') {
    const remedy = 'Declare a record for the pairs, sharded by the same field, with two @BelongsTo.'
    problems.push(problemOf(`${where}: a join table cannot be sharded.`, remedy))
    return
  }
  if (shards === undefined) {
    const problem = findStray(relation)
    if (problem !== undefined)
      problems.push(problemOf(`${where}: ${problem.message}`, problem.remedy))
    return
  }
  const mixed = [shards.local, shards.foreign].filter(({ isUuid }) => !isUuid)
  if (mixed.length === 1) {
    const holder = mixed[0] === shards.local ? table : target
    const message = `${where}: ${shards.local.property} contains UUIDs in one record and texts in ${holder.type.name}.`
    const remedy = `Declare ${holder.type.name}.${shards.local.property} @Field('uuid').`
    problems.push(problemOf(message, remedy))
  }
  if (onDelete === 'setNull') {
    const message = `${where}: onDelete 'setNull' would empty ${shards.local.property} too.`
    problems.push(problemOf(message, "Write onDelete: 'cascade', or leave it out."))
  }
  if (local === shards.local || foreign === shards.foreign) {
    const message = `${where}: ${shards.local.property} is the shard and cannot be the relation's foreign key.`
    problems.push(problemOf(message, "Name another field: { by: '…' }."))
  }
}

/** The problem of a relation between records that are not sharded by the same field. */
function findStray({
  kind,
  table,
  target,
  local,
  foreign,
  onDelete,
}: Relation): Omit<Problem, 'code'> | undefined {
  const isOwned = kind === 'belongsTo'
  const [holder, referenced] = isOwned ? [table, target] : [target, table]
  if (referenced.shard !== undefined) {
    const by = referenced.shard.property
    return {
      message: `${holder.type.name} refers to ${referenced.type.name}, which is sharded by ${by}, and is not sharded by it.`,
      remedy: `Add @Record({ shardBy: '${by}' }) to the class ${holder.type.name} too.`,
    }
  }
  // A foreign key to the tenant is the shard itself.
  if ((isOwned ? local : foreign) === holder.shard) return undefined
  if (!isOwned)
    return {
      message: `the rows of ${holder.type.name} that refer to one ${referenced.type.name} are in every shard.`,
      remedy: `Remove it, and call list({ where: { ${holder.shard?.property ?? ''}, ${foreign.property} } }).`,
    }
  if (onDelete === 'restrict') return undefined
  return {
    message: `onDelete '${onDelete}' would go to every shard of ${holder.type.name}.`,
    remedy: 'Leave onDelete out.',
  }
}

function problemOf(message: string, remedy: string): Problem {
  return { code: 'RECORD_SHARD', message, remedy }
}
