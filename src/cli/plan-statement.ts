/** The database's plan of a statement, and the tables that it reads as a whole. */
import type { Database } from '../records/database.js'
import type { StatementEvent } from '../records/statement-events.js'
import type { Table } from '../records/model/table.js'
import { adviseIndex, tableCalled } from '../records/scans/advise-index.js'

export interface PlannedStatement {
  /** Tables that it reads from one end to the other, to filter or to sort. */
  readonly scans: readonly string[]
  /** The plan, a line each. */
  readonly plan: readonly string[]
  /** The indexes that would serve it. */
  readonly advice: readonly string[]
}

const noPlan: PlannedStatement = { scans: [], plan: [], advice: [] }
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
    const scans = new Set<string>()
    const advice = new Set<string>()
    for (const name of dialect.scans.read(rows)) {
      // Plans name tables as the statement calls them.
      const table = tableCalled(name, sql, tables)
      const index = table && adviseIndex(table, sql)
      // A list in the order of its key ends where it has enough; one of all rows reads them on purpose.
      if (table === undefined || index === undefined || index.includes(keyAlone(table))) continue
      scans.add(table.name)
      advice.add(index)
    }
    return { scans: [...scans], plan, advice: [...advice] }
  } catch {
    // Statements that the database explains only with their values.
    return noPlan
  }
}

function keyAlone({ key }: Table): string {
  return `fields: ['${key.property}'] }`
}

function toLines(cell: unknown): string[] {
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell, null, 1)
  return text.split('\n')
}
