/**
 * The contract of an engine: everything that a database must do for records.
 *
 * - Every statement is one call, `run(statement, values, resultKind)`. The statement describes its properties, and
 *   `resultKind` selects the part of the result. Engines, transactions, and the reads or writes of one request are all such a
 *   `Runner`. A layer between records and the driver is a `Runner` around another one. It reads the properties of statements
 *   and decides when they run (queues, batches) and where (a replica, a reader thread, a separate connection), or publishes
 *   them. Only the driver parses results.
 * - A layer is a function that takes an engine and returns one with other calls (`engine-layer.ts`). From the outside:
 *   `publishStatements`, `readFromReplicas`, `batchCalls`, and the engine itself.
 * - An engine has eleven members: `run`, `begin` and `close`, its `dialect`, and what belongs together in groups: `status`,
 *   `schema`, `requests`, and the optional capabilities `batching`, `processes`, `backup` and `copying`. The functions in a group need
 *   no `this`, so that a layer can replace one of them.
 * - An engine lives in `engines/<name>/`: the `Engine` runs statements, and its `Dialect` contains all differences in SQL and
 *   values. No other code depends on an engine's name (test/repository/engines.test.ts).
 * - Results are synchronous if the driver is, so that such a database costs no promises.
 * - Every error of the driver becomes an `EngineError`. Repositories derive responses from its kind alone.
 * - A transaction uses one connection. An error of the kind `conflict` means that it runs again from its beginning.
 * - `schema.change` changes the schema, in one process at a time. Nothing else takes that lock.
 * - The suites of test/contracts apply to every engine. docs/maintainers/engines.md says how to add one.
 */
import type { Isolation } from '../../core/transaction.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import type { Log } from '../../core/log.js'
import type { Catalogue, DatabaseTypes } from './table-schema.js'
import type { CatalogueTable } from './described-table.js'
import type { Runner, TransactionRunner, TransactionSource } from './runner.js'
import type { Statement } from './statement.js'
import type { EngineCopying } from './exchange.js'
import type { Heartbeat, HeartbeatOptions } from './heartbeat.js'
import type { Dialect } from './dialect.js'

/** The caller of an engine that reads from replicas, which may lag behind. */
export interface EngineCaller {
  /** Reads must see everything that is committed, because a write depends on them or their result is cached. */
  readonly isFresh: boolean
  /** Names under which earlier writes of this caller are looked up. */
  readonly names: readonly string[]
  /** Names under which writes of this caller are remembered. */
  readonly ownNames: readonly string[]
  /** Set by the engine after a write: from then on the same request reads from the primary. */
  hasWritten: boolean
}

/** @returns `undefined` for work without a caller: jobs, programs, the start */
export type CurrentCaller = () => EngineCaller | undefined

/** Other processes that serve the same callers: workers behind one port. */
export interface OtherProcesses {
  /** Notifies them that the caller with these names has written. */
  notify(names: readonly string[]): void
  /** @returns a function that removes the listener */
  onNotified(listener: (names: readonly string[]) => void): () => void
}

/** The part of a client's request that its reads use. */
export interface ClientReading {
  /**
   * The name of the client: its user or its address. Clients share the engine's readers, and so do the requests of one
   * client. Undefined for work of the framework.
   */
  readonly client?: string | undefined
  /** The maximum bytes of the rows of one read. More are an `EngineError` `tooLarge`. Default: no limit. */
  readonly maxReadBytes?: number | undefined
  /**
   * The request is over: its response was sent completely, or the client disconnected. A stream still reads after its
   * first byte.
   */
  readonly isOver?: boolean
  /** The response has begun. From now on, reads are for a stream. */
  readonly answered?: boolean
  /** Calls `end` once, when the response was sent or the client disconnected. */
  onFinished(end: () => void): void
  /** Stores the runner of the first database that reads for this request. */
  reads?: object | undefined
}

/** A write that waits or runs. */
export interface PendingWrite {
  /** Called at the timeout of the request. `writeEnded` follows when the outcome is known, possibly immediately. */
  stop(): void
}

/**
 * The part of a client's request that its writes use. A request with the response 503 after its timeout has written
 * nothing: waiting writes are never sent, running ones are cancelled if possible, and the response waits for their
 * outcome.
 */
export interface ClientWriting {
  /** The request has timed out, so that it must not write anything more. */
  readonly isTimedOut: boolean
  writeStarted(write: PendingWrite): void
  /** @param isDone whether data was written */
  writeEnded(write: PendingWrite, isDone: boolean): void
}

/** The connections of one replica, which has its own pool. */
export interface ReplicaState {
  /** Its host and port. */
  readonly name: string
  /** Whether it responds. Then reads may use it, if its lag is small enough. */
  readonly isUp: boolean
  /** The maximum number of connections. */
  readonly maxConnections: number
  readonly open: number
  readonly idle: number
  readonly waiting: number
}

export interface ChannelHandlers {
  message(text: string): void
  /** The connection was lost for a while, so messages may be missing. Called after it is restored. */
  messagesLost(): void
}

/** Listens on a connection of its own, which exists while there are topics and is restored after a loss. */
export interface ChannelListener {
  /** The database's id of the connection, while it exists. */
  readonly processId: number | undefined
  /**
   * Sets the topics. Resolves once every process that writes knows them.
   *
   * @throws {EngineError} `unavailable` if no connection can be opened
   */
  listenTo(topics: ReadonlySet<number>): Promise<void>
  close(): Promise<void>
}

/** Milliseconds for which a process may cache the topics that it has read. */
export const topicCacheTime = 500

export interface BeginOptions {
  /** The isolation level, if the engine has several. Default: the database's own. */
  isolation?: Isolation | undefined
  /** Milliseconds to wait for other transactions, if the engine allows one writer at a time. Default the engine's. */
  waitTimeout?: number | undefined
  /**
   * After the request's timeout, the running statement is cancelled, if the engine can do that, and the transaction is
   * rolled back.
   */
  writing?: ClientWriting | undefined
}

export type { Statement } from './statement.js'
export type {
  QueryResult,
  ResultKind,
  Results,
  Row,
  Runner,
  TransactionRunner,
  Values,
} from './runner.js'

export interface SchemaChangeOptions {
  /**
   * Commit all statements together. False commits each statement separately, if the database `can.changePiecemeal`.
   * Default true.
   */
  atomic?: boolean
  /**
   * Enforce references with each statement, with cascades, as outside of schema changes. False checks them at the end, if
   * the database can only rebuild tables without them. Default false.
   */
  enforcesReferences?: boolean
}

/** What an engine is at the moment. */
export interface EngineStatus {
  /** The driver's name, for the log. */
  readonly driver: string
  /** Whether it accepts no writes, because it is a replica, or because its primary was not reached yet. */
  readonly isReadOnly: () => boolean
  /** The state of its connections. Undefined without a connection pool. */
  readonly pool: () => PoolState | undefined
  /** Whether the database's file was deleted or replaced, so that writes would be lost. False without a file. */
  readonly isFileLost: () => boolean
}

/** The tables of the database. */
export interface EngineSchema {
  /**
   * Runs work that changes the schema. No other process changes it at the same time, references are checked at the end,
   * and work that waited too long for a table runs again from its beginning.
   *
   * @throws {DeclarationError} `SCHEMA_LOCKED` if other processes hold locks for too long
   */
  readonly change: <T>(
    work: (runner: Runner) => Promise<T>,
    options?: SchemaChangeOptions,
  ) => Promise<T>
  /**
   * Reads the tables.
   *
   * @param names the tables whose defaults, indexes and checks are needed; default: all. A locked table is awaited only
   * if it is named
   * @throws {DeclarationError} `SCHEMA_LOCKED` if a table was locked for too long
   */
  readonly catalogue: (runner: Runner, names?: readonly string[]) => Promise<Catalogue>
  /** Reads types by their names. Undefined if fields cannot name the engine's types. */
  readonly types?: (runner: Runner, names: readonly string[]) => Promise<DatabaseTypes>
  /**
   * Describes tables and views in full, except those of extensions and single partitions.
   *
   * @param schemas default: the schema that unqualified names refer to. Engines without schemas ignore it
   */
  readonly describe: (
    runner: Runner,
    schemas?: readonly string[],
  ) => Promise<readonly CatalogueTable[]>
  /** The approximate sizes by table, without reading all rows. */
  readonly sizes: (tables: readonly string[]) => MaybePromise<ReadonlyMap<string, TableSize>>
}

/** How the statements of clients' requests run outside transactions. */
export interface RequestStatements {
  /**
   * Runs the reads of one request: with a share of the connections, with the engine's time limit, and only as long as
   * the client waits. Undefined: they run like all other statements.
   */
  readonly reads?: ((reading: ClientReading) => Runner) | undefined
  /** Runs the writes of one request. After its timeout no more writes run (see `ClientWriting`). */
  readonly writes: (writing: ClientWriting) => Runner
  /**
   * Calls `send` with a runner. The statements that `send` passes to it before it returns run in order without waiting
   * for each result: each begins when the previous one has ended on the server, and is committed, or fails, separately.
   * Undefined if statements need no network round trip.
   */
  readonly inOrder?:
    ((send: (runner: Runner) => void, writing?: ClientWriting) => MaybePromise<void>) | undefined
  /**
   * Sets a function that returns the current caller, who must see its own writes. Undefined if the engine reads from no
   * replicas.
   */
  readonly followCallers?:
    ((current: CurrentCaller, otherProcesses?: OtherProcesses) => void) | undefined
}

/** Lets the calls of a statement be combined to one statement. */
export interface CallBatching {
  /**
   * The SQL types of a statement's placeholders, available after it has run. It reads no table, so that no lock can
   * delay it.
   */
  readonly parameterTypes: (statement: Statement) => Promise<readonly string[]>
}

/** What several processes that use the database need of it. */
export interface DatabaseProcesses {
  /** Repeats statements on a thread with a separate connection. */
  readonly heartbeat: (options: HeartbeatOptions) => Heartbeat
  /** Sends messages between the processes. Undefined if the database cannot. */
  readonly channel?: EngineChannel | undefined
  /** A number that changes after another process has written. Undefined if processes notify each other of writes. */
  readonly externalWriteVersion?: (() => number) | undefined
}

export interface Engine extends TransactionSource {
  readonly dialect: Dialect
  readonly status: EngineStatus
  begin(options?: BeginOptions): Promise<TransactionRunner>
  readonly schema: EngineSchema
  readonly requests: RequestStatements
  /** Undefined: each call of a statement is sent by itself. */
  readonly batching?: CallBatching | undefined
  /** Undefined if no other process can use the database. */
  readonly processes?: DatabaseProcesses | undefined
  /**
   * Writes a consistent copy of the database to a new file while other connections write, and checks the copy.
   * Undefined if another program makes backups: `dialect.product.backup`.
   *
   * @throws {Error} if the file exists or cannot be written, or the copy is invalid
   */
  readonly backup?: ((file: string) => void) | undefined
  /** Reads and writes all rows for a copy into another database. Undefined for a database in memory. */
  readonly copying?: EngineCopying | undefined
  /** Closes all connections. No statement may follow. */
  close(): Promise<void>
}

export interface OpenOptions {
  readonly log: Log
  /** The address of the database without the connection pooler, for engines whose sessions a pooler does not keep. */
  readonly direct?: string | undefined
  /** Addresses of replicas, for engines that read from replicas. */
  readonly replicas?: readonly string[] | undefined
  /** The maximum lag of a replica in milliseconds. Default 1,000. */
  readonly replicaLag?: number | undefined
  /** Milliseconds after which the server cancels a statement; 0 means never. Default 30,000. */
  readonly statementTimeout?: number | undefined
}

/** A custom engine: `connect({ engine })`, `bootstrap(AppModule, { database })`. */
export interface EngineSource {
  /** @throws {DeclarationError} if the driver is missing or the database cannot be opened */
  open(options: OpenOptions): Promise<Engine>
}

/** The connections of an engine. */
export interface PoolState {
  /** The maximum number of connections. */
  readonly maxConnections: number
  readonly open: number
  readonly idle: number
  readonly waiting: number
  /** The pools of its replicas, if there are any. */
  readonly replicas?: readonly ReplicaState[]
}

/** The approximate size of a table. */
export interface TableSize {
  /** The number of rows. */
  readonly rows: number
  /** The average bytes of the values of a row; 0 if unknown. */
  readonly rowBytes: number
  /** The number of different values of columns that have few, by column. Absent if unknown. */
  readonly values?: ReadonlyMap<string, number>
}

/** Messages between processes. Processes subscribe to topics, which are arbitrary 32-bit numbers. */
export interface EngineChannel {
  /** Sends texts of less than 8,000 bytes each when the transaction is committed. */
  send(runner: Runner, messages: readonly string[]): Promise<void>
  /**
   * The topics that processes listen to. The caller may cache them for `topicCacheTime` milliseconds.
   *
   * @param exceptProcess the process id of a listener to leave out: the caller's own
   */
  topics(runner: Runner, exceptProcess: number | undefined): Promise<ReadonlySet<number>>
  /** Opens a connection only when there is a topic. */
  listen(handlers: ChannelHandlers): ChannelListener
}
