/**
 * Counts requests: a window begins with the first request of a key and ends after its time; refused requests do not
 * extend it. Counts are in memory for one process, or in the database for all processes that share it.
 */
import { Clock, Database, HttpError, resetState } from '../../index.js'
import type { Limit } from './rule.js'

/** The result of counting a request. */
export interface Count {
  /** False: the limit is reached, and the request was not counted. */
  readonly taken: boolean
  /** The number of requests left in the window. */
  readonly left: number
  /** When the window ends, in milliseconds since 1970. */
  readonly ends: number
}

/** Counts synchronously, or with a promise. */
export abstract class Counters {
  protected readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Milliseconds since 1970 by the clock that windows go by. */
  now(): number {
    return this.clock.now()
  }

  /** Whole seconds until a window ends, at least one. */
  secondsUntil(ends: number): number {
    return Math.max(1, Math.ceil((ends - this.now()) / 1000))
  }

  /** Counts a request unless the limit is reached. @param name the limit's name, the same in all processes */
  abstract take(name: string, key: string, limit: Limit): Count | Promise<Count>
  /** Subtracts a request again, if its window has not ended. */
  abstract giveBack(name: string, key: string, ends: number): void | Promise<void>
}

interface Window {
  count: number
  readonly ends: number
}

/** The most keys of one limit; beyond them the oldest window is forgotten. */
const mostKeys = 100_000

/** For a single process. */
export class MemoryCounters extends Counters {
  static readonly inject = [Clock]
  readonly #limits = new Map<string, Map<string, Window>>()
  readonly #now: (() => number) | undefined

  /** @param now the clock of the counters that it stands in for */
  constructor(clock: Clock, now?: () => number) {
    super(clock)
    this.#now = now
  }

  override now(): number {
    return this.#now?.() ?? super.now()
  }

  take(name: string, key: string, { most, window: length }: Limit): Count {
    const now = this.now()
    let windows = this.#limits.get(name)
    if (windows === undefined) this.#limits.set(name, (windows = new Map<string, Window>()))
    let window = windows.get(key)
    if (window === undefined || window.ends <= now) {
      windows.delete(key)
      forgetEnded(windows, now)
      windows.set(key, (window = { count: 0, ends: now + length }))
    }
    if (window.count >= most) return { taken: false, left: 0, ends: window.ends }
    window.count++
    return { taken: true, left: most - window.count, ends: window.ends }
  }

  [resetState](): void {
    this.#limits.clear()
  }

  giveBack(name: string, key: string, ends: number): void {
    const window = this.#limits.get(name)?.get(key)
    if (window?.ends === ends && window.count > 0) window.count--
  }
}

/** The windows of a limit end in the order in which they began. */
function forgetEnded(windows: Map<string, Window>, now: number): void {
  for (const [key, { ends }] of windows) {
    if (ends > now && windows.size < mostKeys) return
    windows.delete(key)
  }
}

/** PostgreSQL's driver returns `bigint` as text. */
type Row = Record<'key', string> & Record<'count', number> & Record<'ends_at', number | string>
type Tables = Record<typeof table, Row>

const table = 'filigree_throttle'
const createTable = `create table if not exists ${table} (
  key text primary key not null,
  count integer not null,
  ends_at bigint not null
);
create index if not exists ${table}_ends_at on ${table} (ends_at)`

/** Milliseconds between two removals of ended windows. */
const sweepEvery = 60_000

/** Milliseconds that a request waits for the database; then memory counts. */
const patience = 200

/**
 * For all processes of the database, by the database's clock: a single statement counts, so that two requests cannot both
 * take the last place. While the database does not answer, each process counts alone, so that requests which need no
 * database go on.
 */
export class DatabaseCounters extends Counters {
  static readonly inject = [Database, Clock]
  readonly #database: Database
  readonly #shared: ReturnType<Database['timeouts']>
  readonly #meanwhile: MemoryCounters
  #nextSweep = 0

  constructor(database: Database, clock: Clock) {
    super(clock)
    this.#database = database
    this.#shared = database.timeouts(patience)
    this.#meanwhile = new MemoryCounters(clock, () => this.now())
  }

  override now(): number {
    return this.#database.now(this.clock)
  }

  onStart(): Promise<void> {
    return this.#database.ensureTable(table, createTable)
  }

  [resetState](): void {
    this.#meanwhile[resetState]()
  }

  async take(name: string, key: string, limit: Limit): Promise<Count> {
    if (this.#shared.isUnresponsive) return this.#meanwhile.take(name, key, limit)
    try {
      return await this.#shared.run(() => this.#takeShared(name, key, limit, this.now()))
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return this.#meanwhile.take(name, key, limit)
    }
  }

  async #takeShared(
    name: string,
    key: string,
    { most, window }: Limit,
    now: number,
  ): Promise<Count> {
    await this.#sweep(now)
    const whole = `${name} ${key}`
    const row = await this.#count(whole, most, { now, ends: now + window })
    if (row !== undefined) {
      return { taken: true, left: most - row.count, ends: Number(row.ends_at) }
    }
    const full = await this.#tables
      .selectFrom(table)
      .select('ends_at')
      .where('key', '=', whole)
      .executeTakeFirst()
    return { taken: false, left: 0, ends: Number(full?.ends_at ?? now) }
  }

  async giveBack(name: string, key: string, ends: number): Promise<void> {
    this.#meanwhile.giveBack(name, key, ends)
    if (this.#shared.isUnresponsive) return
    try {
      await this.#shared.run(() => this.#giveBackShared(name, key, ends))
    } catch (error) {
      // A request that the database counted before it stopped answering stays counted.
      if (!isUnavailable(error)) throw error
    }
  }

  async #giveBackShared(name: string, key: string, ends: number): Promise<void> {
    await this.#tables
      .updateTable(table)
      .set((row) => ({ count: row('count', '-', 1) }))
      .where('key', '=', `${name} ${key}`)
      .where('ends_at', '=', ends)
      .where('count', '>', 0)
      .execute()
  }

  /**
   * ```sql
   * insert into filigree_throttle (key, count, ends_at) values (?, 1, ?)
   * on conflict (key) do update set count = case when ends_at <= ? then 1 else count + 1 end, ends_at = …
   * where ends_at <= ? or count < ? returning count, ends_at
   * ```
   */
  #count(
    key: string,
    most: number,
    { now, ends }: { readonly now: number; readonly ends: number },
  ) {
    return this.#tables
      .insertInto(table)
      .values({ key, count: 1, ends_at: ends })
      .onConflict((conflict) =>
        conflict
          .column('key')
          .doUpdateSet((row) => {
            const isOver = row(`${table}.ends_at`, '<=', now)
            const next = row(`${table}.count`, '+', 1)
            return {
              count: row.case().when(isOver).then(1).else(next).end(),
              ends_at: row
                .case()
                .when(isOver)
                .then(ends)
                .else(row.ref(`${table}.ends_at`))
                .end(),
            }
          })
          .where((row) =>
            row.or([row(`${table}.ends_at`, '<=', now), row(`${table}.count`, '<', most)]),
          ),
      )
      .returning(['count', 'ends_at'])
      .executeTakeFirst()
  }

  async #sweep(now: number): Promise<void> {
    if (now < this.#nextSweep) return
    this.#nextSweep = now + sweepEvery
    await this.#tables.deleteFrom(table).where('ends_at', '<=', now).execute()
  }

  get #tables() {
    return this.#database.kysely.withTables<Tables>()
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof HttpError && error.status === 503
}

/** The counters that `throttle({ store })` selects, else memory. */
export class ApplicationCounters extends MemoryCounters {}
