/**
 * What a database must be able to do for records. The contract, in short:
 * - Everything that is asked of a database is one call, `run(statement, values, wanted)`: the statement says what it is, and
 *   `wanted` which part of its answer is needed. An engine, a transaction of it, the reads or the changes of one request and
 *   statements in order are all such a `Runner`. What stands between records and a driver is a `Runner` around another one,
 *   which reads the statement and decides: when it runs (turns, a queue of those that go together), where (a replica, a
 *   reader thread, a connection of its own), and who is told of it. Only the driver tells the parts of an answer apart.
 * - What layers leave as it is stands once, in `engine-layer.ts`. From the top: `ToldEngine` (publishes statements),
 *   `ReplicatedEngine` (replicas), `BatchingEngine` (calls that go together), the engine itself.
 * - An engine lives in `engines/<name>/`: the `Engine`, which runs statements, and its `Dialect`, which is everything that
 *   differs in SQL and values. Nobody else decides by an engine's name (test/repository/engines.test.ts).
 * - Answers come at once where the driver is synchronous, so that such a database costs no promise.
 * - Every error of the driver leaves as an `EngineError` of a kind; repositories make answers of the kinds alone.
 * - A transaction is on one connection, and seen by nobody before its commit. A fault of the kind `conflict` means that it
 *   runs again from its beginning.
 * - The schema is changed by `changeSchema`, by one process at a time; nothing else takes that lock.
 * - The suites of test/contracts hold for it. docs/maintainers/engines.md says how to add one.
 */

import type {
  ClientWriting,
  ClientReading,
  CurrentCaller,
  OtherProcesses,
} from './request-context.js'
import type { Isolation } from '../../core/transaction.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import type { Log } from '../../core/log.js'
import type { Catalogue } from './table-schema.js'
import type { Statement } from './statement.js'
import type { Heartbeat, HeartbeatOptions } from './heartbeat.js'
import type { Dialect } from './dialect.js'

/** How the connections of one replica are used: it has a pool of its own. */
export interface ReplicaState {
  /** Its host and port. */
  readonly name: string
  /** It answers; reads go to it where it is near enough. */
  readonly isUp: boolean
  /** That there may be. */
  readonly most: number
  readonly open: number
  readonly idle: number
  readonly waiting: number
}

/**
 * Runs statements in order without waiting for each answer: each begins when the one before it has ended on the server.
 */

/** Each statement is committed, or fails, by itself. */
export interface OrderedRunner extends Runner {
  /** No more statements will follow; those that were given still run. Called once. */
  end(): void
}

/** Listens to messages from other processes, by the database's own means. */

export interface ChannelHandlers {
  message(text: string): void
  /** Messages may have been missed, because the connection was lost for a while. Called when it is back. */
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

/** For how many milliseconds a process may rely on the topics that it has read. */
export const topicCacheTime = 500

/** The options of a transaction. */

export interface BeginOptions {
  /** The isolation level, if the engine has several. Default: the database's own. */
  isolation?: Isolation | undefined
  /** Milliseconds to wait for other transactions, if the engine allows one writer at a time. Default the engine's. */
  waitTimeout?: number | undefined
  /** Once its time is over, the running statement is cancelled, if the engine can do that, and all is rolled back. */
  writing?: ClientWriting | undefined
}

export type { ClientReading } from './request-context.js'
export type { ClientWriting } from './request-context.js'
export type { Statement } from './statement.js'
export type { SqlWrapper, InsertCopy, InsertLists } from './dialect.js'

export type Row = readonly unknown[]

/** Of the placeholders, in their order. */
export type Values = readonly unknown[]

/** Runs statements. What goes wrong is an `EngineError`, thrown at once or later. */
export interface Runner {
  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]>
}

/** What may be wanted of a statement's answer. */
export interface Results {
  readonly rows: readonly Row[]
  readonly first: Row | undefined
  /** The number of rows that were inserted, updated or deleted. */
  readonly count: number
  /** Everything, of a statement that runs once: it is not kept for others. */
  readonly all: QueryResult
  /** Nothing, of a script: several statements without values. */
  readonly nothing: undefined
}

export type ResultKind = keyof Results

export interface QueryResult {
  /** Names of the columns, of a statement that returns rows. */
  readonly names: readonly string[]
  readonly rows: readonly Row[]
  /** Rows that were inserted, updated or deleted. */
  readonly changes: number
  /** The database says that it has changed nothing: of statements whose kind is not known. Default false. */
  readonly hasOnlyRead?: boolean
}

/** Runs everything on one connection, seen by nobody else until it is committed. */
export interface TransactionRunner extends Runner {
  /** After a fault of it the transaction is rolled back already. */
  commit(): Promise<void>
  rollback(): Promise<void>
}

export interface SchemaChangeOptions {
  /** All or nothing. False commits each statement by itself, where the engine `changesPiecemeal`. Default true. */
  atomic?: boolean
}

export interface Engine extends Runner {
  readonly dialect: Dialect
  /** The driver's name, for the log. */
  readonly driver: string
  /** It takes no writes: a replica. Default false. */
  readonly isReadOnly?: boolean
  /** Reads go to copies that may be behind: it asks who calls, who must see what it has written. Absent: all are one. */
  followCallers?(current: CurrentCaller, otherProcesses?: OtherProcesses): void
  begin(options?: BeginOptions): Promise<TransactionRunner>
  /**
   * A number that is another one after somebody has written who is no connection of this process. Absent where other
   * processes tell of what they write, or have no access.
   */
  externalWriteVersion?(): number
  /** Whether its file was deleted or replaced: what is written from then on is lost. Absent where there is no file. */
  isFileLost?(): boolean
  /** Absent where a statement costs no journey. */
  inOrder?(writing?: ClientWriting): MaybePromise<OrderedRunner | undefined>
  /**
   * Runs work that changes the schema: nobody else changes it meanwhile, references are checked at the end, and work that
   * had to wait for a table too long runs again from its beginning.
   *
   * @throws {DeclarationError} `SCHEMA_LOCKED` where others were in the way for too long
   */
  changeSchema<T>(work: (runner: Runner) => Promise<T>, options?: SchemaChangeOptions): Promise<T>
  /** It has changes of the schema that no transaction may hold: `create index concurrently`. */
  readonly changesPiecemeal: boolean
  /**
   * Runs the reads of one client's request: with a share of the connections, within the time that the engine gives them,
   * and no longer than somebody waits for the answer. Absent: they run as all others do.
   */
  clientReads?(reading: ClientReading): Runner
  /**
   * Runs the changes of one client's request outside transactions: none is done any more once its time is over, as
   * client-writing.ts says. What it reads runs as all else does. Absent: what was begun is done.
   */
  clientWrites?(writing: ClientWriting): Runner
  /**
   * Writes a copy of the whole database as it is at one moment into a new file, while others write, and opens it to see
   * that it is sound. Absent where another program does that: `dialect.backup` names it.
   *
   * @throws {Error} the file is there, is no place to write to, or the copy is not sound
   */
  backup?(file: string): void
  /**
   * What tables there are.
   *
   * @param names the tables whose defaults, indexes and checks are needed; default: all. A table that somebody has locked may
   * be waited for only if it is named
   * @throws {DeclarationError} `SCHEMA_LOCKED` if a table was locked for too long
   */
  catalogue(runner: Runner, names?: readonly string[]): Promise<Catalogue>
  /** Roughly how many rows these tables have, by name; without looking at the rows. */
  tableSizes(tables: readonly string[]): MaybePromise<ReadonlyMap<string, number>>
  /**
   * The types of a statement's placeholders by their places, as SQL names them, as soon as it has run: no table is asked
   * for them, so that no lock of a user's can hold the question up. Absent: its calls go each by itself.
   */
  parameterTypes?(statement: Statement): Promise<readonly string[]>
  /** Carries texts between the processes of a database; absent where they have no such way. */
  readonly channel?: EngineChannel | undefined
  /**
   * Repeats statements on a thread with a connection of its own. Absent where no other process uses the database: then it is
   * enough to repeat them here.
   */
  heartbeat?(options: HeartbeatOptions): Heartbeat
  /** How its connections are used; absent where it has none to count. */
  pool?(): PoolState
  /** Ends every connection. Nothing is run afterwards. */
  close(): Promise<void>
}

export interface OpenOptions {
  readonly log: Log
  /** The same database around a pooler, for engines whose sessions a pooler can take away. */
  readonly direct?: string | undefined
  /** Copies of the database that answer reads, for engines that have such. */
  readonly replicas?: readonly string[] | undefined
  /** Milliseconds that a copy may be behind. Default 1,000. */
  readonly replicaLag?: number | undefined
  /** Milliseconds after which a server ends a statement; 0 is never. Default 30,000. */
  readonly statementTimeout?: number | undefined
}

/** An engine that an application brings: `connect({ engine })`, `bootstrap(AppModule, { database })`. */
export interface EngineSource {
  /** @throws {DeclarationError} no driver, no access */
  open(options: OpenOptions): Promise<Engine>
}

/** The connections of an engine. */
export interface PoolState {
  /** That there may be. */
  readonly most: number
  readonly open: number
  readonly idle: number
  readonly waiting: number
  /** Of its replicas, where there are some. */
  readonly replicas?: readonly ReplicaState[]
}

/** Texts from process to process. Which process wants which is known by topics: 32-bit numbers, whatever they stand for. */
export interface EngineChannel {
  /** Sends texts of less than 8,000 bytes each, when and only when the transaction is committed. */
  send(runner: Runner, messages: readonly string[]): Promise<void>
  /**
   * The topics that processes listen to. One that is told of this may go by it for `topicCacheTime` milliseconds.
   *
   * @param exceptProcess a listener's process id that does not count: one's own
   */
  topics(runner: Runner, exceptProcess: number | undefined): Promise<ReadonlySet<number>>
  /** Nothing is opened before there is a topic. */
  listen(handlers: ChannelHandlers): ChannelListener
}
