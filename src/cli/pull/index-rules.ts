/** The rules `unique` and `index` of fields, and the option `indexes` of records, from the indexes of a table. */
import { toIndexName } from '../../records/model/generated-names.js'
import type { NamedTable } from './foreign-keys.js'
import { tableName, toCode, type Setting } from './pulled-record.js'
import { isIndexable, type TableKeys } from './table-keys.js'

export interface IndexRules {
  readonly byColumn: ReadonlyMap<string, readonly Setting[]>
  /** For the option `indexes`. */
  readonly indexes: readonly string[]
}

/**
 * Indexes that fields can declare. A name of an index that is taken leaves the index out.
 *
 * @param indexNames the names of tables and indexes in lower case, to which the names of these are added
 */
export function readIndexes(
  { table, key, properties, relations }: NamedTable,
  { usableKeysOf }: Pick<TableKeys, 'usableKeysOf'>,
  indexNames: Set<string>,
): IndexRules {
  const byColumn = new Map<string, Setting[]>()
  const indexes: string[] = []
  if (table.kind !== 'table' || key.length === 0) return { byColumn, indexes }
  const take = (columns: readonly string[], unique: boolean): boolean => {
    const name = toIndexName(tableName(table), columns, unique).toLowerCase()
    const isFree = !indexNames.has(name)
    indexNames.add(name)
    return isFree
  }
  const add = (column: string, setting: Setting): void => {
    byColumn.set(column, [...(byColumn.get(column) ?? []), setting])
  }
  const belongsTo = relations.some(({ kind }) => kind === 'BelongsTo')
  const referring = new Set(
    belongsTo
      ? usableKeysOf(table).flatMap(({ columns }) => (columns.length === 1 ? columns : []))
      : [],
  )
  for (const column of referring) if (!take([column], false)) add(column, ['index', 'false'])
  const canBeIndexed = (name: string): boolean => {
    const column = table.columns.find((one) => one.name === name)
    return column !== undefined && properties.has(name) && isIndexable(column)
  }
  const ordered = [...table.indexes].sort((a, b) => Number(b.unique) - Number(a.unique))
  for (const { columns, unique } of ordered) {
    const [first, second] = columns
    if (first === undefined || !columns.every(canBeIndexed) || isSameColumns(columns, key)) continue
    if (!unique && second === undefined && referring.has(first)) continue
    if (!take(columns, unique)) continue
    if (second === undefined) add(first, [unique ? 'unique' : 'index', 'true'])
    else {
      const fields = toCode(columns.map((column) => properties.get(column)))
      indexes.push(unique ? `{ fields: ${fields}, unique: true }` : `{ fields: ${fields} }`)
    }
  }
  return { byColumn, indexes }
}

function isSameColumns(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name) => other.includes(name))
}
