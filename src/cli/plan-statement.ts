/** The database's plan of a statement, and the tables that it reads as a whole. */
import type { Database } from '../records/database.js'
import { tableCalled } from '../records/scans/advise-index.js'

export interface PlannedStatement {
  /** Tables that it reads from one end to the other, to filter or to sort. */
  readonly scans: readonly string[]
  /** The plan, a line each. */
  readonly plan: readonly string[]
}

const noPlan: PlannedStatement = { scans: [], plan: [] }
const mostLines = 60

/** Reads only, and the framework's own tables are left out. */
export async function planStatement(
  { context, tables }: Database,
  sql: string,
): Promise<PlannedStatement> {
  if (!isRead(sql) || /filigree_/.test(sql)) return noPlan
  const { engine, dialect } = context
  try {
    const rows = await dialect.scans.explain(engine, sql)
    const plan = rows.flatMap((row) => toLines(row.at(-1))).slice(0, mostLines)
    // Plans name tables as the statement calls them.
    const scans = dialect.scans
      .read(rows)
      .map((name) => tableCalled(name, sql, tables)?.name ?? name)
    return { scans: [...new Set(scans)], plan }
  } catch {
    // Statements that the database explains only with their values.
    return noPlan
  }
}

export function isRead(sql: string): boolean {
  return /^\s*(?:select|with)\b/i.test(sql)
}

function toLines(cell: unknown): string[] {
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell, null, 1)
  return text.split('\n')
}
