/** The database's plan of a statement, and the tables that it reads as a whole. */
import type { Database } from '../records/database.js'
import type { StatementEvent } from '../records/statement-events.js'
import { tableCalled } from '../records/scans/advise-index.js'

export interface PlannedStatement {
  /** Tables that it reads from one end to the other, to filter or to sort. */
  readonly scans: readonly string[]
  /** The plan, a line each. */
  readonly plan: readonly string[]
}

const noPlan: PlannedStatement = { scans: [], plan: [] }
const mostLines = 60

/** Whether it reads, or may read, and no table of the framework's own: of others no plan is asked. */
export function isQuestion({ kind, tables }: Pick<StatementEvent, 'kind' | 'tables'>): boolean {
  return questions.has(kind) && !tables.some((name) => name.startsWith('filigree_'))
}

/** SQL that was written out may be anything; to explain it changes nothing. */
const questions: ReadonlySet<string> = new Set(['SELECT', 'UNKNOWN'])

/** @param sql of a question */
export async function planStatement(
  { context, tables }: Database,
  sql: string,
): Promise<PlannedStatement> {
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

function toLines(cell: unknown): string[] {
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell, null, 1)
  return text.split('\n')
}
