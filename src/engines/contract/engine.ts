/**
 * What a database must be able to do for records. The contract, in short:
 * - Everything that is asked of a database is one call, `run(statement, values, wanted)`: the statement says what it is, and
 *   `wanted` which part of its answer is needed. An engine, a transaction of it, the reads or the changes of one request and
 *   statements in order are all such a `Runner`. What stands between records and a driver is a `Runner` around another one,
 *   which reads the statement and decides: when it runs (turns, a queue of those that go together), where (a replica, a
 *   reader thread, a connection of its own), and who is told of it. Only the driver tells the parts of an answer apart.
 * - What layers leave as it is stands once, in `engine-layer.ts`. From the top: `ToldEngine` (publishes statements),
 *   `ReplicatedEngine` (replicas), `JoinedEngine` (calls that go together), the engine itself.
 * - An engine lives in `engines/<name>/`: the `Engine`, which runs statements, and its `Dialect`, which is everything that
 *   differs in SQL and values. Nobody else decides by an engine's name (test/repository/engines.test.ts).
 * - Answers come at once where the driver is synchronous, so that such a database costs no promise.
 * - Every error of the driver leaves as an `EngineFault` of a kind; repositories make answers of the kinds alone.
 * - A transaction is on one connection, and seen by nobody before its commit. A fault of the kind `conflict` means that it
 *   runs again from its beginning.
 * - The schema is changed by `changeSchema`, by one process at a time; nothing else takes that lock.
 * - The suites of test/contracts hold for it. docs/maintainers/engines.md says how to add one.
 */
import type { BeginOptions } from './begin-options.js'
import type { ClientReading } from './client-reading.js'
import type { ClientWriting } from './client-writing.js'
import type { CurrentCaller, OtherProcesses } from './engine-caller.js'
import type { ChannelHandlers, ChannelListener } from './channel-listener.js'
import type { Later } from '../../core/later.js'
import type { Code } from '../../fields/kinds/kind.js'
import type { Log } from '../../core/log.js'
import type { Column } from './table.js'
import type { TimeGroup } from './time-group.js'
import type { Total } from './total.js'
import type { Catalogue } from './catalogue.js'
import type { JsonSql, RowJson } from './json-sql.js'
import type { Statement } from './statement.js'
import type { ReplicaState } from './replica-state.js'
import type { OrderedRunner } from './ordered-runner.js'
import type { Pulse, PulseOptions } from './pulse.js'
import type { ScanSql } from './scan-sql.js'
import type { SearchSql } from './search-sql.js'
import type { Replay, TableChanges } from './table-changes.js'
import type { Around, InsertCopy, InsertLists } from './insert-sql.js'

export type { ClientReading } from './client-reading.js'
export type { ClientWriting } from './client-writing.js'
export type { Statement } from './statement.js'
export type { Around, InsertCopy, InsertLists } from './insert-sql.js'

export type Row = readonly unknown[]

/** Of the placeholders, in their order. */
export type Values = readonly unknown[]

/** Runs statements. What goes wrong is an `EngineFault`, thrown at once or later. */
export interface Runner {
  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): Later<Answers[W]>
}

/** What may be wanted of a statement's answer. */
export interface Answers {
  readonly rows: readonly Row[]
  readonly first: Row | undefined
  /** The number of rows that were inserted, updated or deleted. */
  readonly count: number
  /** Everything, of a statement that runs once: it is not kept for others. */
  readonly all: QueryResult
  /** Nothing, of a script: several statements without values. */
  readonly nothing: undefined
}

export type Wanted = keyof Answers

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
  followCallers?(current: CurrentCaller, others?: OtherProcesses): void
  begin(options?: BeginOptions): Promise<TransactionRunner>
  /**
   * A number that is another one after somebody has written who is no connection of this process. Absent where other
   * processes tell of what they write, or have no access.
   */
  writtenElsewhere?(): number
  /** Absent where a statement costs no journey. */
  inOrder?(writing?: ClientWriting): Later<OrderedRunner | undefined>
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
  /** What tables there are. */
  catalogue(runner: Runner): Promise<Catalogue>
  /** Roughly how many rows these tables have, by name; without looking at the rows. */
  tableSizes(tables: readonly string[]): Later<ReadonlyMap<string, number>>
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
  pulse?(options: PulseOptions): Pulse
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
  /** Of its replicas, where there are some. */ readonly replicas?: readonly ReplicaState[]
}

/** Texts from process to process. Which process wants which is known by topics: 32-bit numbers, whatever they stand for. */
export interface EngineChannel {
  /** Sends texts of less than 8,000 bytes each, when and only when the transaction is committed. */
  send(runner: Runner, messages: readonly string[]): Promise<void>
  /**
   * The topics that processes listen to. One that is told of this may go by it for `lookupsLast` milliseconds.
   *
   * @param but a listener's process id that does not count: one's own
   */
  topics(runner: Runner, but: number | undefined): Promise<ReadonlySet<number>>
  /** Nothing is opened before there is a topic. */
  listen(handlers: ChannelHandlers): ChannelListener
}

/** What differs between databases in SQL and in the values that come and go. */
export interface Dialect {
  /** What its migrations are named by: `add-price.postgres.sql`. Engines of the same SQL share it. */
  readonly name: string
  /** What monitoring calls it. Default `name`. */ readonly system?: string
  /** For people: `PostgreSQL`. */
  readonly title: string
  /** The command that makes its backups, where the engine does not. */
  readonly backup?: string
  /** The family of Kysely's compiler, for what repositories do not do. */
  readonly kysely: 'Sqlite' | 'Postgres'
  /** A statement costs no journey: rows are inserted one by one. */
  readonly isLocal: boolean
  /** Absent where they are inserted by one list of all values. */
  readonly lists?: InsertLists
  /** Absent where rows do not come so. */
  readonly copy?: InsertCopy | undefined
  /** What a value of the application's own queries becomes, where the driver does not know its type. */
  readonly toDriver: (value: unknown) => unknown
  /** The placeholder of the value at this place, from 1, in SQL that is written by hand. */
  readonly placeholder: (place: number) => string
  /** A query for the texts of a JSON list, the value at this place. */
  readonly textsOf: (place: number) => string
  /** A query for the entries of a JSON list as JSON, the value at this place; its column is `value`. */
  readonly itemsOf: (place: number) => string
  /** SQL behind a value that stands alone, to give it the column's type. */
  typed(column: Column): string
  /** SQL around the placeholder of a limit, and what stands in its place before an offset. */
  readonly limit: { readonly behind: string; readonly none: string }
  /** How many tables a statement joins to show the rows that others belong to, and by what kind of join. */
  readonly owners: { readonly most: number; readonly join: 'left' | 'lateral' }
  /** Subqueries of a join may name the tables before them. */
  readonly hasLateral: boolean
  /** Where a statement looks at every row, a list of keys made once finds the related rows faster than a look for each row. */
  readonly listsKeys: boolean
  /** What writes JSON. */
  json(): JsonSql
  /** What an answer has in it where a number was infinite; `undefined` where the statement fails then. */
  readonly infinity: string | undefined
  readonly changes: TableChanges
  /** SQL of this moment as a column's default, by storage class. */
  readonly now: Readonly<Partial<Record<Column['storage'], string>>>
  /** SQL of the milliseconds since 1970 by the clock of its machine, at this very moment. */
  readonly clock: string
  /** SQL over the column `{c}` that counts its characters (code points), or its bytes. */
  lengthOf(column: Pick<Column, 'storage' | 'isUuid'>): string
  /** Where its migrations lead is found out by running them; `undefined`: it is kept in a file beside them. */
  readonly replay: Replay | undefined
  /** The column's type in `CREATE TABLE`, collation included. */
  columnType(column: Pick<Column, 'storage' | 'isBoolean' | 'isUuid' | 'field'>): string
  /** The type of a key that the database counts up. */
  readonly incrementType: string
  /** From a checked property value (never null) to what the driver takes; absent where they are the same. */
  encoder(column: Column): ((value: unknown) => unknown) | undefined
  /** What makes the storage class's value of the driver's `v` (never null); absent where they are the same. */
  decoder(column: Column): Code<unknown> | undefined
  /** SQL around a column that a statement answers; absent where the driver hands its values on as they are. */
  answered(column: Column): Around | undefined
  /** SQL around a column of UUIDs that makes them text, which sorts as they do; absent where they are kept as text. */
  readonly uuidText?: Around
  /** SQL around a column that makes the text of its values; absent where they are such text. */
  textOf(column: Column): Around | undefined
  /**
   * SQL of the first local day of a moment's unit as text, `2026-11-16`; for hours the local hour with its offset,
   * `2026-11-16T10:00:00+01:00`.
   */
  timeGroup(group: TimeGroup): string
  /** The sum or mean of a column of numbers, exact where they are; `isLarge` once a sum failed as an `overflow`. */
  total(called: 'sum' | 'avg', column: Pick<Column, 'storage' | 'field'>, isLarge?: boolean): Total
  /** SQL around a text that makes it lower case, for comparing without regard to case. */
  readonly fold: readonly [before: string, after: string]
  /** The same of a value. */
  foldValue(text: string): string
  /**
   * Tests of a column `{c}` for a text `{v}` that stands for itself, where a pattern may take as long as the product of
   * both lengths; absent where patterns do as well.
   */
  readonly textHas?: { readonly contains: string; readonly endsWith: string }
  /** Rows by words in their texts. */
  readonly search: SearchSql
  /** Indexes may say where nulls stand; there are indexes of trigrams, or can be. */
  readonly indexes: { readonly nulls: boolean; readonly trigrams: boolean }
  /** One value that stands for a list in `listTest`; `undefined` where the column's values cannot travel so. */
  encodeList(column: Column, values: readonly unknown[]): unknown
  /** SQL of one row that counts on behind the given keys in `stored`, names quoted; absent where that happens by itself. */
  readonly passKeys?: (table: string, key: string) => string
  /** SQL behind a select that holds its rows until the transaction ends; empty where a transaction holds all of them. */
  readonly lock: string
  /** The same without the rows that others hold. */
  readonly lockFree: string
  /** SQL of moments. */
  readonly moments: MomentSql
  /** One transaction at a time, so that every isolation is as good as the highest. */
  readonly hasOneWriter: boolean
  /** A test of a column `{c}` of a list for an item, whose JSON text is `{v}`. */
  readonly listHas: string
  /** A path within JSON as the engine takes it; more than one where a name could be a key or a place in a list. */
  jsonPaths(names: readonly string[]): readonly unknown[]
  /** SQL of the value at a path `{p}` within the column `{c}`, null where it is of another type. */
  readonly jsonAt: Readonly<Record<'number' | 'text' | 'boolean' | 'any', string>>
  /** What a value within JSON is held against. */
  jsonOperand(value: unknown): unknown
  /** SQL around the placeholder of such a list: what stands behind the column's name. */
  readonly listTest: readonly [before: string, after: string]
  readonly rowJson: RowJson
  readonly scans: ScanSql
  /** SQL around a subquery of one JSON value that keeps it JSON for what stands around. */
  readonly jsonOfSubquery: readonly [before: string, after: string]
  /** SQL around a double in JSON, if the engine would not write all its digits. */
  readonly jsonOfDouble?: readonly [before: string, after: string]
}

/** SQL of moments, for statements that are written by hand. */
export interface MomentSql {
  /** The moment of the statement by the database's clock, as columns of moments keep it. @param ms SQL of milliseconds to add */
  now(ms: string): string
  /** Milliseconds since 1970 of a moment. */
  millis(moment: string): string
}

/** What went wrong, in words that hold for every database. */
export type FaultKind =
  /** A second row of the same unique values. */
  | 'unique'
  /** A key that no row has, or a row that others still refer to. */
  | 'reference'
  /** Null, or out of range: the value passed the field's rules, but the column does not accept it. */
  | 'value'
  /** A sum that `total` makes by another way. */
  | 'overflow'
  /** A value that GraphQL has no word for, in JSON that the statement writes: see json-sql.ts. */
  | 'inexpressible'
  /** Two transactions cannot both go through; this one may be tried again from its beginning. */
  | 'conflict'
  /** Locked, full, read-only or gone: the same may work later. */
  | 'unavailable'
  | 'other'

export interface FaultDetails {
  /** Names of columns, where the database tells. */
  readonly columns?: readonly string[]
  /** Name of the index or constraint, where the database tells. */
  readonly constraint?: string
  /** It takes no writes at all. */
  readonly isReadOnly?: boolean
  /** A pooler stands before it that keeps no sessions: only another address helps. */
  readonly needsSession?: boolean
}

/** A driver's error, sorted. Its message is the driver's and never sent to a client. */
export class EngineFault extends Error {
  readonly kind: FaultKind
  readonly columns: readonly string[] | undefined
  readonly constraint: string | undefined
  readonly isReadOnly: boolean
  readonly needsSession: boolean

  constructor(kind: FaultKind, message: string, cause?: unknown, details: FaultDetails = {}) {
    super(message, { cause })
    this.name = 'EngineFault'
    this.kind = kind
    this.columns = details.columns
    this.constraint = details.constraint
    this.isReadOnly = details.isReadOnly === true
    this.needsSession = details.needsSession === true
  }
}
