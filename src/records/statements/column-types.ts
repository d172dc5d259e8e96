/** The types of a table's columns in the database, which statements with lists of values need. */
import type { Runner } from '../../engines/contract/engine.js'
import { frameworkQuery } from '../../engines/contract/statement.js'
import type { Table } from '../model/table.js'
import { quoteTable } from '../../engines/contract/quote.js'

export type ColumnTypes = ReadonlyMap<unknown, string>

/**
 * @param sql the dialect's `lists.types`
 * @param isFresh as `Statement.isFresh`
 * @returns the types by the columns' names
 */
export async function readColumnTypes(
  table: Table,
  runner: Runner,
  sql: string,
  isFresh = false,
): Promise<ColumnTypes> {
  const rows = await runner.run(frameworkQuery(sql, { isFresh }), [quoteTable(table.name)], 'rows')
  return new Map(rows.map(([name, type]) => [name, String(type)]))
}
