/** Writes the SQL that creates tables. It is readable, because migrations contain it and people review them. */
import type {
  ActualForeignKey,
  CheckSchema,
  ColumnSchema,
  ForeignKeySchema,
  IndexSchema,
  TableSchema,
} from './table-schema.js'
import type { Dialect } from './dialect.js'
import { quote, quoteInSchemaOf, quoteTable } from './quote.js'

/**
 * ```sql
 * create table "product" (
 *   "id" integer primary key autoincrement,
 *   "name" text not null,
 *   constraint "product_category_id_fkey" foreign key ("category_id") references "category" ("id") on delete restrict
 * )
 * ```
 *
 * @param name another name than the schema's, for a table that replaces it later
 */
export function writeCreateTable(
  schema: TableSchema,
  dialect: Dialect,
  name = schema.name,
): string {
  const single = schema.primaryKey.length === 1 ? schema.primaryKey[0] : undefined
  const lines = schema.columns.map((column) => writeColumn(column, dialect, column.name === single))
  if (schema.primaryKey.length > 1)
    lines.push(`primary key (${schema.primaryKey.map(quote).join(', ')})`)
  lines.push(...(schema.checks ?? []).map(writeCheck))
  // An engine that changes tables in place adds references after all tables exist. Here they must be part of the table.
  if (dialect.tables.changes.kind === 'anew') lines.push(...schema.foreignKeys.map(writeForeignKey))
  const { partitions } = schema
  const range = partitions === undefined ? '' : ` partition by range (${quote(partitions.column)})`
  return `create table ${quoteTable(name)} (\n  ${lines.join(',\n  ')}\n)${range}`
}

/** The first partitions of a new table, which nothing uses yet. */
export function writeFirstPartitions({ name, partitions }: TableSchema): string[] {
  return (partitions?.first ?? []).map(
    (one) =>
      `create table ${quoteTable(one.name)} partition of ${quoteTable(name)} for values from (${one.from}) to (${one.to})`,
  )
}

/** It stays if all its tables are dropped. */
export function writeCreateSchema(schema: string): string {
  return `create schema if not exists ${quote(schema)}`
}

export function writeAddForeignKey(table: string, key: ForeignKeySchema): string {
  return `alter table ${quoteTable(table)} add ${writeForeignKey(key)}`
}

export function dropForeignKey(table: string, name: string): string {
  return `alter table ${quoteTable(table)} drop constraint if exists ${quote(name)}`
}

export function writeAddCheck(table: string, check: CheckSchema): string {
  return `alter table ${quoteTable(table)} add ${writeCheck(check)}`
}

function writeCreateIndex(table: string, index: IndexSchema): string {
  const { name, columns, unique, using } = index
  const parts = index.parts ?? columns.map(quote)
  const rows = indexCondition(index)
  const where = rows === undefined ? '' : ` where ${rows}`
  const method = using === undefined ? '' : ` using ${using}`
  return `create ${unique ? 'unique ' : ''}index ${quote(name)} on ${quoteTable(table)}${method} (${parts.join(', ')})${where}`
}

/** Converts a foreign key of the catalogue to the form that SQL is written from. */
export function toForeignKey(
  table: string,
  {
    columns,
    table: target,
    name = `${table}_${referringColumn({ columns })}_fkey`,
    foreignColumns = ['id'],
    onDelete = 'restrict',
  }: ActualForeignKey,
): ForeignKeySchema {
  return { name, columns, table: target, foreignColumns, onDelete }
}

/** The column of the field that refers, after which constraints are named: the last one, behind the shard. */
export function referringColumn({ columns }: Pick<ActualForeignKey, 'columns'>): string {
  return columns.at(-1) ?? ''
}

/** Whether two references of a table are those of one field, with the shard or without it. */
export function isOfSameField(
  one: Pick<ActualForeignKey, 'columns'>,
  other: Pick<ActualForeignKey, 'columns'>,
): boolean {
  return referringColumn(one) === referringColumn(other)
}

/** The reference of the database that belongs to one of the schema: over the same columns, or with the shard or without it. */
export function findReference(
  key: ForeignKeySchema,
  { foreignKeys }: Pick<TableSchema, 'foreignKeys'>,
  actual: readonly ActualForeignKey[],
): ActualForeignKey | undefined {
  const isSame = (
    one: Pick<ActualForeignKey, 'columns'>,
    other: Pick<ActualForeignKey, 'columns'>,
  ) => one.columns.join() === other.columns.join()
  return (
    actual.find((one) => isSame(one, key)) ??
    actual.find((one) => isOfSameField(one, key) && !foreignKeys.some((its) => isSame(its, one)))
  )
}

/** The SQL condition of the rows in an index; `undefined` for all rows. */
export function indexCondition({ where, whereNull }: IndexSchema): string | undefined {
  return where ?? (whereNull === undefined ? undefined : `${quote(whereNull)} is null`)
}

/** The statements that create an index, and the extension that it needs. */
export function writeIndex(table: string, index: IndexSchema): string[] {
  const { extension, statements } = index
  if (statements !== undefined) return [...statements.create]
  const create = writeCreateIndex(table, index)
  return extension === undefined
    ? [create]
    : [`create extension if not exists ${extension}`, create]
}

export function writeDropIndex(
  table: string,
  { name, statements }: Pick<IndexSchema, 'name' | 'statements'>,
): string[] {
  return statements === undefined
    ? [`drop index ${quoteInSchemaOf(table, name)}`]
    : [...statements.drop]
}

/** Existing rows get the column's default or `fill`; without one the column must be nullable or the table empty. */
export function writeAddColumn(table: string, column: ColumnSchema, dialect: Dialect): string {
  const filled = fillsOnly(column) ? { ...column, preset: column.fill } : column
  return `alter table ${quoteTable(table)} add column ${writeColumn(filled, dialect, false)}`
}

/** True if existing rows need a default when the column is added, and the column has none afterwards. */
export function fillsOnly({ preset, fill, nullable }: ColumnSchema): boolean {
  return preset === undefined && fill !== undefined && !nullable
}

export function writeDropDefault(table: string, { name }: ColumnSchema): string {
  return `alter table ${quoteTable(table)} alter column ${quote(name)} drop default`
}

function writeColumn(column: ColumnSchema, dialect: Dialect, isKey: boolean): string {
  const name = quote(column.name)
  if (column.increment) return dialect.types.incrementColumn(name, isKey)
  const key = isKey ? ' primary key' : ''
  const preset = column.preset === undefined ? '' : ` default ${column.preset}`
  const checks = (column.checks ?? []).map((check) => ` ${writeCheck(check)}`).join('')
  return `${name} ${column.type}${column.nullable ? '' : ' not null'}${preset}${key}${checks}`
}

function writeCheck({ name, sql }: CheckSchema): string {
  return `constraint ${quote(name)} check (${sql})`
}

export function writeForeignKey({
  name,
  columns,
  table,
  foreignColumns,
  onDelete,
}: ForeignKeySchema): string {
  const [from, to] = [columns, foreignColumns].map((names) => names.map(quote).join(', '))
  return `constraint ${quote(name)} foreign key (${from}) references ${quoteTable(table)} (${to}) on delete ${onDelete}`
}
