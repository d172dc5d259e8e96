/** Closes all open applications when the process is asked to end, or after an uncaught error. */
import type { Log } from '../core/log.js'
import { routeOfPromise } from '../serving/floating-promises.js'

const signals = ['SIGTERM', 'SIGINT'] as const
const open = new Set<Closable>()

interface Closable {
  close(): Promise<void>
}

export interface ClosableOptions {
  readonly log: Log
  /** Milliseconds after which a failed process ends, even if it is not done. */
  readonly timeout: number
}

const optionsOf = new WeakMap<Closable, ClosableOptions>()

/**
 * On SIGTERM or SIGINT all open applications are closed, then the process ends; a second signal ends it immediately. An
 * uncaught error is logged, and ends the process in the same way with code 1, unless the program itself listens for
 * uncaught errors.
 *
 * @returns a function that removes the application
 */
export function closeWithProcess(application: Closable, options: ClosableOptions): () => void {
  if (open.size === 0) {
    for (const signal of signals) process.on(signal, closeOnSignal)
    // Node also reports unhandled rejections here, unless the program listens for those.
    process.on('uncaughtException', closeOnFailure)
  }
  open.add(application)
  optionsOf.set(application, options)
  return () => {
    open.delete(application)
    if (open.size > 0) return
    for (const signal of signals) process.off(signal, closeOnSignal)
    process.off('uncaughtException', closeOnFailure)
  }
}

let closing = false

function closeOnSignal(signal: NodeJS.Signals): void {
  if (closing) process.exit(signal === 'SIGINT' ? 130 : 143)
  closing = true
  closeAll(0)
}

function closeOnFailure(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
  if (process.listenerCount('uncaughtException') > 1) return
  const options = [...open].map((application) => optionsOf.get(application))
  const route = routeOfPromise()
  const where = route === undefined ? '' : ` in ${route}`
  const message =
    origin === 'unhandledRejection'
      ? `a promise rejection was not handled${where}; the process ends`
      : `an error was not caught${where}; the process ends`
  options[0]?.log.error({ err: error, origin, route }, message)
  if (failed) return
  failed = true
  closing = true
  const timeout = Math.max(0, ...options.map((each) => each?.timeout ?? 0))
  setTimeout(() => process.exit(1), timeout).unref()
  closeAll(1)
}

let failed = false

function closeAll(code: 0 | 1): void {
  Promise.allSettled([...open].map((application) => application.close())).then(
    (results) => {
      process.exit(results.every(({ status }) => status === 'fulfilled') ? code : 1)
    },
    () => process.exit(1),
  )
}
