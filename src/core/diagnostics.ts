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

export class Watched<Work extends WatchedWork> {
  readonly #over: Channel
  readonly #parts: TracingChannel<unknown, Work>

  constructor(name: string) {
    this.#over = channel(name)
    this.#parts = tracingChannel(name)
  }

  /** Somebody listens. */
  get heard(): boolean {
    return this.#over.hasSubscribers || this.#parts.hasSubscribers
  }

  /** Runs the work and publishes it; results and errors pass through unchanged. */
  around<T>(work: Work, run: () => T): T {
    const parts = this.#parts
    const began = performance.now()
    return parts.start.runStores(work, () => {
      let given: T
      try {
        given = run()
      } catch (error) {
        this.#fail(work, error)
        parts.end.publish(work)
        this.#tell(work, began)
        throw error
      }
      parts.end.publish(work)
      if (!isThenable(given)) {
        this.#tell(work, began)
        return given
      }
      return given.then(
        (value) => {
          parts.asyncStart.publish(work)
          this.#tell(work, began)
          parts.asyncEnd.publish(work)
          return value
        },
        (error: unknown) => {
          this.#fail(work, error)
          parts.asyncStart.publish(work)
          this.#tell(work, began)
          parts.asyncEnd.publish(work)
          throw error
        },
      ) as T
    })
  }

  /** Begins work that ends by `finish`, somewhere else. */
  begin(work: Work, run: () => void): void {
    this.#parts.start.runStores(work, run)
    this.#parts.end.publish(work)
  }

  /** Ends what `begin` began. */
  finish(work: Work, began: number): void {
    if (work.error !== undefined) this.#parts.error.publish(work)
    this.#parts.asyncStart.publish(work)
    this.#tell(work, began)
    this.#parts.asyncEnd.publish(work)
  }

  #tell(work: Work, began: number): void {
    work.ms = performance.now() - began
    this.#over.publish(work)
  }

  #fail(work: Work, error: unknown): void {
    work.error = error
    this.#parts.error.publish(work)
  }
}
