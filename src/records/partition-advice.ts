/** Finds queries that read every partition of a table, because they do not compare the column of its partitions. */
import { quoteTable } from '../engines/contract/quote.js'
import type { Database } from './database.js'
import { explain } from './scan-advice.js'
import { readStatistics } from './scan-log.js'

/** @returns a sentence for each query in the server's statistics; none if it has no statistics */
export async function findUnprunedQueries(database: Database): Promise<string[]> {
  const { dialect, engine } = database.context
  const sql = dialect.tables.partitions
  if (sql === undefined) return []
  const found: string[] = []
  const statements = await readStatistics(database)
  for (const { name, type, partitions } of database.tables) {
    if (partitions === undefined) continue
    const table = dialect.tables.nameOf(name)
    const actual = (await sql.read(engine, table, partitions.column)) ?? []
    const names = actual.map((one) => new RegExp(`\\b${one.name.replace(/^.*\./, '')}\\b`))
    if (names.length < 2) continue
    for (const statement of statements) {
      if (!statement.includes(quoteTable(table)) || !/\swhere\s/i.test(statement)) continue
      const plan = JSON.stringify((await explain(database, statement)) ?? [])
      if (!names.every((one) => one.test(plan))) continue
      const text = statement.length > 200 ? `${statement.slice(0, 200)}…` : statement
      found.push(
        `a query reads all ${names.length} partitions of ${table}. Compare ${type.name}.${partitions.time.property}: ${text}`,
      )
    }
  }
  return found
}
