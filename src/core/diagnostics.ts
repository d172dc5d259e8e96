/**
 * Publishes the framework's work on `node:diagnostics_channel`: requests, gates, handlers, statements, GraphQL.
 * A channel without subscribers costs nothing: callers check `heard` first.
 *
 * A channel has one message for each piece of work, once it is over. For its beginning too, or to pass something along
 * with it, use the tracing channel of the same name: `tracing:filigree:handler:start`, `end`, `asyncStart`, `asyncEnd`,
 * `error`. All of them get the same object.
 */

import {
  channel,
  tracingChannel,
  type Channel,
  type TracingChannel,
} from 'node:diagnostics_channel'
import { isThenable } from './maybe-promise.js'

/** A look at an application's figures: `filigree:scrape`. Packages that have figures of their own add them. */

/** What is published before figures are written. */
export interface ScrapeEvent {
  /** The `ApplicationState` of the application. */
  readonly application: object
  /** Adds a gauge, or promises some; what takes longer than a second is left out. */
  readonly add: (gauge: Gauge | Promise<readonly Gauge[]>) => void
}

/** A number that goes up and down. */
export interface Gauge {
  /** `jobs_waiting` */
  readonly name: string
  readonly help: string
  readonly value: number
}

/** The message of `filigree:tool`, of which traces are made. It never contains arguments. */

/** A call by an agent: `filigree:tool`, and the tracing channel of the same name. */
export interface ToolEvent extends WatchedWork {
  readonly tool: string
  /** `TicketController.show`. */
  readonly route: string
}

/** The messages of `filigree:job` and `filigree:job-added`, of which metrics and traces are made. They never contain bodies. */

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

/** What every message has. */
export interface WatchedWork {
  /** Milliseconds that it took; 0 before it is over. */
  ms: number
  /** What it threw, if it did. */
  error: unknown
}

export class WorkChannel<Work extends WatchedWork> {
  readonly #channel: Channel
  readonly #tracing: TracingChannel<unknown, Work>

  constructor(name: string) {
    this.#channel = channel(name)
    this.#tracing = tracingChannel(name)
  }

  /** Somebody listens. */
  get hasSubscribers(): boolean {
    return this.#channel.hasSubscribers || this.#tracing.hasSubscribers
  }

  /** Runs the work and publishes it; results and errors pass through unchanged. */
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

  /** Begins work that ends by `finish`, somewhere else. */
  begin(work: Work, run: () => void): void {
    this.#tracing.start.runStores(work, run)
    this.#tracing.end.publish(work)
  }

  /** Ends what `begin` began. */
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
