/** The application's log: pino on standard output, unless it brings its own. */
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
  const log: Log = pino({ level, base: undefined })
  // Pino reads the logged object's properties; getters of a thrown object may throw again.
  return unfailing(log)
}

function unfailing(log: Log): Log {
  const at = (level: LogLevel) => (details: object, message: string) => {
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
  }
}

function warnWithout(log: Log, level: LogLevel, message: string): void {
  try {
    log[level]({}, `${message}; the details could not be logged`)
  } catch {
    // There is no other place to report it.
  }
}
