/**
 * Changes a table by rebuilding it, because `alter table` of SQLite supports few changes. Source: SQLite, ALTER TABLE,
 * section 7.
 */
import type { ActualTable, ColumnSchema, TableSchema } from '../contract/table-schema.js'
import { toForeignKey, writeCreateTable, writeDropIndex, writeIndex } from '../contract/ddl.js'
import { quote } from '../contract/quote.js'
import type { Dialect } from '../contract/dialect.js'
import { isSearchIndexName } from '../contract/table.js'
import { convertColumn } from './conversions.js'
import { writeDropSearch } from './search.js'

/** Statements that rebuild the table with all its rows. Columns are copied by name. Run them with foreign keys off. */
export function writeRebuild(schema: TableSchema, actual: ActualTable, dialect: Dialect): string[] {
  const types = new Map([...actual.columns.values()].map(({ name, type }) => [name, type]))
  const searches = [...actual.indexes.keys()].filter(isSearchIndexName)
  const columns = [...schema.columns, ...unknownColumns(schema, actual)]
  return replaceTable({ ...schema, columns }, types, searches, dialect)
}

/** Statements that undo a rebuild. Columns that the former table did not have are dropped. */
export function writeRestore(actual: ActualTable, schema: TableSchema, dialect: Dialect): string[] {
  const types = new Map(schema.columns.map(({ name, type }) => [name, type]))
  for (const { name, type } of unknownColumns(schema, actual)) types.set(name, type)
  const searches = schema.indexes.map(({ name }) => name).filter(isSearchIndexName)
  return replaceTable(toFormerSchema(actual), types, searches, dialect)
}

/**
 * @param types the current column types by column name
 * @param searches the names of the current search indexes
 */
function replaceTable(
  schema: TableSchema,
  types: ReadonlyMap<string, string>,
  searches: readonly string[],
  dialect: Dialect,
): string[] {
  const newTable = `filigree_new_${schema.name}`.slice(0, 63)
  const copiedColumns = schema.columns.filter(
    ({ name, fill }) => types.has(name) || fill !== undefined,
  )
  const names = copiedColumns.map(({ name }) => quote(name)).join(', ')
  const values = copiedColumns
    .map(({ name, type, fill, nullable, origin }) => {
      const currentType = types.get(name)
      if (currentType === undefined) return fill
      const value = convertColumn(quote(name), currentType, type, origin)
      return fill === undefined || nullable ? value : `coalesce(${value}, ${fill})`
    })
    .join(', ')
  return [
    writeCreateTable(schema, dialect, newTable),
    `insert into ${quote(newTable)} (${names}) select ${values} from ${quote(schema.name)}`,
    // Otherwise SQLite refuses the second name while views of the application refer to the first one.
    'pragma legacy_alter_table = on',
    `drop table ${quote(schema.name)}`,
    `alter table ${quote(newTable)} rename to ${quote(schema.name)}`,
    'pragma legacy_alter_table = off',
    ...searches.flatMap(writeDropSearch),
    ...schema.indexes.flatMap((index) => writeIndex(schema.name, index)),
  ]
}

/** Converts a table from the catalogue to a schema. */
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
      origin: `${name}.${column.name}`,
    })),
    checks: [...(checks ?? [])].map(([check, sql]) => ({ name: check, sql })),
    foreignKeys: foreignKeys.map((key) => toForeignKey(name, key)),
    indexes: [...indexes].map(([index, { columns: list, unique, create = [] }]) => ({
      name: index,
      columns: list,
      unique,
      whereNull: undefined,
      statements: { create, drop: writeDropIndex(name, { name: index }) },
    })),
  }
}

/** Columns that no field declares. They keep their values. */
function unknownColumns(schema: TableSchema, actual: ActualTable): ColumnSchema[] {
  const knownNames = new Set(schema.columns.map(({ name }) => name))
  return [...actual.columns.values()]
    .filter(({ name }) => !knownNames.has(name))
    .map(({ name, type }) => ({
      name,
      type,
      nullable: true,
      increment: false,
      fill: undefined,
      origin: name,
    }))
}
