/** Reads SQLite's query plans. Source: SQLite, EXPLAIN QUERY PLAN. */
import type { ScanSql } from '../contract/scan-sql.js'
import { ownQuestion } from '../contract/statement.js'

export const sqliteScans: ScanSql = {
  explain: async (engine, sql) => {
    // Some drivers require a value for each placeholder.
    const values = Array.from({ length: sql.split('?').length - 1 }, () => null)
    const { rows } = await engine.run(ownQuestion(`explain query plan ${sql}`), values, 'all')
    return rows
  },
  read: (rows) => {
    const details = rows.map((row) => String(row[3]))
    // A scan in the order of an index or of the key is not listed: it stops when enough rows are found.
    return details.flatMap((detail) => /^SCAN (\w+)$/.exec(detail)?.[1] ?? [])
  },
}
