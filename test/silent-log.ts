/** A log for tests that drops every line. */
import type { Log } from '../src/index.js'

export const silentLog: Log = Object.freeze({
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
})
