/** The application's log: pino on standard output, unless it brings its own. */
import { LateLines } from './late-lines.js'
import { fieldsOf, silentLog, type Log, type LogLevel } from '../core/log.js'

/**
 * @param logger true or undefined: pino; false: none
 * @returns a log that never throws, whatever the logger does: its errors are logged, because a request waits for its
 * answer and a process must go on
 */
export async function createLog(logger: Log | boolean | undefined, level: string): Promise<Log> {
  if (logger !== undefined && typeof logger !== 'boolean') return unfailing(logger)
  if (logger === false || level === 'silent') return silentLog
  const { default: pino } = await import('pino')
  const out = pino.destination({ sync: true })
  const log = pino({ level, base: undefined }, out) as unknown as Log
  const deferred = new LateLines((text) => {
    out.write(text)
  })
  // Pino reads the logged object's properties; getters of a thrown object may throw again.
  return unfailing(log, deferred)
}

function unfailing(log: Log, deferred?: LateLines): Log {
  const at = (level: LogLevel) => (details: object, message: string) => {
    // What came before a fault stands before it.
    if (level === 'error') deferred?.flush()
    try {
      const fields = fieldsOf(undefined)
      log[level](fields === undefined ? details : Object.assign({}, fields, details), message)
    } catch {
      warnWithout(log, level, message)
    }
  }
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    isLevelEnabled: (level) => log.isLevelEnabled?.(level) ?? true,
    deferred: deferred,
  }
}

function warnWithout(log: Log, level: LogLevel, message: string): void {
  try {
    log[level]({}, `${message}; the details could not be logged`)
  } catch {
    // There is no other place to report it.
  }
}
