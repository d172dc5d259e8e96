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

/**
 * Gives fields for lines of the log.
 *
 * @param request what the line is about; `undefined` where that is no request
 */
export type LogFields = (
  request: object | undefined,
) => Readonly<Record<string, unknown>> | undefined

/** In the whole process: whoever adds fields, such as the id of a trace, knows them of the running code. */
const additions = new Set<LogFields>()

/** Adds fields to every line of the applications' logs. @returns what ends it */
export function addLogFields(addition: LogFields): () => void {
  additions.add(addition)
  return () => {
    additions.delete(addition)
  }
}

/** What a line about this request has besides its own; `undefined` where nobody adds anything. */
export function fieldsOf(request: object | undefined): object | undefined {
  if (additions.size === 0) return undefined
  return Object.assign({}, ...[...additions].map((addition) => addition(request))) as object
}
