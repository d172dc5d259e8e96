/**
 * Explains a GraphQL operation: its cost, its access rules, and the SQL that it sends with the query plans. Query plans show
 * which tables a statement reads completely.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Database } from '../../records/database.js'
import type { StatementEvent } from '../../records/statement-tracking.js'
import { planStatement, type PlannedStatement } from '../../records/scan-advice.js'
import type { ApplicationPlan } from '../../bootstrap/plan-application.js'
import { silentLog } from '../../core/log.js'
import { DeclarationError } from '../../errors/declaration-error.js'
import { frameworkScript } from '../../engines/contract/statement.js'
import { RefusedDocument } from '../../graphql/operations.js'
import type { Claims } from '../../http/request.js'
import { describeAccess, describeResult } from '../describe-application.js'
import type { ReadDatabase } from '../load-application.js'
import { UsageError } from '../command.js'

export interface ExplainedOperation {
  /** `query Items at /graphql`. */
  readonly operation: string
  readonly cost: number
  readonly limit: number
  /** The access rule of each restricted root field, and the result for the caller. */
  readonly gate: readonly string[]
  /** The statements that it sends, with their query plans. Empty if it was not run. */
  readonly statements: readonly ExplainedStatement[]
  /** Messages of errors, such as missing access rights. */
  readonly errors: readonly string[]
  /** How the statements were found, or why there are not any. */
  readonly note?: string
}

interface ExplainedStatement extends PlannedStatement {
  readonly sql: string
}

/** @returns true if a text is a GraphQL document and not a path */
export function isDocument(text: string): boolean {
  return /^\s*(?:\{|(?:query|mutation|subscription|fragment)\b)/.test(text)
}

/**
 * Runs the operation if it is a query, in a read-only transaction.
 *
 * @param claims of the caller. Undefined: without a token
 * @param open opens the application's database
 */
export async function explainOperation(
  plan: ApplicationPlan,
  text: string,
  claims: Claims | undefined,
  open: () => Promise<ReadDatabase>,
): Promise<ExplainedOperation> {
  const graphql = plan.graphql.main
  const [route] = graphql?.routes ?? []
  if (graphql === undefined || route === undefined)
    throw new UsageError('this application has no GraphQL.')
  const executor = graphql.executor()
  const found = executor.find(text, undefined)
  if (found instanceof RefusedDocument) {
    const errors = found.errors.map(({ message }) => message)
    return {
      operation: 'none',
      cost: 0,
      limit: graphql.limits.cost,
      gate: [],
      statements: [],
      errors,
    }
  }
  const type: string = found.node.operation
  const name = found.node.name?.value ?? ''
  const explained = {
    operation: `${type} ${name} at ${plan.settings.basePath}${route.path}`.replace('  ', ' '),
    cost: found.cost({}),
    limit: graphql.limits.cost,
    gate: executor
      .guardedRoots(found, graphql.accessFor(route.access))
      .map(
        ({ key, rule }) => `${key}: ${describeAccess(rule).words}; ${describeResult(rule, claims)}`,
      ),
  }
  const empty = { ...explained, statements: [], errors: [] }
  if (type !== 'query') return { ...empty, note: `A ${type} is not run, so its SQL is unknown.` }
  let opened: ReadDatabase
  try {
    opened = await open()
  } catch (error) {
    const reason = reasonOf(error)
    return { ...empty, note: `Without its database the SQL is unknown. ${reason}` }
  }
  const { database } = opened
  try {
    graphql.bind({ database, log: silentLog, production: false, clock: plan.clock })
    const { sent, errors } = await runReadOnly(opened, () => run(graphql, text, claims, database))
    const statements = []
    for (const sql of sent) statements.push({ sql, ...(await planStatement(database, sql)) })
    return { ...explained, cost: found.cost({}), statements, errors, note: ranReadOnly }
  } finally {
    await database.close()
  }
}

const readOnly = frameworkScript('set transaction read only')
const ranReadOnly = 'It was run as this caller in a read-only transaction, which was rolled back.'

/** Runs the work in a read-only transaction and rolls it back, because the application's resolvers can contain any code. */
async function runReadOnly<T>(
  { database, isReadOnly }: ReadDatabase,
  work: () => Promise<T>,
): Promise<T> {
  if (isReadOnly) return work()
  const results: T[] = []
  const rollback = new Error('rolled back')
  const { can } = database.context.dialect
  try {
    await database.transaction(async () => {
      // A database without read-only transactions is a file, which was opened read-only.
      if (can.readOnlyTransactions) await database.runner().run(readOnly, [], 'nothing')
      results.push(await work())
      throw rollback
    })
  } catch (error) {
    if (error !== rollback) throw error
  }
  return results[0] as T
}

function reasonOf(error: unknown): string {
  if (error instanceof DeclarationError)
    return error.problems.map(({ message, remedy }) => `${message} ${remedy}`).join(' ')
  return error instanceof Error ? error.message : String(error)
}

async function run(
  graphql: NonNullable<ApplicationPlan['graphql']['main']>,
  query: string,
  claims: Claims | undefined,
  database: Database,
): Promise<{ sent: readonly string[]; errors: readonly string[] }> {
  const sent: string[] = []
  const onStatement = (message: unknown): void => {
    const event = message as StatementEvent
    if (event.database === database && readsApplicationTables(event)) sent.push(event.sql)
  }
  subscribe('filigree:statement', onStatement)
  try {
    const { errors = [] } = await graphql.handleRequest({ query }, { user: claims ?? null })
    return { sent, errors: errors.map(({ message }) => message) }
  } finally {
    unsubscribe('filigree:statement', onStatement)
  }
}

/** @returns true if the statement can read, and uses only tables of the application. Other statements are not planned */
export function readsApplicationTables({
  kind,
  tables,
}: Pick<StatementEvent, 'kind' | 'tables'>): boolean {
  return readKinds.has(kind) && !tables.some((name) => name.startsWith('filigree_'))
}

/** Custom SQL is UNKNOWN: it can be anything, and planning it changes nothing. */
const readKinds: ReadonlySet<string> = new Set(['SELECT', 'UNKNOWN'])
