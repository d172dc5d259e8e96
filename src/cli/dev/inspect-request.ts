/** Analyses a recorded request: finds repeated statements (N + 1) and statements that read complete tables. */
import type { Database } from '../../records/database.js'
import { planStatement, type PlannedStatement } from '../plan-statement.js'
import { statementOf, type RecordedRequest, type RecordedStep } from './recorder.js'
import type { Redactor } from './redactor.js'

export interface InspectedStep extends Omit<RecordedStep, 'steps'> {
  /** Number of times that the request sent this statement. */
  readonly repeats: number
  /** Tables that the statement reads completely, to filter or to sort. */
  readonly scans: readonly string[]
  /** The lines of the query plan. */
  readonly plan: readonly string[]
  readonly steps: readonly InspectedStep[]
}

export interface InspectedRequest extends Omit<RecordedRequest, 'steps'> {
  readonly steps: readonly InspectedStep[]
  /** Advice on repeated statements and missing indexes. */
  readonly hints: readonly string[]
}

/** A statement that a request sends at least this many times is reported as N + 1. */
const minRepeats = 3

export async function inspectRequest(
  request: RecordedRequest,
  database: Database | undefined,
  redactor: Redactor,
): Promise<InspectedRequest> {
  const counts = new Map<string, number>()
  const redactedSql = new Map<string, string>()
  countStatements(request.steps, counts, redactedSql)
  const plans = new Map<string, PlannedStatement>()
  for (const sql of counts.keys())
    if (database !== undefined) plans.set(sql, await planOf(database, sql))
  // A plan contains the literal values of its statement.
  const show = (line: string): string => redactor.sql(line, true)
  const toInspected = (step: RecordedStep): InspectedStep => {
    const isStatement = step.readsApplicationTables
    const { scans = [], plan = [] } = (isStatement ? plans.get(statementOf(step)) : undefined) ?? {}
    const repeats = isStatement ? (counts.get(statementOf(step)) ?? 1) : 1
    return { ...step, repeats, scans, plan: plan.map(show), steps: step.steps.map(toInspected) }
  }
  const repeated = [...counts].filter(([, times]) => times >= minRepeats)
  const advice = new Set([...plans.values()].flatMap((planned) => planned.advice))
  return {
    ...request,
    steps: request.steps.map(toInspected),
    hints: [
      ...repeated.map(
        ([sql, times]) =>
          `${times} times the same statement (N + 1): ask for all rows at once, by a relation or \`in\`. ${redactedSql.get(sql) ?? ''}`,
      ),
      ...[...advice].map((index) => `A whole table is read. ${index}`),
    ],
  }
}

function countStatements(
  steps: readonly RecordedStep[],
  counts: Map<string, number>,
  redactedSql: Map<string, string>,
): void {
  for (const step of steps) {
    if (step.readsApplicationTables) {
      const sql = statementOf(step)
      counts.set(sql, (counts.get(sql) ?? 0) + 1)
      redactedSql.set(sql, step.name)
    }
    countStatements(step.steps, counts, redactedSql)
  }
}

/** Query plans by database and SQL. The cache is small, because plans change with the tables. */
const cachedPlans = new WeakMap<Database, Map<string, PlannedStatement>>()
const maxCachedPlans = 500

async function planOf(database: Database, sql: string): Promise<PlannedStatement> {
  const plans = cachedPlans.get(database) ?? new Map<string, PlannedStatement>()
  cachedPlans.set(database, plans)
  const before = plans.get(sql)
  if (before !== undefined) return before
  if (plans.size >= maxCachedPlans) plans.clear()
  const planned = await planStatement(database, sql)
  plans.set(sql, planned)
  return planned
}
