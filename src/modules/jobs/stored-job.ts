/** What the statements on the table `jobs` take and give. Times are milliseconds unless they say otherwise. */
import type { SqlRow, SqlFragments } from '../../index.js'
import type { JobState } from './job-entry.js'

/** What is stored of a new job. */
export interface NewJob {
  readonly name: string
  /** JSON, or null. */
  readonly body: string | null
  /** Nobody reads the body, and it is emptied when the job ends. */
  readonly isSecret: boolean
  readonly priority: number
  readonly retries: number
  readonly backoff: number
  readonly keep: number
  readonly unique: string | null
  readonly group: string | null
  readonly trace: string | null
}

/** When it is to run: at once, so many milliseconds later, or at a moment. */
export type When =
  | { readonly kind: 'now' }
  | { readonly kind: 'in'; readonly ms: number }
  | { readonly kind: 'at'; readonly at: Date }

/** A row that this process has taken. */
export interface Taken {
  readonly id: number
  readonly name: string
  readonly claims: number
  readonly attempt: number
  readonly body: string | null
  readonly priority: number
  /** Milliseconds since 1970. */
  readonly runAt: number
  /** By the database's clock. */
  readonly now: number
  readonly schedule: string | null
  readonly trace: string | null
  readonly retries: number
  readonly backoff: number
}

/** By what a run is known: who has lost the row has an older count of claims. */
export type Claim = Pick<Taken, 'id' | 'claims'>

/** How many rows of a name may be taken. */
export interface Room {
  readonly name: string
  readonly most: number
  /** That a run may last. */
  readonly timeout: number
}

/** Rows that were taken back from processes that are gone. */
export interface Recovered {
  readonly id: number
  readonly name: string
  readonly attempt: number
  readonly state: JobState
}

/** For which a row is its process's, and between two renewals. */
export const lease = 15_000
export const renewal = 5_000
/** No lease ends later than that, unless the database's clock was set back. */
export const tooLong = 2 * lease
/** For which a run whose time is over may take to stop, and the end of its lease thereafter. */
export const grace = 5_000
/** For which a schedule stands that no process knows. */
export const scheduleLasts = 120_000

/** For `toTaken`. */
export function takenColumns(millis: SqlFragments['millis'], now: string): string {
  return `jobs.id, jobs.name, jobs.claims, jobs.attempt, cast(coalesce(jobs.body, jobs.secret_body) as text), jobs.priority, ${millis('jobs.run_at')}, ${millis(now)}, jobs.schedule, jobs.trace, jobs.retries, jobs.backoff`
}

export function toTaken(row: SqlRow): Taken {
  const [id, name, claims, attempt, body, priority, runAt, now, schedule, trace, retries, backoff] =
    row
  return {
    id: Number(id),
    name: String(name),
    claims: Number(claims),
    attempt: Number(attempt),
    body: body as string | null,
    priority: Number(priority),
    runAt: Number(runAt),
    now: Number(now),
    schedule: schedule as string | null,
    trace: trace as string | null,
    retries: Number(retries),
    backoff: Number(backoff),
  }
}

/** Of `id, name, attempt, state`. */
export function toRecovered([id, name, attempt, state]: SqlRow): Recovered {
  return { id: Number(id), name: String(name), attempt: Number(attempt), state: state as JobState }
}
