/** The application's log: pino on standard output, unless it brings its own. */
import { silentLog, type Log } from '../http/log.js'

/** @param logger true or nothing: pino; false: none */
export async function createLog(logger: Log | boolean | undefined, level: string): Promise<Log> {
  if (logger !== undefined && typeof logger !== 'boolean') return logger
  if (logger === false || level === 'silent') return silentLog
  const { default: pino } = await import('pino')
  const log: Log = pino({ level, base: undefined })
  return log
}
