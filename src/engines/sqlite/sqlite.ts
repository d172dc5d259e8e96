/**
 * SQLite in this process. Autocommitted statements run synchronously on one connection. A transaction, which lasts over
 * turns of the event loop, uses a second one, and other writes wait for its end.
 * Sources: SQLite, Write-Ahead Logging; PRAGMA Statements; Result and Error Codes.
 */
import type { BeginOptions } from '../contract/begin-options.js'
import { setTimeout } from 'node:timers/promises'
import type { Catalogue } from '../contract/catalogue.js'
import type { Dialect } from '../contract/dialect.js'
import type {
  Answers,
  ClientReading,
  ClientWriting,
  Engine,
  Row,
  Runner,
  Statement,
  TransactionRunner,
  Values,
  Wanted,
} from '../contract/engine.js'
import { EngineFault } from '../contract/engine-fault.js'
import { ownQuestion, changes } from '../contract/statement.js'
import { type Later, after } from '../../core/later.js'
import { ClientWrites, lateFault } from '../client-writes.js'
import { Turn } from '../turn.js'
import { readSqliteCatalogue } from './catalogue.js'
import { chooseDriver } from './choose-driver.js'
import { isOfRows, SqliteClientReads, ShortReads } from './client-reads.js'
import { Connection, toBootFault, type SqliteOptions } from './connection.js'
import { createSqliteDialect } from './dialect.js'
import { writesDoubles } from './json.js'
import type { Driver } from './driver.js'
import { isBusy } from './errors.js'
import { ForeignWrites, KeptFile, createPrivateFile } from './database-file.js'
import type { Heartbeat, HeartbeatOptions } from '../contract/heartbeat.js'
import { heartbeatOfFile } from './heartbeat.js'
import { Readers } from './reader-threads.js'
import { readSqliteSizes } from './table-sizes.js'

/** @throws {DeclarationError} a missing driver or folder, or a file that is not a database */
export async function openSqlite(options: SqliteOptions): Promise<Engine> {
  const driver = await chooseDriver(options.driver)
  try {
    if (options.file !== ':memory:' && options.readOnly !== true) createPrivateFile(options.file)
    return new SqliteEngine(driver, options)
  } catch (cause) {
    throw toBootFault(options.file, cause)
  }
}

class SqliteEngine implements Engine {
  readonly dialect: Dialect
  readonly driver: string
  readonly changesPiecemeal = false
  /** Absent for databases in memory, which other connections cannot see. */
  readonly clientReads?: (reading: ClientReading) => Runner
  /** Absent for databases in memory. */
  readonly heartbeat?: (options: HeartbeatOptions) => Heartbeat
  /** Absent for databases in memory. */
  readonly writtenElsewhere?: () => number
  /** Absent for databases in memory. */
  readonly isFileLost?: () => boolean
  #foreign: ForeignWrites | undefined
  readonly #open: (opening?: number) => Connection
  readonly #openCopy: (file: string) => Connection
  readonly #main: Connection
  readonly #turn: Turn
  readonly #patience: number
  /** The timeout in the address. */
  readonly #waits: number | undefined
  /**
   * There is one connection for everything. It shows uncommitted changes of the transaction, so reads have to wait too.
   */
  readonly #shared: boolean
  readonly #readers: Readers | undefined
  /** Absent for databases in memory. */
  readonly #short: ShortReads | undefined
  #second: Connection | undefined

  constructor(driver: Driver, options: SqliteOptions) {
    this.#open = (opening) => new Connection(driver, options, opening)
    this.#openCopy = (file) => new Connection(driver, { file, readOnly: true })
    this.#main = this.#open()
    this.driver = driver.name
    this.dialect = createSqliteDialect({
      leavesJson: leavesJson(this.#main),
      writesDoubles: writesDoubles(this.#main),
    })
    this.#shared = options.file === ':memory:'
    this.#waits = options.busyTimeout
    this.#patience = options.busyTimeout ?? 5000
    this.#turn = new Turn(this.#patience)
    if (this.#shared) return
    const { file, readTime: time = 30_000 } = options
    const readers = new Readers({ driver: driver.name, file, timeout: this.#patience })
    const short = new ShortReads(this.#main)
    const parts = { engine: { run: this.#runHere }, short, readers, time }
    this.#readers = readers
    this.#short = short
    this.clientReads = (reading) => new SqliteClientReads(reading, parts)
    const heartbeatFile = { driver: driver.name, file, timeout: this.#patience }
    this.heartbeat = (given) => heartbeatOfFile(heartbeatFile, given)
    const kept = new KeptFile(file)
    this.isFileLost = () => kept.isLost()
    this.writtenElsewhere = () => (this.#foreign ??= new ForeignWrites(this.#main)).look()
  }

  /** By `VACUUM INTO`, which holds up nobody who writes. */
  backup(file: string): void {
    // SQLite writes into an empty file, and keeps its mode.
    createPrivateFile(file)
    this.#main.script(`vacuum into '${file.replaceAll("'", "''")}'`)
    const copy = this.#openCopy(file)
    try {
      const found = copy.run(ownQuestion('pragma integrity_check'), [], 'first')
      if (found?.[0] !== 'ok') throw new Error(`The copy is not sound: ${String(found?.[0])}`)
    } finally {
      copy.close()
    }
  }

  /** Long reads of records run in a reader thread, whoever asks: here they would hold up everybody. */
  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): Later<Answers[W]> {
    const reading = this.#readElsewhere(statement, values, wanted)
    if (reading === undefined) return this.#runHere(statement, values, wanted)
    return (wanted === 'first' ? after(reading, ([row]) => row) : reading) as Later<Answers[W]>
  }

  /** @returns `undefined` for what runs in this thread */
  #readElsewhere(
    statement: Statement,
    values: Values,
    wanted: Wanted,
  ): Promise<readonly Row[]> | undefined {
    if (statement.for !== 'client' || changes(statement) || !isOfRows(wanted)) return undefined
    const readers = this.#readers
    if (readers?.isUsable !== true) return undefined
    const length = this.#short?.lengthOf(statement, values)
    if (length === undefined || length === 'short') return undefined
    const { sql } = statement
    const { rows } = readers.read({ sql, values, owner: {}, isQuick: length === 'quick' })
    return rows.catch((error: unknown) => {
      if (readers.isUsable) throw error
      return this.#runHere(statement, values, 'rows')
    })
  }

  readonly #runHere = <W extends Wanted>(
    statement: Statement,
    values: Values,
    wanted: W,
  ): Later<Answers[W]> =>
    this.#run(changes(statement), () => this.#main.run(statement, values, wanted))

  catalogue(runner: Runner): Promise<Catalogue> {
    return readSqliteCatalogue(runner)
  }

  tableSizes(tables: readonly string[]): Later<ReadonlyMap<string, number>> {
    return readSqliteSizes(this, tables)
  }

  /**
   * There is one writer at a time: nobody else writes before it ends, so every isolation level is as good as the
   * highest.
   */
  async begin({ patience, writing }: BeginOptions = {}): Promise<TransactionRunner> {
    const transaction = await this.#begin(false, this.#waits ?? patience)
    if (writing?.late !== true) return transaction
    await transaction.rollback()
    throw lateFault()
  }

  clientWrites(writing: ClientWriting): Runner {
    const main = this.#main
    return new ClientWrites(writing, main, (work, writes, isOver) =>
      this.#run(writes, work, isOver),
    )
  }

  async changeSchema<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    const transaction = await this.#begin(true)
    try {
      const result = await work(transaction)
      await transaction.commit()
      return result
    } catch (error) {
      await transaction.rollback()
      throw error
    }
  }

  async #begin(schema: boolean, patience?: number): Promise<TransactionRunner> {
    await this.#turn.take(patience)
    try {
      const connection = this.#shared ? this.#main : await this.#openSecond()
      // A table that is rebuilt is dropped first, which would delete the rows that refer to it.
      if (schema) connection.script('pragma foreign_keys = off')
      await this.#untilFree(connection, () => {
        connection.script('begin immediate')
      })
      const committed = this.#shared ? undefined : this.#foreign?.begun(connection)
      return new SqliteTransaction(connection, this.#turn, { schema, committed })
    } catch (error) {
      this.#turn.release()
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#readers?.close()
    this.#second?.close()
    this.#main.close()
  }

  /** Another process may have the file for itself. */
  async #openSecond(): Promise<Connection> {
    this.#second ??= await untilFree(this.#patience, () => this.#open(0))
    return this.#second
  }

  /** After a first attempt nothing waits in the driver, where everybody else would wait too. */
  async #untilFree<T>(connection: Connection, work: () => Later<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error)) throw error
    }
    connection.waitShortly(false)
    try {
      return await untilFree(this.#patience, work)
    } finally {
      connection.waitShortly(true)
    }
  }

  /** Runs at once if nothing is in the way. @param isOver asked before each further attempt */
  #run<T>(writes: boolean, work: () => Later<T>, isOver?: () => boolean): Later<T> {
    const attempt = (): Later<T> => {
      if (isOver?.() === true) throw lateFault()
      return work()
    }
    if (this.#turn.taken && (writes || this.#shared)) {
      return this.#turn.run(() => this.#untilFree(this.#main, attempt))
    }
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw error
      return this.#turn.run(() => this.#untilFree(this.#main, attempt))
    }
  }
}

/** Whether JSON from a subquery is still JSON in the outer query. */
function leavesJson(connection: Connection): boolean {
  const sql = 'select json_array((select json_array(1)))'
  return connection.run(ownQuestion(sql), [], 'first')?.[0] === '[[1]]'
}

/** Tries again while another process has the lock; other work can run meanwhile. */
async function untilFree<T>(patience: number, work: () => Later<T>): Promise<T> {
  const end = performance.now() + patience
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error
      await setTimeout(10)
    }
  }
}

interface TransactionParts {
  readonly schema: boolean
  /** Called right after the commit. */
  readonly committed: (() => void) | undefined
}

class SqliteTransaction implements TransactionRunner {
  readonly #connection: Connection
  readonly #turn: Turn
  readonly #schema: boolean
  readonly #committed: (() => void) | undefined
  #isOver = false

  constructor(connection: Connection, turn: Turn, { schema, committed }: TransactionParts) {
    this.#connection = connection
    this.#turn = turn
    this.#schema = schema
    this.#committed = committed
  }

  run<W extends Wanted>(statement: Statement, values: readonly unknown[], wanted: W): Answers[W] {
    return this.#living().run(statement, values, wanted)
  }

  commit(): Promise<void> {
    return this.#end(() => {
      const connection = this.#living()
      if (this.#schema) connection.checkReferences()
      connection.script('commit')
      this.#committed?.()
    })
  }

  rollback(): Promise<void> {
    return this.#end(() => undefined)
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- errors must become rejections
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

  /**
   * After some faults (a full disk) SQLite rolls back by itself: following statements would be committed one by one.
   */
  #living(): Connection {
    if (this.#isOver || !this.#connection.inTransaction) {
      throw new EngineFault('other', 'The transaction is over.')
    }
    return this.#connection
  }
}
