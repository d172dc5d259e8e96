/** The sources of one client's request: its reads and its changes end with the request. */
import type { ChangeFeed } from '../changes/change-feed.js'
import type { RowChanges } from '../changes/changes.js'
import { after, type MaybePromise } from '../../core/maybe-promise.js'
import type {
  ClientReading,
  ClientWriting,
  Engine,
  Runner,
  ResultKind,
  Results,
  Row,
  Statement,
  Values,
} from '../../engines/contract/engine.js'
import { checkReadBytes } from '../../engines/contract/read-bytes.js'
import type { Isolation } from '../../core/transaction.js'
import type { Table } from '../model/table.js'
import type { RecordsContext, Source } from './source.js'

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
    engine.requests.reads?.(request) ?? engine,
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
