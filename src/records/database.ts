/** The database of an application: repositories, transactions, schema. Source: public API, Records. */
import type { Column } from '../engines/contract/table.js'
import { markDeclared } from '../errors/copies.js'
import type { OpenTransaction, Isolation } from '../core/transaction.js'
import { DeclarationError } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { declareOptions } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { Log } from '../core/log.js'
import type { Class } from '../metadata/class.js'
import { TableSizes } from './budget/table-sizes.js'
import type { BegunTransaction, QueryBuilder } from './statements/builder.js'
import type { DatabaseClock } from './database-clock.js'
import { DatabaseTimeouts } from './database-timeouts.js'
import type { Clock } from '../core/time.js'
import { anyTable, type Statement } from '../engines/contract/statement.js'
import { ChangeFeed, type Watcher } from './changes/change-feed.js'
import type { Change, RowChanges } from './changes/changes.js'
import {
  readChanges,
  type ChangesOptions,
  followAll,
  type MissedChanges,
} from './changes/follow-changes.js'
import { type MaybePromise, attempt, promise } from '../core/maybe-promise.js'
import { EngineError } from '../engines/contract/engine-error.js'
import type {
  ClientReading,
  ClientWriting,
  PoolState,
  QueryResult,
  Runner,
} from '../engines/contract/engine.js'
import { createContext, type RecordsContext, type Source } from './statements/source.js'
import { PipelinedWrites } from './statements/pipelined-writes.js'
import { sourceOf, WritingSource } from './statements/request-sources.js'
import { ReadHandlers } from './statements/read-handlers.js'
import type { DatabaseParts } from './database-options.js'
import { defaultSearchLimit } from './filters/search.js'
import { createOwnTable, emptyTables } from './own-tables.js'
import {
  CustomSql,
  type BoundSql,
  type CustomSqlOptions,
  type SqlFragments,
  startHeartbeat,
  type Heartbeat,
  type HeartbeatOptions,
} from './custom-sql.js'
import { Repository } from './repository.js'
import { pingAny, pingPrimary } from './statement-tracking.js'
import type { Difference } from './schema/difference-kinds.js'
import {
  maintainPartitionsOptions,
  maintainPartitions,
  type MaintainPartitionsOptions,
  type PartitionReport,
} from './schema/maintain-partitions.js'
import { readDifferences, syncSchema, checkSchema, toProblem } from './schema/sync.js'
import { readTable, readTables } from './model/read-table.js'
import type { Table } from './model/table.js'
import type { Scope } from './statements/scope.js'
import type { TransactionOptions } from './statements/transaction-options.js'
import { Transactions } from './statements/transactions.js'
import { Transaction } from './transaction.js'
import { throwUnavailable, toUnavailable } from './statements/client-errors.js'

const onChangeOptions = declareOptions({
  /** Also changes of other processes, on PostgreSQL. Default false. */
  everywhere: option.any<boolean>(),
})

/** The size of a table from which lists are read by the number of their matches, in rows. */
const manyRows = 50_000

const fileLost = 'The file of the database was deleted or replaced: put it back, and start again.'

/**
 * Creates repositories: `records(Product)`. Applications with records provide it. Without an application, use
 * `connect`.
 */
export class Database implements Source {
  readonly context: RecordsContext
  readonly log: Log
  /** Notifies listeners of changes. */
  readonly feed: ChangeFeed
  /** Every table that has been used so far. */
  readonly tables = new Set<Table>()
  /** Names of the tables of the framework and of packages that have been ensured. */
  readonly ownTables = new Set<string>()
  readonly pipelinedWrites: PipelinedWrites
  /** The approximate sizes of the tables. */
  readonly sizes: TableSizes
  readonly #repositories = new WeakMap<Class, Repository>()
  readonly #byType = new WeakMap<Class, Table>()
  readonly #transactions: Transactions
  readonly #clock: DatabaseClock
  readonly #timeouts = new Map<number, DatabaseTimeouts>()
  /** Tracks handlers of GET requests, and work outside tracked requests. */
  readonly readHandlers: ReadHandlers
  /** The request whose work begins in this turn of the event loop. */
  startingRequest: ClientWriting | undefined = undefined
  /** The route of the running code, for the log. Set by an application. */
  routeOf: () => string | undefined = () => undefined
  /** Functions that end the open iterables of `changes`. */
  readonly #readers = new Set<() => void>()
  #closing: Promise<void> | undefined

  /** Use `connect`, or inject `Database` into a constructor. */
  constructor({ searchLimit = defaultSearchLimit, clock, ...parts }: DatabaseParts) {
    const { engine, kysely, log, now } = parts
    this.#clock = clock
    this.log = log
    const providers = {
      records: (type: Class, source: Source) => new Repository(this.table(type), source),
    }
    const { tables } = this
    const isLarge = ({ name }: Table): boolean => this.sizes.rowsOf(name) >= manyRows
    const statistics = {
      isLarge,
      valuesOf: (table: Table, column: Column) => this.sizes.valuesOf(table.name, column.name),
    }
    this.context = createContext({
      ...{ engine, kysely, now, tables, searchLimit, statistics, providers },
    })
    const hasTrigrams = this.context.dialect.can.trigramIndexes
    this.sizes = new TableSizes({ engine, tables, searchLimit, hasTrigrams })
    this.feed = new ChangeFeed({ channel: engine.processes?.channel, engine, log })
    this.readHandlers = new ReadHandlers(engine, this)
    this.#transactions = new Transactions(this.context, this.feed, log, this)
    this.pipelinedWrites = new PipelinedWrites(engine, this.#transactions)
  }

  /** `sqlite`, `postgres`, or the name of a custom engine. It is part of the file names of migrations. */
  get engineName(): string {
    return this.context.dialect.name
  }

  /** The driver: `node:sqlite`, `better-sqlite3`, `bun:sqlite` or `pg`. */
  get driverName(): string {
    return this.context.engine.status.driver
  }

  /** The query builder, for everything that repositories cannot do. Its queries belong to the open transaction. */
  get kysely(): QueryBuilder {
    return this.context.kysely
  }

  /** The state of the connection pool; `undefined` on SQLite, which has no pool. */
  get pool(): PoolState | undefined {
    return this.context.engine.status.pool()
  }

  /**
   * Checks that the database responds, and that its file, if there is one, has not been deleted or replaced.
   *
   * @param scope with `'reads'`, a response of a replica is enough
   * @throws {HttpError} 503 if the check fails
   */
  check(scope: 'writes' | 'reads' = 'writes'): Promise<unknown> {
    const query = scope === 'reads' ? pingAny : pingPrimary
    const { engine } = this.context
    return promise(() => {
      if (engine.status.isFileLost()) throw new EngineError('unavailable', fileLost)
      return engine.run(query, [], 'first')
    }).catch(throwUnavailable)
  }

  /**
   * Milliseconds since 1970 by the clock of the database's machine. Use it for values that several processes share,
   * because their own clocks may differ. It sends no statement.
   *
   * @param clock a test's clock, whose offset is added
   */
  now(clock?: Clock): number {
    return this.#clock.now(clock)
  }

  /**
   * A timeout for work that cannot wait for an unresponsive database. `database.timeouts(200).run(() => …)` throws 503
   * after 200 ms. From then on it throws immediately, until a check in the background gets a response.
   *
   * @param milliseconds the limit; callers with the same number share one circuit breaker
   */
  timeouts(milliseconds: number): DatabaseTimeouts {
    let timeouts = this.#timeouts.get(milliseconds)
    if (timeouts === undefined) {
      const isClosed = (): boolean => this.#closing !== undefined
      timeouts = new DatabaseTimeouts(milliseconds, () => this.check(), isClosed)
      this.#timeouts.set(milliseconds, timeouts)
    }
    return timeouts
  }

  /**
   * The repository of a record class, the same for every call.
   *
   * @throws {DeclarationError} the class is not a record, or its declaration is invalid
   */
  records<T extends object>(type: Class<T>): Repository<T> {
    let repository = this.#repositories.get(type)
    if (repository === undefined) {
      repository = new Repository(this.table(type), this)
      this.#repositories.set(type, repository)
    }
    return repository as Repository<T>
  }

  /** As `records`, for a client's request: its reads are cancelled when the request ends. */
  recordsFor<T extends object>(type: Class<T>, request: ClientReading): Repository<T> {
    const source = this.forClient(request)
    return source === this ? this.records(type) : new Repository(this.table(type), source)
  }

  /**
   * The table of a record class. From now on `sync` includes the table and all records that its relations lead to.
   *
   * @throws {DeclarationError} the class is not a record, or its declaration is invalid
   */
  table<T extends object>(type: Class<T>): Table<T> {
    const cached = this.#byType.get(type)
    if (cached !== undefined) return cached as Table<T>
    const problems = new Problems()
    const tables = readTables([type], problems)
    const table = readTable(type, problems)
    if (table === undefined || problems.count > 0) throw new DeclarationError(problems.list)
    for (const one of tables) {
      this.tables.add(one)
      this.#byType.set(one.type, one)
    }
    return table
  }

  /**
   * Runs work in a transaction. All changes are stored when the work's promise is fulfilled, and none when it is
   * rejected. Inside another transaction, the work is a savepoint that can fail alone. If another transaction
   * conflicts, the work is rolled back and runs again, so it must have no effects outside the database.
   *
   * @param work everything it does with this database belongs to the transaction, whether it uses `tx` or not
   * @param request a client's request; nothing is stored after its timeout
   * @throws {HttpError} 409 `CONFLICT_RETRY` if other transactions conflicted for too long
   */
  transaction<R>(
    work: (tx: Transaction) => Promise<R>,
    options?: TransactionOptions,
    request?: ClientWriting,
  ): Promise<R> {
    const run = (scope: Scope): Promise<R> => work(new Transaction(this, scope))
    return this.#transactions.run(run, options, request).catch(throwUnavailable)
  }

  /**
   * The transaction that is open at the call: of `database.transaction`, of a route, or of `kysely`. Packages that also
   * store data outside the database use its `onCommit` and `onRollback`.
   */
  openTransaction(): OpenTransaction | undefined {
    return this.#transactions.current()
  }

  /**
   * For packages: runs work right before the commit of every transaction of a request that has written. Writes of the
   * work are committed with the transaction. Writes of the request that are outside transactions get one.
   */
  beforeCommit(request: object, work: () => Promise<void>): void {
    this.#transactions.beforeCommit(request as ClientWriting, work)
  }

  /** Runs the statements of a client's request outside transactions. */
  writesOf(request: ClientWriting): Runner {
    return this.#transactions.writesOf(request)
  }

  /** Begins a transaction for the query builder. */
  begin(isolation: Isolation | undefined): Promise<BegunTransaction> {
    return this.#transactions.begin(isolation)
  }

  /**
   * Creates missing tables, columns and indexes. Never changes or drops anything that exists.
   *
   * @returns the differences that were found
   * @throws {DeclarationError} `SCHEMA_DIFFERS` if a difference remains that `sync` does not repair
   */
  async sync(): Promise<Difference[]> {
    const differences = await syncSchema(this.tables, this.context)
    await this.maintainPartitions({ detach: false })
    this.sizes.refresh()
    return differences
  }

  /**
   * Creates the next partitions of records with `partitionBy`, and detaches those that are older than `keep`. Detached
   * partitions are tables of their own: nothing is dropped. The job of `filigree/jobs` and `filigree partitions` call it.
   *
   * @returns a report for each partitioned table; none on databases without partitions
   */
  maintainPartitions(options: MaintainPartitionsOptions = {}): Promise<PartitionReport[]> {
    maintainPartitionsOptions.check('maintainPartitions', options)
    return maintainPartitions(this.tables, this.context, options).catch(throwUnavailable)
  }

  /**
   * Checks the schema in production, without changing it. Tables on other machines than `shardBy` asks for are warnings.
   *
   * @throws {DeclarationError} `SCHEMA_DIFFERS`: the records cannot work with it
   */
  async verify(): Promise<void> {
    const misplaced = await checkSchema(this.tables, this.context)
    for (const { code, message, remedy } of misplaced.map(toProblem))
      this.log.warn({ code }, `${message} ${remedy}`)
    this.sizes.refresh()
  }

  /**
   * Runs a migration in code: under the lock of schema changes, in one transaction. Everything that the work does with this
   * database belongs to it. It runs again if it waited too long for a table.
   */
  migrate<R>(work: (runner: Runner) => Promise<R>): Promise<R> {
    return this.#transactions.changeSchema(work)
  }

  /** Creates a package's own table if it is missing, also in production. The script is for this engine. */
  ensureTable(name: string, sql: string): Promise<void> {
    return createOwnTable(this, name, sql).then(() => undefined, throwUnavailable)
  }

  /**
   * Prepares a handwritten statement of a package for all engines. `fragments` covers the syntax in which they differ. Each
   * run belongs to the transaction that is open there.
   *
   * ```ts
   * const overdue = database.prepare({ kind: 'select', tables: ['task'] }, ({ now, value }) =>
   *   `select id from task where owner = ${value('owner')} and due_at < ${now()}`)
   * await overdue.rows({ owner: 7 })   // [[1], [5]]
   * ```
   */
  prepare(options: CustomSqlOptions, write: (fragments: SqlFragments) => string): CustomSql {
    return new CustomSql(this, options, write)
  }

  /**
   * Repeats statements on a thread with its own connection, so that they run even while the event loop of this process
   * is blocked. For a database that no other process can use, they run on the main thread.
   */
  heartbeat(statements: readonly BoundSql[], options: HeartbeatOptions): Heartbeat {
    return startHeartbeat(this.context.engine, statements, options)
  }

  /**
   * Calls the `onSignal` listeners of the same name in other processes of the database. Do not call it in a
   * transaction.
   */
  signal(name: string): Promise<void> {
    return this.feed.signal(name).catch(throwUnavailable)
  }

  /**
   * Listens to `signal` of other processes. Signals may be lost or arrive twice, so read the pending work from the
   * tables.
   *
   * @returns a function that ends it; undefined if the database has no signals, so that you must poll
   */
  onSignal(name: string, listener: () => void): Promise<(() => void) | undefined> {
    return this.feed.onSignal(name, listener).catch(throwUnavailable)
  }

  /** All differences between the database and the records. */
  differences(): Promise<Difference[]> {
    return readDifferences(this.tables, this.context, this.context.engine)
  }

  /**
   * Calls the listener after the commit of every row that a repository of this process has written. With `everywhere`,
   * on PostgreSQL, it also gets rows that other processes have written, and lost events.
   * @returns a function that ends it; with `everywhere`, it resolves as soon as no change can be missed
   */
  onChange(listener: (change: Change) => void): () => void
  onChange(
    listener: (change: Change | MissedChanges) => void,
    options: { everywhere: true },
  ): Promise<() => void>
  onChange(listener: (change: never) => void, options?: { everywhere: true }): unknown {
    onChangeOptions.check('onChange', options)
    if (options?.everywhere !== true)
      return this.feed.onChange(listener as (change: Change) => void)
    const all = listener as (change: Change | MissedChanges) => void
    return followAll(this, [...this.tables], all).catch(throwUnavailable)
  }

  /**
   * The changes of a record's rows from now on, as an async iterable: the events of `onChange`, for `for await`. At
   * most 1,000 unread events are stored. A slower reader gets `{ event: 'lost', count }` in their place. It ends with
   * the signal, with `break`, and when the database is closed.
   */
  changes<T extends object>(
    type: Class<T>,
    options: ChangesOptions = {},
  ): AsyncIterableIterator<Change | MissedChanges> {
    return readChanges(this, this.table(type), options, this.#readers)
  }

  /**
   * Watches a record's rows, on PostgreSQL also rows that other processes write. A watcher receives rows in lists. It
   * is also notified of lost events: after a broken connection to the server, and when an `insertMany` was running.
   *
   * @returns a function that ends it, as soon as no change that is committed from now on can be missed
   * @throws {HttpError} 503 if the server cannot be reached
   */
  async watch(type: Class, watcher: Watcher): Promise<() => void> {
    try {
      return await this.feed.watch(this.table(type), watcher)
    } catch (error) {
      throw toUnavailable(error)
    }
  }

  /** Deletes all rows of the records and of the framework's own tables, except the migrations. For tests. */
  empty(): Promise<void> {
    return emptyTables(this).then(() => {
      this.feed.written([anyTable])
    }, throwUnavailable)
  }

  /** Closes all connections. Further calls do nothing. */
  close(): Promise<void> {
    for (const end of this.#readers) end()
    this.#closing ??= this.feed.close().then(() => this.context.engine.close())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  runner(): Runner {
    return this.ownRunner() ?? this.#transactions.requestRunner() ?? this.readHandlers
  }

  /** The runner of the open transaction, or of the batch of statements that is being sent. */
  ownRunner(): Runner | undefined {
    return this.#transactions.current()?.runner() ?? this.pipelinedWrites.runner
  }

  /**
   * Runs a client's work. None of its changes is stored after the request's timeout, whichever repository it uses.
   *
   * @param onChange called for each change
   */
  runForRequest<R>(request: ClientWriting, work: () => R, onChange?: () => void): R {
    return this.#transactions.runForRequest(request, work, onChange)
  }

  /**
   * As `runForRequest`, for work that gets its source in the turn of the event loop in which it begins. It adds no
   * overhead.
   */
  serve<R>(request: ClientWriting, work: () => R): R {
    const outer = this.startingRequest
    this.startingRequest = request
    try {
      return work()
    } finally {
      this.startingRequest = outer
    }
  }

  /** The source for the changes of a client's request: none is stored after its timeout. */
  writesFor(request: ClientWriting | undefined): Source {
    return request === undefined ? this : new WritingSource(this, request)
  }

  /**
   * The source for repositories of a client's request, the same for every call. Reads are cancelled when the request
   * ends.
   */
  forClient(request: ClientReading | undefined): Source {
    return request === undefined ? this : sourceOf(this, request, this.context.engine)
  }

  changed(changes: RowChanges): void {
    const scope = this.#transactions.runningScope()
    if (scope === undefined) this.feed.notify([changes])
    else scope.changed(changes)
  }

  /** Notifies listeners of the tables of a statement that no repository has written, after its commit. */
  wrote({ tables, kind }: Pick<Statement, 'tables' | 'kind'>, result?: QueryResult): void {
    const isQuiet = kind === 'unknown' ? result?.hasOnlyRead === true : result?.changes === 0
    const named = isQuiet ? [] : tables.filter((name) => name === anyTable || this.#hasTable(name))
    if (named.length === 0) return
    const scope = this.#transactions.runningScope()
    if (scope === undefined) this.feed.written(named)
    else
      scope.onCommit(() => {
        this.feed.written(named)
      })
  }

  /** True for the table of a record, and for a link table. */
  #hasTable(name: string): boolean {
    for (const table of this.tables) {
      if (table.name === name) return true
      for (const { join } of table.relations.values()) if (join?.name === name) return true
    }
    return false
  }

  committed(work: () => Promise<void>): void {
    const scope = this.#transactions.runningScope()
    if (scope === undefined) void this.#transactions.runCommitted([work])
    else scope.committed(work)
  }

  announces(table: Table): MaybePromise<boolean> {
    const { engine } = this.context
    if (engine.processes?.channel === undefined || this.#transactions.current() !== undefined)
      return false
    return attempt(() => this.feed.announces(table, engine), throwUnavailable)
  }

  /** @param request a client's request; nothing is stored after its timeout */
  atomically<R>(
    work: (source: Source) => Promise<R>,
    isolation?: Isolation,
    request?: ClientWriting,
  ): Promise<R> {
    return this.#transactions.runWrite(work, isolation, request).catch(throwUnavailable)
  }
}

markDeclared(Database)
