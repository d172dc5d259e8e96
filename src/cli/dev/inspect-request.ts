/** Looks at a recorded request: which statements repeat, and which read whole tables. */
import type { Database } from '../../records/database.js'
import { planStatement, type PlannedStatement } from '../plan-statement.js'
import { statementOf, type RecordedRequest, type RecordedStep } from './recorder.js'
import type { Redactor } from './redactor.js'

export interface ExaminedStep extends Omit<RecordedStep, 'steps'> {
  /** How often the request sent this statement. */
  readonly repeats: number
  /** Tables that it reads from one end to the other, to filter or to sort. */
  readonly scans: readonly string[]
  /** The database's plan, a line each. */
  readonly plan: readonly string[]
  readonly steps: readonly ExaminedStep[]
}

export interface Examined extends Omit<RecordedRequest, 'steps'> {
  readonly steps: readonly ExaminedStep[]
  /** What deserves a look, in words. */
  readonly hints: readonly string[]
}

/** So many times the same statement reads rows one by one that could be read together. */
const many = 3

export async function examine(
  request: RecordedRequest,
  database: Database | undefined,
  redactor: Redactor,
): Promise<Examined> {
  const counts = new Map<string, number>()
  const shown = new Map<string, string>()
  count(request.steps, counts, shown)
  const plans = new Map<string, PlannedStatement>()
  for (const sql of counts.keys())
    if (database !== undefined) plans.set(sql, await planOf(database, sql))
  // A plan names what its statement has written out.
  const show = (line: string): string => redactor.sql(line, true)
  const toExamined = (step: RecordedStep): ExaminedStep => {
    const isStatement = step.isQuestion
    const { scans = [], plan = [] } = (isStatement ? plans.get(statementOf(step)) : undefined) ?? {}
    const repeats = isStatement ? (counts.get(statementOf(step)) ?? 1) : 1
    return { ...step, repeats, scans, plan: plan.map(show), steps: step.steps.map(toExamined) }
  }
  const repeated = [...counts].filter(([, times]) => times >= many)
  const advice = new Set([...plans.values()].flatMap((planned) => planned.advice))
  return {
    ...request,
    steps: request.steps.map(toExamined),
    hints: [
      ...repeated.map(
        ([sql, times]) =>
          `${times} times the same statement (N + 1): ask for all rows at once, by a relation or \`in\`. ${shown.get(sql) ?? ''}`,
      ),
      ...[...advice].map((index) => `A whole table is read. ${index}`),
    ],
  }
}

function count(
  steps: readonly RecordedStep[],
  counts: Map<string, number>,
  shown: Map<string, string>,
): void {
  for (const step of steps) {
    if (step.isQuestion) {
      const sql = statementOf(step)
      counts.set(sql, (counts.get(sql) ?? 0) + 1)
      shown.set(sql, step.name)
    }
    count(step.steps, counts, shown)
  }
}

/** For each database, by their text; a plan changes with the tables, so few are kept. */
const known = new WeakMap<Database, Map<string, PlannedStatement>>()
const mostKnown = 500

async function planOf(database: Database, sql: string): Promise<PlannedStatement> {
  const plans = known.get(database) ?? new Map<string, PlannedStatement>()
  known.set(database, plans)
  const before = plans.get(sql)
  if (before !== undefined) return before
  if (plans.size >= mostKnown) plans.clear()
  const planned = await planStatement(database, sql)
  plans.set(sql, planned)
  return planned
}
