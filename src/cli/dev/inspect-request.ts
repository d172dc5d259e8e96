/** Analyses a recorded request: finds repeated statements (N + 1) and statements that read complete tables. */
import type { ApplicationPlan } from '../../bootstrap/plan-application.js'
import type { Database } from '../../records/database.js'
import { explainRoute, type ExplainedRoute } from '../commands/explain-route.js'
import { planStatement, type PlannedStatement } from '../../records/scan-advice.js'
import { editorOf } from './failure-pages.js'
import { sentRequestOf, statementOf, type RecordedRequest, type RecordedStep } from './recorder.js'
import type { Redactor } from '../../serving/redaction/redactor.js'

export interface InspectedStep
  extends Omit<RecordedStep, 'steps'>, Pick<PlannedStatement, 'scans' | 'plan'> {
  /** Number of times that the request sent this statement. */
  readonly repeats: number
  readonly steps: readonly InspectedStep[]
}

export interface InspectedRequest extends Omit<RecordedRequest, 'steps'> {
  readonly steps: readonly InspectedStep[]
  /** Advice on repeated statements and missing indexes. */
  readonly hints: readonly string[]
  /** What `filigree explain` shows of the request. Null while the request runs. */
  readonly explained: Pick<ExplainedRoute, 'pattern' | 'steps' | 'others'> | null
  /** The address that opens the location of the error in an editor. */
  readonly editor: string | null
}

/** A statement that a request sends at least this many times is reported as N + 1. */
const minRepeats = 3

interface InspectOptions {
  readonly plan: ApplicationPlan
  readonly database: Database | undefined
  readonly redactor: Redactor
}

export async function inspectRequest(
  request: RecordedRequest,
  { plan: applicationPlan, database, redactor }: InspectOptions,
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
          `${times} times the same statement (N + 1): query all rows together, by a relation or \`in\`. ${redactedSql.get(sql) ?? ''}`,
      ),
      ...[...advice].map((index) => `A complete table is read. ${index}`),
    ],
    explained: explain(request, applicationPlan, redactor),
    editor: editorOf(request.fault),
  }
}

const cachedExplanations = new WeakMap<RecordedRequest, InspectedRequest['explained']>()

function explain(
  request: RecordedRequest,
  plan: ApplicationPlan,
  redactor: Redactor,
): InspectedRequest['explained'] {
  const sent = sentRequestOf(request)
  if (sent === undefined) return null
  const cached = cachedExplanations.get(request)
  if (cached !== undefined) return cached
  // Conditions of rows can contain values of the caller, and reasons parts of the path. Other steps are declarations.
  const show = (text: string): string => redactor.text(text, sent.secrets)
  const showDeclared = (text: string): string => redactor.declaration(text, sent.secrets)
  try {
    const { pattern, steps, others } = explainRoute(plan, request.method, sent.path, sent.claims)
    const explained = {
      pattern,
      steps: steps.map(({ step, what }) => ({
        step,
        what: step === 'rows' ? show(what) : showDeclared(what),
      })),
      others: others.map(({ route, reason }) => ({ route, reason: show(reason) })),
    }
    cachedExplanations.set(request, explained)
    return explained
  } catch {
    // The path is malformed.
    return null
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
