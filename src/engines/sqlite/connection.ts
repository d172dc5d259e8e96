/** One connection to a SQLite file. Sources: SQLite, PRAGMA Statements; Result and Error Codes. */
import { DeclarationError } from '../../errors/declaration-error.js'
import type { Answers, QueryResult, Runner, Statement, Wanted } from '../contract/engine.js'
import { EngineFault } from '../contract/engine-fault.js'
import { ownQuestion, changes } from '../contract/statement.js'
import type { Driver, DriverDatabase, DriverStatement } from './driver.js'
import { toSqliteFault } from './errors.js'
import { sqlFunctions } from './functions.js'

export interface SqliteOptions {
  /** A path, or `:memory:` for a database that is lost when the process ends. */
  readonly file: string
  /**
   * Which commits survive a power failure: `full` all, `normal` all but the last ones. Both survive a killed process.
   * Default `normal`.
   */
  readonly synchronous?: 'normal' | 'full'
  /** Milliseconds to wait for a lock of another process or transaction. Default 5,000. */
  readonly busyTimeout?: number | undefined
  /** Nothing can be written. Default false. */
  readonly readOnly?: boolean
  /** Milliseconds that the long reads of a client's request may take together; 0 means no limit. Default 30,000. */
  readonly readTime?: number | undefined
  /** The only allowed driver. Default: the first one that can be loaded. */
  readonly driver?: string | undefined
}

const dataVersion = ownQuestion('pragma data_version')
const totalChanges = ownQuestion('select total_changes()')

export class Connection implements Runner {
  readonly #database: DriverDatabase
  readonly #prepared = new WeakMap<Statement, DriverStatement>()
  readonly #shortly: number

  /** @param opening milliseconds that this process may stand still while another one has the file for itself */
  constructor(driver: Driver, options: SqliteOptions, opening = options.busyTimeout ?? 5000) {
    const { file, synchronous = 'normal', busyTimeout = 5000, readOnly = false } = options
    const database = driver.open(file, { timeout: opening, readonly: readOnly })
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
      throw toSqliteFault(error)
    }
    this.#database = database
    this.#shortly = Math.min(shortWait, busyTimeout)
    this.waitShortly(true)
  }

  /** @param waits false: locks of other processes are faults at once */
  waitShortly(waits: boolean): void {
    this.#database.exec(`pragma busy_timeout = ${waits ? this.#shortly : 0}`)
  }

  get inTransaction(): boolean {
    return this.#database.inTransaction
  }

  run<W extends Wanted>(statement: Statement, values: readonly unknown[], wanted: W): Answers[W] {
    try {
      return this.#run(statement, values, wanted) as Answers[W]
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

  /** A number that is another one once another connection, perhaps of another process, has written. */
  version(): number {
    return Number(this.run(dataVersion, [], 'first')?.[0])
  }

  /** Rows that this connection has changed since it was opened. */
  #changesOfAll(): number {
    return Number(this.run(totalChanges, [], 'first')?.[0])
  }

  /** @throws {EngineFault} `reference` if a row refers to a missing row */
  checkReferences(): void {
    const row = this.run(ownQuestion('pragma foreign_key_check'), [], 'first')
    if (row === undefined) return
    throw new EngineFault(
      'reference',
      `Rows of ${String(row[0])} refer to no row of ${String(row[2])}.`,
    )
  }

  close(): void {
    this.#database.close()
  }

  #run(statement: Statement, values: readonly unknown[], wanted: Wanted): Answers[Wanted] {
    switch (wanted) {
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
    const prepared = this.#database.prepare(statement.sql, changes(statement))
    if (!prepared.reader) return { names: [], rows: [], changes: prepared.run(values).changes }
    const names = prepared.columns().map(({ name }) => name)
    const before = statement.kind === 'unknown' ? this.#changesOfAll() : undefined
    const rows = prepared.all(values).map((row) => row.map(toBuffer))
    const hasOnlyRead = before !== undefined && this.#changesOfAll() === before
    return { names, rows, changes: rows.length, hasOnlyRead }
  }

  #prepare(statement: Statement): DriverStatement {
    let prepared = this.#prepared.get(statement)
    if (prepared === undefined) {
      prepared = this.#database.prepare(statement.sql, changes(statement))
      this.#prepared.set(statement, prepared)
    }
    return prepared
  }
}

/** Bytes become Buffers, as they are on PostgreSQL; drivers differ. */
function toBuffer(value: unknown): unknown {
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

/** Milliseconds that the driver itself waits for another process's lock; this process is blocked meanwhile. */
const shortWait = 20

/** The error about a file that cannot be opened, for the report at the start. */
export function toBootFault(file: string, cause: unknown): DeclarationError {
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
