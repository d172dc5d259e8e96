/** One connection to a SQLite file by better-sqlite3. Sources: SQLite, PRAGMA Statements; Result and Error Codes. */
import { DeclarationError } from '../../../errors/declaration-error.js'
import { EngineFault, type QueryResult, type Row, type Statement } from '../engine.js'
import { foldText, toBase64 } from './dialect.js'
import { toSqliteFault } from './faults.js'

export interface SqliteOptions {
  /** A path, or `:memory:` for a database that is gone with the process. */
  readonly file: string
  /** What survives a power cut: `full` every commit, `normal` all but the last ones. Both survive a killed process. Default `normal`. */
  readonly synchronous?: 'normal' | 'full'
  /** Milliseconds to wait for a lock, another process's or another transaction's. Default 5,000. */
  readonly busyTimeout?: number
  /** Nothing can be written. Default false. */
  readonly readOnly?: boolean
}

/** The part of better-sqlite3 that is used. */
export interface Driver {
  new (file: string, options: { timeout: number; readonly: boolean }): DriverDatabase
}
interface DriverDatabase {
  readonly inTransaction: boolean
  prepare(sql: string): DriverStatement
  exec(sql: string): unknown
  pragma(sql: string): unknown
  function(
    name: string,
    options: { deterministic: boolean },
    run: (text: unknown) => unknown,
  ): unknown
  close(): unknown
}
interface DriverStatement {
  readonly reader: boolean
  raw(): DriverStatement
  columns(): { name: string }[]
  all(values: readonly unknown[]): Row[]
  get(values: readonly unknown[]): Row | undefined
  run(values: readonly unknown[]): { changes: number }
}

export class Connection {
  readonly #database: DriverDatabase
  readonly #prepared = new WeakMap<Statement, DriverStatement>()

  constructor(Driver: Driver, options: SqliteOptions) {
    const { file, synchronous = 'normal', busyTimeout = 5000, readOnly = false } = options
    const database = new Driver(file, { timeout: busyTimeout, readonly: readOnly })
    try {
      if (!readOnly) database.pragma('journal_mode = WAL')
      database.pragma(`synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'}`)
      database.pragma('foreign_keys = ON')
      // LIKE heeds case then, as in PostgreSQL, and can use an index.
      database.pragma('case_sensitive_like = ON')
      database.function('filigree_fold', { deterministic: true }, foldText)
      database.function('filigree_base64', { deterministic: true }, toBase64)
      // Nothing is read before: a file that is no database shows here.
      database.prepare('select count(*) from sqlite_schema').get([])
      database.pragma(`busy_timeout = ${Math.min(shortWait, busyTimeout)}`)
    } catch (error) {
      database.close()
      throw error
    }
    this.#database = database
  }

  get inTransaction(): boolean {
    return this.#database.inTransaction
  }

  rows(statement: Statement, values: readonly unknown[]): Row[] {
    try {
      return this.#prepare(statement).all(values)
    } catch (error) {
      throw toSqliteFault(error)
    }
  }

  first(statement: Statement, values: readonly unknown[]): Row | undefined {
    try {
      return this.#prepare(statement).get(values)
    } catch (error) {
      throw toSqliteFault(error)
    }
  }

  change(statement: Statement, values: readonly unknown[]): number {
    try {
      return this.#prepare(statement).run(values).changes
    } catch (error) {
      throw toSqliteFault(error)
    }
  }

  script(sql: string): void {
    try {
      this.#database.exec(sql)
    } catch (error) {
      throw toSqliteFault(error)
    }
  }

  query({ sql }: Statement, values: readonly unknown[]): QueryResult {
    try {
      const prepared = this.#database.prepare(sql)
      if (!prepared.reader) return { names: [], rows: [], changes: prepared.run(values).changes }
      const names = prepared.columns().map(({ name }) => name)
      const rows = prepared.raw().all(values)
      return { names, rows, changes: rows.length }
    } catch (error) {
      throw toSqliteFault(error)
    }
  }

  /** @throws {EngineFault} `reference` where a row refers to none */
  checkReferences(): void {
    const { rows } = this.query({ sql: 'pragma foreign_key_check', writes: false }, [])
    const [row] = rows
    if (row === undefined) return
    throw new EngineFault(
      'reference',
      `Rows of ${String(row[0])} refer to no row of ${String(row[2])}.`,
    )
  }

  close(): void {
    this.#database.close()
  }

  #prepare(statement: Statement): DriverStatement {
    let prepared = this.#prepared.get(statement)
    if (prepared === undefined) {
      prepared = this.#database.prepare(statement.sql)
      if (prepared.reader) prepared = prepared.raw()
      this.#prepared.set(statement, prepared)
    }
    return prepared
  }
}

/** Milliseconds that the driver waits for another process's lock by itself, during which nothing else happens here. */
const shortWait = 20

/** @throws {DeclarationError} the package is not there */
export async function loadDriver(): Promise<Driver> {
  try {
    // Typed here, by the part that is used: no types of its own are needed to compile.
    const name = 'better-sqlite3'
    const { default: Driver } = (await import(name)) as { default: Driver }
    return Driver
  } catch (cause) {
    throw missingDriver('npm install better-sqlite3', cause)
  }
}

function missingDriver(remedy: string, cause: unknown): DeclarationError {
  const error = new DeclarationError([
    {
      code: 'DATABASE_DRIVER_MISSING',
      message: 'The embedded database needs the package better-sqlite3, which cannot be loaded.',
      remedy: `Run: ${remedy}`,
    },
  ])
  error.cause = cause
  return error
}

/** What keeps a file from being opened, for the boot report. */
export function toBootFault(file: string, cause: unknown): DeclarationError {
  const { message } = (cause ?? {}) as { message?: unknown }
  const reason = typeof message === 'string' ? message : String(cause)
  // The driver finds its compiled part only when a database is opened.
  if (/bindings file|NODE_MODULE_VERSION|\.node\b/.test(reason)) {
    return missingDriver('npm rebuild better-sqlite3', cause)
  }
  const error = new DeclarationError([
    {
      code: 'DATABASE_UNREADABLE',
      message: `The database ${file} cannot be opened: ${reason}.`,
      remedy: 'Check the path in DATABASE_URL, its permissions, and that it is a SQLite database.',
    },
  ])
  error.cause = cause
  return error
}
