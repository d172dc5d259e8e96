/**
 * Stores cached responses with the tables that they were read from, which are found by observing the statements of the handler. When
 * the change feed reports a change of one of these tables, from any process, the response is discarded, even for a new row.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  ApplicationState,
  Clock,
  type RouteResponse,
  type HttpRequest,
  resetState,
} from '../../index.js'

interface CachedResponse {
  readonly response: RouteResponse
  readonly tables: ReadonlySet<string>
  readonly bytes: number
  readonly expiresAt: number
}

/** The tables that were read for a response while it is created. */
interface TablesRead {
  readonly tables: Set<string>
  /** True once one of these tables has changed. */
  isStale: boolean
}

/** The response of a handler, and the copy for the cache, if it may be cached. */
export interface HandlerResult {
  readonly response: RouteResponse
  readonly cacheable: RouteResponse | undefined
}

/** The outcome for a waiting request: the response, `retry`, or `own` (the request must create its own response). */
type SharedOutcome = RouteResponse | 'retry' | 'own'

type Database = NonNullable<ApplicationState['database']>
type WatchedTable = Pick<ReturnType<Database['table']>, 'type' | 'name'>

interface StatementMessage {
  readonly database: object | undefined
  readonly kind: string
  /** `*`: the tables are unknown. */
  readonly tables: readonly string[]
}

const statementStart = 'tracing:filigree:statement:start'
const statementEnd = 'filigree:statement'

/** Limits of the cache, and of one response. */
const maxResponses = 10_000
const maxBytes = 32 * 1024 * 1024
const maxResponseBytes = 1024 * 1024
/** Milliseconds. */
const maxTransactionMs = 60_000
/** How long a check of the change feed is valid, and how long a request waits for one. */
const [checkValidMs, checkTimeoutMs] = [1000, 1000]

export class ResponseStore {
  static readonly inject = [ApplicationState, Clock]
  readonly #state: ApplicationState
  readonly #clock: Clock
  #isReplica = false
  /** In the order of last use. */
  readonly #cached = new Map<string, CachedResponse>()
  readonly #currentReads = new AsyncLocalStorage<TablesRead>()
  readonly #openReads = new Set<TablesRead>()
  /** Responses that are being created, by key. */
  readonly #pending = new Map<string, Promise<SharedOutcome>>()
  /** The names of the tables of records. */
  #tables: ReadonlySet<string> = new Set()
  readonly #stopCallbacks: (() => void)[] = []
  #bytes = 0
  /** When the last successful check started, by `performance.now()`. */
  #lastCheckAt = -Infinity
  #runningCheck: Promise<boolean> | undefined
  /** Tables that statements have written, with the time. The transaction may not be committed yet. */
  readonly #writtenTables = new Map<string, number>()
  /** A number that changes with each commit of another process. Undefined if the change feed reports them. */
  #foreignWrites: (() => number) | undefined
  #lastForeignWrite: number | undefined

  constructor(state: ApplicationState, clock: Clock) {
    this.#state = state
    this.#clock = clock
  }

  async onStart(): Promise<void> {
    const { database } = this.#state
    if (database === undefined) return
    // A replica reports no changes, so nothing is cached there.
    this.#isReplica = database.context.engine.status.isReadOnly()
    if (this.#isReplica) return
    this.#tables = new Set([...database.tables].flatMap(namesOf))
    this.#foreignWrites = database.context.engine.processes?.externalWriteVersion
    this.#lastForeignWrite = this.#foreignWrites?.()
    this.#stopCallbacks.push(
      ...(await Promise.all([...database.tables].map((table) => this.#watch(database, table)))),
    )
    subscribe(statementStart, this.#onStatementStart)
    subscribe(statementEnd, this.#onStatementEnd)
  }

  onStop(): void {
    unsubscribe(statementStart, this.#onStatementStart)
    unsubscribe(statementEnd, this.#onStatementEnd)
    for (const stop of this.#stopCallbacks) stop()
    // An enabled storage slows down every promise of the process.
    this.#currentReads.disable()
    this[resetState]()
  }

  [resetState](): void {
    this.#cached.clear()
    this.#bytes = 0
  }

  async get(name: string): Promise<RouteResponse | undefined> {
    this.#discardAfterForeignWrites()
    const cached = this.#cached.get(name)
    if (cached === undefined) return undefined
    if (cached.expiresAt <= this.#clock.now()) {
      this.#drop(name)
      return undefined
    }
    if (cached.tables.size > 0 && !this.#wasJustChecked()) {
      if (!(await this.#isFeedAlive())) return undefined
      if (this.#cached.get(name) !== cached) return undefined
    }
    this.#cached.delete(name)
    this.#cached.set(name, cached)
    return cached.response.withBody(cached.response.body)
  }

  /** A database in this process always reports changes. */
  #wasJustChecked(): boolean {
    if (this.#state.database?.context.dialect.can.outages !== true) return true
    return performance.now() - this.#lastCheckAt < checkValidMs
  }

  /** Changes are reported only while the database responds. Otherwise cached responses may be outdated. */
  #isFeedAlive(): Promise<boolean> {
    const { database } = this.#state
    const store = database?.timeouts(checkTimeoutMs)
    if (database === undefined || store === undefined || store.isUnresponsive)
      return Promise.resolve(false)
    const startedAt = performance.now()
    this.#runningCheck ??= store
      .run(() => database.check())
      .then(
        () => {
          this.#lastCheckAt = startedAt
          return true
        },
        () => false,
      )
      .finally(() => {
        this.#runningCheck = undefined
      })
    return this.#runningCheck
  }

  /** A database file cannot tell which tables another process has written, only that it has written. */
  #discardAfterForeignWrites(): void {
    const version = this.#foreignWrites?.()
    if (version === this.#lastForeignWrite) return
    this.#lastForeignWrite = version
    for (const reading of this.#openReads) reading.isStale ||= reading.tables.size > 0
    for (const [name, { tables }] of this.#cached) if (tables.size > 0) this.#drop(name)
  }

  /** Reads from the primary, because a replica may lag behind the change that discarded the last response. */
  readNow(request: HttpRequest): void {
    this.#state.readNow(request)
  }

  /**
   * Creates a response, and caches it if possible. Concurrent requests with the same key wait for it. If it cannot be shared, because it failed or depends
   * on its caller, each of them creates its own. If it failed because its client has left, one of them creates it for the rest.
   *
   * @returns the response, and whether another request has created it
   */
  async getOrCreate(
    {
      name,
      lifetimeMs,
      hasLeft,
    }: { readonly name: string; lifetimeMs: number; hasLeft: () => boolean },
    make: () => Promise<HandlerResult>,
  ): Promise<{ readonly response: RouteResponse; readonly isShared: boolean }> {
    for (;;) {
      const pending = this.#pending.get(name)
      if (pending === undefined) break
      const shared = await pending
      if (shared === 'retry') continue
      if (shared === 'own')
        return { response: await this.#create(name, lifetimeMs, make), isShared: false }
      return { response: shared.withBody(shared.body), isShared: true }
    }
    let share: (shared: SharedOutcome) => void = () => undefined
    const promise = new Promise<SharedOutcome>((resolve) => (share = resolve))
    // A replica reports no changes, so a response that was started earlier may be outdated.
    if (!this.#isReplica) this.#pending.set(name, promise)
    let shared: SharedOutcome | undefined
    try {
      const response = await this.#create(name, lifetimeMs, make, (copy) => (shared = copy))
      return { response, isShared: false }
    } finally {
      if (this.#pending.get(name) === promise) this.#pending.delete(name)
      share(shared ?? (hasLeft() ? 'retry' : 'own'))
    }
  }

  /** @param share receives the copy for other requests, if there is one */
  async #create(
    name: string,
    lifetimeMs: number,
    make: () => Promise<HandlerResult>,
    share?: (cacheable: RouteResponse) => void,
  ): Promise<RouteResponse> {
    const tablesRead: TablesRead = { tables: new Set(), isStale: false }
    this.#openReads.add(tablesRead)
    try {
      const { response, cacheable } = await this.#currentReads.run(tablesRead, make)
      this.#discardAfterForeignWrites()
      if (cacheable !== undefined && !tablesRead.isStale) {
        this.#store(name, cacheable, tablesRead.tables, lifetimeMs)
        share?.(cacheable)
      }
      return response
    } finally {
      this.#openReads.delete(tablesRead)
    }
  }

  #store(
    name: string,
    response: RouteResponse,
    tables: ReadonlySet<string>,
    lifetimeMs: number,
  ): void {
    const content = response.body as string | Uint8Array | null
    const bytes = 512 + 2 * name.length + (content === null ? 0 : Buffer.byteLength(content))
    if (bytes > maxResponseBytes || this.#isReplica) return
    this.#drop(name)
    this.#cached.set(name, {
      response,
      tables,
      bytes,
      expiresAt: this.#clock.now() + lifetimeMs,
    })
    this.#bytes += bytes
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= maxResponses && this.#bytes <= maxBytes) return
      this.#drop(oldest)
    }
  }

  #drop(name: string): void {
    const cached = this.#cached.get(name)
    if (cached === undefined) return
    this.#cached.delete(name)
    this.#bytes -= cached.bytes
  }

  #invalidate(table: string): void {
    for (const reading of this.#openReads) if (reading.tables.has(table)) reading.isStale = true
    for (const [name, { tables }] of this.#cached) if (tables.has(table)) this.#drop(name)
  }

  #watch(database: Database, { type, name }: WatchedTable) {
    const table = name.toLowerCase()
    return database.watch(type, {
      columns: [],
      onChanges: () => {
        this.#invalidate(table)
      },
      end: () => undefined,
    })
  }

  readonly #onStatementStart = (message: unknown): void => {
    const { tables, kind, database } = message as StatementMessage
    const reading = this.#currentReads.getStore()
    if (reading === undefined || !this.#openReads.has(reading)) return
    if (database !== this.#state.database) return
    for (const table of this.#toRecordTables(tables)) reading.tables.add(table)
    // A handler that writes is not cached, because the next call would not write.
    if (isWrite(kind)) reading.isStale = true
  }

  /** Discards responses after writes of this process that the feed does not report. */
  readonly #onStatementEnd = (message: unknown): void => {
    const { tables, kind, database } = message as StatementMessage
    if (database !== this.#state.database) return
    if (isWrite(kind)) {
      for (const table of this.#toRecordTables(tables)) {
        this.#writtenTables.set(table, Date.now())
        this.#invalidate(table)
      }
    } else if (kind === 'COMMIT') {
      for (const [table, at] of this.#writtenTables) {
        this.#invalidate(table)
        if (at < Date.now() - maxTransactionMs) this.#writtenTables.delete(table)
      }
    }
  }

  /** The tables among these that belong to records; all of them if the tables are unknown. */
  #toRecordTables(tables: readonly string[]): Iterable<string> {
    if (tables.includes('*')) return this.#tables
    return tables.map((table) => table.toLowerCase()).filter((table) => this.#tables.has(table))
  }
}

/** The names of a table and of its join tables. */
function namesOf({ name, relations }: ReturnType<Database['table']>): string[] {
  const pairs = [...relations.values()].flatMap(({ join }) => join?.name ?? [])
  return [name, ...pairs].map((table) => table.toLowerCase())
}

/** Custom SQL and scripts may write. */
function isWrite(kind: string): boolean {
  return writes.has(kind)
}

const writes: ReadonlySet<string> = new Set([
  ...['INSERT', 'UPDATE', 'DELETE', 'UPSERT'],
  ...['SCRIPT', 'UNKNOWN'],
])
