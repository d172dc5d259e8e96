/**
 * Changes a SQLite table by a rebuild, because SQLite alters little in place. Source: SQLite, ALTER TABLE, section 7.
 */
import type { ActualTable } from '../contract/catalogue.js'
import {
  quote,
  toForeignKey,
  writeCreateTable,
  writeDropIndex,
  writeIndex,
} from '../contract/ddl.js'
import type { Dialect } from '../contract/dialect.js'
import { isSearchName } from '../search-names.js'
import type { ColumnSchema, TableSchema } from '../contract/table-schema.js'
import { convertDecimal } from './decimals.js'
import { writeDropSearch } from './search.js'

/** Statements that keep every row; columns are copied by name. Run them with foreign keys off. */
export function writeRebuild(schema: TableSchema, actual: ActualTable, dialect: Dialect): string[] {
  const types = new Map([...actual.columns.values()].map(({ name, type }) => [name, type]))
  const searches = [...actual.indexes.keys()].filter(isSearchName)
  const columns = [...schema.columns, ...unknownColumns(schema, actual)]
  return replaceTable({ ...schema, columns }, types, searches, dialect)
}

/** Statements that make the table again as it was; columns that it did not have are dropped. */
export function writeRestore(actual: ActualTable, schema: TableSchema, dialect: Dialect): string[] {
  const types = new Map(schema.columns.map(({ name, type }) => [name, type]))
  for (const { name, type } of unknownColumns(schema, actual)) types.set(name, type)
  const searches = schema.indexes.map(({ name }) => name).filter(isSearchName)
  return replaceTable(toFormerSchema(actual), types, searches, dialect)
}

/**
 * @param types of the columns that the table has now, by their names
 * @param searches the names of the search indexes that it has now
 */
function replaceTable(
  schema: TableSchema,
  types: ReadonlyMap<string, string>,
  searches: readonly string[],
  dialect: Dialect,
): string[] {
  const fresh = `filigree_new_${schema.name}`.slice(0, 63)
  const kept = schema.columns.filter(({ name, fill }) => types.has(name) || fill !== undefined)
  const names = kept.map(({ name }) => quote(name)).join(', ')
  const values = kept
    .map(({ name, type, fill, nullable }) => {
      const known = types.get(name)
      if (known === undefined) return fill
      const value = convertDecimal(quote(name), known, type)
      return fill === undefined || nullable ? value : `coalesce(${value}, ${fill})`
    })
    .join(', ')
  return [
    writeCreateTable(schema, dialect, fresh),
    `insert into ${quote(fresh)} (${names}) select ${values} from ${quote(schema.name)}`,
    `drop table ${quote(schema.name)}`,
    `alter table ${quote(fresh)} rename to ${quote(schema.name)}`,
    ...searches.flatMap(writeDropSearch),
    ...schema.indexes.flatMap((index) => writeIndex(schema.name, index)),
  ]
}

/** A table as it is in the database, in the form that SQL is written from. */
function toFormerSchema(actual: ActualTable): TableSchema {
  const { name, columns, indexes, foreignKeys, primaryKey = [], checks } = actual
  return {
    name,
    primaryKey,
    columns: [...columns.values()].map((column) => ({
      name: column.name,
      type: column.type,
      nullable: column.nullable,
      increment: column.increment === true,
      fill: column.nullable ? undefined : column.preset,
      preset: column.preset,
      origin: column.name,
    })),
    checks: [...(checks ?? [])].map(([check, sql]) => ({ name: check, sql })),
    foreignKeys: foreignKeys.map((key) => toForeignKey(name, key)),
    indexes: [...indexes].map(([index, { columns: list, unique, create = [] }]) => ({
      name: index,
      columns: list,
      unique,
      whereNull: undefined,
      made: { create, drop: writeDropIndex({ name: index }) },
    })),
  }
}

/** Columns without a field keep their values. */
function unknownColumns(schema: TableSchema, actual: ActualTable): ColumnSchema[] {
  const known = new Set(schema.columns.map(({ name }) => name))
  return [...actual.columns.values()]
    .filter(({ name }) => !known.has(name))
    .map(({ name, type }) => ({
      name,
      type,
      nullable: true,
      increment: false,
      fill: undefined,
      origin: name,
    }))
}
