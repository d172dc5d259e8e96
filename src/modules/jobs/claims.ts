/**
 * Takes jobs that have groups or a rate. What is counted holds over all processes: whoever takes such a job holds the lock
 * of its name, in a short transaction. Those that run are counted by their rows, so that a killed process leaves no count
 * behind; of a rate the window is counted in the row of the lock.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Running } from './running-jobs.js'
import type { KnownJob } from './decorators.js'
import type { Runs } from './job-runner.js'
import {
  type Room,
  type Taken,
  type JobTable,
  grace,
  lease,
  takenColumns,
  toTaken,
} from './job-table.js'
import { heads, turn } from './worker-statements.js'
import type { Workplace } from './worker-context.js'

/**
 * A round stores what has succeeded and takes what there is room for, by one statement; what it has taken begins in the same
 * turn. Nothing is fetched ahead, so that a kill holds up only what was running. Rounds follow one another: what ends
 * during a round belongs to the next one.
 */

interface RoundsParts {
  readonly workplace: Workplace
  readonly worker: string
  readonly runs: Runs
  readonly limits: Limits
  /** Something was taken: leases are to be renewed. */
  readonly began: () => void
  readonly wakeIn: (ms: number) => void
  /** Runs work outside of the job that has ended: the next one must not inherit its context. */
  readonly outside: <T>(work: () => T) => T
}

/** Milliseconds until a round is tried again that had something to store. */
const again = 1_000

export class Rounds {
  readonly #parts: RoundsParts
  #ended: Running[] = []
  #isSet = false
  #current: Promise<void> | undefined
  #round: Promise<true | undefined> | undefined
  #isAskedAgain = false
  /** Without, rounds only store. */
  takes = false
  /** How many runs were begun so far. */
  begun = 0

  constructor(parts: RoundsParts) {
    this.#parts = parts
  }

  /** A run has succeeded: all that end in one turn are stored together. */
  ended(running: Running): void {
    this.#ended.push(running)
    if (this.#isSet || this.#current !== undefined) return
    this.#isSet = true
    this.#parts.outside(() => setImmediate(this.#store))
  }

  readonly #store = (): void => {
    this.#isSet = false
    void this.next()
  }

  /** Runs a round, or another one behind that which runs. */
  next(): Promise<void> {
    if (this.#current !== undefined) {
      this.#isAskedAgain = true
      return this.#current
    }
    this.#current = this.#all()
    return this.#current
  }

  /** Resolves once the round that is under way has begun what it takes. */
  async settled(): Promise<void> {
    await this.#round
  }

  async #all(): Promise<void> {
    do {
      this.#isAskedAgain = false
      this.#round = this.#parts.workplace.guard(() => this.#run())
      const isDone = await this.#round
      if (isDone !== undefined) continue
      if (this.#ended.length === 0) break
      await sleep(again, undefined, { ref: false })
    } while (this.#isWanted())
    // In the same turn as the last question: what is asked for from here on begins anew.
    this.#current = undefined
  }

  #isWanted(): boolean {
    return this.#isAskedAgain || this.#ended.length > 0
  }

  async #run(): Promise<true> {
    const { workplace, runs } = this.#parts
    const ended = this.#ended
    this.#ended = []
    const free = this.takes ? workplace.options.concurrency - runs.places.size + ended.length : 0
    if (free <= 0 && ended.length === 0) return true
    const { plain, limited } = this.#rooms(ended)
    try {
      // Those with limits are asked for in the order of what waits longest, so nothing is taken beside what is stored.
      if (limited.length === 0) await this.#turn(ended, plain, free)
      else if (ended.length > 0) await this.#turn(ended, plain, 0)
    } catch (error) {
      this.#ended = [...ended, ...this.#ended]
      throw error
    }
    if (limited.length > 0 && free > 0) await this.#takeInOrder(limited, plain, free)
    return true
  }

  /** @param ended leave their places in this round */
  #rooms(ended: readonly Running[]): { plain: Room[]; limited: KnownJob[] } {
    const { workplace, runs } = this.#parts
    const plain: Room[] = []
    const limited: KnownJob[] = []
    for (const job of workplace.known.values()) {
      if (Limits.isLimited(job)) {
        limited.push(job)
        continue
      }
      const leaving =
        job.concurrency === Infinity ? 0 : ended.filter((running) => running.job === job).length
      const most = Math.max(0, runs.places.roomOf(job) + leaving)
      plain.push({ name: job.name, most, timeout: job.timeout })
    }
    return { plain, limited }
  }

  async #turn(ended: readonly Running[], plain: readonly Room[], free: number): Promise<number> {
    const { workplace, worker, runs } = this.#parts
    if (plain.length === 0 && ended.length === 0) return 0
    const rooms = plain.length === 0 ? [{ name: '', most: 0, timeout: 0 }] : plain
    const claims = ended.map((running) => running.taken)
    const { done, taken } = await turn(workplace.table, worker, claims, rooms, free)
    for (const running of ended) runs.leave(running, done.has(running.taken.id) ? 'done' : 'lost')
    this.#begin(taken)
    return taken.length
  }

  async #takeInOrder(
    limited: readonly KnownJob[],
    plain: readonly Room[],
    free: number,
  ): Promise<void> {
    const { workplace, worker, runs, limits, wakeIn } = this.#parts
    const names = limited.filter((job) => runs.places.roomOf(job) > 0).map(({ name }) => name)
    const first = await heads(workplace.table, [...names, ...plain.map(({ name }) => name)])
    const order = new Set(first.map((name) => limited.find((job) => job.name === name)))
    let left = free
    for (const job of order) {
      if (left <= 0) break
      if (job === undefined) {
        left -= await this.#turn([], plain, left)
        continue
      }
      const most = Math.min(left, runs.places.roomOf(job))
      const { taken, moreIn } = await limits.take(job, most, worker)
      if (moreIn !== undefined) wakeIn(moreIn)
      this.#begin(taken)
      left -= taken.length
    }
  }

  #begin(taken: readonly Taken[]): void {
    const { workplace, runs, began } = this.#parts
    this.begun += taken.length
    if (taken.length > 0) began()
    for (const one of taken) {
      const job = workplace.known.get(one.name)
      if (job !== undefined) runs.begin(one, job)
    }
  }
}

const limits = 'filigree_job_limits'
const createTable = `create table if not exists ${limits} (
  name varchar(200) primary key not null,
  taken integer not null,
  ends_at bigint not null
)`

/** How many waiting rows are looked at at once. */
const mostHeads = 500

/** What was taken, and when more may be: in milliseconds. */
export interface LimitedTake {
  readonly taken: readonly Taken[]
  /** The window of the rate ends then. */
  readonly moreIn: number | undefined
}

export class Limits {
  readonly #table: JobTable

  constructor(table: JobTable) {
    this.#table = table
  }

  static isLimited({ group, rate }: Pick<KnownJob, 'group' | 'rate'>): boolean {
    return group !== undefined || rate !== undefined
  }

  /** Creates the rows of the locks. */
  async start(jobs: readonly KnownJob[]): Promise<void> {
    await this.#table.database.ensureTable(limits, createTable)
    for (const { name } of jobs) await this.#makeRow(name)
  }

  #makeRow(name: string): Promise<number> {
    return this.#table
      .prepare(
        'limit row',
        'insert',
        ({ value }) =>
          `insert into ${limits} (name, taken, ends_at) values (${value('name')}, 0, 0) on conflict do nothing`,
      )
      .change({ name })
  }

  take(job: KnownJob, most: number, worker: string): Promise<LimitedTake> {
    return this.#table.database.transaction(() => this.#takeLocked(job, most, worker), {
      isolation: 'read committed',
    })
  }

  async #takeLocked(job: KnownJob, most: number, worker: string): Promise<LimitedTake> {
    const row = await this.#lock(job.name)
    const { rate } = job
    const isOver = row.endsAt <= row.now
    const used = isOver ? 0 : row.taken
    const left = rate === undefined ? most : Math.min(most, rate.most - used)
    const moreIn = (): number | undefined =>
      rate === undefined ? undefined : Math.max(1, row.endsAt - row.now)
    if (left <= 0) return { taken: [], moreIn: moreIn() }
    const ids = await this.#choose(job, left)
    const taken: Taken[] = []
    for (const id of ids) {
      const one = await this.#takeOne(id, job, worker)
      if (one !== undefined) taken.push(one)
    }
    if (rate !== undefined && taken.length > 0) {
      const endsAt = isOver ? row.now + rate.window : row.endsAt
      await this.#count(job.name, used + taken.length, endsAt)
      return { taken, moreIn: Math.max(1, endsAt - row.now) }
    }
    return { taken, moreIn: undefined }
  }

  async #lock(name: string): Promise<{ taken: number; endsAt: number; now: number }> {
    const table = this.#table
    const statement = table.prepare(
      'limit lock',
      'select',
      ({ value, now, millis, lock }) =>
        `select taken, ends_at, ${millis(now(value('shift')))} from ${limits} where name = ${value('name')}${lock}`,
    )
    const [row] = await statement.rows({ name, shift: table.shift })
    if (row === undefined) {
      // Emptied between two tests.
      await this.#makeRow(name)
      return this.#lock(name)
    }
    const [taken, endsAt, now] = row
    return { taken: Number(taken), endsAt: Number(endsAt), now: Math.round(Number(now)) }
  }

  /** The first ones whose groups have room. */
  async #choose({ name, group, perGroup }: KnownJob, most: number): Promise<number[]> {
    const running = group === undefined ? new Map<string, number>() : await this.#running(name)
    const full = new Set([...running].filter(([, count]) => count >= perGroup).map(([key]) => key))
    const chosen: number[] = []
    // Few suffice, unless they are of groups that become full.
    let many = most + 10
    while (chosen.length < most) {
      const heads = await this.#heads(name, full, many)
      for (const [id, key] of heads) {
        if (chosen.length === most) break
        if (chosen.includes(id)) continue
        if (key !== null) {
          const count = running.get(key) ?? 0
          if (count >= perGroup) continue
          running.set(key, count + 1)
          if (count + 1 >= perGroup) full.add(key)
        }
        chosen.push(id)
      }
      if (heads.length < many) break
      many = mostHeads
    }
    return chosen
  }

  async #running(name: string): Promise<Map<string, number>> {
    const statement = this.#table.prepare(
      'limit running',
      'select',
      ({ value }) =>
        `select group_key, count(*) from jobs where state = 'running' and name = ${value('name')} and group_key is not null group by group_key`,
    )
    const rows = await statement.rows({ name })
    return new Map(rows.map(([key, count]) => [String(key), Number(count)]))
  }

  async #heads(
    name: string,
    full: ReadonlySet<string>,
    many: number,
  ): Promise<[number, string | null][]> {
    const statement = this.#table.prepare(
      'limit heads',
      'select',
      ({ value, texts }) =>
        `select id, group_key from jobs where name = ${value('name')} and state = 'waiting' and later_at is null
  and (group_key is null or group_key not in (${texts('full')}))
  order by priority desc, run_at, id limit cast(${value('many')} as bigint)`,
    )
    const rows = await statement.rows({ name, full: JSON.stringify([...full]), many })
    return rows.map(([id, key]) => [Number(id), key as string | null])
  }

  async #takeOne(id: number, job: KnownJob, worker: string): Promise<Taken | undefined> {
    const table = this.#table
    const statement = table.prepare(
      'take one',
      'update',
      ({ value, now, millis }) =>
        `update jobs set state = 'running', attempt = attempt + 1, claims = claims + 1, worker = ${value('worker')},
  started_at = ${now(value('shift'))}, lease_until = ${now(value('lease'))}, deadline = ${now(value('lasts'))}, cancel_at = null
where id = ${value('id')} and state = 'waiting' and later_at is null
returning ${takenColumns(millis, now(value('shift')))}`,
    )
    const { shift } = table
    const lasts = shift + job.timeout + grace + 1000
    const [row] = await statement.rows({ id, worker, shift, lease: shift + lease, lasts })
    return row && toTaken(row)
  }

  #count(name: string, taken: number, endsAt: number): Promise<number> {
    return this.#table
      .prepare(
        'limit count',
        'update',
        ({ value }) =>
          `update ${limits} set taken = ${value('taken')}, ends_at = ${value('endsAt')} where name = ${value('name')}`,
      )
      .change({ name, taken, endsAt })
  }
}
