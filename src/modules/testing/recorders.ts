/** Records the log, SQL statements, mail and jobs of a tested application. Mail is not sent, and jobs run only on request. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Log, StatementEvent } from '../../index.js'

/** A mail that was caught. */
export interface TestMail {
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly subject: string
  readonly text?: string
  readonly html?: string
  readonly replyTo?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The part of the mail module that tests use. */
export interface MailRuntime {
  readonly caught: readonly TestMail[]
}

/** A line of the log. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

/** A log that records its lines and passes them on. */
export function recordingLog(lines: LogLine[], next: Log | undefined): Log {
  const at = (level: LogLine['level']) => (details: object, message: string) => {
    lines.push({ level, message, details: details as LogLine['details'] })
    next?.[level](details, message)
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** A sent statement. Values are placeholders. */
export type SentStatement = Pick<StatementEvent, 'sql' | 'kind' | 'table'>

const channel = 'filigree:statement'

/**
 * Records the statements of one database, except those on tables of the framework, so that a test can count the statements of its application.
 *
 * @returns a function that stops recording
 */
export function recordStatements(
  database: object | undefined,
  statements: SentStatement[],
): () => void {
  const onStatement = (message: unknown): void => {
    const event = message as StatementEvent
    const { sql, kind, table, tables } = event
    if (event.database !== database || table?.startsWith('filigree_') === true) return
    // A query that names no table is one of the framework, such as the plan of a statement.
    if (kind === 'SELECT' && tables.length === 0) return
    statements.push({ sql, kind, table })
  }
  subscribe(channel, onStatement)
  return () => {
    unsubscribe(channel, onStatement)
  }
}

/** The part of the jobs module that tests use. */
interface JobsRuntime {
  readonly jobs: {
    list(options: ListOptions): Promise<(AddedEntry & { readonly secretBody: unknown })[]>
  }
  readonly registry: { find(owner: JobClass, method: string): { readonly name: string } }
  readonly worker: { readonly isDraining: boolean; drain(): Promise<number> }
  readonly notifier: { runInline: (() => Promise<unknown>) | undefined }
}

interface ListOptions {
  readonly name: string
  readonly limit: number
  readonly after?: number
}

/** A class with jobs. */
type JobClass<T = object> = abstract new (...args: never[]) => T

/** A job that was added. */
export interface AddedEntry {
  readonly id: number
  readonly name: string
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled'
  // Only the test knows the type of the body.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
  readonly priority: number
  /** When the job is due. */
  readonly runAt: string
  readonly attempt: number
  readonly error: string | null
  readonly uniqueKey: string | null
}

const pageSize = 1000

export class TestJobs {
  readonly #runtime: () => JobsRuntime

  /** Use `desk.jobs`. */
  constructor(get: (token: string) => unknown) {
    this.#runtime = () => get('filigree.jobs') as JobsRuntime
  }

  /** Runs all due jobs by the clock of the test, and the jobs that they add. @returns the number of runs */
  run(): Promise<number> {
    return this.#runtime().worker.drain()
  }

  /** The jobs of a method that were added since the last reset, in order, including jobs that have run. */
  async added<T extends object>(
    type: JobClass<T>,
    method: keyof T & string,
  ): Promise<AddedEntry[]> {
    const { registry, jobs } = this.#runtime()
    const { name } = registry.find(type, method)
    const entries: AddedEntry[] = []
    for (;;) {
      const last = entries.at(-1)
      const after = last === undefined ? {} : { after: last.id }
      const entriesOfPage = await jobs.list({ name, limit: pageSize, ...after })
      // Secret bodies are visible to the test.
      entries.push(
        ...entriesOfPage.map((one) => ({ ...one, body: (one.body ?? one.secretBody) as unknown })),
      )
      if (entriesOfPage.length < pageSize) return entries.reverse()
    }
  }

  /**
   * True: an added job runs immediately, before the code that adds it continues; in a transaction right after the commit. Default false.
   */
  get inline(): boolean {
    return this.#runtime().notifier.runInline !== undefined
  }

  set inline(isInline: boolean) {
    const { notifier, worker } = this.#runtime()
    notifier.runInline = isInline ? async () => (worker.isDraining ? 0 : worker.drain()) : undefined
  }
}
