/**
 * SQLite by better-sqlite3, in this process. Autocommitted statements run at once on one connection; a transaction, which
 * lasts over turns of the event loop, has a second one, and writes wait for it in line.
 * Sources: SQLite, Write-Ahead Logging; PRAGMA Statements; Result and Error Codes.
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { DeclarationError } from '../../errors/declaration-error.js'
import type { Catalogue } from '../catalogue.js'
import { EngineFault, type Engine, type Row, type Statement } from '../engine.js'
import type { Later, QueryResult, Runner, SchemaOptions, TransactionRunner } from '../engine.js'
import { Turn } from '../turn.js'
import { readSqliteCatalogue } from './sqlite-catalogue.js'
import { foldText, sqliteDialect, toBase64 } from './sqlite-dialect.js'
import { isBusy, toSqliteFault } from './sqlite-faults.js'

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
interface Driver {
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

/** @throws {DeclarationError} no driver, no such folder, no database in the file */
export async function openSqlite(options: SqliteOptions): Promise<Engine> {
  const Driver = await loadDriver()
  try {
    if (options.file !== ':memory:') mkdirSync(dirname(options.file), { recursive: true })
    return new SqliteEngine(Driver, options)
  } catch (cause) {
    throw toBootFault(options.file, cause)
  }
}

class SqliteEngine implements Engine {
  readonly dialect = sqliteDialect
  readonly #open: () => Connection
  readonly #main: Connection
  readonly #turn: Turn
  readonly #patience: number
  /** One connection for all: what a transaction has not committed is on it, so others wait to read too. */
  readonly #shared: boolean
  #second: Connection | undefined

  constructor(Driver: Driver, options: SqliteOptions) {
    this.#open = () => new Connection(Driver, options)
    this.#main = this.#open()
    this.#shared = options.file === ':memory:'
    this.#patience = options.busyTimeout ?? 5000
    this.#turn = new Turn(this.#patience)
  }

  rows(statement: Statement, values: readonly unknown[]): Later<Row[]> {
    return this.#run(statement.writes, () => this.#main.rows(statement, values))
  }

  first(statement: Statement, values: readonly unknown[]): Later<Row | undefined> {
    return this.#run(statement.writes, () => this.#main.first(statement, values))
  }

  change(statement: Statement, values: readonly unknown[]): Later<number> {
    return this.#run(true, () => this.#main.change(statement, values))
  }

  query(statement: Statement, values: readonly unknown[]): Later<QueryResult> {
    return this.#run(statement.writes, () => this.#main.query(statement, values))
  }

  script(sql: string): Later<void> {
    return this.#run(true, () => {
      this.#main.script(sql)
    })
  }

  catalogue(runner: Runner): Promise<Catalogue> {
    return readSqliteCatalogue(runner)
  }

  async begin({ schema = false }: SchemaOptions = {}): Promise<TransactionRunner> {
    await this.#turn.take()
    try {
      const connection = this.#shared ? this.#main : (this.#second ??= this.#open())
      // A table that is made anew is dropped first, which would delete what refers to it.
      if (schema) connection.script('pragma foreign_keys = off')
      await untilFree(this.#patience, () => {
        connection.script('begin immediate')
      })
      return new SqliteTransaction(connection, this.#turn, schema)
    } catch (error) {
      this.#turn.release()
      throw error
    }
  }

  close(): Promise<void> {
    this.#second?.close()
    this.#main.close()
    return Promise.resolve()
  }

  /** At once where nothing is in the way. */
  #run<T>(writes: boolean, work: () => T): Later<T> {
    if (this.#turn.taken && (writes || this.#shared)) {
      return this.#turn.run(() => untilFree(this.#patience, work))
    }
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw error
      return this.#turn.run(() => untilFree(this.#patience, work))
    }
  }
}

/** Milliseconds that the driver waits for another process's lock by itself, during which nothing else happens here. */
const shortWait = 20

/** Tries again while another process has the lock, letting others have a turn meanwhile. */
async function untilFree<T>(patience: number, work: () => T): Promise<T> {
  const end = performance.now() + patience
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error
      await setTimeout(10)
    }
  }
}

class SqliteTransaction implements TransactionRunner {
  readonly #connection: Connection
  readonly #turn: Turn
  readonly #schema: boolean
  #isOver = false

  constructor(connection: Connection, turn: Turn, schema: boolean) {
    this.#connection = connection
    this.#turn = turn
    this.#schema = schema
  }

  rows(statement: Statement, values: readonly unknown[]): Row[] {
    return this.#living().rows(statement, values)
  }

  first(statement: Statement, values: readonly unknown[]): Row | undefined {
    return this.#living().first(statement, values)
  }

  change(statement: Statement, values: readonly unknown[]): number {
    return this.#living().change(statement, values)
  }

  query(statement: Statement, values: readonly unknown[]): QueryResult {
    return this.#living().query(statement, values)
  }

  script(sql: string): void {
    this.#living().script(sql)
  }

  commit(): Promise<void> {
    return this.#end(() => {
      const connection = this.#living()
      if (this.#schema) connection.checkReferences()
      connection.script('commit')
    })
  }

  rollback(): Promise<void> {
    return this.#end(() => undefined)
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- what is thrown becomes a rejection
  async #end(last: () => void): Promise<void> {
    if (this.#isOver) return
    try {
      last()
    } finally {
      this.#isOver = true
      if (this.#connection.inTransaction) this.#connection.script('rollback')
      if (this.#schema) this.#connection.script('pragma foreign_keys = on')
      this.#turn.release()
    }
  }

  /** Some faults (a full disk) make SQLite roll back by itself: what came next would be committed one by one. */
  #living(): Connection {
    if (this.#isOver || !this.#connection.inTransaction) {
      throw new EngineFault('other', 'The transaction is over.')
    }
    return this.#connection
  }
}

class Connection {
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

async function loadDriver(): Promise<Driver> {
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

function toBootFault(file: string, cause: unknown): DeclarationError {
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
