/** The database of an application: repositories, transactions, schema. Source: public API, Records. */
import type { OpenTransaction, Isolation } from '../core/transaction.js'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { refuseUnknownOptions } from '../errors/unknown-options.js'
import { LentLog, type Log } from '../core/log.js'
import type { Class } from '../metadata/class-metadata.js'
import { TableSizes } from './budget/table-sizes.js'
import { createBuilder, type QueryBuilder } from './statements/builder.js'
import { DatabaseClock } from './database-clock.js'
import { DatabaseTimeouts } from './database-timeouts.js'
import type { Clock } from '../core/clock.js'
import { anyTable, frameworkQuery, type Statement } from '../engines/contract/statement.js'
import { ChangeFeed, type Watcher } from './changes/change-feed.js'
import type { Change, RowChanges } from './changes/changes.js'
import { readChanges, type ChangesOptions } from './changes/read-changes.js'
import { followAll, type MissedChanges } from './changes/follow-all.js'
import { type MaybePromise, attempt, promise } from '../core/maybe-promise.js'
import { EngineError } from '../engines/contract/engine-error.js'
import type {
  ClientReading,
  ClientWriting,
  PoolState,
  QueryResult,
  Runner,
} from '../engines/contract/engine.js'
import { defaultUrl, openEngine } from '../engines/engine-for-url.js'
import { sourceOf, WritingSource } from './statements/client-source.js'
import { ReadHandlers } from './statements/read-handlers.js'
import { createContext, type RecordsContext, type Source } from './statements/source.js'
import {
  checkDatabaseOptions,
  type DatabaseOptions,
  type DatabaseParts,
} from './database-options.js'
import { defaultSearchLimit } from './filters/search.js'
import { emptyTables } from './empty-tables.js'
import { CustomSql, type BoundSql, type CustomSqlOptions, type SqlFragments } from './custom-sql.js'
import { ensureTable } from './own-tables.js'
import { startHeartbeat, type Heartbeat, type HeartbeatOptions } from './heartbeat.js'
import { Repository } from './repository.js'
import { isSomewhere, isThere, ToldEngine } from './statement-events.js'
import type { Difference } from './schema/difference-kinds.js'
import { readDifferences, syncSchema, verifySchema } from './schema/sync.js'
import { Line } from './statements/pipelined-writes.js'
import { readTable, readTables } from './model/read-table.js'
import type { Table } from './model/table.js'
import type { Scope } from './statements/scope.js'
import type { TransactionOptions } from './statements/transaction-options.js'
import { Transactions, type BegunTransaction } from './statements/transactions.js'
import { refuseUnavailable, toUnavailable } from './statements/client-errors.js'

const changeOptions: ReadonlySet<string> = new Set(['everywhere'])

/**
 * Opens a database outside an application; inside, ask for `Database` in a constructor.
 *
 * @throws {DeclarationError} a malformed address, a missing driver, a refused connection, faulty records
 */
export function connect(url: string, options?: Omit<DatabaseOptions, 'url'>): Promise<Database>
export function connect(options: DatabaseOptions): Promise<Database>
export function connect(
  where: string | DatabaseOptions,
  options: DatabaseOptions = {},
): Promise<Database> {
  return createDatabase(typeof where === 'string' ? { ...options, url: where } : where)
}

/** @throws {DeclarationError} as `connect` does */
export async function createDatabase(options: DatabaseOptions = {}): Promise<Database> {
  const { url = defaultUrl, direct, records = [], log = new LentLog(), now = Date.now } = options
  const { statementTimeout, replicas, replicaLag, searchLimit } = options
  const problems: Problem[] = []
  checkDatabaseOptions(options, problems)
  const tables = readTables(records, problems)
  if (problems.length > 0) throw new DeclarationError(problems)
  const opening = { log, direct, replicas, replicaLag, statementTimeout }
  const opened = await (options.engine?.open(opening) ?? openEngine(url, opening))
  const engine = new ToldEngine(opened)
  const readClock = frameworkQuery(`select ${opened.dialect.clock}`, { isFresh: true })
  const clock = new DatabaseClock(() => opened.run(readClock, [], 'first'))
  const home = {} as { database: Database }
  const kysely = await createBuilder(engine, {
    runner: () => home.database.runner(),
    begin: (isolation) => home.database.begin(isolation),
    wrote: (statement, result) => {
      home.database.wrote(statement, result)
    },
  })
  const database = new Database({ engine, kysely, log, now, searchLimit, clock })
  home.database = database
  engine.belongsTo(database)
  for (const table of tables) database.tables.add(table)
  await clock.read()
  return database
}

const fileLost = 'The file of the database was deleted or replaced: put it back, and start again.'

/** Gives repositories: `records(Product)`. Applications with records provide it; `connect` opens one without an application. */
export class Database implements Source {
  readonly context: RecordsContext
  readonly log: Log
  /** Tells listeners of changes. */
  readonly feed: ChangeFeed
  /** Every table known so far. */
  readonly tables = new Set<Table>()
  /** Names of tables of the framework and of packages that were asked for. */
  readonly ownTables = new Set<string>()
  readonly line: Line
  /** The approximate sizes of the tables. */
  readonly sizes: TableSizes
  readonly #repositories = new WeakMap<Class, Repository>()
  readonly #byType = new WeakMap<Class, Table>()
  readonly #transactions: Transactions
  readonly #clock: DatabaseClock
  readonly #patience = new Map<number, DatabaseTimeouts>()
  /** Handlers of GETs, and what runs for no request that is followed. */
  readonly quiet: ReadHandlers
  /** The request whose work begins in this turn. */
  served: ClientWriting | undefined = undefined
  /** Ends each of `changes`. */
  readonly #readers = new Set<() => void>()
  #closing: Promise<void> | undefined

  /** Use `connect`, or ask for a `Database` in a constructor. */
  constructor({ searchLimit = defaultSearchLimit, clock, ...parts }: DatabaseParts) {
    const { engine, kysely, log, now } = parts
    this.#clock = clock
    this.log = log
    const home = {
      records: (type: Class, source: Source) => new Repository(this.table(type), source),
    }
    const { tables } = this
    this.context = createContext({ engine, kysely, now, tables, searchLimit, providers: home })
    this.sizes = new TableSizes({ engine, tables, searchLimit })
    this.feed = new ChangeFeed({ channel: engine.channel, engine, log })
    this.quiet = new ReadHandlers(engine, this)
    this.#transactions = new Transactions(this.context, this.feed, log, this)
    this.line = new Line(engine, this.#transactions)
  }

  /** `sqlite` or `postgres`, or the name that another engine gives itself; it is part of the names of migrations. */
  get engineName(): string {
    return this.context.dialect.name
  }

  /** The driver: `node:sqlite`, `better-sqlite3`, `bun:sqlite` or `pg`. */
  get driverName(): string {
    return this.context.engine.driver
  }

  /** The query builder, for everything that repositories cannot do. Inside a transaction it belongs to it. */
  get kysely(): QueryBuilder {
    return this.context.kysely
  }

  /** The state of the connection pool; `undefined` on SQLite, which has no pool. */
  get pool(): PoolState | undefined {
    return this.context.engine.pool?.()
  }

  /**
   * Checks that the database answers, and that its file, if it has one, is still the one that was opened.
   *
   * @param what with `'reads'` it is enough that a replica does
   * @throws {HttpError} 503 if it does not
   */
  check(what: 'writes' | 'reads' = 'writes'): Promise<unknown> {
    const question = what === 'reads' ? isSomewhere : isThere
    const { engine } = this.context
    return promise(() => {
      if (engine.isFileLost?.() === true) throw new EngineError('unavailable', fileLost)
      return engine.run(question, [], 'first')
    }).catch(refuseUnavailable)
  }

  /**
   * Milliseconds since 1970 by the clock of the database's machine, for what several processes share: their own clocks
   * may differ. It is known, so asking for it costs no statement.
   *
   * @param clock what a test has moved the application's clock on is added
   */
  now(clock?: Clock): number {
    return this.#clock.now(clock)
  }

  /**
   * For work that cannot wait for a database that does not answer: `database.timeouts(200).run(() => …)` is 503 after
   * 200 ms, and at once from then on, until the database has answered a question in the background.
   *
   * @param runForRequest milliseconds; who gives the same number shares what is known
   */
  timeouts(runForRequest: number): DatabaseTimeouts {
    let known = this.#patience.get(runForRequest)
    if (known === undefined) {
      const isClosed = (): boolean => this.#closing !== undefined
      known = new DatabaseTimeouts(runForRequest, () => this.check(), isClosed)
      this.#patience.set(runForRequest, known)
    }
    return known
  }

  /**
   * The repository of a record class; the same for every call.
   *
   * @throws {DeclarationError} the class is not a record, or is a faulty one
   */
  records<T extends object>(type: Class<T>): Repository<T> {
    let repository = this.#repositories.get(type)
    if (repository === undefined) {
      repository = new Repository(this.table(type), this)
      this.#repositories.set(type, repository)
    }
    return repository as Repository<T>
  }

  /** The same for a client's request: when the request ends, its reads are cancelled. */
  recordsFor<T extends object>(type: Class<T>, request: ClientReading): Repository<T> {
    const source = this.forClient(request)
    return source === this ? this.records(type) : new Repository(this.table(type), source)
  }

  /**
   * The table of a record class. From now on `sync` knows it and all records that its relations lead to.
   *
   * @throws {DeclarationError} the class is not a record, or is a faulty one
   */
  table<T extends object>(type: Class<T>): Table<T> {
    const known = this.#byType.get(type)
    if (known !== undefined) return known as Table<T>
    const problems: Problem[] = []
    const tables = readTables([type], problems)
    const table = readTable(type, problems)
    if (table === undefined || problems.length > 0) throw new DeclarationError(problems)
    for (const one of tables) this.tables.add(one)
    this.#byType.set(type, table)
    return table
  }

  /**
   * Runs work in a transaction: all of it is stored when the promise that it returns is fulfilled, none when it is
   * rejected. Inside another transaction it is a part that can fail alone. If another transaction was in the way, the work
   * is rolled back and runs again, so that no change is lost: let it have no effects outside the database.
   *
   * @param work everything it does with this database belongs to the transaction, whether it uses `tx` or not
   * @param request of a client: nothing is kept once its time is over
   * @throws {HttpError} 409 `CONFLICT_RETRY` if other transactions were in its way for too long
   */
  transaction<R>(
    work: (tx: Transaction) => Promise<R>,
    options?: TransactionOptions,
    request?: ClientWriting,
  ): Promise<R> {
    const run = (scope: Scope): Promise<R> => work(new Transaction(this, scope))
    return this.#transactions.run(run, options, request).catch(refuseUnavailable)
  }

  /**
   * The transaction that is open where this is called: `database.transaction`, a route's, or that of `kysely`. For
   * packages that keep something beside the database: `onCommit` and `onRollback` tell what became of it.
   */
  openTransaction(): OpenTransaction | undefined {
    return this.#transactions.current()
  }

  /**
   * For packages: runs work in every transaction of a request that has written, right before its commit. What the work writes
   * with this database is committed with it, or not at all. Writes of the request that are outside transactions get one.
   */
  beforeCommit(request: object, work: () => Promise<void>): void {
    this.#transactions.beforeCommit(request as ClientWriting, work)
  }

  /** Runs the statements of a client's request outside transactions. */
  writesOf(request: ClientWriting): Runner {
    return this.#transactions.writesOf(request)
  }

  /** For the query builder. */
  begin(isolation: Isolation | undefined): Promise<BegunTransaction> {
    return this.#transactions.begin(isolation)
  }

  /**
   * Creates missing tables, columns and indexes. Never changes or drops anything that exists.
   *
   * @returns what was missing
   * @throws {DeclarationError} `SCHEMA_DIFFERS` if that is not enough
   */
  async sync(): Promise<Difference[]> {
    const differences = await syncSchema(this.tables, this.context)
    this.sizes.refresh()
    return differences
  }

  /** For production: changes nothing. @throws {DeclarationError} `SCHEMA_DIFFERS`: what the records cannot work with */
  async verify(): Promise<void> {
    await verifySchema(this.tables, this.context)
    this.sizes.refresh()
  }

  /** Creates a package's own table if it is missing, in production too, with a script for this engine. */
  ensureTable(name: string, sql: string): Promise<void> {
    return ensureTable(this, name, sql).then(() => undefined, refuseUnavailable)
  }

  /**
   * A statement that a package writes by hand, for all engines: `words` has what they say differently. It is prepared once;
   * run, it belongs to the transaction that is open there.
   *
   * ```ts
   * const late = database.prepare({ kind: 'select', tables: ['task'] }, ({ now, value }) =>
   *   `select id from task where owner = ${value('owner')} and due_at < ${now()}`)
   * await late.rows({ owner: 7 })   // [[1], [5]]
   * ```
   */
  prepare(options: CustomSqlOptions, write: (words: SqlFragments) => string): CustomSql {
    return new CustomSql(options, write, this.context.dialect, {
      runner: () => this.runner(),
      wrote: (statement) => {
        this.wrote(statement)
      },
    })
  }

  /**
   * Repeats statements on a thread with a connection of its own, also while this process's event loop is blocked. For a
   * database that no other process can use they are repeated here.
   */
  heartbeat(statements: readonly BoundSql[], options: HeartbeatOptions): Heartbeat {
    return startHeartbeat(this.context.engine, statements, options)
  }

  /** Calls `onSignal` of the same name in the other processes of the database, those that listen. Never in a transaction. */
  signal(name: string): Promise<void> {
    return this.feed.signal(name).catch(refuseUnavailable)
  }

  /**
   * Listens to `signal` of other processes. Signals may be lost or come twice: look at the tables for what is to be done.
   *
   * @returns what ends it; undefined where signals cannot come, so that only polling is left
   */
  onSignal(name: string, listener: () => void): Promise<(() => void) | undefined> {
    return this.feed.onSignal(name, listener).catch(refuseUnavailable)
  }

  /** Every difference between the database and the records. */
  differences(): Promise<Difference[]> {
    return readDifferences(this.tables, this.context, this.context.engine)
  }

  /**
   * Calls the listener for every row that a repository of this process has written, after its commit. With
   * `everywhere`, on PostgreSQL, for rows written by any process, and for lost events.
   * @returns a function that ends it; with `everywhere`, once no change can be missed
   */
  onChange(listener: (change: Change) => void): () => void
  onChange(
    listener: (change: Change | MissedChanges) => void,
    options: { everywhere: true },
  ): Promise<() => void>
  onChange(listener: (change: never) => void, options?: { everywhere: true }): unknown {
    refuseUnknownOptions('onChange', options, changeOptions)
    if (options?.everywhere !== true)
      return this.feed.onChange(listener as (change: Change) => void)
    const all = listener as (change: Change | MissedChanges) => void
    return followAll(this, [...this.tables], all).catch(refuseUnavailable)
  }

  /**
   * The changes of a record's rows as an async iterable, from now on: what `onChange` tells, to be read with `for await`.
   * At most 1,000 unread ones are kept; a slower reader gets `{ event: 'lost', count }` in their place. Ends with the
   * signal, with `break`, and when the database is closed.
   */
  changes<T extends object>(
    type: Class<T>,
    options: ChangesOptions = {},
  ): AsyncIterableIterator<Change | MissedChanges> {
    return readChanges(this, this.table(type), options, this.#readers)
  }

  /**
   * Follows a record's rows, on PostgreSQL whichever process writes them. A watcher receives rows in lists. It is also
   * told when events were lost: after a broken connection to the server, and of an `insertMany` that was under way.
   *
   * @returns a function that ends it, once no change that is committed from now on can be missed
   * @throws {HttpError} 503 if the server cannot be reached
   */
  async watch(type: Class, watcher: Watcher): Promise<() => void> {
    try {
      return await this.feed.watch(this.table(type), watcher)
    } catch (error) {
      throw toUnavailable(error)
    }
  }

  /** Deletes every row of the records and of the framework's own tables; migrations stay. For tests. */
  empty(): Promise<void> {
    return emptyTables(this).then(() => {
      this.feed.written([anyTable])
    }, refuseUnavailable)
  }

  /** Ends all connections. Calling it again does nothing. */
  close(): Promise<void> {
    for (const end of this.#readers) end()
    this.#closing ??= this.feed.close().then(() => this.context.engine.close())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  runner(): Runner {
    return this.ownRunner() ?? this.#transactions.requestRunner() ?? this.quiet
  }

  /** Of the open transaction, or of the line of statements that are sent at this moment. */
  ownRunner(): Runner | undefined {
    return this.#transactions.current()?.runner() ?? this.line.runner
  }

  /**
   * Runs a client's work: none of its changes is done once the request's time is over, whichever repository it uses.
   *
   * @param onChange called for each of them
   */
  runForRequest<R>(request: ClientWriting, work: () => R, onChange?: () => void): R {
    return this.#transactions.runForRequest(request, work, onChange)
  }

  /** The same for work that asks for its source in the turn in which it begins, which costs nothing. */
  serve<R>(request: ClientWriting, work: () => R): R {
    const outer = this.served
    this.served = request
    try {
      return work()
    } finally {
      this.served = outer
    }
  }

  /** The source for the changes of a client's request: none is done once its time is over. */
  writesFor(request: ClientWriting | undefined): Source {
    return request === undefined ? this : new WritingSource(this, request)
  }

  /** The source for repositories of a client's request: reads end with it. The same for every call with this request. */
  forClient(request: ClientReading | undefined): Source {
    const { engine } = this.context
    if (request === undefined || engine.clientReads === undefined) return this
    return sourceOf(this, request, engine)
  }

  changed(changes: RowChanges): void {
    const scope = this.#transactions.current()
    if (scope === undefined) this.feed.notify([changes])
    else scope.changed(changes)
  }

  /** A statement that no repository has written was run: once it is committed, listeners are told of its tables. */
  wrote({ tables, kind }: Pick<Statement, 'tables' | 'kind'>, result?: QueryResult): void {
    const isQuiet = kind === 'unknown' ? result?.hasOnlyRead === true : result?.changes === 0
    const named = isQuiet ? [] : tables.filter((name) => name === anyTable || this.#knows(name))
    if (named.length === 0) return
    const scope = this.#transactions.current()
    if (scope === undefined) this.feed.written(named)
    else
      scope.onCommit(() => {
        this.feed.written(named)
      })
  }

  /** It is the table of a record, or ties two. */
  #knows(name: string): boolean {
    for (const table of this.tables) {
      if (table.name === name) return true
      for (const { join } of table.relations.values()) if (join?.name === name) return true
    }
    return false
  }

  committed(work: () => Promise<void>): void {
    const scope = this.#transactions.current()
    if (scope === undefined) void this.#transactions.runCommitted([work])
    else scope.committed(work)
  }

  announces(table: Table): MaybePromise<boolean> {
    const { engine } = this.context
    if (engine.channel === undefined || this.#transactions.current() !== undefined) return false
    return attempt(() => this.feed.announces(table, engine), refuseUnavailable)
  }

  /** @param request of a client: nothing is stored once its time is over */
  atomically<R>(
    work: (source: Source) => Promise<R>,
    isolation?: Isolation,
    request?: ClientWriting,
  ): Promise<R> {
    return this.#transactions.together(work, isolation, request).catch(refuseUnavailable)
  }
}

/** What the function of `transaction` receives. */
export class Transaction {
  readonly #database: Database
  readonly #scope: Scope

  constructor(database: Database, scope: Scope) {
    this.#database = database
    this.#scope = scope
  }

  /** The query builder, in this transaction while its work runs. */
  get kysely(): QueryBuilder {
    return this.#database.kysely
  }

  /** The repository of a record class, in this transaction. */
  records<T extends object>(type: Class<T>): Repository<T> {
    return new Repository(this.#database.table(type), this.#scope)
  }

  /** A part of this transaction that can fail alone. */
  transaction<R>(work: (tx: Transaction) => Promise<R>): Promise<R> {
    return this.#scope.nested((scope) => work(new Transaction(this.#database, scope)))
  }
}
