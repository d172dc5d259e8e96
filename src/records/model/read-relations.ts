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
import { nameInSchema, schemaOf } from '../../engines/contract/quote.js'
import { compositeColumn } from './composite-column.js'
import { foreignKeyFields } from './read-columns.js'
import {
  relationMetadataOf,
  relationOptions,
  type ManyToManyOptions,
  type RelationMetadata,
} from './relations.js'
import {
  hasKey,
  reservedColumns,
  reservedPrefixes,
  storedColumnsOf,
  type Column,
} from '../../engines/contract/table.js'
import type { JoinEnd, JoinTable } from '../../sql/table.js'
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
    if (target !== undefined && lacksKey(table, target, metadata, placed)) continue
    const relation = target && createRelation({ name, table, target, problems: placed }, metadata)
    if (relation === undefined) continue
    checkShards(relation, placed)
    relations.push(relation)
  }
  return relations
}

/** Reports a relation that needs the key of a record without one. */
function lacksKey(
  table: Table,
  target: Table,
  { kind }: RelationMetadata,
  problems: Problems,
): boolean {
  const needed = kind === 'belongsTo' ? [target] : kind === 'hasMany' ? [table] : [table, target]
  const keyless = needed.find((one) => !hasKey(one))
  if (keyless === undefined) return false
  const message = `${keyless.type.name} has no key that other rows could refer to.`
  problems.add(problem('RELATION_TARGET', message, 'Remove the relation, or key: false.'))
  return true
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

/** The option `by`: one field, or the fields that hold a key of several. */
type ForeignKeyFields = string | readonly string[]

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
  by: ForeignKeyFields | undefined,
  onDelete: Relation['onDelete'] = 'restrict',
): Relation | undefined {
  const { table, target, problems, name } = ends
  const local = findForeignKey(ends, table, belongsToFields(ends, by), target.key)
  if (local === undefined) return undefined
  const fixed = storedColumnsOf(local).find(({ nullable }) => !nullable)
  if (onDelete === 'setNull' && fixed !== undefined) {
    const message = `onDelete 'setNull' needs a field that can be null, but ${fixed.property} cannot.`
    problems.add(problem('RELATION_ON_DELETE', message, `Add nullable: true to ${fixed.property}.`))
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

/** The fields of the record that hold the key of the relation's target. */
function belongsToFields(
  { name, table, target }: Pick<RelationEnds, 'name' | 'table' | 'target'>,
  by: ForeignKeyFields | undefined,
): ForeignKeyFields {
  const { parts } = target.key
  if (parts === undefined) return by ?? `${name}Id`
  const key = parts.map(({ property }) => property)
  return foreignKeyFields(name, by, key, table.shape, table === target)
}

function createHasMany(ends: RelationEnds, by: ForeignKeyFields | undefined): Relation | undefined {
  const { name, table, target } = ends
  const fields = by ?? backReference(ends) ?? defaultBackReference(ends)
  const foreign = findForeignKey(ends, target, fields, table.key)
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

/** The fields by which the other side belongs to the table, if it does so exactly once. */
function backReference({ table, target }: RelationEnds): ForeignKeyFields | undefined {
  const fields = [...relationMetadataOf(target.type)].flatMap(([name, metadata]) =>
    metadata.kind === 'belongsTo' && resolveClass(metadata.target) === table.type
      ? [belongsToFields({ name, table: target, target: table }, metadata.options.by)]
      : [],
  )
  return fields.length === 1 ? fields[0] : undefined
}

function defaultBackReference({ table, target }: RelationEnds): ForeignKeyFields {
  const name = lowerFirst(table.type.name)
  return belongsToFields({ name, table: target, target: table }, undefined)
}

/** @param holder the table with the foreign key, @param key the key that it holds */
function findForeignKey(
  ends: RelationEnds,
  holder: Table,
  fields: ForeignKeyFields,
  key: Column,
): Column | undefined {
  const names = typeof fields === 'string' ? [fields] : fields
  const keyColumns = storedColumnsOf(key)
  if (names.length !== keyColumns.length) {
    const keyFields = keyColumns.map(({ property }) => property)
    const message = `by names ${namesText(names)}, but the key that it holds is ${namesText(keyFields)}.`
    const example = keyFields.map((field) => `'${field}'`).join(', ')
    ends.problems.add(
      problem('RELATION_FIELD', message, `Name a field for each of them, in order: [${example}].`),
    )
    return undefined
  }
  const columns = names.map((name, index) =>
    findForeignColumn(ends, holder, name, keyColumns[index] as Column),
  )
  const found = columns.filter((column) => column !== undefined)
  if (found.length < names.length) return undefined
  return key.parts === undefined ? found[0] : compositeColumn(found)
}

function namesText(names: readonly string[]): string {
  return names.length === 0 ? 'no field' : names.map((name) => `"${name}"`).join(' and ')
}

function findForeignColumn(
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
  const kind = key.isUuid ? 'uuid' : key.isKey ? 'integer' : key.field.kind
  const message = `${holder.type.name}.${property} is of kind "${column.field.kind}" and cannot hold a key of kind "${kind}".`
  const fix = `Declare it @Field('${kind === 'uuid' ? 'string' : kind}').`
  problems.add(problem('RELATION_KIND', message, fix))
  return undefined
}

function createJoinTable(
  { name, table, target, problems }: RelationEnds,
  options: ManyToManyOptions,
): JoinTable {
  const itself = table === target
  const defaultName = toJoinName(table.name, target.name)
  const [one, other] = joinedNames(table, target)
  const join: JoinTable = {
    name:
      options.through === undefined || schemaOf(options.through) !== undefined
        ? (options.through ?? defaultName)
        : toTableName(schemaOf(defaultName), options.through),
    from: joinEnd(table.key, one, options.from),
    to: joinEnd(target.key, itself ? `${name}_${other}`.toLowerCase() : other, options.to),
  }
  const columns = [...join.from.columns, ...join.to.columns]
  const names = columns.map((one) => one.toLowerCase())
  const isReserved =
    names.some((one) => reservedColumns.has(one)) ||
    reservedPrefixes.some((prefix) =>
      join.name.split('.').some((part) => part.toLowerCase().startsWith(prefix)),
    )
  const nameParts = join.name.split('.')
  const isWrong =
    nameParts.length > 2 || [...nameParts, ...columns].some((part) => !isSqlName(part))
  const isIncomplete = [join.from, join.to].some(
    (end) => end.columns.length !== storedColumnsOf(end.key).length,
  )
  const isTwice = new Set(names).size < names.length
  if (isWrong || isReserved || isTwice || isIncomplete) {
    const message = `the join table cannot be ${join.name} (${columns.join(', ')}).`
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

/** @param columns the option; default: the prefix with `_id`, or with the column of each part of the key */
function joinEnd(
  key: Column,
  prefix: string,
  columns: string | readonly string[] = key.parts === undefined
    ? `${prefix}_id`
    : key.parts.map((part) => `${prefix}_${part.name}`),
): JoinEnd {
  return Object.freeze({ columns: typeof columns === 'string' ? [columns] : columns, key })
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
  readonly key: Column
  readonly columns: readonly Column[]
}

/** @returns `undefined` if the record is not sharded, or if the option is invalid */
export function readShard(
  { type, options, key, columns }: ShardSource,
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
  if (key.parts !== undefined) {
    const fix = `Give ${type.name} a key of its own, @Field('id', { key: 'uuid' }), and make the fields unique.`
    placed.add(problemOf('shardBy needs a key of one field.', fix))
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
