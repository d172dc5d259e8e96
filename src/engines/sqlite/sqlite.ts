/**
 * The SQLite engine. Autocommitted statements run synchronously on the main connection. A transaction spans several
 * ticks of the event loop, so it has a second connection, and other writes wait until it ends. Sources: SQLite,
 * Write-Ahead Logging; PRAGMA Statements; Result and Error Codes.
 */
import type {
  BeginOptions,
  DatabaseProcesses,
  Results,
  ClientWriting,
  Engine,
  EngineSchema,
  EngineStatus,
  RequestStatements,
  Row,
  Runner,
  SchemaChangeOptions,
  Statement,
  TransactionRunner,
  Values,
  ResultKind,
} from '../contract/engine.js'
import { setTimeout } from 'node:timers/promises'
import type { Dialect } from '../contract/dialect.js'
import type { EngineCopying, DatabaseSnapshot } from '../contract/exchange.js'
import { frameworkQuery, isWrite } from '../contract/statement.js'
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import { ClientWrites, requestTimeoutError, type Schedule } from '../client-writes.js'
import { WriterLock } from '../writer-lock.js'
import { readSqliteCatalogue } from './catalogue.js'
import { describeSqliteTables } from './describe-tables.js'
import { chooseDriver } from './drivers.js'
import type { SqliteDriver } from './driver.js'
import { returnsRows, SqliteClientReads } from './client-reads.js'
import { ReadCostEstimator } from './read-costs.js'
import { ReaderThreads } from './reader-threads.js'
import {
  Connection,
  unreadableDatabase,
  type SqliteOptions,
  startSqliteHeartbeat,
} from './connection.js'
import { DroppedParts } from './dropped-parts.js'
import { createSqliteDialect } from './dialect.js'
import { writesExactDoubles } from './json.js'
import { isBusy } from './errors.js'
import { ExternalWrites, FileWatch, createPrivateFile } from './database-file.js'
import { readSqliteSizes } from './table-sizes.js'
import { SqliteTransaction } from './transaction.js'

/** @throws {DeclarationError} a missing driver or folder, or a file that is not a database */
export async function openSqlite(options: SqliteOptions): Promise<Engine> {
  const driver = await chooseDriver(options.driver)
  try {
    if (options.file !== ':memory:' && options.readOnly !== true) createPrivateFile(options.file)
    return new SqliteEngine(driver, options)
  } catch (cause) {
    throw unreadableDatabase(options.file, cause)
  }
}

class SqliteEngine implements Engine {
  readonly dialect: Dialect
  readonly status: EngineStatus
  readonly schema: EngineSchema
  readonly requests: RequestStatements
  /** Absent for databases in memory, which other connections cannot see. */
  readonly processes?: DatabaseProcesses
  readonly copying?: EngineCopying
  #externalWrites: ExternalWrites | undefined
  readonly #open: (openTimeout?: number) => Connection
  readonly #openCopy: (file: string) => Connection
  readonly #main: Connection
  readonly #writeQueue: WriterLock
  readonly #lockTimeout: number
  /** The timeout in the database URL. */
  readonly #urlTimeout: number | undefined
  /**
   * One connection serves everything, because the database is in memory. The connection sees uncommitted changes of the
   * transaction, so reads have to wait too.
   */
  readonly #shared: boolean
  readonly #readers: ReaderThreads | undefined
  /** Absent for databases in memory. */
  readonly #readCosts: ReadCostEstimator | undefined
  #transactionConnection: Connection | undefined

  constructor(driver: SqliteDriver, options: SqliteOptions) {
    this.#open = (openTimeout) => new Connection(driver, options, openTimeout)
    this.#openCopy = (file) => new Connection(driver, { file, readOnly: true })
    this.#main = this.#open()
    this.dialect = createSqliteDialect({
      keepsSubqueryJson: keepsSubqueryJson(this.#main),
      writesExactDoubles: writesExactDoubles(this.#main),
    })
    this.#shared = options.file === ':memory:'
    const fileWatch = this.#shared ? undefined : new FileWatch(options.file)
    this.status = {
      driver: driver.name,
      isReadOnly: () => false,
      pool: () => undefined,
      isFileLost: () => fileWatch?.isLost() === true,
    }
    this.schema = {
      change: (work, options) => this.#changeSchema(work, options),
      catalogue: (runner) => readSqliteCatalogue(runner),
      describe: describeSqliteTables,
      sizes: (tables) => readSqliteSizes(this, tables),
    }
    this.#urlTimeout = options.busyTimeout
    this.#lockTimeout = options.busyTimeout ?? 5000
    this.#writeQueue = new WriterLock(this.#lockTimeout)
    const schedule: Schedule = (work, isWriting, isOver) => this.#run(isWriting, work, isOver)
    const writes = (writing: ClientWriting): Runner =>
      new ClientWrites(writing, this.#main, schedule)
    this.requests = { writes }
    if (this.#shared) return
    const { file, readTime = 30_000 } = options
    const sharedFile = { driver: driver.name, file, timeout: this.#lockTimeout }
    const readers = new ReaderThreads(sharedFile)
    const readCosts = new ReadCostEstimator(this.#main)
    const parts = { engine: { run: this.#runOnMain }, readCosts, readers, readTime }
    this.#readers = readers
    this.#readCosts = readCosts
    this.requests = { reads: (reading) => new SqliteClientReads(reading, parts), writes }
    this.copying = {
      snapshot: () => readSnapshot(() => new Connection(driver, { ...options, readOnly: true })),
      begin: async () => {
        const transaction = await this.#begin(true, undefined, false)
        const run: Runner['run'] = (...call) => transaction.run(...call)
        const commit = (): Promise<void> => transaction.commit()
        return { run, commit, rollback: () => transaction.rollback(), checksReferences: false }
      },
    }
    this.processes = {
      heartbeat: (heartbeatOptions) => startSqliteHeartbeat(sharedFile, heartbeatOptions),
      externalWriteVersion: () => (this.#externalWrites ??= new ExternalWrites(this.#main)).count(),
    }
  }

  /** Uses `VACUUM INTO`, which does not block writers. */
  readonly backup = (file: string): void => {
    // SQLite writes into the empty file and keeps its mode.
    createPrivateFile(file)
    this.#main.script(`vacuum into '${file.replaceAll("'", "''")}'`)
    const copy = this.#openCopy(file)
    try {
      const check = copy.run(frameworkQuery('pragma integrity_check'), [], 'first')
      if (check?.[0] !== 'ok') throw new Error(`The copy is damaged: ${String(check?.[0])}`)
    } finally {
      copy.close()
    }
  }

  /** Runs long reads of records in a reader thread, because they would block the event loop here. */
  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    const reading = this.#readInThread(statement, values, resultKind)
    if (reading === undefined) return this.#runOnMain(statement, values, resultKind)
    return (resultKind === 'first' ? after(reading, ([row]) => row) : reading) as MaybePromise<
      Results[W]
    >
  }

  /** @returns `undefined` if the statement has to run in this thread */
  #readInThread(
    statement: Statement,
    values: Values,
    resultKind: ResultKind,
  ): Promise<readonly Row[]> | undefined {
    if (statement.for !== 'client' || isWrite(statement) || !returnsRows(resultKind))
      return undefined
    const readers = this.#readers
    if (readers?.isUsable !== true) return undefined
    const length = this.#readCosts?.estimate(statement, values)
    if (length === undefined || length === 'short') return undefined
    const { sql } = statement
    const isQuick = length === 'quick'
    const { rows } = readers.read({ sql, values, owner: {}, client: undefined, isQuick })
    return rows.catch((error: unknown) => {
      if (readers.isUsable) throw error
      return this.#runOnMain(statement, values, 'rows')
    })
  }

  readonly #runOnMain = <W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> =>
    this.#run(isWrite(statement), () => this.#main.run(statement, values, resultKind))

  /** SQLite has one writer at a time, so every transaction is serializable. */
  async begin({ waitTimeout, writing }: BeginOptions = {}): Promise<TransactionRunner> {
    const transaction = await this.#begin(false, this.#urlTimeout ?? waitTimeout)
    if (writing?.isTimedOut !== true) return transaction
    await transaction.rollback()
    throw requestTimeoutError()
  }

  async #changeSchema<T>(
    work: (runner: Runner) => Promise<T>,
    { enforcesReferences = false }: SchemaChangeOptions = {},
  ): Promise<T> {
    const transaction = await this.#begin(!enforcesReferences)
    try {
      const runner = new DroppedParts(transaction)
      const result = await work(runner)
      await runner.restore()
      await transaction.commit()
      return result
    } catch (error) {
      await transaction.rollback()
      throw error
    }
  }

  async #begin(
    schema: boolean,
    timeout?: number,
    checksReferences = schema,
  ): Promise<TransactionRunner> {
    await this.#writeQueue.acquire(timeout)
    try {
      const connection = this.#shared ? this.#main : await this.#openTransactionConnection()
      // Rebuilding a table drops it first, which would delete the rows that refer to it.
      if (schema) connection.script('pragma foreign_keys = off')
      await this.#retryWhileBusy(connection, () => {
        connection.script('begin immediate')
      })
      const onCommitted = this.#shared
        ? undefined
        : this.#externalWrites?.trackTransaction(connection)
      return new SqliteTransaction(connection, this.#writeQueue, {
        schema,
        checksReferences,
        onCommitted,
      })
    } catch (error) {
      this.#writeQueue.release()
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#readers?.close()
    this.#transactionConnection?.close()
    this.#main.close()
  }

  /** Retries, because another process may have locked the whole file. */
  async #openTransactionConnection(): Promise<Connection> {
    this.#transactionConnection ??= await retryWhileBusy(this.#lockTimeout, () => this.#open(0))
    return this.#transactionConnection
  }

  /** After the first attempt the driver no longer waits for locks, because that would block the event loop. */
  async #retryWhileBusy<T>(connection: Connection, work: () => MaybePromise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error)) throw error
    }
    connection.setDriverWait(false)
    try {
      return await retryWhileBusy(this.#lockTimeout, work)
    } finally {
      connection.setDriverWait(true)
    }
  }

  /** Runs immediately unless a transaction or a lock is in the way. @param isOver called before each further attempt */
  #run<T>(writes: boolean, work: () => MaybePromise<T>, isOver?: () => boolean): MaybePromise<T> {
    const attempt = (): MaybePromise<T> => {
      if (isOver?.() === true) throw requestTimeoutError()
      return work()
    }
    if (this.#writeQueue.isHeld && (writes || this.#shared)) {
      return this.#writeQueue.run(() => this.#retryWhileBusy(this.#main, attempt))
    }
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw error
      return this.#writeQueue.run(() => this.#retryWhileBusy(this.#main, attempt))
    }
  }
}

/** In WAL mode, a transaction that reads sees one state, and no writer waits for it. Source: SQLite, Isolation. */
// eslint-disable-next-line @typescript-eslint/require-await -- errors must become rejections
async function readSnapshot(open: () => Connection): Promise<DatabaseSnapshot> {
  const connection = open()
  connection.script('begin')
  // The state is that of the first read.
  connection.run(frameworkQuery('select count(*) from sqlite_schema'), [], 'first')
  return {
    run: (statement, values, resultKind) => connection.run(statement, values, resultKind),
    // eslint-disable-next-line @typescript-eslint/require-await -- errors must become rejections
    close: async () => {
      connection.close()
    },
  }
}

/** Whether JSON from a subquery is still JSON in the outer query. */
function keepsSubqueryJson(connection: Connection): boolean {
  const sql = 'select json_array((select json_array(1)))'
  return connection.run(frameworkQuery(sql), [], 'first')?.[0] === '[[1]]'
}

/** Retries every 10 ms while another process has the lock, without blocking the event loop. */
async function retryWhileBusy<T>(timeout: number, work: () => MaybePromise<T>): Promise<T> {
  const end = performance.now() + timeout
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error
      await setTimeout(10)
    }
  }
}
