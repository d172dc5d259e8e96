/** The events of jobs on `node:diagnostics_channel`: metrics and traces are made of them. They never contain bodies. */
import { channel } from 'node:diagnostics_channel'
import { Watched, type JobAddedEvent, type JobEvent } from '../../index.js'

export const jobEvents = new Watched<JobEvent>('filigree:job')

const added = channel('filigree:job-added')

/** @returns the `traceparent` of the running span, if somebody traces */
export function currentTrace(job: string): string | null {
  if (!added.hasSubscribers) return null
  const event: JobAddedEvent = { job, trace: undefined }
  added.publish(event)
  return event.trace?.slice(0, 200) ?? null
}
