/**
 * Changes a SQLite table by a rebuild, because SQLite alters little in place. Source: SQLite, ALTER TABLE, section 7.
 */
import type { ActualTable } from '../contract/catalogue.js'
import { quote, writeCreateTable, writeIndex } from '../contract/ddl.js'
import type { Dialect } from '../contract/dialect.js'
import { isSearchName } from '../search-names.js'
import type { ColumnSchema, TableSchema } from '../contract/table-schema.js'
import { convertDecimal } from './decimals.js'
import { writeDropSearch } from './search.js'

/** Statements that keep every row; columns are copied by name. Run them with foreign keys off. */
export function writeRebuild(schema: TableSchema, actual: ActualTable, dialect: Dialect): string[] {
  const fresh = `filigree_new_${schema.name}`.slice(0, 63)
  const all = { ...schema, columns: [...schema.columns, ...unknownColumns(schema, actual)] }
  const kept = all.columns.filter(
    ({ name, fill }) => actual.columns.has(name) || fill !== undefined,
  )
  const names = kept.map(({ name }) => quote(name)).join(', ')
  const values = kept
    .map(({ name, type, fill, nullable }) => {
      const known = actual.columns.get(name)
      if (known === undefined) return fill
      const value = convertDecimal(quote(name), known.type, type)
      return fill === undefined || nullable ? value : `coalesce(${value}, ${fill})`
    })
    .join(', ')
  return [
    writeCreateTable(all, dialect, fresh),
    `insert into ${quote(fresh)} (${names}) select ${values} from ${quote(schema.name)}`,
    `drop table ${quote(schema.name)}`,
    `alter table ${quote(fresh)} rename to ${quote(schema.name)}`,
    ...[...actual.indexes.keys()].filter(isSearchName).flatMap(writeDropSearch),
    ...schema.indexes.flatMap((index) => writeIndex(schema.name, index)),
  ]
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
