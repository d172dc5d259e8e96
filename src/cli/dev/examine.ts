/** Looks at a recorded request: which statements repeat, and which read whole tables. */
import type { Database } from '../../records/database.js'
import { planStatement, type PlannedStatement } from '../plan-statement.js'
import type { RecordedRequest, RecordedStep } from './recorder.js'

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
): Promise<Examined> {
  const counts = new Map<string, number>()
  count(request.steps, counts)
  const plans = new Map<string, PlannedStatement>()
  for (const sql of counts.keys())
    if (database !== undefined) plans.set(sql, await planOf(database, sql))
  const toExamined = (step: RecordedStep): ExaminedStep => {
    const isStatement = step.isQuestion
    const { scans = [], plan = [] } = (isStatement ? plans.get(step.name) : undefined) ?? {}
    const repeats = isStatement ? (counts.get(step.name) ?? 1) : 1
    return { ...step, repeats, scans, plan, steps: step.steps.map(toExamined) }
  }
  const repeated = [...counts].filter(([, times]) => times >= many)
  const advice = new Set([...plans.values()].flatMap((planned) => planned.advice))
  return {
    ...request,
    steps: request.steps.map(toExamined),
    hints: [
      ...repeated.map(
        ([sql, times]) =>
          `${times} times the same statement (N + 1): ask for all rows at once, by a relation or \`in\`. ${sql}`,
      ),
      ...[...advice].map((index) => `A whole table is read. ${index}`),
    ],
  }
}

function count(steps: readonly RecordedStep[], counts: Map<string, number>): void {
  for (const { isQuestion, name, steps: inner } of steps) {
    if (isQuestion) counts.set(name, (counts.get(name) ?? 0) + 1)
    count(inner, counts)
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
