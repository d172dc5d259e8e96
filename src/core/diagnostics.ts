/**
 * Publishes the framework's work on `node:diagnostics_channel`: requests, gates, handlers, statements, GraphQL.
 * A channel without subscribers costs nothing, because callers check `hasSubscribers` first.
 *
 * A channel gets one message for each piece of work, when the work is over. To observe the beginning, or to pass
 * context along, use the tracing channel of the same name: `tracing:filigree:handler:start`, `end`, `asyncStart`,
 * `asyncEnd`, `error`. All of them get the same object.
 */

import {
  channel,
  tracingChannel,
  type Channel,
  type TracingChannel,
} from 'node:diagnostics_channel'
import { isThenable } from './maybe-promise.js'

/** The message of `filigree:scrape`, published before metrics are written, so that packages can add their own. */
export interface ScrapeEvent {
  /** The `ApplicationState` of the application. */
  readonly application: object
  /** Adds a gauge, or a promise of gauges. Promises that take longer than a second are left out. */
  readonly add: (gauge: Gauge | Promise<readonly Gauge[]>) => void
}

/** A number that goes up and down. */
export interface Gauge {
  /** For example `jobs_waiting`. */
  readonly name: string
  readonly help: string
  readonly value: number
}

/**
 * A tool call by an agent: `filigree:tool`, and the tracing channel of the same name. It never contains the arguments.
 */
export interface ToolEvent extends WatchedWork {
  readonly tool: string
  /** For example `TicketController.show`. */
  readonly route: string
}

/** How a run ended. */
export type JobOutcome = 'done' | 'again' | 'failed' | 'cancelled' | 'lost' | 'given back'

/** A run of a job: `filigree:job`, and the tracing channel of the same name. It never contains the job's body. */
export interface JobEvent extends WatchedWork {
  /** The `ApplicationState`. */
  readonly application: object
  readonly job: string
  readonly id: number
  readonly attempt: number
  /** The `traceparent` of the code that added the job. */
  readonly trace: string | undefined
  /** Set when the run is over. */
  outcome: JobOutcome | undefined
}

/** A job was added: `filigree:job-added`. A tracing subscriber sets `trace`. */
export interface JobAddedEvent {
  readonly job: string
  trace: string | undefined
}

/** Common fields of all messages. */
export interface WatchedWork {
  /** Duration in milliseconds; 0 before the work is over. */
  ms: number
  /** The error that the work threw, if any. */
  error: unknown
}

export class WorkChannel<Work extends WatchedWork> {
  readonly #channel: Channel
  readonly #tracing: TracingChannel<unknown, Work>

  constructor(name: string) {
    this.#channel = channel(name)
    this.#tracing = tracingChannel(name)
  }

  /** True if the channel or its tracing channel has subscribers. */
  get hasSubscribers(): boolean {
    return this.#channel.hasSubscribers || this.#tracing.hasSubscribers
  }

  /** Runs the work and publishes it. Results and errors pass through unchanged. */
  around<T>(work: Work, run: () => T): T {
    const tracing = this.#tracing
    const startTime = performance.now()
    return tracing.start.runStores(work, () => {
      let result: T
      try {
        result = run()
      } catch (error) {
        this.#fail(work, error)
        tracing.end.publish(work)
        this.#publishEnd(work, startTime)
        throw error
      }
      tracing.end.publish(work)
      if (!isThenable(result)) {
        this.#publishEnd(work, startTime)
        return result
      }
      return result.then(
        (value) => {
          tracing.asyncStart.publish(work)
          this.#publishEnd(work, startTime)
          tracing.asyncEnd.publish(work)
          return value
        },
        (error: unknown) => {
          this.#fail(work, error)
          tracing.asyncStart.publish(work)
          this.#publishEnd(work, startTime)
          tracing.asyncEnd.publish(work)
          throw error
        },
      ) as T
    })
  }

  /** Begins work that ends elsewhere, by a call of `finish`. */
  begin(work: Work, run: () => void): void {
    this.#tracing.start.runStores(work, run)
    this.#tracing.end.publish(work)
  }

  /** Ends work that `begin` started. */
  finish(work: Work, startTime: number): void {
    if (work.error !== undefined) this.#tracing.error.publish(work)
    this.#tracing.asyncStart.publish(work)
    this.#publishEnd(work, startTime)
    this.#tracing.asyncEnd.publish(work)
  }

  #publishEnd(work: Work, startTime: number): void {
    work.ms = performance.now() - startTime
    this.#channel.publish(work)
  }

  #fail(work: Work, error: unknown): void {
    work.error = error
    this.#tracing.error.publish(work)
  }
}
