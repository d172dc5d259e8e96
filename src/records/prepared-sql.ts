/**
 * SQL that is written by hand once for every engine, and prepared once. All of the framework's own tables are read and
 * written with it, and `CustomSql` is its public form. Values are bound by name. Fragments cover the syntax in which
 * engines differ.
 */
import { after, attempt, type MaybePromise } from '../core/maybe-promise.js'
import type { Dialect } from '../engines/contract/dialect.js'
import type { ResultKind, Results, Runner } from '../engines/contract/engine.js'
import {
  isWrite,
  usesFrameworkTable,
  type Statement,
  type StatementKind,
  type ValueSqlAt,
} from '../engines/contract/statement.js'
import { throwUnavailable } from './statements/client-errors.js'

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
  /**
   * A column of a `datetime` field for conditions and orders. SQLite's indexes contain an expression of such a column, so
   * only this expression is found by them.
   */
  readonly indexed: (column: string) => string
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

/** Values by the names that were passed to `value`. */
export type SqlValues = Readonly<Record<string, string | number | null>>

/** The part of `Database` that runs prepared SQL. */
export interface SqlHost {
  readonly context: { readonly dialect: Dialect }
  runner(): Runner
  /** Receives each statement that has changed rows. */
  wrote(statement: Statement): void
}

export interface PreparedSqlOptions {
  readonly kind: Exclude<StatementKind, 'script'>
  /** The names of the tables that the statement reads or writes, the main table first. */
  readonly tables: readonly string[]
  /**
   * For a select that finds its rows by an index: their maximum number. Its calls are combined. The SQL uses no list of
   * values. Default: unknown.
   */
  readonly maxRows?: number
}

export class PreparedSql {
  readonly statement: Statement
  readonly #names: readonly string[]
  readonly #host: SqlHost
  readonly #changesRecords: boolean

  constructor(
    host: SqlHost,
    { kind, tables, maxRows }: PreparedSqlOptions,
    write: (fragments: SqlFragments) => string,
  ) {
    const { statements, time, lists } = host.context.dialect
    const names: string[] = []
    const fragments: SqlFragments = {
      value: (name) => statements.placeholder(names.push(name)),
      now: (ms = '0') => time.now(ms),
      millis: (timestamp) => time.millis(timestamp),
      indexed: (column) => time.indexed(column),
      texts: (name) => lists.texts(names.push(name)),
      items: (name) => lists.items(names.push(name)),
      lock: statements.lock,
      lockFree: statements.lockFree,
    }
    const print = (valueAt: ValueSqlAt): string => {
      let position = 0
      return write({ ...fragments, value: () => valueAt(++position) })
    }
    const isFrameworkTable = usesFrameworkTable({ tables })
    this.statement = Object.freeze({
      sql: write(fragments),
      kind,
      tables,
      // Only selects of packages lock rows.
      mayWait: kind !== 'select' || !isFrameworkTable,
      for: isFrameworkTable ? 'ourselves' : 'program',
      isFresh: true,
      ...(maxRows === undefined ? {} : { bound: maxRows, together: 'calls', print }),
    })
    this.#names = names
    this.#host = host
    this.#changesRecords = isWrite(this.statement) && !isFrameworkTable
  }

  /**
   * @param runner default: of the transaction or request that is open where it is called
   * @throws {HttpError} 503 if the database cannot be reached
   */
  run<W extends ResultKind>(
    values: SqlValues,
    resultKind: W,
    runner: Runner = this.#host.runner(),
  ): MaybePromise<Results[W]> {
    const result = attempt<Results[W]>(
      () => runner.run(this.statement, this.bind(values), resultKind),
      throwUnavailable,
    )
    return this.#changesRecords ? after(result, this.#reportChange) : result
  }

  /** The values in the order of the placeholders. @throws {TypeError} a value is missing */
  bind(values: SqlValues): (string | number | null)[] {
    const bound: (string | number | null)[] = []
    for (const name of this.#names) {
      const value = values[name]
      if (value === undefined) throw new TypeError(`A statement got no value for "${name}".`)
      bound.push(value)
    }
    return bound
  }

  /** @param result the number of changed rows, or the rows */
  readonly #reportChange = <Result>(result: Result): Result => {
    const count = Array.isArray(result) ? result.length : result
    if (count !== 0) this.#host.wrote(this.statement)
    return result
  }
}
