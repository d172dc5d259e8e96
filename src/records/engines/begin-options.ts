/** How a transaction begins. */
export type Isolation = 'read committed' | 'repeatable read' | 'serializable'

export interface BeginOptions {
  /** How much of others' work is seen meanwhile, where the engine has a choice. Default: the database's own. */
  isolation?: Isolation | undefined
  /** Milliseconds to wait for other transactions, where the engine lets one write at a time. Default the engine's. */
  patience?: number | undefined
}
