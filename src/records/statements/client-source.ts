/** The source of repositories for one client's request: the database itself, but reads end with the request. */
import type { ChangeFeed } from '../changes/change-feed.js'
import type { RowChanges } from '../changes/changes.js'
import type { Later } from '../../core/later.js'
import type { ClientReading, Engine, Runner } from '../../engines/contract/engine.js'
import type { RecordsContext, Source } from './source.js'
import type { Table } from '../model/table.js'

export class ClientSource implements Source {
  readonly context: RecordsContext
  readonly database: Source
  readonly #reads: Runner

  /** @param reads runs statements outside transactions */
  constructor(database: Source, reads: Runner) {
    this.context = database.context
    this.database = database
    this.#reads = reads
  }

  get feed(): ChangeFeed {
    return this.database.feed
  }

  runner(): Runner {
    const runner = this.database.runner()
    return runner === this.context.engine ? this.#reads : runner
  }

  changed(changes: RowChanges): void {
    this.database.changed(changes)
  }

  committed(work: () => Promise<void>): void {
    this.database.committed(work)
  }

  announces(table: Table): Later<boolean> {
    return this.database.announces(table)
  }

  atomically<T>(work: (source: Source) => Promise<T>): Promise<T> {
    return this.database.atomically(work)
  }
}

/** For requests that use more than one database. */
const others = new WeakMap<Source, WeakMap<ClientReading, ClientSource>>()

/** The same for every call with this request; the request has a place for the source of its first database. */
export function sourceOf(database: Source, request: ClientReading, engine: Engine): ClientSource {
  const { reads } = request
  if (reads instanceof ClientSource && reads.database === database) return reads
  const kept = others.get(database)?.get(request)
  if (kept !== undefined) return kept
  const made = new ClientSource(database, engine.clientReads?.(request) ?? engine)
  if (reads === undefined) request.reads = made
  else {
    const ofDatabase = others.get(database) ?? new WeakMap<ClientReading, ClientSource>()
    others.set(database, ofDatabase.set(request, made))
  }
  return made
}
