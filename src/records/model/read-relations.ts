/**
 * Reads the relations of a record, with the columns on both sides, and the field by which its rows are distributed over
 * machines (`shardBy`). Reports problems.
 */
import type { ErrorCode } from '../../errors/error-codes.js'
import type { Problem } from '../../errors/declaration-error.js'
import type { Problems } from '../../errors/problems.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { resolveClass, type Class } from '../../metadata/class.js'
import { isSqlName, toJoinName, toTableName } from './generated-names.js'
import { relationMetadataOf, relationOptions, type RelationMetadata } from './relations.js'
import { nameInSchema, schemaOf } from '../../engines/contract/quote.js'
import { reservedColumns, reservedPrefixes, type Column } from '../../engines/contract/table.js'
import type { JoinTable } from '../../sql/table.js'
import type { Relation, Table } from './table.js'
import type { RecordOptions } from './record.js'

/** @param tableOf returns the table of a class, still without relations; `undefined` for a class without a table */
export function readRelations(
  table: Table,
  tableOf: (type: Class) => Table | undefined,
  problems: Problems,
): Relation[] {
  const relations: Relation[] = []
  for (const [name, metadata] of relationMetadataOf(table.type)) {
    const where = `${table.type.name}.${name}`
    problems.addAll(relationOptions[metadata.kind].findProblems(metadata.options, where))
    const placed = problems.at(where)
    const target = readTarget(metadata, tableOf, placed)
    const relation = target && createRelation({ name, table, target, problems: placed }, metadata)
    if (relation === undefined) continue
    checkShards(relation, placed)
    relations.push(relation)
  }
  return relations
}

function readTarget(
  metadata: RelationMetadata,
  tableOf: (type: Class) => Table | undefined,
  problems: Problems,
): Table | undefined {
  const type = resolveClass(metadata.target)
  if (type === undefined) {
    const fix = 'Write a thunk that returns a class: () => Category.'
    problems.add(problem('RELATION_TARGET', 'it does not lead to a class.', fix))
    return undefined
  }
  const before = problems.count
  const table = tableOf(type)
  if (table === undefined && problems.count === before) {
    const message = `${type.name} is not a record.`
    const fix = `Write @Record before class ${type.name} and give it @Field('id').`
    problems.add(problem('RELATION_TARGET', message, fix))
  }
  return table
}

interface RelationEnds {
  readonly name: string
  readonly table: Table
  readonly target: Table
  readonly problems: Problems
}

function createRelation(ends: RelationEnds, metadata: RelationMetadata): Relation | undefined {
  if (metadata.kind === 'belongsTo')
    return createBelongsTo(ends, metadata.options.by, metadata.options.onDelete)
  if (metadata.kind === 'hasMany') return createHasMany(ends, metadata.options.by)
  const { name, table, target } = ends
  const join = createJoinTable(ends, metadata.options)
  const [local, foreign] = [table.key, target.key]
  return freeze({
    name,
    kind: metadata.kind,
    table,
    target,
    local,
    foreign,
    join,
    onDelete: 'restrict',
    shards: undefined,
  })
}

function createBelongsTo(
  ends: RelationEnds,
  by: string | undefined,
  onDelete: Relation['onDelete'] = 'restrict',
): Relation | undefined {
  const { name, table, target, problems } = ends
  const local = findForeignKey(ends, table, by ?? `${name}Id`, target.key)
  if (local === undefined) return undefined
  if (onDelete === 'setNull' && !local.nullable) {
    const message = `onDelete 'setNull' needs a field that can be null, but ${local.property} cannot.`
    problems.add(problem('RELATION_ON_DELETE', message, `Add nullable: true to ${local.property}.`))
  }
  return freeze({
    name,
    kind: 'belongsTo',
    table,
    target,
    local,
    foreign: target.key,
    join: undefined,
    onDelete,
    shards: shardsOf(table, target),
  })
}

function createHasMany(ends: RelationEnds, by: string | undefined): Relation | undefined {
  const { name, table, target } = ends
  const keyField = by ?? backReference(target, table.type) ?? `${lowerFirst(table.type.name)}Id`
  const foreign = findForeignKey(ends, target, keyField, table.key)
  if (foreign === undefined) return undefined
  return freeze({
    name,
    kind: 'hasMany',
    table,
    target,
    local: table.key,
    foreign,
    join: undefined,
    onDelete: 'restrict',
    shards: shardsOf(table, target),
  })
}

/** The field by which the other side belongs to `type`, if there is exactly one. */
function backReference(target: Table, type: Class): string | undefined {
  const fields = [...relationMetadataOf(target.type)].flatMap(([name, metadata]) =>
    metadata.kind === 'belongsTo' && resolveClass(metadata.target) === type
      ? [metadata.options.by ?? `${name}Id`]
      : [],
  )
  return fields.length === 1 ? fields[0] : undefined
}

/** @param holder the table with the foreign key, @param key the key that it holds */
function findForeignKey(
  { problems }: RelationEnds,
  holder: Table,
  property: string,
  key: Column,
): Column | undefined {
  const column = holder.byProperty.get(property)
  if (column === undefined) {
    const kind = key.storage === 'integer' ? 'integer' : 'string'
    const suggestion = didYouMean(property, holder.byProperty.keys())
    problems.add(
      problem(
        'RELATION_FIELD',
        `${holder.type.name} has no field "${property}".`,
        `${suggestion} Add @Field('${kind}') ${property} to ${holder.type.name}, or name the field: { by: '…' }.`.trim(),
      ),
    )
    return undefined
  }
  if (column.storage === key.storage) return column
  const message = `${holder.type.name}.${property} is of kind "${column.field.kind}" and cannot hold a key of kind "${key.isUuid ? 'uuid' : 'integer'}".`
  const fix = `Declare it @Field('${key.isUuid ? 'string' : 'integer'}').`
  problems.add(problem('RELATION_KIND', message, fix))
  return undefined
}

function createJoinTable(
  { name, table, target, problems }: RelationEnds,
  options: { readonly through?: string; readonly from?: string; readonly to?: string },
): JoinTable {
  const itself = table === target
  const defaultName = toJoinName(table.name, target.name)
  const [one, other] = joinedNames(table, target)
  const join = {
    name:
      options.through === undefined || schemaOf(options.through) !== undefined
        ? (options.through ?? defaultName)
        : toTableName(schemaOf(defaultName), options.through),
    from: options.from ?? `${one}_id`,
    to: options.to ?? (itself ? `${name}_${other}_id`.toLowerCase() : `${other}_id`),
  }
  const columns = [join.from, join.to].map((one) => one.toLowerCase())
  const isReserved =
    columns.some((one) => reservedColumns.has(one)) ||
    reservedPrefixes.some((prefix) =>
      join.name.split('.').some((part) => part.toLowerCase().startsWith(prefix)),
    )
  const names = [...join.name.split('.'), join.from, join.to]
  const isWrong = names.length > 4 || names.some((part) => !isSqlName(part))
  if (isWrong || isReserved || columns[0] === columns[1]) {
    const message = `the join table cannot be ${join.name} (${join.from}, ${join.to}).`
    const fix = "Name it and its columns: { through: '…', from: '…', to: '…' }."
    problems.add(problem('RELATION_JOIN', message, fix))
  }
  return Object.freeze(join)
}

/** The names by which a join table's columns are called. With equal names in two schemas, the schemas are part of them. */
function joinedNames(table: Table, target: Table): readonly [table: string, target: string] {
  const [one, other] = [nameInSchema(table.name), nameInSchema(target.name)]
  if (one !== other || table === target) return [one, other]
  return [table.name.replace('.', '_'), target.name.replace('.', '_')]
}

function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1)
}

function freeze(relation: Relation): Relation {
  return Object.freeze(relation)
}

function problem(code: ErrorCode, message: string, fix: string): Problem {
  return { code, message, remedy: fix }
}

interface ShardSource {
  readonly type: Class
  readonly options: Readonly<RecordOptions>
  readonly columns: readonly Column[]
}

/** @returns `undefined` if the record is not sharded, or if the option is invalid */
export function readShard(
  { type, options, columns }: ShardSource,
  problems: Problems,
): Column | undefined {
  const { shardBy } = options
  if (shardBy === undefined) return undefined
  const placed = problems.at(`@Record of ${type.name}`)
  const column = columns.find(({ property }) => property === shardBy)
  if (column === undefined) {
    const suggestion = didYouMean(
      shardBy,
      columns.map(({ property }) => property),
    )
    const fix = `${suggestion} Name a field of ${type.name}, as in { shardBy: 'tenantId' }.`.trim()
    placed.add(problemOf(`shardBy names "${shardBy}", which is not a field.`, fix))
    return undefined
  }
  const { storage, isBoolean, isKey, nullable, field } = column
  const isPlain = (storage === 'text' || storage === 'integer') && !isBoolean
  if (isKey || !isPlain) {
    const message = `shardBy names "${shardBy}", which is ${isKey ? 'the primary key' : 'not a text or integer'}.`
    placed.add(problemOf(message, "Name a field of kind 'string' or 'integer': the tenant's key."))
    return undefined
  }
  if (nullable || field.rules.default !== undefined) {
    const message = `shardBy names "${shardBy}", which is not required.`
    const fix = `Make it required: remove nullable, optional and default from ${shardBy}.`
    placed.add(problemOf(message, fix))
    return undefined
  }
  return column
}

/** @returns the shard columns of both records, if they are sharded by the same field */
function shardsOf(table: Table, target: Table): Relation['shards'] {
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
function checkShards(relation: Relation, problems: Problems): void {
  const { kind, table, target, local, foreign, shards, onDelete } = relation
  if (table.shard === undefined && target.shard === undefined) return
  if (kind === 'manyToMany') {
    const fix = 'Declare a record for the pairs, sharded by the same field, with two @BelongsTo.'
    problems.add(problemOf('a join table cannot be sharded.', fix))
    return
  }
  if (shards === undefined) {
    const problem = findCrossShardProblem(relation)
    if (problem !== undefined) problems.add(problemOf(problem.message, problem.remedy))
    return
  }
  const mixed = [shards.local, shards.foreign].filter(({ isUuid }) => !isUuid)
  if (mixed.length === 1) {
    const holder = mixed[0] === shards.local ? table : target
    const message = `${shards.local.property} contains UUIDs in one record and texts in ${holder.type.name}.`
    const fix = `Declare ${holder.type.name}.${shards.local.property} @Field('uuid').`
    problems.add(problemOf(message, fix))
  }
  if (onDelete === 'setNull') {
    const message = `onDelete 'setNull' would empty ${shards.local.property} too.`
    problems.add(problemOf(message, "Write onDelete: 'cascade', or leave it out."))
  }
  if (local === shards.local || foreign === shards.foreign) {
    const message = `${shards.local.property} is the shard and cannot be the relation's foreign key.`
    problems.add(problemOf(message, "Name another field: { by: '…' }."))
  }
}

/** The problem of a relation between records that are not sharded by the same field. */
function findCrossShardProblem({
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

function problemOf(message: string, fix: string): Problem {
  return { code: 'RECORD_SHARD', message, remedy: fix }
}
