/**
 * The tables that records need, in a form that SQL can be written from and catalogues compared with, for both engines.
 */
import { DeclarationError } from '../../errors/declaration-error.js'
import { Problems } from '../../errors/problems.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import {
  testsOf,
  findMissingIndexes,
  listedColumns,
  type ListedKeys,
} from '../model/read-indexes.js'
import {
  storedColumnsOf,
  type Column,
  type IndexForm,
  type TableIndex,
} from '../../engines/contract/table.js'
import type { Table, Relation } from '../model/table.js'
import { nameInSchema, quote } from '../../engines/contract/quote.js'
import type {
  CheckSchema,
  Distribution,
  NamedType,
  IndexSchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import {
  toCheckName,
  toConstraintName,
  toIndexName,
  toColumnName,
  toJoinName,
  toSnakeCase,
} from '../model/generated-names.js'
import { operatorOf, readOperator } from '../../sql/operators.js'
import type { JoinTable } from '../../sql/table.js'
import { hasTimedKey } from '../model/partitions.js'
import { toPartitionsSchema } from './partitions.js'
import { toProperty } from '../../fields/kinds/table.js'
import { toStoredJson } from '../model/codec.js'

/**
 * Writes the order of an index's columns, its condition and its trigrams. Sources: PostgreSQL, Indexes; SQLite, Partial
 * Indexes.
 *
 * @returns an empty list if the database has no such index
 */
function toIndexSchema(table: Table, index: TableIndex, dialect: Dialect): IndexSchema[] {
  const { name, columns, unique, form } = index
  const schema: IndexSchema = {
    name,
    columns: columns.map((column) => column.name),
    unique,
    whereNull: unique ? table.deletedAt?.name : undefined,
  }
  if (form === undefined) {
    const isPlain = columns.every((column) => dialect.values.comparable?.(column) === undefined)
    return [isPlain ? schema : { ...schema, parts: columns.map((one) => indexPart(one, dialect)) }]
  }
  const undeleted = schema.whereNull === undefined ? [] : [`${quote(schema.whereNull)} is null`]
  const rows = form.where && writeRows(table, form.where, dialect)
  const where = rows && [rows, ...undeleted].join(' and ')
  if (!form.like) return [{ ...schema, where, parts: writeOrders(columns, form, dialect) }]
  if (!dialect.can.trigramIndexes) return []
  // One index for `like`, one for case-insensitive comparisons.
  const [before, after] = dialect.text.fold
  const parts = columns.flatMap(({ name: column, isUuid, type }) => {
    const isCast = isUuid || (type !== undefined && dialect.types.declared !== undefined)
    const text = isCast ? (dialect.values.uuidText ?? []).join(quote(column)) : quote(column)
    return [isCast ? `(${text})` : text, `${before}${text}${after}`].map(
      (part) => `${part} gin_trgm_ops`,
    )
  })
  return [{ ...schema, where, parts, using: 'gin', extension: 'pg_trgm' }]
}

/** Nulls come last in either direction, as they do in lists. SQLite has no syntax for it. */
function writeOrders(columns: readonly Column[], { orders }: IndexForm, dialect: Dialect) {
  return columns.map((column, index) => {
    const { descending = false, nullsFirst = false } = orders[index] ?? {}
    const nulls =
      column.nullable && dialect.can.nullOrderInIndexes
        ? nullsFirst
          ? ' nulls first'
          : ' nulls last'
        : ''
    return `${indexPart(column, dialect)}${descending ? ' desc' : ''}${nulls}`
  })
}

/** A column as statements compare it, so that they find the index. */
function indexPart(column: Column, dialect: Dialect): string {
  const name = quote(column.name)
  return dialect.values.comparable?.(column)?.replaceAll('{c}', () => name) ?? name
}

function writeRows(
  table: Table,
  where: Readonly<Record<string, unknown>>,
  dialect: Dialect,
): string {
  const tests = Object.entries(where).flatMap(([property, test]) => {
    const column = table.byProperty.get(property) as Column
    return testsOf(test).map(([operator, operand]) => writeTest(column, operator, operand, dialect))
  })
  return tests.join(' and ')
}

function writeTest(column: Column, operator: string, operand: unknown, dialect: Dialect): string {
  const name = quote(column.name)
  const literal = (value: unknown): string => toLiteral(value, column, dialect) ?? 'null'
  if (operator === 'isNull' || operand === null)
    return `${name} is ${operand === false ? 'not ' : ''}null`
  if (operator === 'in') return `${name} in (${(operand as unknown[]).map(literal).join(', ')})`
  return `${name} ${symbolOf(operator)} ${literal(operand)}`
}

function symbolOf(operator: string): string {
  const name = readOperator(operator)
  return (name && operatorOf(name).symbol) ?? '='
}

/**
 * Makes one constraint of `min`, `max`, `oneOf` and `maxLength`, so that other programs obey the rules of a field too. It
 * is left out if the database could not break any rule, and with `check: false`. Another constraint tests the form of
 * stored values. Sources: PostgreSQL, Constraints; SQLite, CREATE TABLE.
 */
function toCheckSchemas(table: string, column: Column, dialect: Dialect): CheckSchema[] {
  const tests = hasConstraints(column) ? writeTests(column, dialect) : []
  const form = dialect.types.formTest?.(column)
  const toSchemaOf = (test: string): Pick<CheckSchema, 'name' | 'sql'> => ({
    name: toCheckName(table, column.name, test),
    sql: test.replaceAll('{c}', () => quote(column.name)),
  })
  return [
    ...(tests.length === 0 ? [] : [toSchemaOf(tests.join(' and '))]),
    ...(form === undefined ? [] : [{ ...toSchemaOf(form), isOfForm: true }]),
  ]
}

/** SQL of the default for rows that are written without a value; `undefined` if only the record can compute it. */
function toPreset(column: Column, dialect: Dialect): string | undefined {
  const { rules, entry } = column.field
  const value: unknown = rules.default
  if (!hasConstraints(column, true) || value === undefined || value === null) return undefined
  if (typeof value === 'function') return undefined
  if (value === 'now' && entry.now !== undefined) return dialect.types.now(column)
  return toLiteral(value, column, dialect)
}

/** Lists and JSON have no checks: their rules apply to the values within them. */
function hasConstraints({ isKey, storage, field }: Column, ofLists = false): boolean {
  return !isKey && field.rules.check !== false && (ofLists || storage !== 'json')
}

function writeTests(column: Column, dialect: Dialect): string[] {
  const { min, max, oneOf, maxLength } = column.field.rules
  const literal = (value: unknown): string | undefined => toLiteral(value, column, dialect)
  const tests: string[] = []
  const [lowest, highest] = [min, max].map((value) =>
    value === undefined ? value : literal(value),
  )
  if (lowest !== undefined) tests.push(`{c} >= ${lowest}`)
  if (highest !== undefined) tests.push(`{c} <= ${highest}`)
  // An enum of the database has no other values, and a check would use new values before they are committed.
  const isEnum = column.field.kind === 'enum' && column.type !== undefined
  const values = isEnum && dialect.types.declared !== undefined ? undefined : oneOf?.map(literal)
  if (values !== undefined) tests.push(`{c} in (${values.join(', ')})`)
  if (maxLength !== undefined) tests.push(`${dialect.values.lengthOf(column)} <= ${maxLength}`)
  return tests
}

/**
 * @param now milliseconds since 1970, for timestamps whose default is the current time
 * @throws {DeclarationError} `RECORD_TABLE_TWICE` if an engine without schemas has one name for two tables
 */
export function toSchema(tables: Iterable<Table>, dialect: Dialect, now: number): TableSchema[] {
  const all = [...tables]
  const listed = listedColumns(all)
  const distributions = findDistributions(all, dialect)
  const schemas: TableSchema[] = []
  const joins = new Map<string, TableSchema>()
  for (const table of all) {
    const distribution = distributions.get(table)
    schemas.push({
      ...toTableSchema(table, listed, dialect, now),
      ...(distribution !== undefined && { distribution }),
    })
    for (const relation of table.relations.values()) {
      const { join } = relation
      if (join === undefined || joins.has(join.name)) continue
      joins.set(join.name, toJoinSchema(table, relation, join, dialect))
    }
  }
  checkTypes(all, dialect)
  const found = [...schemas, ...joins.values()]
  checkNames([...all.map(({ name }) => name), ...joins.keys()], found, dialect)
  return found
}

/** Tables that are missing here are local. */
function findDistributions(tables: readonly Table[], dialect: Dialect): Map<Table, Distribution> {
  const distributions = new Map<Table, Distribution>()
  for (const table of distributedTables(tables)) {
    const { shard } = table
    distributions.set(
      table,
      shard === undefined
        ? { kind: 'reference' }
        : {
            kind: 'sharded',
            column: shard.name,
            group: `${shard.property} ${dialect.types.columnType(shard)}`,
          },
    )
  }
  return distributions
}

/** Sharded tables, and the tables that they refer to, also through others: every machine needs the rows of these. */
export function distributedTables(tables: Iterable<Table>): ReadonlySet<Table> {
  const found = new Set<Table>()
  const add = (table: Table): void => {
    if (found.has(table)) return
    found.add(table)
    for (const { kind, target } of table.relations.values()) if (kind === 'belongsTo') add(target)
  }
  for (const table of tables) if (table.shard !== undefined) add(table)
  return found
}

/** @throws {DeclarationError} `FIELD_RULE_UNFIT` for types that cannot store the values of their fields */
function checkTypes(tables: readonly Table[], { types: { declared } }: Dialect): void {
  if (declared === undefined) return
  const problems = new Problems()
  for (const { type, columns } of tables)
    for (const column of columns) {
      const problem = declared.findProblem(column)
      if (problem === undefined) continue
      const { message, remedy } = problem
      problems.add({
        code: 'FIELD_RULE_UNFIT',
        message: `${type.name}.${column.property}: ${message}`,
        remedy,
      })
    }
  problems.throwIfAny()
}

/**
 * `billing.orders` and `billing_orders` are one table where there are no schemas.
 *
 * @param names as records declare them, in the order of `schemas`
 */
function checkNames(
  names: readonly string[],
  schemas: readonly TableSchema[],
  { product }: Dialect,
): void {
  const declared = new Map<string, string | undefined>()
  for (const [index, { name }] of schemas.entries()) {
    const own = names[index]
    const other = declared.get(name.toLowerCase())
    if (other !== undefined && other !== own)
      throw new DeclarationError([
        {
          code: 'RECORD_TABLE_TWICE',
          message: `Two records are both stored in the table "${name}", because ${product.title} has no schemas.`,
          remedy: "Name another table: @Record({ table: '…' }).",
        },
      ])
    declared.set(name.toLowerCase(), own)
  }
}

function toTableSchema(
  table: Table,
  listed: ListedKeys,
  dialect: Dialect,
  now: number,
): TableSchema {
  const relations = [...table.relations.values()].filter(({ kind }) => kind === 'belongsTo')
  const { shard } = table
  // SQLite can increment only a key of one column, so a unique index over the shard and the key is added.
  const isCounted = dialect.tables.changes.kind === 'anew' && table.key.generated === 'increment'
  const byColumn = new Map(relations.map((relation) => [relation.local.name, relation]))
  const namesOf = (column: Column): string[] => storedColumnsOf(column).map(({ name }) => name)
  return {
    name: dialect.tables.nameOf(table.name),
    oldNames: toOldTableNames(table, dialect),
    columns: table.columns.map((column) => ({
      name: column.name,
      oldNames: toOldNames(column.field.rules.was),
      type: dialect.types.columnType(column),
      declared: toDeclared(column, dialect),
      nullable: column.nullable,
      increment: column.generated === 'increment',
      fill: toFill(column, dialect, now),
      preset: toPreset(column, dialect),
      checks: [
        ...toCheckSchemas(table.name, column, dialect),
        ...toKeyCheck(table, column, dialect),
      ],
      origin: `${table.type.name}.${column.property}`,
    })),
    partitions: toPartitionsSchema(table, dialect, now),
    isManaged: table.options.managed !== false,
    primaryKey: [...(shard === undefined || isCounted ? [] : [shard.name]), ...namesOf(table.key)],
    foreignKeys: [...byColumn.values()].map(({ local, target, foreign, onDelete, shards }) => ({
      name: toConstraintName(table.name, local.name),
      columns: [...(shards ? [shards.local.name] : []), ...namesOf(local)],
      table: dialect.tables.nameOf(target.name),
      foreignColumns: [...(shards ? [shards.foreign.name] : []), ...namesOf(foreign)],
      onDelete: onDelete === 'setNull' ? 'set null' : onDelete,
    })),
    indexes: [
      ...[...table.indexes, ...findMissingIndexes(table, listed)].flatMap((index) =>
        toIndexSchema(table, index, dialect),
      ),
      ...(shard === undefined || !isCounted ? [] : [toShardIndex(table.name, shard, table.key)]),
      ...(table.search === undefined ? [] : [dialect.text.search.schema(table, table.search)]),
    ],
  }
}

/** A key that begins with the time of its row leads to the partition of the row, also if another program has written it. */
function toKeyCheck(table: Table, column: Column, { tables }: Dialect): CheckSchema[] {
  const { partitions, key } = table
  if (tables.partitions === undefined || !hasTimedKey(table) || column !== partitions?.time)
    return []
  const pieces: Readonly<Record<string, string>> = { t: quote(column.name), k: quote(key.name) }
  const sql = tables.partitions.isTimedKey.replace(
    /\{([tk])\}/g,
    (_, letter: string) => pieces[letter] ?? '',
  )
  return [{ name: toCheckName(table.name, column.name, sql), sql }]
}

/** @returns `undefined` if the field names no type, or the engine ignores it */
function toDeclared(
  { type, field }: Column,
  { types: { declared } }: Dialect,
): NamedType | undefined {
  if (type === undefined || declared === undefined) return undefined
  const labels = field.kind === 'enum' ? field.rules.oneOf?.map(String) : undefined
  return { name: declared.nameOf(type), item: declared.itemTypeOf(type), labels }
}

/** The index that foreign keys refer to. */
function toShardIndex(table: string, shard: Column, key: Column): IndexSchema {
  const columns = [shard.name, key.name]
  return { name: toIndexName(table, columns, true), columns, unique: true, whereNull: undefined }
}

/** Earlier names of unnamed join tables: they are composed of both ends. */
function oldJoinNames(
  table: Table,
  target: Table,
  { name }: JoinTable,
  { tables }: Dialect,
): string[] {
  const [from, to] = [table, target].map((end) => [end.name, ...oldTableNames(end)]) as [
    string[],
    string[],
  ]
  if (name !== toJoinName(table.name, target.name)) return []
  const names = from.flatMap((one) => to.map((other) => toJoinName(one, other)))
  return names.filter((one) => one !== name).map(tables.nameOf)
}

/** A table without `schema` in its old name may have been in the same schema, or in that of names without one. */
function oldTableNames({ options: { was, schema } }: Table): string[] {
  const names = toOldNames(was) ?? []
  return schema === undefined ? [...names] : names.flatMap((name) => [`${schema}.${name}`, name])
}

function toOldTableNames(table: Table, { tables }: Dialect): string[] | undefined {
  return table.options.was === undefined ? undefined : oldTableNames(table).map(tables.nameOf)
}

function toJoinSchema(
  table: Table,
  relation: Relation,
  join: JoinTable,
  dialect: Dialect,
): TableSchema {
  const { target } = relation
  const ends = [
    { ...join.from, end: table },
    { ...join.to, end: target },
  ]
  const origin = `${table.type.name}.${relation.name}`
  return {
    name: dialect.tables.nameOf(join.name),
    isJoin: true,
    isManaged: ends.every(({ end }) => end.options.managed !== false),
    oldNames: oldJoinNames(table, target, join, dialect),
    columns: ends.flatMap(({ columns, key, end }) =>
      storedColumnsOf(key).map((part, index) => ({
        name: columns[index] as string,
        oldNames: toOldNames(end.options.was)
          ?.filter(() => columns[index] === `${nameInSchema(end.name)}_id`)
          .map((name) => `${name}_id`),
        type: dialect.types.columnType(part),
        nullable: false,
        increment: false,
        fill: undefined,
        origin,
      })),
    ),
    primaryKey: [...join.from.columns, ...join.to.columns],
    foreignKeys: ends.map(({ columns, key, end }) => ({
      name: toConstraintName(join.name, columns.join(',')),
      columns,
      table: dialect.tables.nameOf(end.name),
      foreignColumns: storedColumnsOf(key).map(({ name }) => name),
      onDelete: 'cascade',
    })),
    // For the opposite direction, which the primary key does not serve.
    indexes: [
      {
        name: toIndexName(join.name, join.to.columns, false),
        columns: [...join.to.columns, ...join.from.columns],
        unique: false,
        whereNull: undefined,
      },
    ],
  }
}

/** `was` may hold the old name of the field or class, or of the column or table. */
function toOldNames(oldName: string | undefined): readonly string[] | undefined {
  return oldName === undefined
    ? undefined
    : [...new Set([oldName, toSnakeCase(oldName), toColumnName(oldName)])]
}

function toFill(column: Column, dialect: Dialect, now: number): string | undefined {
  const { rules, entry } = column.field
  const value: unknown = rules.default
  if (column.isKey || value === undefined || typeof value === 'function') return undefined
  const timestamp = value === 'now' ? entry.now?.(new Date(now).toISOString()) : undefined
  return toLiteral(timestamp ?? value, column, dialect)
}

/** The literal of a property's value as the column stores it; `undefined` if there is none. */
function toLiteral(value: unknown, column: Column, dialect: Dialect): string | undefined {
  if (value === null) return 'null'
  const { entry } = column.field
  if (column.storage === 'json') {
    const json = toStoredJson(column.field, value)
    return quoteText((dialect.values.encoder(column)?.(json) ?? json) as string)
  }
  const property = toProperty(value, entry)
  const encoded = entry.encode === undefined ? property : entry.encode(property)
  const encode = dialect.values.encoder(column)
  const written = encode === undefined ? encoded : encode(encoded)
  if (['number', 'bigint', 'boolean'].includes(typeof written)) return String(written)
  return typeof written === 'string' ? quoteText(written) : undefined
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
