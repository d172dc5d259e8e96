/** Finds the columns that are missing, unknown or other than their fields, and writes the SQL that changes them. */
import {
  fillsOnly,
  referringColumn,
  writeAddColumn,
  writeDropDefault,
} from '../../engines/contract/ddl.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { quote, quoteTable } from '../../engines/contract/quote.js'
import type { ActualTable, ColumnSchema, TableSchema } from '../../engines/contract/table-schema.js'
import { isSearchIndexName } from '../../engines/contract/table.js'
import {
  type Difference,
  isSharded,
  rebuildTable,
  type TablePair,
  withoutChange,
} from './difference-kinds.js'
import { compareConstraints } from './constraint-differences.js'
import { compareType } from './type-differences.js'

export function compareColumns(
  { schema, actual, isExact, isOwn }: TablePair,
  dialect: Dialect,
): Difference[] {
  if (actual.isForeign === true) return compareForeign(schema, actual, dialect)
  return [
    ...schema.columns.flatMap((column) => {
      const existing = actual.columns.get(column.name)
      if (existing === undefined) return [missingColumn(schema, column, actual, dialect)]
      const types = compareType(schema, column, actual, dialect, isExact)
      const differences = [...types]
      if (existing.nullable !== column.nullable && !schema.primaryKey.includes(column.name))
        differences.push(compareNull(schema, column, actual, dialect))
      // A change of the type includes the constraints.
      if (types.every(({ blocks, upgrades }) => !blocks && upgrades !== true))
        differences.push(...compareConstraints(schema, column, actual, dialect, isOwn))
      return differences
    }),
    ...unknownColumns(schema, actual, dialect),
  ]
}

/** Views and foreign tables have only columns to compare. Their keys, rules and indexes are in other tables. */
export function compareForeign(
  schema: TableSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference[] {
  return schema.columns.flatMap((column): Difference[] => {
    const differences = actual.columns.has(column.name)
      ? compareType(schema, column, actual, dialect, false)
      : [missingColumn(schema, column, actual, dialect)]
    return differences.map(withoutChange)
  })
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
  const { changes } = dialect.tables
  const fill =
    looser || column.fill === undefined
      ? []
      : [
          `update ${quoteTable(schema.name)} set ${quote(column.name)} = ${column.fill} where ${quote(column.name)} is null`,
        ]
  const change =
    changes.kind === 'anew'
      ? rebuildTable(schema, actual, dialect)
      : {
          sql: [changes.changeNull(schema.name, column.name, looser)],
          undo: [changes.changeNull(schema.name, column.name, !looser)],
        }
  const kind = looser ? 'looser column' : 'stricter column'
  return {
    ...base,
    kind,
    ...(!looser && { column, primaryKey: actual.primaryKey ?? schema.primaryKey }),
    message,
    risk: looser ? 'safe' : 'by hand',
    ...change,
    sql: [...fill, ...change.sql],
  }
}

function missingColumn(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const fits = column.nullable || column.fill !== undefined
  const refers = schema.foreignKeys.some((key) =>
    isSharded(schema) ? referringColumn(key) === column.name : key.columns.includes(column.name),
  )
  // Engines that rebuild tables cannot add a column that is required without a default, that refers to another table,
  // or whose default is an expression, and cannot drop a default that only existing rows needed.
  const { changes } = dialect.tables
  const isOnlyFilled = fillsOnly(column)
  const isPlain = fits && !refers && !isOnlyFilled && column.preset?.startsWith('(') !== true
  const rebuilds = changes.kind === 'anew' && !isPlain
  return {
    kind: 'missing column',
    table: schema.name,
    column,
    message: `${schema.name}.${column.name} is missing (${column.origin}).`,
    blocks: true,
    risk: fits ? 'safe' : 'may fail',
    primaryKey: actual.primaryKey ?? schema.primaryKey,
    ...(rebuilds
      ? rebuildTable(schema, actual, dialect)
      : {
          sql: [
            writeAddColumn(schema.name, column, dialect),
            ...(isOnlyFilled ? [writeDropDefault(schema.name, column)] : []),
          ],
          undo: [`alter table ${quoteTable(schema.name)} drop column ${quote(column.name)}`],
        }),
  }
}

function unknownColumns(schema: TableSchema, actual: ActualTable, dialect: Dialect): Difference[] {
  const { name: table } = schema
  const schemas = new Set(schema.columns.map(({ name }) => name))
  const unknown = [...actual.columns.values()].filter(({ name }) => !schemas.has(name))
  return unknown.flatMap(({ name, optional }) => {
    const where = `${table}.${name} does not belong to a field`
    const alter = `alter table ${quoteTable(table)}`
    const leftover: Difference = {
      kind: 'unknown column',
      table,
      message: `${where}.`,
      blocks: false,
      risk: 'by hand',
      sql: [...dropIndexesOf(name, actual, dialect), `${alter} drop column ${quote(name)}`],
    }
    if (optional) return [leftover]
    const { changes } = dialect.tables
    const change =
      changes.kind === 'anew'
        ? rebuildTable(schema, actual, dialect)
        : {
            sql: [changes.changeNull(table, name, true)],
            undo: [changes.changeNull(table, name, false)],
          }
    const message = `${where} and must be filled.`
    return [{ ...leftover, kind: 'unfilled column', message, blocks: true, ...change }, leftover]
  })
}

/** An engine that rebuilds tables drops no column that has an index. */
function dropIndexesOf(column: string, { indexes }: ActualTable, dialect: Dialect): string[] {
  if (dialect.tables.changes.kind !== 'anew') return []
  return [...indexes]
    .filter(([name, { columns }]) => columns.includes(column) && !isSearchIndexName(name))
    .map(([name]) => `drop index ${quote(name)}`)
}
