/**
 * Creates the application's log: pino on standard output, unless the application has its own. Its lines are JSON, or text for
 * people. Access-log lines in JSON are buffered and written together, after 100 ms at most and before the process ends. Source: decisions, Operations.
 */
import {
  toErrorFields,
  toLoggableError,
  withLoggableErrors,
} from '../serving/redaction/loggable-error.js'
import { toLogText, type LogText } from '../core/log-text.js'
import { createPaint, showsColours } from '../core/paint.js'
import type { Redactor } from '../serving/redaction/redactor.js'
import { type DeferredLog, fieldsOf, silentLog, type Log, type LogLevel } from '../core/log.js'

/** Maximum milliseconds that a line waits. */
const maxDelay = 100
/** When the buffer has this many characters, it is written without waiting. */
const maxBufferedLength = 64 * 1024

class LogBuffer implements DeferredLog {
  readonly #write: (text: string) => void
  #text = ''
  #timer: NodeJS.Timeout | undefined

  /** @param write writes synchronously, even to a slow reader */
  constructor(write: (text: string) => void) {
    this.#write = write
  }

  add(line: string): void {
    this.#text += line
    if (this.#text.length >= maxBufferedLength) this.flush()
    else this.#timer ??= this.#wait()
  }

  readonly flush = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    buffers.delete(this)
    const text = this.#text
    this.#text = ''
    if (text !== '') this.#write(text)
  }

  #wait(): NodeJS.Timeout {
    if (!isWatching) process.on('exit', flushAll)
    isWatching = true
    buffers.add(this)
    // The timer does not keep the process alive.
    return setTimeout(this.flush, maxDelay).unref()
  }
}

/** The buffers with lines that are not written yet. */
const buffers = new Set<LogBuffer>()
let isWatching = false

/** Runs on `process.exit`, after uncaught errors, and when the event loop is empty. */
function flushAll(): void {
  for (const lines of buffers) lines.flush()
}

interface LogOptions {
  readonly level: string
  readonly format: 'json' | 'text'
  /** Removes secrets from errors. */
  readonly redactor: Redactor
}

/**
 * @param logger true or undefined: pino; false: none
 * @returns a log that never throws. Errors of the logger are logged, because requests must be answered and the process
 * must continue
 */
export async function createLog(
  logger: Log | boolean | undefined,
  { level, format, redactor }: LogOptions,
): Promise<Log> {
  const toCopy = (error: unknown): unknown => toLoggableError(error, redactor)
  if (logger !== undefined && typeof logger !== 'boolean') return withoutThrowing(logger, toCopy)
  if (logger === false || level === 'silent') return silentLog
  const { default: pino } = await import('pino')
  const out = pino.destination({ sync: true })
  const isText = format === 'text'
  // Pino's own form of errors has all properties, and fails if an error is frozen.
  const serializers = { err: (error: unknown) => error }
  const log = pino({ level, base: undefined, serializers }, isText ? textStream(out) : out)
  const write = (text: string): void => {
    out.write(text)
  }
  const deferred = isText ? undefined : new LogBuffer(write)
  return withoutThrowing(log, (error) => toErrorFields(toCopy(error)), deferred)
}

/** Receives lines of JSON, and writes text. */
function textStream(out: { write(text: string): unknown }): { write(line: string): void } {
  const paint = createPaint(showsColours(process.stdout))
  return {
    write: (line) => {
      out.write(`${toLogText(JSON.parse(line) as LogText, { paint })}\n`)
    },
  }
}

function withoutThrowing(
  log: Log,
  toLogged: (error: unknown) => unknown,
  deferred?: DeferredLog,
): Log {
  const at = (level: LogLevel) => (details: object, message: string) => {
    // Lines from before an error are written before it.
    if (level === 'error') deferred?.flush()
    let shown: object = {}
    try {
      if (log.isLevelEnabled?.(level) === false) return
      const fields = fieldsOf(undefined)
      shown = withLoggableErrors(details, toLogged)
      log[level](fields === undefined ? shown : Object.assign({}, fields, shown), message)
    } catch {
      warnWithout(log, level, message, shown)
    }
  }
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    isLevelEnabled: (level) => log.isLevelEnabled?.(level) ?? true,
    deferred,
  }
}

/** Logs the details that every logger can write, such as the request's id and the route. */
function warnWithout(log: Log, level: LogLevel, message: string, details: object): void {
  const texts = Object.entries(details).filter(([, value]) => typeof value === 'string')
  try {
    log[level](Object.fromEntries(texts), `${message}; the details could not be logged`)
  } catch {
    // There is no other place to report it.
  }
}
