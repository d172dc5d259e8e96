/** Prepared SQL of packages, and its repetition by `database.heartbeat`. */
import type { Row, Engine } from '../engines/contract/engine.js'
import type { StatementKind } from '../engines/contract/statement.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { PreparedSql, type SqlFragments, type SqlHost, type SqlValues } from './prepared-sql.js'
import type { Heartbeat } from '../engines/contract/heartbeat.js'

export type { Heartbeat } from '../engines/contract/heartbeat.js'
export type { SqlFragments, SqlValues } from './prepared-sql.js'

const customSqlOptions = declareOptions({
  /** The kind of statement. All kinds except `select` wait in the queue of a database with one writer. */
  kind: option
    .of<Exclude<StatementKind, 'script'>>(
      (value) => typeof value === 'string',
      "Write the kind of statement: 'select'.",
    )
    .required(),
  /** The names of the tables that the statement reads or writes, the main table first. */
  tables: option
    .of<readonly string[]>(Array.isArray, "Write the names of its tables: ['job'].")
    .required(),
})

export interface CustomSqlOptions extends OptionsOf<typeof customSqlOptions> {}

/** A statement that is prepared once. It runs in the transaction that is open where it is called. */
export class CustomSql {
  /** For `database.heartbeat`. */
  readonly prepared: PreparedSql

  /** Use `database.prepare`. */
  constructor(
    host: SqlHost,
    options: CustomSqlOptions,
    write: (fragments: SqlFragments) => string,
  ) {
    customSqlOptions.check('prepare', options)
    this.prepared = new PreparedSql(host, options, write)
  }

  /** @throws {HttpError} 503 if the database cannot be reached */
  async rows(values: SqlValues = {}): Promise<readonly Row[]> {
    return await this.prepared.run(values, 'rows')
  }

  /** @returns the number of changed rows. @throws {HttpError} 503 if the database cannot be reached */
  async change(values: SqlValues = {}): Promise<number> {
    return await this.prepared.run(values, 'count')
  }
}

/** A statement with its values, for `database.heartbeat`. */
export interface BoundSql {
  readonly statement: CustomSql
  readonly values?: SqlValues
}

const heartbeatOptions = declareOptions({
  /** Milliseconds between two beats, and before the first one. */
  every: option.milliseconds().required(),
  /** Receives the rows of each statement after a beat. It must not throw. */
  onRows: option.any<(rows: readonly (readonly Row[])[]) => void>().required(),
  /** Receives the error of a failed beat, which is repeated after a second. */
  onError: option.any<(error: Error) => void>().required(),
})

export interface HeartbeatOptions extends OptionsOf<typeof heartbeatOptions> {}

/** Repeats statements on a thread, or on the main thread if no other process uses the database. */
export function startHeartbeat(
  engine: Engine,
  boundStatements: readonly BoundSql[],
  options: HeartbeatOptions,
): Heartbeat {
  heartbeatOptions.check('heartbeat', options)
  const { every, onRows, onError } = options
  const statements = boundStatements.map(({ statement: { prepared }, values = {} }) => ({
    statement: prepared.statement,
    values: prepared.bind(values),
  }))
  if (engine.processes !== undefined) {
    const bound = statements.map(({ statement: { sql }, values }) => ({ sql, values }))
    return engine.processes.heartbeat({ statements: bound, every, onRows, onError })
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
