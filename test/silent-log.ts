/** A log of a test's own that keeps nothing. */
import type { Log } from '../src/index.js'

export const silentLog: Log = Object.freeze({
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
})
