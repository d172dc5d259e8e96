/** The tables that records want, in words that both engines' SQL and both engines' catalogues can be compared in. */
import type { Dialect } from '../engines/engine.js'
import { toIndexName, toSnakeCase } from '../model/column-names.js'
import { toForeignIndex } from '../model/read-indexes.js'
import type { Column, JoinTable, Relation, Table, TableIndex } from '../model/table.js'
import { toCheckSchema, toPreset } from './constraint-schema.js'
import { toIndexSchema } from './index-schema.js'
import { toLiteral } from './literal.js'
import { toConstraintName } from '../statements/write-faults.js'

export interface TableSchema {
  readonly name: string
  /** Names that it may have had before. */
  readonly was?: readonly string[] | undefined
  readonly columns: readonly ColumnSchema[]
  /** Names of the key's columns; one, or two for a table of pairs and for a sharded one. */
  readonly primaryKey: readonly string[]
  readonly isSharded?: boolean
  readonly foreignKeys: readonly ForeignKeySchema[]
  readonly indexes: readonly IndexSchema[]
}

export interface ColumnSchema {
  readonly name: string
  /** Names that it may have had before. */
  readonly was?: readonly string[] | undefined
  /** As it stands in `create table`: `text collate "C"`. */
  readonly type: string
  readonly nullable: boolean
  /** The database counts it up. */
  readonly increment: boolean
  /** SQL of a value for rows that are there before the column is; `undefined` where the record gives none. */
  readonly fill: string | undefined
  /** SQL of what a row gets that another program writes without it. */
  readonly preset?: string | undefined
  readonly check?: CheckSchema | undefined
  /** Where it comes from, for messages: `Product.price`. */
  readonly origin: string
}

/** What the database itself holds the values of a column against. */
export interface CheckSchema {
  readonly name: string
  /** `"price" >= 0` */
  readonly sql: string
}

export interface ForeignKeySchema {
  readonly name: string
  readonly column: string
  readonly table: string
  readonly foreignColumn: string
  /** Of tables that are sharded by the same column: it stands before the others, on both sides. */
  readonly shard?: { readonly column: string; readonly foreignColumn: string } | undefined
  readonly onDelete: 'restrict' | 'cascade' | 'set null'
}

export interface IndexSchema {
  readonly name: string
  readonly columns: readonly string[]
  readonly unique: boolean
  /** Only rows where this column is null count. */
  readonly whereNull: string | undefined
  /** SQL of each part, where it is not the bare column; of the rows in it; of its method; and what it needs. */
  readonly parts?: readonly string[]
  readonly where?: string | undefined
  readonly using?: 'gin'
  readonly extension?: 'pg_trgm'
  /** Columns that an expression in it reads. */
  readonly over?: readonly string[]
  /** What serves where the database has no such index. `drop` says nothing where it is not there. */
  readonly made?: { readonly create: readonly string[]; readonly drop: readonly string[] }
}

/** @param now milliseconds since 1970, for columns of moments whose default is now */
export function toSchema(tables: Iterable<Table>, dialect: Dialect, now: number): TableSchema[] {
  const all = [...tables]
  const listed = new Set<Column>()
  for (const { relations } of all)
    for (const { kind, foreign } of relations.values()) if (kind === 'hasMany') listed.add(foreign)
  const schemas: TableSchema[] = []
  const joins = new Map<string, TableSchema>()
  for (const table of all) {
    schemas.push(toTableSchema(table, listed, dialect, now))
    for (const relation of table.relations.values()) {
      const { join } = relation
      if (join === undefined || joins.has(join.name)) continue
      joins.set(join.name, toJoinSchema(table, relation, join, dialect))
    }
  }
  return [...schemas, ...joins.values()]
}

function toTableSchema(
  table: Table,
  listed: ReadonlySet<Column>,
  dialect: Dialect,
  now: number,
): TableSchema {
  const relations = [...table.relations.values()].filter(({ kind }) => kind === 'belongsTo')
  const { shard } = table
  // Where only a key of one column is counted up, both together are unique beside it.
  const isCounted = dialect.changes.kind === 'anew' && table.key.generated === 'increment'
  const byColumn = new Map(relations.map((relation) => [relation.local.name, relation]))
  return {
    name: table.name,
    was: toOldNames(table.options.was),
    columns: table.columns.map((column) => ({
      name: column.name,
      was: toOldNames(column.field.rules.was),
      type: dialect.columnType(column),
      nullable: column.nullable,
      increment: column.generated === 'increment',
      fill: toFill(column, dialect, now),
      preset: toPreset(column, dialect),
      check: toCheckSchema(table.name, column, dialect),
      origin: `${table.type.name}.${column.property}`,
    })),
    ...(shard !== undefined && { isSharded: true }),
    primaryKey: [...(shard === undefined || isCounted ? [] : [shard.name]), table.key.name],
    foreignKeys: [...byColumn.values()].map(({ local, target, foreign, onDelete, shards }) => ({
      name: toConstraintName(table.name, local.name),
      column: local.name,
      table: target.name,
      foreignColumn: foreign.name,
      shard: shards && { column: shards.local.name, foreignColumn: shards.foreign.name },
      onDelete: onDelete === 'setNull' ? 'set null' : onDelete,
    })),
    indexes: [
      ...[...table.indexes, ...missingIndexes(table, listed)].flatMap((index) =>
        toIndexSchema(table, index, dialect),
      ),
      ...(shard === undefined || !isCounted ? [] : [toShardIndex(table.name, shard, table.key)]),
      ...(table.search === undefined ? [] : [dialect.search.schema(table, table.search)]),
    ],
  }
}

/** What foreign keys refer to. */
function toShardIndex(table: string, shard: Column, key: Column): IndexSchema {
  const columns = [shard.name, key.name]
  return { name: toIndexName(table, columns, true), columns, unique: true, whereNull: undefined }
}

/** For lists of records that say nothing of the other side: without `@BelongsTo` their keys are plain fields. */
function missingIndexes(
  { name, key, columns, indexes }: Table,
  listed: ReadonlySet<Column>,
): TableIndex[] {
  return columns
    .filter((column) => listed.has(column) && column.field.rules.index !== false)
    .filter((column) => !indexes.some((index) => index.columns[0] === column))
    .map((column) => toForeignIndex(name, column, key))
}

/** Of tables of pairs that nobody gave a name: they are called by both ends. */
function oldJoinNames(table: Table, target: Table, { name }: JoinTable): string[] {
  const [from, to] = [table, target].map((end) => [
    end.name,
    ...(toOldNames(end.options.was) ?? []),
  ]) as [string[], string[]]
  if (name !== [table.name, target.name].sort().join('_')) return []
  const names = from.flatMap((one) => to.map((other) => [one, other].sort().join('_')))
  return names.filter((one) => one !== name)
}

function toJoinSchema(
  table: Table,
  relation: Relation,
  join: JoinTable,
  dialect: Dialect,
): TableSchema {
  const { target } = relation
  const ends = [
    { column: join.from, key: table.key, other: table.name, end: table },
    { column: join.to, key: target.key, other: target.name, end: target },
  ]
  const origin = `${table.type.name}.${relation.name}`
  return {
    name: join.name,
    was: oldJoinNames(table, target, join),
    columns: ends.map(({ column, key, end }) => ({
      name: column,
      was: toOldNames(end.options.was)
        ?.filter(() => column === `${end.name}_id`)
        .map((name) => `${name}_id`),
      type: dialect.columnType(key),
      nullable: false,
      increment: false,
      fill: undefined,
      origin,
    })),
    primaryKey: [join.from, join.to],
    foreignKeys: ends.map(({ column, key, other }) => ({
      name: toConstraintName(join.name, column),
      column,
      table: other,
      foreignColumn: key.name,
      onDelete: 'cascade',
    })),
    // The other way round: the key serves one direction only.
    indexes: [
      {
        name: toIndexName(join.name, [join.to], false),
        columns: [join.to, join.from],
        unique: false,
        whereNull: undefined,
      },
    ],
  }
}

/** A class says how its field or itself was called, or the column or table. */
function toOldNames(was: string | undefined): readonly string[] | undefined {
  return was === undefined ? undefined : [...new Set([was, toSnakeCase(was)])]
}

function toFill(column: Column, dialect: Dialect, now: number): string | undefined {
  const { rules, entry } = column.field
  const value: unknown = rules.default
  if (column.isKey || value === undefined || typeof value === 'function') return undefined
  const moment = value === 'now' ? entry.now?.(new Date(now).toISOString()) : undefined
  return toLiteral(moment ?? value, column, dialect)
}
