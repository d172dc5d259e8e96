/**
 * Prepared SQL that packages write by hand, once for every engine, and its repetition by `database.heartbeat`. Fragments
 * cover the syntax in which engines differ.
 */
import { attempt } from '../core/maybe-promise.js'
import type { Dialect } from '../engines/contract/dialect.js'
import type { Row, Runner, Engine } from '../engines/contract/engine.js'
import { isWrite, type Statement, type StatementKind } from '../engines/contract/statement.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { throwUnavailable } from './statements/client-errors.js'
import type { Heartbeat } from '../engines/contract/heartbeat.js'

export type { Heartbeat } from '../engines/contract/heartbeat.js'

/** SQL fragments that differ between engines. */
export interface SqlFragments {
  /** The placeholder of a named value. The same name may be used several times. */
  readonly value: (name: string) => string
  /**
   * The current time of the database's clock, in the stored form of `datetime` fields.
   *
   * @param ms SQL of milliseconds to add. Default 0
   */
  readonly now: (ms?: string) => string
  /** Converts a timestamp to milliseconds since 1970. */
  readonly millis: (timestamp: string) => string
  /** A query for the texts of a value that is a JSON list of texts. */
  readonly texts: (name: string) => string
  /**
   * A query for the entries of a value that is a JSON list of objects or lists; its column is `value`, of which
   * `value ->> 'name'` and `value ->> 0` are texts.
   */
  readonly items: (name: string) => string
  /** Follows a select in a transaction: locks its rows until the transaction ends. */
  readonly lock: string
  /** Follows a select: locks its rows and skips the rows that other transactions have locked. */
  readonly lockFree: string
}

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

/** Values by the names that were passed to `value`. */
export type SqlValues = Readonly<Record<string, string | number | null>>

/** A statement that is prepared once. It runs in the transaction that is open where it is called. */
export class CustomSql {
  readonly statement: Statement
  readonly #names: readonly string[]
  readonly #runner: () => Runner
  readonly #wrote: (statement: Statement) => void

  /** Use `database.prepare`. */
  constructor(
    options: CustomSqlOptions,
    write: (fragments: SqlFragments) => string,
    dialect: Dialect,
    host: { readonly runner: () => Runner; readonly wrote: (statement: Statement) => void },
  ) {
    customSqlOptions.check('prepare', options)
    const { kind, tables } = options
    const names: string[] = []
    const { lock, lockFree } = dialect.statements
    const sql = write({
      value: (name) => dialect.statements.placeholder(names.push(name)),
      now: (ms = '0') => dialect.time.now(ms),
      millis: (timestamp) => dialect.time.millis(timestamp),
      texts: (name) => dialect.lists.texts(names.push(name)),
      items: (name) => dialect.lists.items(names.push(name)),
      lock,
      lockFree,
    })
    this.#names = names
    this.#runner = host.runner
    this.#wrote = host.wrote
    this.statement = { sql, kind, tables, mayWait: true, for: 'program', isFresh: true }
  }

  /** @throws {HttpError} 503 if the database cannot be reached */
  async rows(values: SqlValues = {}): Promise<readonly Row[]> {
    const rows = await attempt<readonly Row[]>(
      () => this.#runner().run(this.statement, this.bind(values), 'rows'),
      throwUnavailable,
    )
    if (isWrite(this.statement) && rows.length > 0) this.#wrote(this.statement)
    return rows
  }

  /** @returns the number of changed rows */
  async change(values: SqlValues = {}): Promise<number> {
    const count = await attempt<number>(
      () => this.#runner().run(this.statement, this.bind(values), 'count'),
      throwUnavailable,
    )
    if (isWrite(this.statement) && count > 0) this.#wrote(this.statement)
    return count
  }

  /** The values in the order of the placeholders. @throws {TypeError} a value is missing */
  bind(values: SqlValues): (string | number | null)[] {
    return this.#names.map((name) => {
      const value = values[name]
      if (value === undefined) throw new TypeError(`A statement got no value for "${name}".`)
      return value
    })
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
  const statements = boundStatements.map(({ statement: prepared, values = {} }) => ({
    statement: prepared.statement,
    sql: prepared.statement.sql,
    values: prepared.bind(values),
  }))
  if (engine.processes !== undefined) {
    const bound = statements.map(({ sql, values }) => ({ sql, values }))
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
