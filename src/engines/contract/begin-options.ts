/** The options of a transaction. */
import type { ClientWriting } from './client-writing.js'
import type { Isolation } from '../../core/isolation.js'

export interface BeginOptions {
  /** The isolation level, if the engine has several. Default: the database's own. */
  isolation?: Isolation | undefined
  /** Milliseconds to wait for other transactions, if the engine allows one writer at a time. Default the engine's. */
  patience?: number | undefined
  /** Once its time is over, the running statement is cancelled, if the engine can do that, and all is rolled back. */
  writing?: ClientWriting | undefined
}
