/**
 * Counts requests in windows. A window starts with the first request of a key and ends after its time; rejected requests do not extend it.
 * Counts are in memory for one process, or in the database for all processes.
 */
import { Clock, Database, HttpError, resetState, type CustomSql } from '../../index.js'
import type { RequestLimit } from './rule.js'

/** The result of counting a request. */
export interface Count {
  /** False: the limit is reached, and the request was not counted. */
  readonly isCounted: boolean
  /** The number of requests left in the window. */
  readonly remaining: number
  /** When the window ends, in milliseconds since 1970. */
  readonly endsAt: number
}

/** Counts synchronously, or with a promise. */
export abstract class Counters {
  protected readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Milliseconds since 1970, by the clock of the windows. */
  now(): number {
    return this.clock.now()
  }

  /** Whole seconds until a window ends, at least one. */
  secondsUntil(endsAt: number): number {
    return Math.max(1, Math.ceil((endsAt - this.now()) / 1000))
  }

  /** Counts a request unless the limit is reached. @param name of the limit, the same in all processes */
  abstract tryCount(name: string, key: string, limit: RequestLimit): Count | Promise<Count>
  /** Takes back a counted request, if its window has not ended. */
  abstract uncount(name: string, key: string, ends: number): void | Promise<void>
}

interface Window {
  count: number
  readonly endsAt: number
}

/** Keys of one limit in memory. The oldest window is removed first. */
const maxKeys = 100_000

/** For a single process. */
export class MemoryCounters extends Counters {
  static readonly inject = [Clock]
  readonly #limits = new Map<string, Map<string, Window>>()
  readonly #now: (() => number) | null

  /** @param now the clock of the counters that it replaces */
  constructor(clock: Clock, now: (() => number) | null = null) {
    super(clock)
    this.#now = now
  }

  override now(): number {
    return this.#now?.() ?? super.now()
  }

  tryCount(name: string, key: string, { limit, window: length }: RequestLimit): Count {
    const now = this.now()
    let windows = this.#limits.get(name)
    if (windows === undefined) this.#limits.set(name, (windows = new Map<string, Window>()))
    let window = windows.get(key)
    if (window === undefined || window.endsAt <= now) {
      windows.delete(key)
      removeEnded(windows, now)
      windows.set(key, (window = { count: 0, endsAt: now + length }))
    }
    if (window.count >= limit) return { isCounted: false, remaining: 0, endsAt: window.endsAt }
    window.count++
    return { isCounted: true, remaining: limit - window.count, endsAt: window.endsAt }
  }

  [resetState](): void {
    this.#limits.clear()
  }

  uncount(name: string, key: string, ends: number): void {
    const window = this.#limits.get(name)?.get(key)
    if (window?.endsAt === ends && window.count > 0) window.count--
  }
}

/** Removes ended windows. They end in the order in which they started. */
function removeEnded(windows: Map<string, Window>, now: number): void {
  for (const [key, { endsAt }] of windows) {
    if (endsAt > now && windows.size < maxKeys) return
    windows.delete(key)
  }
}

const table = 'filigree_throttle'
const createTable = `create table if not exists ${table} (
  key text primary key not null,
  count integer not null,
  ends_at bigint not null
);
create index if not exists ${table}_ends_at on ${table} (ends_at)`

/** Milliseconds between two removals of ended windows. */
const sweepIntervalMs = 60_000

/** Milliseconds that a request waits for the database. Then it is counted in memory. */
const databaseTimeoutMs = 200

/**
 * Counts for all processes, by the clock of the database. One statement checks and counts, so two requests cannot both take the last slot.
 * While the database does not respond, each process counts in memory, so requests that need no database continue.
 */
export class DatabaseCounters extends Counters {
  static readonly inject = [Database, Clock]
  readonly #database: Database
  readonly #timeouts: ReturnType<Database['timeouts']>
  readonly #fallback: MemoryCounters
  readonly #statements: Readonly<Record<CounterStatement, CustomSql>>
  #nextSweep = 0

  constructor(database: Database, clock: Clock) {
    super(clock)
    this.#database = database
    this.#timeouts = database.timeouts(databaseTimeoutMs)
    this.#fallback = new MemoryCounters(clock, () => this.now())
    this.#statements = prepareStatements(database)
  }

  override now(): number {
    return this.#database.now(this.clock)
  }

  onStart(): Promise<void> {
    return this.#database.ensureTable(table, createTable)
  }

  [resetState](): void {
    this.#fallback[resetState]()
  }

  async tryCount(name: string, key: string, limit: RequestLimit): Promise<Count> {
    if (this.#timeouts.isUnresponsive) return this.#fallback.tryCount(name, key, limit)
    try {
      return await this.#timeouts.run(() => this.#tryCountInDatabase(name, key, limit, this.now()))
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return this.#fallback.tryCount(name, key, limit)
    }
  }

  async #tryCountInDatabase(
    name: string,
    key: string,
    { limit, window }: RequestLimit,
    now: number,
  ): Promise<Count> {
    await this.#sweep(now)
    const fullKey = `${name} ${key}`
    const ends = now + window
    const [row] = await this.#statements.count.rows({ key: fullKey, limit, now, ends })
    if (row !== undefined) {
      const [count, endsAt] = row
      return { isCounted: true, remaining: limit - Number(count), endsAt: Number(endsAt) }
    }
    const [existing = []] = await this.#statements.readEnd.rows({ key: fullKey })
    return { isCounted: false, remaining: 0, endsAt: Number(existing[0] ?? now) }
  }

  async uncount(name: string, key: string, ends: number): Promise<void> {
    this.#fallback.uncount(name, key, ends)
    if (this.#timeouts.isUnresponsive) return
    try {
      await this.#timeouts.run(() =>
        this.#statements.uncount.change({ key: `${name} ${key}`, ends }),
      )
    } catch (error) {
      // A request that was counted before the database stopped responding stays counted.
      if (!isUnavailable(error)) throw error
    }
  }

  async #sweep(now: number): Promise<void> {
    if (now < this.#nextSweep) return
    this.#nextSweep = now + sweepIntervalMs
    await this.#statements.sweep.change({ now })
  }
}

type CounterStatement = 'count' | 'readEnd' | 'uncount' | 'sweep'

function prepareStatements(database: Database): Readonly<Record<CounterStatement, CustomSql>> {
  const tables = [table]
  return {
    count: database.prepare({ kind: 'upsert', tables }, ({ value }) => {
      const hasEnded = (): string => `${table}.ends_at <= ${value('now')}`
      return `insert into ${table} (key, count, ends_at) values (${value('key')}, 1, ${value('ends')})
on conflict (key) do update set
  count = case when ${hasEnded()} then 1 else ${table}.count + 1 end,
  ends_at = case when ${hasEnded()} then excluded.ends_at else ${table}.ends_at end
where ${hasEnded()} or ${table}.count < ${value('limit')}
returning count, ends_at`
    }),
    readEnd: database.prepare(
      { kind: 'select', tables },
      ({ value }) => `select ends_at from ${table} where key = ${value('key')}`,
    ),
    uncount: database.prepare(
      { kind: 'update', tables },
      ({ value }) => `update ${table} set count = count - 1
where key = ${value('key')} and ends_at = ${value('ends')} and count > 0`,
    ),
    sweep: database.prepare(
      { kind: 'delete', tables },
      ({ value }) => `delete from ${table} where ends_at <= ${value('now')}`,
    ),
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof HttpError && error.status === 503
}

/** The counters of `throttle({ store })`. Default: memory. */
export class ApplicationCounters extends MemoryCounters {}
