/** The options of a transaction. */
import type { ClientReading } from './client-reading.js'

export type Isolation = 'read committed' | 'repeatable read' | 'serializable'

export interface BeginOptions {
  /** The isolation level, if the engine has several. Default: the database's own. */
  isolation?: Isolation | undefined
  /** Milliseconds to wait for other transactions, if the engine allows one writer at a time. Default the engine's. */
  patience?: number | undefined
  /** When it is over, the running statement is cancelled and everything is rolled back, if the engine can do that. */
  reading?: ClientReading | undefined
}
