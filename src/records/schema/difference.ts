/** Finds the differences between the database and the records, and writes the SQL that removes them. */
import type { ActualTable, Catalogue } from '../../engines/contract/catalogue.js'
import {
  quote,
  writeAddColumn,
  writeAddForeignKey,
  writeCreateTable,
  writeDropIndex,
  writeIndex,
} from '../../engines/contract/ddl.js'
import { isSearchName } from '../../engines/search-names.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { compareConstraints, compareKey } from './constraint-differences.js'
import type { Difference } from './difference-kinds.js'
import { findRenames } from './renames.js'
import type {
  ColumnSchema,
  ForeignKeySchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import { compareType } from './type-differences.js'
import { findUuidUpgrades } from './uuid-upgrades.js'

export function findDifferences(
  wanted: readonly TableSchema[],
  before: Catalogue,
  dialect: Dialect,
): Difference[] {
  const { renames, actual } = findRenames(wanted, before, dialect)
  const missing = wanted.filter(({ name }) => !actual.has(name))
  const present = wanted.filter(({ name }) => actual.has(name))
  const upgrades = findUuidUpgrades(present, actual, dialect)
  const others = [
    ...missing.flatMap((schema) => missingTable(schema, dialect)),
    ...missing.flatMap((schema) => missingKeys(schema, dialect)),
    ...present.flatMap((schema) =>
      compare(schema, actual.get(schema.name) as ActualTable, dialect),
    ),
  ]
  const texts = textsThatStay(upgrades)
  return [...renames, ...upgrades, ...others.map((one) => refuseOtherTypes(one, texts))]
}

/** The columns of UUIDs that are text, and cannot be made UUIDs: `team.id`. */
function textsThatStay(upgrades: readonly Difference[]): ReadonlySet<string> {
  const staying = upgrades.filter(({ remedy }) => remedy === 'by hand')
  return new Set(staying.map(({ table, column }) => `${table}.${column?.name ?? ''}`))
}

/** No database takes a reference between a text and a UUID. */
function refuseOtherTypes(difference: Difference, texts: ReadonlySet<string>): Difference {
  const { table, key } = difference
  if (key === undefined) return difference
  const own = `${table}.${key.column}`
  const other = `${key.table}.${key.foreignColumn}`
  if (texts.has(own) === texts.has(other)) return difference
  const [text, uuid] = texts.has(own) ? [own, other] : [other, own]
  return {
    ...difference,
    message: `${own} cannot refer to ${other}: ${text} is text, because a table without a record refers to it, and ${uuid} is a UUID.`,
    remedy: 'by hand',
    first: `Change ${text} and what refers to it to uuid by hand, then run this again.`,
    sql: [],
    undo: undefined,
  }
}

function missingTable(schema: TableSchema, dialect: Dialect): Difference[] {
  const indexes = schema.indexes.flatMap((index) => writeIndex(schema.name, index))
  return [
    {
      kind: 'missing table',
      table: schema.name,
      message: `Table ${schema.name} is missing.`,
      blocks: true,
      remedy: 'safe',
      sql: [writeCreateTable(schema, dialect), ...indexes],
      undo: [
        `drop table ${quote(schema.name)}`,
        ...schema.indexes.flatMap(({ made }) => made?.drop ?? []),
      ],
    },
  ]
}

/** After all tables exist, since they may refer to each other in a circle. */
function missingKeys(schema: TableSchema, dialect: Dialect): Difference[] {
  if (dialect.changes.kind === 'anew') return []
  return schema.foreignKeys.map((key) => ({
    kind: 'missing foreign key',
    table: schema.name,
    message: `${schema.name}.${key.column} does not refer to ${key.table}${originOf(schema, [key.column])}.`,
    blocks: true,
    remedy: 'safe',
    key,
    sql: [writeAddForeignKey(schema.name, key)],
    undo: [dropForeignKey(schema, key)],
  }))
}

function compare(schema: TableSchema, actual: ActualTable, dialect: Dialect): Difference[] {
  if (actual.isForeign === true) return compareForeign(schema, actual, dialect)
  const differences = [
    ...schema.columns.flatMap((column) => compareColumn(schema, column, actual, dialect)),
    ...compareKey(schema, actual, dialect),
    ...compareForeignKeys(schema, actual, dialect),
    ...unknownColumns(schema, actual, dialect),
  ]
  // An index on a new column must be created after it.
  for (const index of schema.indexes) {
    const known = actual.indexes.get(index.name)
    if (known?.unique === index.unique && sameList(known.columns, index.columns)) continue
    const drop = known === undefined ? [] : writeDropIndex(index)
    const isNeeded = index.unique || index.made !== undefined
    differences.push({
      kind: 'missing index',
      table: schema.name,
      message: `Index ${index.name} on ${schema.name} is missing${originOf(schema, index.over ?? index.columns)}.`,
      // Records work without them, but slowly.
      ...(isNeeded ? { blocks: true } : { blocks: false, upgrades: true }),
      // Existing rows may already hold equal values.
      remedy: index.unique ? 'may fail' : 'safe',
      sql: [...drop, ...writeIndex(schema.name, index)],
      undo: writeDropIndex(index),
    })
  }
  return [...differences, ...staleSearches(schema, actual, dialect)]
}

/** Of a view or a foreign table only the columns can be compared: keys, rules and indexes are where its rows are. */
function compareForeign(schema: TableSchema, actual: ActualTable, dialect: Dialect): Difference[] {
  return schema.columns.flatMap((column): Difference[] => {
    const differences = actual.columns.has(column.name)
      ? compareType(schema, column, actual, dialect)
      : [missingColumn(schema, column, actual, dialect)]
    return differences.map((one) => ({ ...one, remedy: 'by hand', sql: [], undo: undefined }))
  })
}

/** Words that are kept for nobody: every write would have to keep them too. */
function staleSearches(
  { name: table, indexes }: TableSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference[] {
  return [...actual.indexes.keys()]
    .filter((name) => isSearchName(name) && !indexes.some((index) => index.name === name))
    .map((name) => ({
      kind: 'unknown search',
      table,
      message: `Index ${name} on ${table} serves a search that no record has.`,
      blocks: false,
      upgrades: true,
      remedy: 'safe',
      sql: dialect.search.drop(name),
      undo: [],
    }))
}

function compareColumn(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference[] {
  const known = actual.columns.get(column.name)
  if (known === undefined) return [missingColumn(schema, column, actual, dialect)]
  const differences: Difference[] = []
  differences.push(...compareType(schema, column, actual, dialect))
  if (known.nullable !== column.nullable && !schema.primaryKey.includes(column.name)) {
    differences.push(compareNull(schema, column, actual, dialect))
  }
  differences.push(...compareConstraints(schema, column, actual, dialect))
  return differences
}

function compareNull(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const where = `${schema.name}.${column.name}`
  const base = { table: schema.name, blocks: true } as const
  const looser = column.nullable
  const message = looser
    ? `${where} does not allow null and should (${column.origin}).`
    : `${where} allows null and should not (${column.origin}).`
  const { changes } = dialect
  const rebuilds = changes.kind === 'anew'
  const fill =
    looser || column.fill === undefined
      ? []
      : [
          `update ${quote(schema.name)} set ${quote(column.name)} = ${column.fill} where ${quote(column.name)} is null`,
        ]
  const change = rebuilds
    ? changes.rebuild(schema, actual, dialect)
    : [changes.changeNull(schema.name, column.name, looser)]
  const kind = looser ? 'looser column' : 'stricter column'
  return {
    ...base,
    kind,
    ...(!looser && { column }),
    message,
    remedy: looser ? 'safe' : 'by hand',
    sql: [...fill, ...change],
    rebuilds,
  }
}

function missingColumn(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const fits = column.nullable || column.fill !== undefined
  const refers = schema.foreignKeys.some((key) => key.column === column.name)
  // Engines that rebuild tables cannot add a column that is required without a default, that refers to another table,
  // or whose default is an expression.
  const { changes } = dialect
  const rebuilds =
    changes.kind === 'anew' && (!fits || refers || column.preset?.startsWith('(') === true)
  return {
    kind: 'missing column',
    table: schema.name,
    column,
    message: `${schema.name}.${column.name} is missing (${column.origin}).`,
    blocks: true,
    remedy: fits ? 'safe' : 'may fail',
    rebuilds,
    sql: rebuilds
      ? changes.rebuild(schema, actual, dialect)
      : [writeAddColumn(schema.name, column, dialect)],
    undo: rebuilds
      ? undefined
      : [`alter table ${quote(schema.name)} drop column ${quote(column.name)}`],
  }
}

function compareForeignKeys(
  schema: TableSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference[] {
  const { changes } = dialect
  const rebuilds = changes.kind === 'anew'
  return (
    schema.foreignKeys
      .filter(
        (key) =>
          !actual.foreignKeys.some(
            ({ column, table }) => column === key.column && table === key.table,
          ),
      )
      // A reference of a new column is created with the column itself.
      .filter((key) => !rebuilds || actual.columns.has(key.column))
      .map((key) => ({
        kind: 'missing foreign key',
        table: schema.name,
        message: `${schema.name}.${key.column} does not refer to ${key.table}${originOf(schema, [key.column])}.`,
        blocks: true,
        remedy: 'may fail',
        key,
        rebuilds,
        sql: rebuilds
          ? changes.rebuild(schema, actual, dialect)
          : [writeAddForeignKey(schema.name, key)],
        undo: rebuilds ? undefined : [dropForeignKey(schema, key)],
      }))
  )
}

function dropForeignKey(schema: TableSchema, { name }: ForeignKeySchema): string {
  return `alter table ${quote(schema.name)} drop constraint ${quote(name)}`
}

function unknownColumns(schema: TableSchema, actual: ActualTable, dialect: Dialect): Difference[] {
  const { name: table } = schema
  const wanted = new Set(schema.columns.map(({ name }) => name))
  const unknown = [...actual.columns.values()].filter(({ name }) => !wanted.has(name))
  return unknown.flatMap(({ name, optional }) => {
    const where = `${table}.${name} does not belong to a field`
    const alter = `alter table ${quote(table)}`
    const left: Difference = {
      kind: 'unknown column',
      table,
      message: `${where}.`,
      blocks: false,
      remedy: 'by hand',
      sql: [`${alter} drop column ${quote(name)}`],
    }
    if (optional) return [left]
    const { changes } = dialect
    const rebuilds = changes.kind === 'anew'
    const sql = rebuilds
      ? changes.rebuild(schema, actual, dialect)
      : [changes.changeNull(table, name, true)]
    const message = `${where} and must be filled.`
    return [{ ...left, kind: 'unfilled column', message, blocks: true, rebuilds, sql }, left]
  })
}

/** ` (Product.name)` */
function originOf({ columns }: TableSchema, names: readonly string[]): string {
  const origins = columns.filter(({ name }) => names.includes(name)).map(({ origin }) => origin)
  return origins.length === 0 ? '' : ` (${[...new Set(origins)].join(', ')})`
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}
