/** The options of a transaction. */
export type Isolation = 'read committed' | 'repeatable read' | 'serializable'

export interface BeginOptions {
  /** The isolation level, if the engine has several. Default: the database's own. */
  isolation?: Isolation | undefined
  /** Milliseconds to wait for other transactions, if the engine allows one writer at a time. Default the engine's. */
  patience?: number | undefined
}
