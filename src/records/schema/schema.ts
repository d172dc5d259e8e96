/**
 * The tables that records need, in a form that SQL can be written from and catalogues compared with, for both engines.
 */
import type { Dialect } from '../../engines/contract/dialect.js'
import type { IndexSchema, TableSchema } from '../../engines/contract/table-schema.js'
import { findMissingIndexes, listedColumns } from '../model/check-index-names.js'
import { toConstraintName, toIndexName, toSnakeCase } from '../model/column-names.js'
import type { Column } from '../../engines/contract/table.js'
import type { JoinTable } from '../../sql/table.js'
import type { Relation, Table } from '../model/table.js'
import { toCheckSchema, toPreset } from './constraint-schema.js'
import { toIndexSchema } from './index-schema.js'
import { toLiteral } from './literal.js'

/** @param now milliseconds since 1970, for moment columns whose default is the current time */
export function toSchema(tables: Iterable<Table>, dialect: Dialect, now: number): TableSchema[] {
  const all = [...tables]
  const listed = listedColumns(all)
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
      ...[...table.indexes, ...findMissingIndexes(table, listed)].flatMap((index) =>
        toIndexSchema(table, index, dialect),
      ),
      ...(shard === undefined || !isCounted ? [] : [toShardIndex(table.name, shard, table.key)]),
      ...(table.search === undefined ? [] : [dialect.search.schema(table, table.search)]),
    ],
  }
}

/** The index that foreign keys refer to. */
function toShardIndex(table: string, shard: Column, key: Column): IndexSchema {
  const columns = [shard.name, key.name]
  return { name: toIndexName(table, columns, true), columns, unique: true, whereNull: undefined }
}

/** Earlier names of unnamed join tables: they are composed of both ends. */
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
    // For the opposite direction: the primary key serves one only.
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

/** `was` may hold the old name of the field or class, or of the column or table. */
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
