/** An open transaction, for what is kept beside its database: it ends with the transaction, or is taken back with it. */

export interface OpenTransaction {
  /** Calls the function right after the commit, before anything else runs; never after a rollback. It must not throw. */
  onCommit(work: () => void): void
  /** Runs work after the commit; whoever ends the transaction waits for it. What it rejects with is logged. */
  committed(work: () => Promise<void>): void
  /**
   * Calls the function once what was done since is rolled back: the transaction, or the part of it in which this was
   * asked for. It must not throw.
   */
  onRollback(work: () => void): void
}
