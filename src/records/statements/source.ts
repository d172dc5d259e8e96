/**
 * The source of a repository, which runs its statements: the database, a transaction, or the request of one client. All
 * sources of a database share its `RecordsContext`.
 */

import type { ChangeFeed } from '../changes/change-feed.js'
import type { RowChanges } from '../changes/changes.js'
import { after, type MaybePromise } from '../../core/maybe-promise.js'
import type {
  ClientReading,
  ClientWriting,
  Engine,
  Runner,
  OrderedRunner,
  ResultKind,
  Results,
  Row,
  Statement,
  Values,
} from '../../engines/contract/engine.js'
import { checkReadBytes } from '../../engines/contract/read-bytes.js'
import type { Isolation } from '../../core/transaction.js'
import type { Table } from '../model/table.js'
import type { Transactions } from './transactions.js'
import { concealInJson } from '../rights/secured-responses.js'
import { createTableCodec, type TableCodec } from '../model/codec.js'
import { TablePlans } from './plans.js'
import { compileWriteChecks, type WriteChecks } from './write-check.js'
import type { QueryBuilder } from './builder.js'
import type { Class } from '../../metadata/class-metadata.js'
import type { FilterContext } from '../filters/filter.js'

export function createContext({
  engine,
  kysely,
  now,
  tables,
  searchLimit,
  providers,
}: Pick<
  RecordsContext,
  'engine' | 'kysely' | 'now' | 'tables' | 'searchLimit' | 'providers'
>): RecordsContext {
  const { dialect } = engine
  const codecs = new WeakMap<Table, TableCodec>()
  const plans = new WeakMap<Table, TablePlans>()
  const checks = new WeakMap<Table, WriteChecks>()
  const codecOf = (table: Table): TableCodec =>
    remember(codecs, table, () => {
      concealInJson(table)
      return createTableCodec(table, dialect)
    })
  return Object.freeze({
    engine,
    kysely,
    tables,
    dialect,
    searchLimit,
    codecOf,
    plansOf: (table: Table) => remember(plans, table, () => new TablePlans(table, dialect)),
    checksOf: (table: Table) => remember(checks, table, () => compileWriteChecks(table, now)),
    now,
    providers,
  })
}

function remember<K extends object, V>(cache: WeakMap<K, V>, key: K, make: () => V): V {
  const cached = cache.get(key)
  if (cached !== undefined) return cached
  const value = make()
  cache.set(key, value)
  return value
}

/** The parts that all repositories of a database share. */
export interface RecordsContext extends FilterContext {
  readonly engine: Engine
  readonly kysely: QueryBuilder
  /** Every table that has been used so far. */
  readonly tables: ReadonlySet<Table>
  plansOf(table: Table): TablePlans
  checksOf(table: Table): WriteChecks
  /** Milliseconds since 1970. */
  now(): number
  /** Providers for hooks. */
  readonly providers: RecordProviders
}

export interface RecordProviders {
  /** The repository of a record, on a source. */
  readonly records: (type: Class, source: Source) => object
  /** A provider of the application. Undefined outside applications. */
  get?: (token: Class | string | symbol) => unknown
}

export interface Source {
  readonly context: RecordsContext
  /** The current runner of statements. */
  runner(): Runner
  /** Records written rows, which are reported after their commit. */
  changed(changes: RowChanges): void
  /** Registers work to run after the commit; it does not run after a rollback. */
  committed(work: () => Promise<void>): void
  /** Notifies listeners of changes. */
  readonly feed: ChangeFeed
  /** True if the write needs a new transaction, because a message is sent with it. */
  announces(table: Table): MaybePromise<boolean>
  /**
   * Runs work, all or nothing. Inside a transaction, the work is a savepoint that can fail alone.
   *
   * @param isolation of a transaction that begins here: `isolationOf` if the application's code runs in it; undefined:
   * the database's default
   */
  atomically<T>(work: (source: Source) => Promise<T>, isolation?: Isolation): Promise<T>
}

/** @throws {TypeError} the database was opened without an application */
export function providerOf(
  providers: Pick<RecordProviders, 'get'> | undefined,
  token: Class | string | symbol,
): unknown {
  if (providers?.get !== undefined) return providers.get(token)
  const name = typeof token === 'function' ? token.name : String(token)
  throw new TypeError(
    `get: ${name} is a provider of an application, but this database was opened without one. Pass it to bootstrap: bootstrap(App, { database }).`,
  )
}

/**
 * Runs the statements of one client's request: the sources of its repositories, whose reads or changes end with the
 * request, and pipelined writes, which are sent without waiting for each response.
 */

/** The part of the database that this file needs. */
interface OpenDatabase extends Source {
  /** The runner of the open transaction, or of a batch of statements. */
  ownRunner(): Runner | undefined
  /** Runs the statements of a request outside transactions. */
  writesOf(request: ClientWriting): Runner
  atomically<T>(
    work: (source: Source) => Promise<T>,
    isolation?: Isolation,
    request?: ClientWriting,
  ): Promise<T>
}

abstract class RequestSource implements Source {
  readonly context: RecordsContext
  readonly database: OpenDatabase

  constructor(database: OpenDatabase) {
    this.context = database.context
    this.database = database
  }

  abstract runner(): Runner

  get feed(): ChangeFeed {
    return this.database.feed
  }

  changed(changes: RowChanges): void {
    this.database.changed(changes)
  }

  committed(work: () => Promise<void>): void {
    this.database.committed(work)
  }

  announces(table: Table): MaybePromise<boolean> {
    return this.database.announces(table)
  }

  atomically<T>(work: (source: Source) => Promise<T>, isolation?: Isolation): Promise<T> {
    return this.database.atomically(work, isolation)
  }
}

/** A source whose reads are cancelled when the request ends, and have a maximum size. */
class ClientSource extends RequestSource implements Runner {
  readonly #reads: Runner
  readonly #maxBytes: number

  /** @param reads runs statements outside transactions */
  constructor(database: OpenDatabase, reads: Runner, maxBytes = Infinity) {
    super(database)
    this.#reads = reads
    this.#maxBytes = maxBytes
  }

  runner(): Runner {
    return this
  }

  /** Engines end a read that is too large if they can. Batched and short reads are checked here. */
  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    const runner = this.database.ownRunner() ?? this.#reads
    const result = runner.run(statement, values, resultKind)
    if (resultKind !== 'rows' && resultKind !== 'first') return result
    return after(result, (found) => {
      const rows = (resultKind === 'first' ? [found ?? []] : found) as readonly Row[]
      checkReadBytes(rows, this.#maxBytes)
      return found
    })
  }
}

/** A source whose changes stop after the request's timeout. */
export class WritingSource extends RequestSource {
  readonly #request: ClientWriting
  #writes: Runner | undefined

  constructor(database: OpenDatabase, request: ClientWriting) {
    super(database)
    this.#request = request
  }

  runner(): Runner {
    const transactionRunner = this.database.ownRunner()
    return transactionRunner ?? (this.#writes ??= this.database.writesOf(this.#request))
  }

  override atomically<T>(work: (source: Source) => Promise<T>, isolation?: Isolation): Promise<T> {
    return this.database.atomically(work, isolation, this.#request)
  }
}

/** Sources of requests that use more than one database. */
const sourcesOfOtherDatabases = new WeakMap<Source, WeakMap<ClientReading, ClientSource>>()

/** The source of a request, the same for every call. The request itself stores the source of its first database. */
export function sourceOf(
  database: OpenDatabase,
  request: ClientReading,
  engine: Engine,
): ClientSource {
  const { reads } = request
  if (reads instanceof ClientSource && reads.database === database) return reads
  const cachedSource = sourcesOfOtherDatabases.get(database)?.get(request)
  if (cachedSource !== undefined) return cachedSource
  const source = new ClientSource(
    database,
    engine.clientReads?.(request) ?? engine,
    request.maxReadBytes,
  )
  if (reads === undefined) request.reads = source
  else {
    const ofDatabase =
      sourcesOfOtherDatabases.get(database) ?? new WeakMap<ClientReading, ClientSource>()
    sourcesOfOtherDatabases.set(database, ofDatabase.set(request, source))
  }
  return source
}

/**
 * Sends several writes without waiting for each response. The database runs them in order. Only for work that sends its
 * single statement synchronously: the statement becomes part of the open batch.
 */
export class PipelinedWrites {
  runner: Runner | undefined = undefined
  readonly #engine: Engine
  readonly #transactions: Pick<Transactions, 'current' | 'needsTransaction'>

  constructor(engine: Engine, transactions: Pick<Transactions, 'current' | 'needsTransaction'>) {
    this.#engine = engine
    this.#transactions = transactions
  }

  /**
   * @param request a client's request; nothing more is stored after its timeout
   * @returns `undefined` in a transaction, and for engines that do not support batches
   */
  async open(request?: ClientWriting): Promise<WritePipeline | undefined> {
    if (this.#transactions.current() !== undefined) return undefined
    if (this.#transactions.needsTransaction(request)) return undefined
    const runner = await this.#engine.inOrder?.(request)
    return runner && new WritePipeline(this, runner)
  }
}

class WritePipeline {
  readonly #owner: PipelinedWrites
  readonly #runner: OrderedRunner

  constructor(owner: PipelinedWrites, runner: OrderedRunner) {
    this.#owner = owner
    this.#runner = runner
  }

  /** Statements that the work sends synchronously become part of the batch. */
  run<T>(work: () => T): T {
    this.#owner.runner = this.#runner
    try {
      return work()
    } finally {
      this.#owner.runner = undefined
    }
  }

  end(): void {
    this.#runner.end()
  }
}
