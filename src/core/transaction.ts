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

/** The isolation levels of transactions. Source: PostgreSQL, Transaction Isolation. */

/** From the lowest to the highest. */
export const isolations = ['read committed', 'repeatable read', 'serializable'] as const

export type Isolation = (typeof isolations)[number]

/** The higher one of two levels; undefined is lower than all. */
export function higherIsolation(
  one: Isolation | undefined,
  other: Isolation | undefined,
): Isolation | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return isolations.indexOf(one) < isolations.indexOf(other) ? other : one
}
