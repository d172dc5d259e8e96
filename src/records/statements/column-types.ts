/** The types that a table's columns have in the database, for statements that write lists of values. */
import type { Runner } from '../../engines/contract/engine.js'
import { ownQuestion } from '../../engines/contract/statement.js'
import type { Table } from '../model/table.js'
import { quote } from '../../engines/contract/ddl.js'

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
  const found = await runner.run(ownQuestion(sql, { isFresh }), [quote(table.name)], 'rows')
  return new Map(found.map(([name, type]) => [name, String(type)]))
}
