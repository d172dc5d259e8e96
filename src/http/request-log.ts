/** `request.log`: the application's log, whose lines name the request. */
import { fieldsOf, silentLog, type Log, type LogLevel } from '../core/log.js'
import type { HttpRequest } from './request.js'

/** Writes a line with fields and a message. Either may be omitted. */
export interface WriteLine {
  (details: object, message?: string): void
  (message: string): void
}

/** A log whose lines have additional fields. */
export interface ChildLog {
  readonly error: WriteLine
  readonly warn: WriteLine
  readonly info: WriteLine
  readonly debug: WriteLine
  /** The same log with more fields in each line. */
  child(fields: object): ChildLog
}

/** A log whose lines have the request's id and fields that modules add, such as the id of its trace. */
export class RequestLog implements ChildLog {
  readonly #log: Log
  readonly #request: HttpRequest
  readonly #more: object | undefined

  /** @param log undefined: lines are discarded */
  constructor(log: Log | undefined, request: HttpRequest, more?: object) {
    this.#log = log ?? silentLog
    this.#request = request
    this.#more = more
  }

  error(details: object | string, message?: string): void {
    this.#write('error', details, message)
  }

  warn(details: object | string, message?: string): void {
    this.#write('warn', details, message)
  }

  info(details: object | string, message?: string): void {
    this.#write('info', details, message)
  }

  debug(details: object | string, message?: string): void {
    this.#write('debug', details, message)
  }

  child(fields: object): ChildLog {
    return new RequestLog(this.#log, this.#request, { ...this.#more, ...fields })
  }

  #write(level: LogLevel, details: object | string, message = ''): void {
    const fields = { requestId: this.#request.id, ...fieldsOf(this.#request), ...this.#more }
    if (typeof details === 'string') this.#log[level](fields, details)
    else this.#log[level](Object.assign(fields, toFields(details)), message)
  }
}

/** The fields of an error are not enumerable, so a copy would not include them. */
function toFields(details: object): object {
  return details instanceof Error ? { err: details } : details
}
