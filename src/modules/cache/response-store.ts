/**
 * Cached answers, with the tables that they were read from, which are found by watching the statements while an answer
 * is made. A change of one of these tables, reported by the change feed from any process, discards the answer, even if
 * the row is new.
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

interface Kept {
  readonly answer: RouteResponse
  readonly tables: ReadonlySet<string>
  readonly bytes: number
  readonly until: number
}

/** What is known about an answer while it is made. */
interface TablesRead {
  readonly tables: Set<string>
  /** A table that was read has changed meanwhile. */
  stale: boolean
}

/** An answer as it was made, and the copy that others may have, if there is one. */
export interface MadeAnswer {
  readonly answer: RouteResponse
  readonly kept: RouteResponse | undefined
}

/** What a request that waits for another one gets: its answer, its turn, or neither. */
type Shared = RouteResponse | 'next' | 'alone'

type Database = NonNullable<ApplicationState['database']>
type WatchedTable = Pick<ReturnType<Database['table']>, 'type' | 'name'>

interface StatementMessage {
  readonly database: object | undefined
  readonly kind: string
  /** `*` stands for tables that nobody knows. */
  readonly tables: readonly string[]
}

const beginning = 'tracing:filigree:statement:start'
const over = 'filigree:statement'

/** The most answers and bytes that are kept, and the most bytes of one answer. */
const mostAnswers = 10_000
const mostBytes = 32 * 1024 * 1024
const mostOfOne = 1024 * 1024
/** Milliseconds. */
const longestTransaction = 60_000
/** For so long the database is known to answer; for so long it is waited for. */
const [certain, patience] = [1000, 1000]

export class AnswerStore {
  static readonly inject = [ApplicationState, Clock]
  readonly #state: ApplicationState
  readonly #clock: Clock
  #isDeaf = false
  /** In the order of last use. */
  readonly #kept = new Map<string, Kept>()
  readonly #readings = new AsyncLocalStorage<TablesRead>()
  readonly #open = new Set<TablesRead>()
  /** Answers that are being made, by name. */
  readonly #making = new Map<string, Promise<Shared>>()
  /** The application's tables by name. */
  #tables: ReadonlySet<string> = new Set()
  readonly #ends: (() => void)[] = []
  #bytes = 0
  /** When the database was asked last and answered, by the steady clock. */
  #heardAt = -Infinity
  #asking: Promise<boolean> | undefined
  /** Tables that statements have written, with the time; perhaps in a transaction that is not committed yet. */
  readonly #written = new Map<string, number>()

  constructor(state: ApplicationState, clock: Clock) {
    this.#state = state
    this.#clock = clock
  }

  async onStart(): Promise<void> {
    const { database } = this.#state
    if (database === undefined) return
    // A replica reports no changes, so nothing is cached there.
    this.#isDeaf = database.context.engine.isReadOnly === true
    if (this.#isDeaf) return
    this.#tables = new Set([...database.tables].flatMap(namesOf))
    this.#ends.push(
      ...(await Promise.all([...database.tables].map((table) => this.#watch(database, table)))),
    )
    subscribe(beginning, this.#begins)
    subscribe(over, this.#ended)
  }

  onStop(): void {
    unsubscribe(beginning, this.#begins)
    unsubscribe(over, this.#ended)
    for (const end of this.#ends) end()
    this[resetState]()
  }

  [resetState](): void {
    this.#kept.clear()
    this.#bytes = 0
  }

  async get(name: string): Promise<RouteResponse | undefined> {
    const kept = this.#kept.get(name)
    if (kept === undefined) return undefined
    if (kept.until <= this.#clock.now()) {
      this.#drop(name)
      return undefined
    }
    if (kept.tables.size > 0 && !this.#hasJustHeard()) {
      if (!(await this.#hears())) return undefined
      if (this.#kept.get(name) !== kept) return undefined
    }
    this.#kept.delete(name)
    this.#kept.set(name, kept)
    return kept.answer.withBody(kept.answer.body)
  }

  /** A database within the process is always heard. */
  #hasJustHeard(): boolean {
    if (this.#state.database?.context.dialect.isLocal !== false) return true
    return performance.now() - this.#heardAt < certain
  }

  /** Changes are heard of as long as the database answers: otherwise nobody knows whether an answer still holds. */
  #hears(): Promise<boolean> {
    const { database } = this.#state
    const store = database?.timeouts(patience)
    if (database === undefined || store === undefined || store.isUnresponsive)
      return Promise.resolve(false)
    const asked = performance.now()
    this.#asking ??= store
      .run(() => database.check())
      .then(
        () => {
          this.#heardAt = asked
          return true
        },
        () => false,
      )
      .finally(() => {
        this.#asking = undefined
      })
    return this.#asking
  }

  /** A replica may still lack the change that discarded an earlier answer. */
  readNow(request: HttpRequest): void {
    this.#state.readNow(request)
  }

  /**
   * Makes an answer, and keeps it for some milliseconds if it can be cached. Requests of the same name that come meanwhile
   * wait for it. If it cannot be shared (it failed, or depends on its caller), each of them makes its own. If it failed
   * because its client has left, one of them makes it for the others.
   *
   * @returns the answer, and whether another request has made it
   */
  async keep(
    { name, life, hasLeft }: { readonly name: string; life: number; hasLeft: () => boolean },
    make: () => Promise<MadeAnswer>,
  ): Promise<{ readonly answer: RouteResponse; readonly isShared: boolean }> {
    for (;;) {
      const making = this.#making.get(name)
      if (making === undefined) break
      const shared = await making
      if (shared === 'next') continue
      if (shared === 'alone') return { answer: await this.#make(name, life, make), isShared: false }
      return { answer: shared.withBody(shared.body), isShared: true }
    }
    let share: (shared: Shared) => void = () => undefined
    const made = new Promise<Shared>((resolve) => (share = resolve))
    // Nobody tells of a change there: an answer that was begun earlier may be old.
    if (!this.#isDeaf) this.#making.set(name, made)
    let shared: Shared | undefined
    try {
      const answer = await this.#make(name, life, make, (kept) => (shared = kept))
      return { answer, isShared: false }
    } finally {
      if (this.#making.get(name) === made) this.#making.delete(name)
      share(shared ?? (hasLeft() ? 'next' : 'alone'))
    }
  }

  /** @param share gets the copy for others, if there is one */
  async #make(
    name: string,
    life: number,
    make: () => Promise<MadeAnswer>,
    share?: (kept: RouteResponse) => void,
  ): Promise<RouteResponse> {
    const reading: TablesRead = { tables: new Set(), stale: false }
    this.#open.add(reading)
    try {
      const { answer, kept } = await this.#readings.run(reading, make)
      if (kept !== undefined && !reading.stale) {
        this.#put(name, kept, reading.tables, life)
        share?.(kept)
      }
      return answer
    } finally {
      this.#open.delete(reading)
    }
  }

  #put(name: string, answer: RouteResponse, tables: ReadonlySet<string>, life: number): void {
    const content = answer.body as string | Uint8Array | null
    const bytes = 512 + 2 * name.length + (content === null ? 0 : Buffer.byteLength(content))
    if (bytes > mostOfOne || this.#isDeaf) return
    this.#drop(name)
    this.#kept.set(name, { answer, tables, bytes, until: this.#clock.now() + life })
    this.#bytes += bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= mostAnswers && this.#bytes <= mostBytes) return
      this.#drop(oldest)
    }
  }

  #drop(name: string): void {
    const kept = this.#kept.get(name)
    if (kept === undefined) return
    this.#kept.delete(name)
    this.#bytes -= kept.bytes
  }

  #changed(table: string): void {
    for (const reading of this.#open) if (reading.tables.has(table)) reading.stale = true
    for (const [name, { tables }] of this.#kept) if (tables.has(table)) this.#drop(name)
  }

  #watch(database: Database, { type, name }: WatchedTable) {
    const table = name.toLowerCase()
    return database.watch(type, {
      columns: [],
      tell: () => {
        this.#changed(table)
      },
      end: () => undefined,
    })
  }

  readonly #begins = (message: unknown): void => {
    const { tables, kind, database } = message as StatementMessage
    const reading = this.#readings.getStore()
    if (reading === undefined || !this.#open.has(reading)) return
    if (database !== this.#state.database) return
    for (const table of this.#known(tables)) reading.tables.add(table)
    // A handler that writes is not cached, because the next call would not write.
    if (isWrite(kind)) reading.stale = true
  }

  /** Direct writes, which the feed does not report, are at least noticed in this process. */
  readonly #ended = (message: unknown): void => {
    const { tables, kind, database } = message as StatementMessage
    if (database !== this.#state.database) return
    if (isWrite(kind)) {
      for (const table of this.#known(tables)) {
        this.#written.set(table, Date.now())
        this.#changed(table)
      }
    } else if (kind === 'COMMIT') {
      for (const [table, at] of this.#written) {
        this.#changed(table)
        if (at < Date.now() - longestTransaction) this.#written.delete(table)
      }
    }
  }

  /** Those of them that records have; all where nobody knows which. */
  #known(tables: readonly string[]): Iterable<string> {
    if (tables.includes('*')) return this.#tables
    return tables.map((table) => table.toLowerCase()).filter((table) => this.#tables.has(table))
  }
}

/** Its own name, and those of its join tables. */
function namesOf({ name, relations }: ReturnType<Database['table']>): string[] {
  const pairs = [...relations.values()].flatMap(({ join }) => join?.name ?? [])
  return [name, ...pairs].map((one) => one.toLowerCase())
}

/** SQL that was written out, and scripts, may write. */
function isWrite(kind: string): boolean {
  return writes.has(kind)
}

const writes: ReadonlySet<string> = new Set([
  ...['INSERT', 'UPDATE', 'DELETE', 'UPSERT'],
  ...['SCRIPT', 'UNKNOWN'],
])
