/** The record of a job: a row of the table `jobs`, for those who read records. */
import { Field, Record } from '../../index.js'
import { Readers } from './readers.js'

/** Where a job stands. */
export type JobState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled'

export const jobStates: readonly JobState[] = ['waiting', 'running', 'done', 'failed', 'cancelled']

/** Of these there is at most one with the same `unique`; those without one cost the index nothing. */
const open = { state: { in: ['waiting', 'running'] }, uniqueKey: { isNull: false } }

const due = { state: 'waiting', laterAt: { isNull: true } }

/**
 * A job. Clients may read jobs with a role of `jobs({ roles })`, and write none; the program reads them by
 * `database.records(JobEntry)` and changes them by `Jobs` alone.
 */
@Record<JobEntry>({
  table: 'jobs',
  name: 'jobEntry',
  plural: 'jobEntries',
  writes: false,
  subscriptions: false,
  rows: (user, caller) => caller.get(Readers).admits(user, caller.by),
  indexes: [
    { fields: ['uniqueKey'], where: open, unique: true },
    { fields: ['name', '-priority', 'runAt', 'id'], where: due },
    { fields: ['laterAt'], where: { laterAt: { isNull: false } } },
    { fields: ['leaseUntil'], where: { state: 'running' } },
    { fields: ['keepUntil'], where: { keepUntil: { isNull: false } } },
  ],
})
export class JobEntry {
  @Field('id') id!: number
  /** `Mail.welcome` */
  @Field('string') name!: string
  @Field('string', { oneOf: [...jobStates] }) state!: JobState
  /** As it was added; null without one, and of `@Job({ secret: true })`. */
  @Field('json', { nullable: true }) body!: unknown
  /** The body of `@Job({ secret: true })`, for the program alone, until the job ends. */
  @Field('json', { nullable: true, hidden: true }) secretBody!: unknown
  /** Since when the body is gone. */
  @Field('datetime', { nullable: true, hidden: true }) emptiedAt!: string | null
  /** 0 to 100; higher ones are first. */
  @Field('integer') priority!: number
  /** When it was or is to be run, at the earliest. */
  @Field('datetime') runAt!: string
  /** While it waits for its time: that time. */
  @Field('datetime', { nullable: true, hidden: true }) laterAt!: string | null
  /** The runs that were begun: from 1. */
  @Field('integer') attempt!: number
  /** How often it may run again. */
  @Field('integer') retries!: number
  /** Milliseconds before the first repetition. */
  @Field('integer', { hidden: true }) backoff!: number
  /** Seconds for which it is kept when it is done. */
  @Field('integer', { hidden: true }) keep!: number
  /** Counts who has taken it: only the last one may say how it ended. */
  @Field('integer', { hidden: true }) claims!: number
  @Field('string', { nullable: true }) uniqueKey!: string | null
  @Field('string', { nullable: true }) groupKey!: string | null
  /** `cron 0 3 * * * Europe/Berlin`, `every 600`; null for jobs that were added. */
  @Field('string', { nullable: true }) schedule!: string | null
  /** The process that runs it. */
  @Field('string', { nullable: true, hidden: true }) worker!: string | null
  /** Until when it is that process's, unless the process says more. */
  @Field('datetime', { nullable: true, hidden: true }) leaseUntil!: string | null
  /** From then on its lease is not renewed: its time is over, and it has not stopped. */
  @Field('datetime', { nullable: true, hidden: true }) deadline!: string | null
  /** Since when it is to stop. */
  @Field('datetime', { nullable: true, hidden: true }) cancelAt!: string | null
  /** From 0 to 1, as the job tells. */
  @Field('numeric', { nullable: true }) progress!: number | null
  @Field('string', { nullable: true }) progressText!: string | null
  /** The last fault, with its stack. */
  @Field('text', { nullable: true }) error!: string | null
  /** All faults, a line of JSON for each. */
  @Field('text', { nullable: true, hidden: true }) errors!: string | null
  /** The trace of who added it. */
  @Field('string', { nullable: true, hidden: true }) trace!: string | null
  @Field('datetime') addedAt!: string
  @Field('datetime', { nullable: true }) startedAt!: string | null
  @Field('datetime', { nullable: true }) endedAt!: string | null
  /** When its row is removed. */
  @Field('datetime', { nullable: true, hidden: true }) keepUntil!: string | null
}
