/** The keys of tables, and the columns that records can have. */
import {
  reservedColumns,
  reservedPrefixes,
  unnameableColumns,
} from '../../engines/contract/table.js'
import type { CatalogueColumn, CatalogueTable } from '../../engines/contract/described-table.js'
import type { KindName } from '../../fields/kinds/table.js'
import { isColumnSqlName } from '../../records/model/generated-names.js'

/** A reference whose other side is pulled, and to whose key it refers. */
export interface UsableKey {
  readonly target: CatalogueTable
  /** In the order of the key of the target. */
  readonly columns: readonly string[]
  /** The key of the target. */
  readonly foreignColumns: readonly string[]
  readonly onDelete: string
}

/** What is known of the pulled tables together. */
export interface TableKeys {
  readonly usableKeysOf: (table: CatalogueTable) => readonly UsableKey[]
  readonly keyOf: (table: CatalogueTable) => readonly string[]
}

export function isColumnName(name: string): boolean {
  const lower = name.toLowerCase()
  if (reservedColumns.has(lower) || unnameableColumns.has(lower)) return false
  return isColumnSqlName(name) && !reservedPrefixes.some((prefix) => lower.startsWith(prefix))
}

/** The primary key, otherwise a unique index over columns that are never null. */
export function findKey({ kind, primaryKey, indexes, columns }: CatalogueTable): readonly string[] {
  if (kind !== 'table') return []
  const isUsable = (names: readonly string[]): boolean =>
    names.length > 0 &&
    names.every((name) => {
      const column = columns.find((one) => one.name === name)
      return column !== undefined && isColumnName(name) && isKeyPart(column)
    })
  const isNeverNull = (names: readonly string[]): boolean =>
    names.every((name) => columns.find((one) => one.name === name)?.nullable === false)
  if (primaryKey.length > 0) return isUsable(primaryKey) ? primaryKey : []
  const unique = indexes.filter(
    (one) => one.unique && isUsable(one.columns) && isNeverNull(one.columns),
  )
  return unique.sort((a, b) => a.columns.length - b.columns.length)[0]?.columns ?? []
}

function isKeyPart({ form }: CatalogueColumn): boolean {
  return isIndexable({ form }) && !inexact.has(form.kind)
}

/** Kinds of numbers that are no part of a key. */
const inexact: ReadonlySet<KindName> = new Set(['numeric', 'decimal'])

/** Lists, JSON and bytes are in no index of a record. */
export function isIndexable({ form }: Pick<CatalogueColumn, 'form'>): boolean {
  return form.isList !== true && form.kind !== 'json' && form.kind !== 'blob'
}

/** Whether the database counts the key, or the framework makes a UUID. A key that refers to another row is given. */
export function isGeneratedKey(
  table: CatalogueTable,
  key: readonly string[],
  { usableKeysOf }: Pick<TableKeys, 'usableKeysOf'>,
): boolean {
  const [first, second] = key
  if (first === undefined || second !== undefined) return false
  const column = table.columns.find(({ name }) => name === first)
  if (column === undefined || usableKeysOf(table).some(({ columns }) => columns.includes(first)))
    return false
  if (column.form.type !== undefined) return false
  return column.form.kind === 'uuid' || (column.isCounted && isInteger(column.form.kind))
}

export function isInteger(kind: KindName): boolean {
  return kind === 'integer' || kind === 'bigint'
}
