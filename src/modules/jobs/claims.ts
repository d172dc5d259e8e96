/**
 * Claims due jobs for this process. A claim cycle stores the successful runs and claims as many jobs as there are free slots,
 * in one statement. Jobs with groups or a rate are claimed one name at a time, because their limits hold for all processes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ActiveRun } from './running-jobs.js'
import type { RegisteredJob } from './decorators.js'
import type { JobRunner } from './job-runner.js'
import {
  type ClaimLimit,
  type ClaimedJob,
  type JobTable,
  stopGraceMs,
  leaseMs,
  claimedColumns,
  toClaimedJob,
} from './job-table.js'
import { findDueNames, finishAndClaim } from './worker-statements.js'
import type { WorkerContext } from './worker-context.js'

interface ClaimCycleParts {
  readonly context: WorkerContext
  readonly worker: string
  readonly runner: JobRunner
  readonly limitedClaims: LimitedClaims
  /** Called when jobs were claimed, so that their leases are renewed. */
  readonly onClaimed: () => void
  readonly wakeIn: (ms: number) => void
  /** Runs work outside the context of the job that has just ended. */
  readonly runOutsideRequest: <T>(work: () => T) => T
}

/** Milliseconds before a failed cycle is retried, if it has results to store. */
const retryDelayMs = 1_000

/**
 * Runs cycles one after another. Jobs are never claimed in advance, so a killed process delays only the jobs that it was
 * running. Runs that end during a cycle are stored by the next one.
 */
export class ClaimCycle {
  readonly #parts: ClaimCycleParts
  #finished: ActiveRun[] = []
  #isStoreScheduled = false
  #cycles: Promise<void> | undefined
  #cycle: Promise<true | undefined> | undefined
  #mustRunAgain = false
  /** False: cycles store results and claim nothing. */
  isClaiming = false
  /** The number of runs started so far. */
  startedRuns = 0

  constructor(parts: ClaimCycleParts) {
    this.#parts = parts
  }

  /** Adds a successful run. Runs that end in the same turn of the event loop are stored together. */
  addFinished(running: ActiveRun): void {
    this.#finished.push(running)
    if (this.#isStoreScheduled || this.#cycles !== undefined) return
    this.#isStoreScheduled = true
    this.#parts.runOutsideRequest(() => setImmediate(this.#store))
  }

  readonly #store = (): void => {
    this.#isStoreScheduled = false
    void this.run()
  }

  /** Runs a cycle. If one is running already, another one follows it. */
  run(): Promise<void> {
    if (this.#cycles !== undefined) {
      this.#mustRunAgain = true
      return this.#cycles
    }
    this.#cycles = this.#runCycles()
    return this.#cycles
  }

  /** Resolves when the current cycle has started the jobs that it claimed. */
  async whenSettled(): Promise<void> {
    await this.#cycle
  }

  async #runCycles(): Promise<void> {
    do {
      this.#mustRunAgain = false
      this.#cycle = this.#parts.context.tryOrLog(() => this.#runCycle())
      const isDone = await this.#cycle
      if (isDone !== undefined) continue
      if (this.#finished.length === 0) break
      await sleep(retryDelayMs, undefined, { ref: false })
    } while (this.#isCycleDue())
    // No await between the check above and this line: a later call starts a new loop.
    this.#cycles = undefined
  }

  #isCycleDue(): boolean {
    return this.#mustRunAgain || this.#finished.length > 0
  }

  async #runCycle(): Promise<true> {
    const { context, runner } = this.#parts
    const finished = this.#finished
    this.#finished = []
    const freeSlots = this.isClaiming
      ? context.options.concurrency - runner.runningJobs.size + finished.length
      : 0
    if (freeSlots <= 0 && finished.length === 0) return true
    const { unlimited, limited } = this.#claimLimits(finished)
    try {
      // Limited jobs are claimed below, in order of priority with all others, so nothing is claimed here.
      if (limited.length === 0) await this.#finishAndClaim(finished, unlimited, freeSlots)
      else if (finished.length > 0) await this.#finishAndClaim(finished, unlimited, 0)
    } catch (error) {
      this.#finished = [...finished, ...this.#finished]
      throw error
    }
    if (limited.length > 0 && freeSlots > 0)
      await this.#claimByPriority(limited, unlimited, freeSlots)
    return true
  }

  /** @param finished their slots are free again in this cycle */
  #claimLimits(finished: readonly ActiveRun[]): {
    unlimited: ClaimLimit[]
    limited: RegisteredJob[]
  } {
    const { context, runner } = this.#parts
    const unlimited: ClaimLimit[] = []
    const limited: RegisteredJob[] = []
    for (const job of context.jobs.values()) {
      if (LimitedClaims.isLimited(job)) {
        limited.push(job)
        continue
      }
      const endingCount =
        job.concurrency === Infinity ? 0 : finished.filter((running) => running.job === job).length
      const maxJobs = Math.max(0, runner.runningJobs.capacityFor(job) + endingCount)
      unlimited.push({ name: job.name, maxJobs, timeout: job.timeout })
    }
    return { unlimited, limited }
  }

  async #finishAndClaim(
    finished: readonly ActiveRun[],
    unlimited: readonly ClaimLimit[],
    freeSlots: number,
  ): Promise<number> {
    const { context, worker, runner } = this.#parts
    if (unlimited.length === 0 && finished.length === 0) return 0
    const claimLimits = unlimited.length === 0 ? [{ name: '', maxJobs: 0, timeout: 0 }] : unlimited
    const claims = finished.map((running) => running.claimed)
    const { doneIds, claimed } = await finishAndClaim(
      context.table,
      worker,
      claims,
      claimLimits,
      freeSlots,
    )
    for (const running of finished)
      runner.release(running, doneIds.has(running.claimed.id) ? 'done' : 'lost')
    this.#startRuns(claimed)
    return claimed.length
  }

  async #claimByPriority(
    limited: readonly RegisteredJob[],
    unlimited: readonly ClaimLimit[],
    freeSlots: number,
  ): Promise<void> {
    const { context, worker, runner, limitedClaims, wakeIn } = this.#parts
    const names = limited
      .filter((job) => runner.runningJobs.capacityFor(job) > 0)
      .map(({ name }) => name)
    const dueNames = await findDueNames(context.table, [
      ...names,
      ...unlimited.map(({ name }) => name),
    ])
    const order = new Set(dueNames.map((name) => limited.find((job) => job.name === name)))
    let remaining = freeSlots
    for (const job of order) {
      if (remaining <= 0) break
      if (job === undefined) {
        remaining -= await this.#finishAndClaim([], unlimited, remaining)
        continue
      }
      const maxJobs = Math.min(remaining, runner.runningJobs.capacityFor(job))
      const { claimed, retryInMs } = await limitedClaims.claim(job, maxJobs, worker)
      if (retryInMs !== undefined) wakeIn(retryInMs)
      this.#startRuns(claimed)
      remaining -= claimed.length
    }
  }

  #startRuns(claimed: readonly ClaimedJob[]): void {
    const { context, runner, onClaimed } = this.#parts
    this.startedRuns += claimed.length
    if (claimed.length > 0) onClaimed()
    for (const claimedJob of claimed) {
      const job = context.jobs.get(claimedJob.name)
      if (job !== undefined) runner.start(claimedJob, job)
    }
  }
}

const limitsTable = 'filigree_job_limits'
const createTable = `create table if not exists ${limitsTable} (
  name varchar(200) primary key not null,
  taken integer not null,
  ends_at bigint not null
)`

/** The largest number of waiting rows read in one query. */
const maxCandidates = 500

/** The claimed jobs, and the milliseconds until the rate allows more. */
export interface LimitedClaimResult {
  readonly claimed: readonly ClaimedJob[]
  /** Undefined: the rate does not delay the next claim. */
  readonly retryInMs: number | undefined
}

/**
 * Claims jobs that have groups or a rate. The claiming process locks the row of the job's name in a short transaction. Running
 * jobs are counted by their rows, so a killed process leaves no count behind. The count of the rate is stored in the locked row.
 */
export class LimitedClaims {
  readonly #table: JobTable

  constructor(table: JobTable) {
    this.#table = table
  }

  static isLimited({ group, rate }: Pick<RegisteredJob, 'group' | 'rate'>): boolean {
    return group !== undefined || rate !== undefined
  }

  /** Creates the table and one row per job name, which is locked while jobs of that name are claimed. */
  async createLockRows(jobs: readonly RegisteredJob[]): Promise<void> {
    await this.#table.database.ensureTable(limitsTable, createTable)
    for (const { name } of jobs) await this.#createLockRow(name)
  }

  #createLockRow(name: string): Promise<number> {
    return this.#table
      .prepare(
        'limit row',
        'insert',
        ({ value }) =>
          `insert into ${limitsTable} (name, taken, ends_at) values (${value('name')}, 0, 0) on conflict do nothing`,
      )
      .change({ name })
  }

  claim(job: RegisteredJob, maxJobs: number, worker: string): Promise<LimitedClaimResult> {
    return this.#table.database.transaction(() => this.#claimLocked(job, maxJobs, worker), {
      isolation: 'read committed',
    })
  }

  async #claimLocked(
    job: RegisteredJob,
    maxJobs: number,
    worker: string,
  ): Promise<LimitedClaimResult> {
    const row = await this.#lock(job.name)
    const { rate } = job
    const isWindowOver = row.endsAt <= row.now
    const used = isWindowOver ? 0 : row.count
    const remaining = rate === undefined ? maxJobs : Math.min(maxJobs, rate.limit - used)
    const retryInMs = (): number | undefined =>
      rate === undefined ? undefined : Math.max(1, row.endsAt - row.now)
    if (remaining <= 0) return { claimed: [], retryInMs: retryInMs() }
    const ids = await this.#chooseIds(job, remaining)
    const claimed: ClaimedJob[] = []
    for (const id of ids) {
      const claimedJob = await this.#claimOne(id, job, worker)
      if (claimedJob !== undefined) claimed.push(claimedJob)
    }
    if (rate !== undefined && claimed.length > 0) {
      const endsAt = isWindowOver ? row.now + rate.window : row.endsAt
      await this.#storeRateCount(job.name, used + claimed.length, endsAt)
      return { claimed, retryInMs: Math.max(1, endsAt - row.now) }
    }
    return { claimed, retryInMs: undefined }
  }

  async #lock(name: string): Promise<{ count: number; endsAt: number; now: number }> {
    const table = this.#table
    const statement = table.prepare(
      'limit lock',
      'select',
      ({ value, now, millis, lock }) =>
        `select taken, ends_at, ${millis(now(value('shift')))} from ${limitsTable} where name = ${value('name')}${lock}`,
    )
    const [row] = await statement.rows({ name, shift: table.shift })
    if (row === undefined) {
      // A test has emptied the table.
      await this.#createLockRow(name)
      return this.#lock(name)
    }
    const [count, endsAt, now] = row
    return { count: Number(count), endsAt: Number(endsAt), now: Math.round(Number(now)) }
  }

  /** The ids of the first waiting jobs whose groups have free slots. */
  async #chooseIds({ name, group, perGroup }: RegisteredJob, maxJobs: number): Promise<number[]> {
    const runningByGroup =
      group === undefined ? new Map<string, number>() : await this.#countRunningByGroup(name)
    const fullGroups = new Set(
      [...runningByGroup].filter(([, count]) => count >= perGroup).map(([key]) => key),
    )
    const chosenIds: number[] = []
    // A small batch is enough unless groups fill up.
    let batchSize = maxJobs + 10
    while (chosenIds.length < maxJobs) {
      const candidates = await this.#findCandidates(name, fullGroups, batchSize)
      for (const [id, key] of candidates) {
        if (chosenIds.length === maxJobs) break
        if (chosenIds.includes(id)) continue
        if (key !== null) {
          const count = runningByGroup.get(key) ?? 0
          if (count >= perGroup) continue
          runningByGroup.set(key, count + 1)
          if (count + 1 >= perGroup) fullGroups.add(key)
        }
        chosenIds.push(id)
      }
      if (candidates.length < batchSize) break
      batchSize = maxCandidates
    }
    return chosenIds
  }

  async #countRunningByGroup(name: string): Promise<Map<string, number>> {
    const statement = this.#table.prepare(
      'limit running',
      'select',
      ({ value }) =>
        `select group_key, count(*) from jobs where state = 'running' and name = ${value('name')} and group_key is not null group by group_key`,
    )
    const rows = await statement.rows({ name })
    return new Map(rows.map(([key, count]) => [String(key), Number(count)]))
  }

  async #findCandidates(
    name: string,
    fullGroups: ReadonlySet<string>,
    batchSize: number,
  ): Promise<[number, string | null][]> {
    const statement = this.#table.prepare(
      'limit candidates',
      'select',
      ({ value, texts, indexed }) =>
        `select id, group_key from jobs where name = ${value('name')} and state = 'waiting' and later_at is null
  and (group_key is null or group_key not in (${texts('fullGroups')}))
  order by priority desc, ${indexed('run_at')}, id limit cast(${value('batchSize')} as bigint)`,
    )
    const rows = await statement.rows({
      name,
      fullGroups: JSON.stringify([...fullGroups]),
      batchSize,
    })
    return rows.map(([id, key]) => [Number(id), key as string | null])
  }

  async #claimOne(id: number, job: RegisteredJob, worker: string): Promise<ClaimedJob | undefined> {
    const table = this.#table
    const statement = table.prepare(
      'claim one',
      'update',
      ({ value, now, millis }) =>
        `update jobs set state = 'running', attempt = attempt + 1, claims = claims + 1, worker = ${value('worker')},
  started_at = ${now(value('shift'))}, lease_until = ${now(value('lease'))}, deadline = ${now(value('deadline'))}, cancel_at = null
where id = ${value('id')} and state = 'waiting' and later_at is null
returning ${claimedColumns(millis, now(value('shift')))}`,
    )
    const { shift } = table
    const deadline = shift + job.timeout + stopGraceMs + 1000
    const [row] = await statement.rows({ id, worker, shift, lease: shift + leaseMs, deadline })
    return row && toClaimedJob(row)
  }

  #storeRateCount(name: string, count: number, endsAt: number): Promise<number> {
    return this.#table
      .prepare(
        'limit count',
        'update',
        ({ value }) =>
          `update ${limitsTable} set taken = ${value('count')}, ends_at = ${value('endsAt')} where name = ${value('name')}`,
      )
      .change({ name, count, endsAt })
  }
}
