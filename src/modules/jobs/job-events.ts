/** The events of jobs on `node:diagnostics_channel`: metrics and traces are made of them. They never contain bodies. */
import { channel } from 'node:diagnostics_channel'
import { Watched, type WatchedWork } from '../../index.js'

export type JobOutcome = 'done' | 'again' | 'failed' | 'cancelled' | 'lost' | 'given back'

/** A run: `filigree:job`, and the tracing channel of the same name. */
export interface JobEvent extends WatchedWork {
  /** The `ApplicationState`. */
  readonly application: object
  readonly job: string
  readonly id: number
  readonly attempt: number
  /** The `traceparent` of who added it. */
  readonly trace: string | undefined
  /** Known when it is over. */
  outcome: JobOutcome | undefined
}

export const jobEvents = new Watched<JobEvent>('filigree:job')

/** Something is added: `filigree:job-added`. Whoever traces sets `trace`. */
export interface JobAddedEvent {
  readonly job: string
  trace: string | undefined
}

const added = channel('filigree:job-added')

/** @returns the `traceparent` of the running span, if somebody traces */
export function currentTrace(job: string): string | null {
  if (!added.hasSubscribers) return null
  const event: JobAddedEvent = { job, trace: undefined }
  added.publish(event)
  return event.trace?.slice(0, 200) ?? null
}
