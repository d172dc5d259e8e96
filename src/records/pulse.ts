/** `database.pulse`: statements that are repeated on a thread, or here where no other process uses the database. */
import type { Engine, Row } from '../engines/contract/engine.js'
import type { Pulse } from '../engines/contract/pulse.js'
import { refuseUnknownOptions } from '../errors/refuse-options.js'
import type { BoundSql } from './own-sql.js'

export type { Pulse } from '../engines/contract/pulse.js'

export interface PulseOptions {
  /** Milliseconds between two beats; the first one comes after as many. */
  readonly every: number
  /** Gets the rows of each statement after a beat. It must not throw. */
  readonly heard: (rows: readonly (readonly Row[])[]) => void
  /** A beat failed; it is tried again after a second. */
  readonly failed: (error: Error) => void
}

export function startPulse(
  engine: Engine,
  given: readonly BoundSql[],
  options: PulseOptions,
): Pulse {
  refuseUnknownOptions('pulse', options, new Set(['every', 'heard', 'failed']))
  const { every, heard, failed } = options
  const statements = given.map(({ statement: own, values = {} }) => ({
    statement: own.statement,
    sql: own.statement.sql,
    values: own.bind(values),
  }))
  if (engine.pulse !== undefined) {
    const bound = statements.map(({ sql, values }) => ({ sql, values }))
    return engine.pulse({ statements: bound, every, heard, failed })
  }
  const beat = async (): Promise<void> => {
    const rows: (readonly Row[])[] = []
    for (const { statement, values } of statements)
      rows.push(await engine.run(statement, values, 'rows'))
    heard(rows)
  }
  const timer = setInterval(() => {
    beat().catch(failed)
  }, every).unref()
  return {
    stop: () => {
      clearInterval(timer)
      return Promise.resolve()
    },
  }
}
