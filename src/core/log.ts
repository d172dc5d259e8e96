/**
 * The interface through which the framework writes its log. A pino logger implements it. Tests pass their own. Its
 * methods must not throw.
 */
export interface Log {
  error(details: object, message: string): void
  warn(details: object, message: string): void
  info(details: object, message: string): void
  debug(details: object, message: string): void
  /** True if lines of the level are written. The framework skips building other lines. Default: true. */
  isLevelEnabled?(level: string): boolean
  /** Accepts complete JSON lines that may be written with a delay. Absent if the application provides its own log. */
  readonly deferred?: DeferredLog | undefined
}

/** Writes lines in batches, after at most 100 ms and before the process ends. */
export interface DeferredLog {
  /** @param line including its line ending */
  add(line: string): void
  /** Writes all waiting lines immediately. */
  flush(): void
}

export type LogLevel = Exclude<keyof Log, 'isLevelEnabled' | 'deferred'>

/** True if debug lines are written. */
export function isDebugged(log: Log): boolean {
  return log !== silentLog && (log.isLevelEnabled?.('debug') ?? true)
}

/** A log that discards everything. */
export const silentLog: Log = Object.freeze({
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
})

/**
 * A log for objects without their own. It forwards to the log of the application that uses the object, while the
 * application runs.
 */
export class LentLog implements Log {
  #log = silentLog

  /** @returns a function that withdraws the log */
  lend(log: Log): () => void {
    this.#log = log
    return () => {
      if (this.#log === log) this.#log = silentLog
    }
  }

  error(details: object, message: string): void {
    this.#log.error(details, message)
  }

  warn(details: object, message: string): void {
    this.#log.warn(details, message)
  }

  info(details: object, message: string): void {
    this.#log.info(details, message)
  }

  debug(details: object, message: string): void {
    this.#log.debug(details, message)
  }
}

/**
 * Returns additional fields for log lines.
 *
 * @param request the request that the line belongs to, if any
 */
export type LogFields = (
  request: object | undefined,
) => Readonly<Record<string, unknown>> | undefined

/** Process-wide functions that add fields, such as a trace ID. */
const additions = new Set<LogFields>()

/** Adds fields to every log line of all applications. @returns a function that removes them */
export function addLogFields(addition: LogFields): () => void {
  additions.add(addition)
  return () => {
    additions.delete(addition)
  }
}

/** The additional fields for a line about this request; `undefined` if there are none. */
export function fieldsOf(request: object | undefined): object | undefined {
  if (additions.size === 0) return undefined
  return Object.assign({}, ...[...additions].map((addition) => addition(request))) as object
}
