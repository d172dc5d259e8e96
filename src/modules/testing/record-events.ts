/** What a tested application logs, and the statements that it sends. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Log, StatementEvent } from '../../index.js'

/** A line of the log. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

/** A log that keeps its lines, and hands them on. */
export function recordingLog(lines: LogLine[], next: Log | undefined): Log {
  const at = (level: LogLine['level']) => (details: object, message: string) => {
    lines.push({ level, message, details: details as LogLine['details'] })
    next?.[level](details, message)
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** A statement that was sent: placeholders stand for its values. */
export type SentStatement = Pick<StatementEvent, 'sql' | 'kind' | 'table'>

const channel = 'filigree:statement'

/**
 * Keeps the statements of one database; those of the framework's own tables are left out, so that a test can count its
 * application's.
 *
 * @returns what ends it
 */
export function recordStatements(
  database: object | undefined,
  statements: SentStatement[],
): () => void {
  const heard = (message: unknown): void => {
    const { database: from, sql, kind, table } = message as StatementEvent
    if (from !== database || table?.startsWith('filigree_') === true) return
    statements.push({ sql, kind, table })
  }
  subscribe(channel, heard)
  return () => {
    unsubscribe(channel, heard)
  }
}
