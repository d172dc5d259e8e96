/** Finds the indexes that are missing, other than declared, or no longer declared, and writes the SQL that changes them. */
import { indexCondition, writeDropIndex, writeIndex } from '../../engines/contract/ddl.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { quote, quoteTable } from '../../engines/contract/quote.js'
import type {
  ActualIndex,
  ActualTable,
  IndexSchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import { isSearchIndexName } from '../../engines/contract/table.js'
import { type Difference, isStaleIndex, originOf, sameList } from './difference-kinds.js'

export function compareIndexes(schema: TableSchema, actual: ActualTable): Difference[] {
  const { name: table } = schema
  return schema.indexes.flatMap((index): Difference[] => {
    const existing = actual.indexes.get(index.name)
    if (
      existing?.isInvalid !== true &&
      existing?.unique === index.unique &&
      sameList(existing.columns, index.columns) &&
      hasSameRows(index, existing)
    )
      return []
    const isNeeded = index.unique || index.statements !== undefined
    const isInvalid = existing?.isInvalid === true
    const state =
      existing === undefined
        ? 'is missing'
        : isInvalid
          ? 'is invalid, because its creation was interrupted'
          : 'differs from the record'
    return [
      {
        kind: 'missing index',
        table,
        message: `Index ${index.name} on ${table} ${state}${originOf(schema, index.over ?? index.columns)}.`,
        // Records work without other indexes, but slowly.
        ...(isNeeded ? { blocks: true } : { blocks: false, upgrades: true }),
        // Existing rows may already hold equal values.
        risk: index.unique ? 'may fail' : 'safe',
        sql: [
          ...(existing === undefined ? [] : dropExisting(table, index, existing)),
          ...writeIndex(table, index),
        ],
        undo: [
          ...writeDropIndex(table, index),
          ...((isInvalid ? undefined : existing?.create) ?? []),
        ],
      },
    ]
  })
}

function dropExisting(table: string, index: IndexSchema, existing: ActualIndex): string[] {
  if (existing.isConstraint !== true) return writeDropIndex(table, index)
  return [`alter table ${quoteTable(table)} drop constraint ${quote(index.name)}`]
}

/**
 * Whether both indexes have the same condition. Only the number of null tests is compared, because the name of an index
 * contains a hash of its other conditions, and the database rewrites conditions.
 */
function hasSameRows(index: IndexSchema, { where }: ActualIndex): boolean {
  const schemas = indexCondition(index)
  if (schemas === undefined || where === undefined) return schemas === where
  const nulls = (sql: string): number => sql.match(/\bis null\b/gi)?.length ?? 0
  return nulls(schemas) === nulls(where)
}

/** Unique indexes refuse values that the record allows; other indexes cost time at each write. */
export function staleIndexes(schema: TableSchema, actual: ActualTable): Difference[] {
  const { name: table } = schema
  return [...actual.indexes]
    .filter(([name, index]) => isStaleIndex(schema, name, index))
    .map(([name, { columns, isConstraint, create = [] }]) => ({
      kind: 'unknown index',
      table,
      message: `Index ${name} on ${table} is no longer declared${originOf(schema, columns)}.`,
      blocks: false,
      upgrades: true,
      risk: 'safe',
      sql:
        isConstraint === true
          ? [`alter table ${quoteTable(table)} drop constraint ${quote(name)}`]
          : writeDropIndex(table, { name }),
      undo: create,
    }))
}

/** Search indexes that no record uses. They would slow every write. */
export function staleSearches(
  { name: table, indexes }: TableSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference[] {
  return [...actual.indexes.keys()]
    .filter((name) => isSearchIndexName(name) && !indexes.some((index) => index.name === name))
    .map((name) => ({
      kind: 'unknown search',
      table,
      message: `Index ${name} on ${table} is for a search that no record declares.`,
      blocks: false,
      upgrades: true,
      risk: 'safe',
      sql: dialect.text.search.drop(name, table),
      undo: actual.indexes.get(name)?.create ?? [],
    }))
}
