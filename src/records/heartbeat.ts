/**
 * `database.heartbeat`: repeats statements on a thread, or on the main thread if no other process uses the database.
 */
import type { Engine, Row } from '../engines/contract/engine.js'
import type { Heartbeat } from '../engines/contract/heartbeat.js'
import { refuseUnknownOptions } from '../errors/unknown-options.js'
import type { BoundSql } from './custom-sql.js'

export type { Heartbeat } from '../engines/contract/heartbeat.js'

export interface HeartbeatOptions {
  /** Milliseconds between two beats, and before the first one. */
  readonly every: number
  /** Receives the rows of each statement after a beat. It must not throw. */
  readonly onRows: (rows: readonly (readonly Row[])[]) => void
  /** Receives the error of a failed beat, which is repeated after a second. */
  readonly onError: (error: Error) => void
}

export function startHeartbeat(
  engine: Engine,
  boundStatements: readonly BoundSql[],
  options: HeartbeatOptions,
): Heartbeat {
  refuseUnknownOptions('heartbeat', options, new Set(['every', 'onRows', 'onError']))
  const { every, onRows, onError } = options
  const statements = boundStatements.map(({ statement: prepared, values = {} }) => ({
    statement: prepared.statement,
    sql: prepared.statement.sql,
    values: prepared.bind(values),
  }))
  if (engine.heartbeat !== undefined) {
    const bound = statements.map(({ sql, values }) => ({ sql, values }))
    return engine.heartbeat({ statements: bound, every, onRows, onError })
  }
  const beat = async (): Promise<void> => {
    const rows: (readonly Row[])[] = []
    for (const { statement, values } of statements)
      rows.push(await engine.run(statement, values, 'rows'))
    onRows(rows)
  }
  const timer = setInterval(() => {
    beat().catch(onError)
  }, every).unref()
  return {
    stop: () => {
      clearInterval(timer)
      return Promise.resolve()
    },
  }
}
