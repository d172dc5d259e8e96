/** Asks the database for the query plan of a statement, and finds the tables that it reads completely. */
import type { Database } from '../records/database.js'
import type { StatementEvent } from '../records/statement-events.js'
import type { Table } from '../records/model/table.js'
import { adviseIndex, tableCalled } from '../records/scan-log.js'

export interface PlannedStatement {
  /** Tables that the statement reads completely, to filter or to sort. */
  readonly scans: readonly string[]
  /** The lines of the query plan. */
  readonly plan: readonly string[]
  /** Indexes that would avoid the scans. */
  readonly advice: readonly string[]
}

const noPlan: PlannedStatement = { scans: [], plan: [], advice: [] }
const maxPlanLines = 60

/** @returns true if the statement can read, and uses only tables of the application. Other statements are not planned */
export function readsApplicationTables({
  kind,
  tables,
}: Pick<StatementEvent, 'kind' | 'tables'>): boolean {
  return readKinds.has(kind) && !tables.some((name) => name.startsWith('filigree_'))
}

/** Custom SQL is UNKNOWN: it can be anything, and planning it changes nothing. */
const readKinds: ReadonlySet<string> = new Set(['SELECT', 'UNKNOWN'])

export async function planStatement(
  { context, tables }: Database,
  sql: string,
): Promise<PlannedStatement> {
  const { engine, dialect } = context
  try {
    const rows = await dialect.scans.explain(engine, sql)
    const plan = rows.flatMap((row) => toLines(row.at(-1))).slice(0, maxPlanLines)
    const scans = new Set<string>()
    const advice = new Set<string>()
    for (const name of dialect.scans.read(rows)) {
      // Plans can name tables by their alias in the statement.
      const table = tableCalled(name, sql, tables)
      const index = table && adviseIndex(table, sql)
      // A scan in the order of the primary key is on purpose, or ends at the limit.
      if (table === undefined || index === undefined || index.includes(primaryKeyIndex(table)))
        continue
      scans.add(table.name)
      advice.add(index)
    }
    return { scans: [...scans], plan, advice: [...advice] }
  } catch {
    // Some statements cannot be planned without their values.
    return noPlan
  }
}

function primaryKeyIndex({ key }: Table): string {
  return `fields: ['${key.property}'] }`
}

function toLines(cell: unknown): string[] {
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell, null, 1)
  return text.split('\n')
}
