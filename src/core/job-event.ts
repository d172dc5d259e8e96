/** The messages of `filigree:job` and `filigree:job-added`, of which metrics and traces are made. They never contain bodies. */
import type { WatchedWork } from './watched.js'

/** How a run ended. */
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

/** Something is added: `filigree:job-added`. Whoever traces sets `trace`. */
export interface JobAddedEvent {
  readonly job: string
  trace: string | undefined
}
