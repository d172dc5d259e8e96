/** Where the framework writes its log; pino's logger is one. Tests pass their own. Its methods must not throw. */
export interface Log {
  error(details: object, message: string): void
  warn(details: object, message: string): void
  info(details: object, message: string): void
  debug(details: object, message: string): void
  /** Whether lines of a level are kept: those that nobody keeps are not made. Default: they are. */
  isLevelEnabled?(level: string): boolean
  /** Takes whole lines of JSON that need not be there at once. Absent where the application brings its own log. */
  readonly deferred?: DeferredLog | undefined
}

/** Lines that are written together: after 100 ms at most, and before the process ends. */
export interface DeferredLog {
  /** @param line with its end of line */
  add(line: string): void
  /** Writes what waits, at once. */
  flush(): void
}

export type LogLevel = Exclude<keyof Log, 'isLevelEnabled' | 'deferred'>

/** True if lines at debug are kept. */
export function isDebugged(log: Log): boolean {
  return log !== silentLog && (log.isLevelEnabled?.('debug') ?? true)
}

/** A log that keeps nothing. */
export const silentLog: Log = Object.freeze({
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
})

/** The log of what has none of its own: that of the application which uses it, for as long as it runs. */
export class LentLog implements Log {
  #log = silentLog

  /** @returns what takes the log back */
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
 * Gives fields for lines of the log.
 *
 * @param request the request that the line is about, if any
 */
export type LogFields = (
  request: object | undefined,
) => Readonly<Record<string, unknown>> | undefined

/** For the whole process: functions that add fields, such as the id of the running trace. */
const additions = new Set<LogFields>()

/** Adds fields to every line of the applications' logs. @returns what ends it */
export function addLogFields(addition: LogFields): () => void {
  additions.add(addition)
  return () => {
    additions.delete(addition)
  }
}

/** The fields that were added for a line about this request; `undefined` if there are none. */
export function fieldsOf(request: object | undefined): object | undefined {
  if (additions.size === 0) return undefined
  return Object.assign({}, ...[...additions].map((addition) => addition(request))) as object
}
