/** One connection to a SQLite file. Sources: SQLite, PRAGMA Statements; Result and Error Codes. */
import { createRequire } from 'node:module'
import { DeclarationError } from '../../errors/declaration-error.js'
import type { Results, QueryResult, Runner, Statement, ResultKind } from '../contract/engine.js'
import { EngineError } from '../contract/engine-error.js'
import { frameworkQuery, isWrite } from '../contract/statement.js'
import type { SqliteDriver, SqliteConnection, DriverStatement, DriverName } from './driver.js'
import { convertSqliteError } from './errors.js'
import { sqlFunctions } from './functions.js'
import { type Heartbeat, type HeartbeatOptions, startHeartbeat } from '../contract/heartbeat.js'

export interface SqliteOptions {
  /** A path, or `:memory:` for a database that ends with the process. */
  readonly file: string
  /**
   * Which commits survive a power failure: `full` all, `normal` all but the last ones. Both survive a killed process.
   * Default `normal`.
   */
  readonly synchronous?: 'normal' | 'full'
  /** Milliseconds to wait for a lock of another process or transaction. Default 5,000. */
  readonly busyTimeout?: number | undefined
  /** Default false. */
  readonly readOnly?: boolean
  /** Milliseconds that all long reads of one request may take together. 0 means no limit. Default 30,000. */
  readonly readTime?: number | undefined
  /** The only allowed driver. Default: the first one that can be loaded. */
  readonly driver?: string | undefined
}

const dataVersionQuery = frameworkQuery('pragma data_version')
const totalChangesQuery = frameworkQuery('select total_changes()')

export class Connection implements Runner {
  readonly #database: SqliteConnection
  readonly #prepared = new WeakMap<Statement, DriverStatement>()
  readonly #driverWait: number

  /** @param openTimeout milliseconds that opening may block this process while another process has locked the file */
  constructor(
    driver: SqliteDriver,
    options: SqliteOptions,
    openTimeout = options.busyTimeout ?? 5000,
  ) {
    const { file, synchronous = 'normal', busyTimeout = 5000, readOnly = false } = options
    const database = driver.open(file, { timeout: openTimeout, readonly: readOnly })
    try {
      if (!readOnly) database.exec('pragma journal_mode = WAL')
      database.exec(`pragma synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'}`)
      database.exec('pragma foreign_keys = ON')
      // Makes LIKE case-sensitive, as in PostgreSQL, and lets it use an index.
      database.exec('pragma case_sensitive_like = ON')
      for (const [name, run] of Object.entries(sqlFunctions)) database.define(name, run)
      // The first read shows whether the file is a database.
      database.prepare('select count(*) from sqlite_schema', false).get([])
    } catch (error) {
      database.close()
      throw convertSqliteError(error)
    }
    this.#database = database
    this.#driverWait = Math.min(maxDriverWait, busyTimeout)
    this.setDriverWait(true)
  }

  /** @param isEnabled false: a lock of another process is an error immediately */
  setDriverWait(isEnabled: boolean): void {
    this.#database.exec(`pragma busy_timeout = ${isEnabled ? this.#driverWait : 0}`)
  }

  get inTransaction(): boolean {
    return this.#database.inTransaction
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: readonly unknown[],
    resultKind: W,
  ): Results[W] {
    try {
      return this.#run(statement, values, resultKind) as Results[W]
    } catch (error) {
      throw convertSqliteError(error)
    }
  }

  script(sql: string): void {
    try {
      this.#database.exec(sql)
    } catch (error) {
      throw convertSqliteError(error)
    }
  }

  /** A number that changes when another connection, also of another process, has written. */
  dataVersion(): number {
    return Number(this.run(dataVersionQuery, [], 'first')?.[0])
  }

  /** Rows that this connection has changed since it was opened. */
  #totalChanges(): number {
    return Number(this.run(totalChangesQuery, [], 'first')?.[0])
  }

  /** @throws {EngineError} `reference` if a row refers to a missing row */
  checkReferences(): void {
    const row = this.run(frameworkQuery('pragma foreign_key_check'), [], 'first')
    if (row === undefined) return
    throw new EngineError(
      'reference',
      `Rows of ${String(row[0])} refer to no row of ${String(row[2])}.`,
    )
  }

  close(): void {
    this.#database.close()
  }

  #run(
    statement: Statement,
    values: readonly unknown[],
    resultKind: ResultKind,
  ): Results[ResultKind] {
    switch (resultKind) {
      case 'rows':
        return this.#prepare(statement).all(values)
      case 'first':
        return this.#prepare(statement).get(values)
      case 'count':
        return this.#prepare(statement).run(values).changes
      case 'all':
        return this.#all(statement, values)
      case 'nothing':
        this.#database.exec(statement.sql)
    }
  }

  #all(statement: Statement, values: readonly unknown[]): QueryResult {
    const prepared = this.#database.prepare(statement.sql, isWrite(statement))
    if (!prepared.reader) return { names: [], rows: [], changes: prepared.run(values).changes }
    const names = prepared.columns().map(({ name }) => name)
    const before = statement.kind === 'unknown' ? this.#totalChanges() : undefined
    const rows = prepared.all(values).map((row) => row.map(toBuffer))
    const hasOnlyRead = before !== undefined && this.#totalChanges() === before
    return { names, rows, changes: rows.length, hasOnlyRead }
  }

  #prepare(statement: Statement): DriverStatement {
    let prepared = this.#prepared.get(statement)
    if (prepared === undefined) {
      prepared = this.#database.prepare(statement.sql, isWrite(statement))
      this.#prepared.set(statement, prepared)
    }
    return prepared
  }
}

/** Converts bytes to Buffers, as PostgreSQL returns them. Some drivers return Uint8Arrays. */
function toBuffer(value: unknown): unknown {
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

/** Milliseconds that the driver itself waits for another process's lock. It blocks this process meanwhile. */
const maxDriverWait = 20

/** The startup error for a file that cannot be opened. */
export function unreadableDatabase(file: string, cause: unknown): DeclarationError {
  const { message } = (cause ?? {}) as { message?: unknown }
  const reason = typeof message === 'string' ? message : String(cause)
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

/** The database of a heartbeat. */
interface HeartbeatFile {
  readonly driver: DriverName
  readonly file: string
  /** Milliseconds to wait for a lock. */
  readonly timeout: number
}

/** The program of the heartbeat's thread. */
const program = `
const { driver, library, file, timeout } = require('node:worker_threads').workerData
const opens = {
  'better-sqlite3': () => {
    const database = new (require(library))(file, { timeout })
    return { database, all: (sql, values) => database.prepare(sql).raw().all(values) }
  },
  'node:sqlite': () => {
    const database = new (require('node:sqlite').DatabaseSync)(file, { timeout })
    return {
      database,
      all: (sql, values) => {
        const statement = database.prepare(sql)
        statement.setReturnArrays(true)
        return statement.all(...values)
      },
    }
  },
  'bun:sqlite': () => {
    const database = new (require('bun:sqlite').Database)(file)
    return { database, all: (sql, values) => database.prepare(sql).values(...values) }
  },
}
const open = () => {
  const { database, all } = opens[driver]()
  database.exec('pragma busy_timeout = ' + timeout)
  database.exec('pragma synchronous = NORMAL')
  return { run: all, close: () => database.close() }
}
`

/** Runs the heartbeat in a thread with its own connection. Sources: SQLite, WAL; Node.js, Worker threads. */
export function startSqliteHeartbeat(
  { driver, file, timeout }: HeartbeatFile,
  options: HeartbeatOptions,
): Heartbeat {
  const library =
    driver === 'better-sqlite3' ? createRequire(import.meta.url).resolve(driver) : undefined
  return startHeartbeat(program, { driver, library, file, timeout }, options)
}
