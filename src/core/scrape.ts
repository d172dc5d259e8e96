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
