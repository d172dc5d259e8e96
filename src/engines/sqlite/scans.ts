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
    // What a part of the statement has found is read as a whole, too, and may have the name of its table.
    const parts = new Set(
      details.flatMap((detail) => /^(?:CO-ROUTINE|MATERIALIZE) (\w+)$/.exec(detail)?.[1] ?? []),
    )
    // A scan in the order of an index or of the key is not listed: it stops when enough rows are found.
    const scanned = details.flatMap((detail) => /^SCAN (\w+)$/.exec(detail)?.[1] ?? [])
    return withoutParts(scanned, parts)
  },
}

/** A part is read once outside of itself; within it, the table of that name may be. */
function withoutParts(scanned: readonly string[], parts: ReadonlySet<string>): string[] {
  const left = new Set(parts)
  return scanned
    .toReversed()
    .filter((name) => !left.delete(name))
    .toReversed()
}
