/**
 * Runs the statements of one client's request: the sources of its repositories, whose reads or changes end with the
 * request, and pipelined writes, which are sent without waiting for each response.
 */
import type { ChangeFeed } from '../changes/change-feed.js'
import type { RowChanges } from '../changes/changes.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import type {
  ClientReading,
  ClientWriting,
  Engine,
  Runner,
  OrderedRunner,
} from '../../engines/contract/engine.js'
import type { Isolation } from '../../core/transaction.js'
import type { RecordsContext, Source } from './source.js'
import type { Table } from '../model/table.js'
import type { Transactions } from './transactions.js'

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

/** A source whose reads are cancelled when the request ends. */
class ClientSource extends RequestSource {
  readonly #reads: Runner

  /** @param reads runs statements outside transactions */
  constructor(database: OpenDatabase, reads: Runner) {
    super(database)
    this.#reads = reads
  }

  runner(): Runner {
    return this.database.ownRunner() ?? this.#reads
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
  const source = new ClientSource(database, engine.clientReads?.(request) ?? engine)
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
