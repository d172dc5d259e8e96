/** What the house writes its log to; pino's logger is one. Tests give their own. Its methods must not throw. */
export interface Log {
  error(details: object, message: string): void
  warn(details: object, message: string): void
  info(details: object, message: string): void
  debug(details: object, message: string): void
}

/** A log that keeps nothing. */
export const silentLog: Log = Object.freeze({
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
})
