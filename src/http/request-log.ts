/** `request.log`: the application's log, whose lines name the request. */
import { fieldsOf, type Log } from '../core/log.js'
import type { HttpRequest } from './request.js'

/** Writes a line: what it is about, and what it says. Either may be left out. */
export interface WriteLine {
  (details: object, message?: string): void
  (message: string): void
}

/** A log whose lines have fields of their own. */
export interface ChildLog {
  readonly error: WriteLine
  readonly warn: WriteLine
  readonly info: WriteLine
  readonly debug: WriteLine
  /** The same log with more fields in each line. */
  child(fields: object): ChildLog
}

/** A log whose lines have the request's id, and what modules add to it: the id of its trace. */
export function createRequestLog(log: Log, request: HttpRequest, more: object = {}): ChildLog {
  const at =
    (level: keyof Log): WriteLine =>
    (details: object | string, message: string = '') => {
      const fields = { requestId: request.id, ...fieldsOf(request), ...more }
      if (typeof details === 'string') log[level](fields, details)
      else log[level]({ ...fields, ...toFields(details) }, message)
    }
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    child: (fields) => createRequestLog(log, request, { ...more, ...fields }),
  }
}

/** An error has no fields that a copy would take. */
function toFields(details: object): object {
  return details instanceof Error ? { err: details } : details
}
