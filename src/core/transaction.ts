/** An open transaction, for state outside the database that must commit or roll back together with it; its errors. */

export interface OpenTransaction {
  /**
   * Calls the function right after the commit, before anything else runs; never after a rollback. The function must not
   * throw.
   */
  onCommit(work: () => void): void
  /** Runs work after the commit. The end of the transaction waits for the work. Rejections are logged. */
  committed(work: () => Promise<void>): void
  /**
   * Calls the function after a rollback of the transaction, or of the savepoint in which it was registered. The
   * function must not throw.
   */
  onRollback(work: () => void): void
}

/** A mistake of the program in its use of a transaction. The database is available. */
export class TransactionError extends Error {
  readonly code: 'TRANSACTION_FAILED' | 'TRANSACTION_OVER'

  constructor(code: TransactionError['code'], message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'TransactionError'
    this.code = code
  }
}

/** The isolation levels of transactions, from the lowest to the highest. Source: PostgreSQL, Transaction Isolation. */
export const isolations = ['read committed', 'repeatable read', 'serializable'] as const

export type Isolation = (typeof isolations)[number]

/** Returns the higher of two levels. Undefined is lower than all. */
export function higherIsolation(
  one: Isolation | undefined,
  other: Isolation | undefined,
): Isolation | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return isolations.indexOf(one) < isolations.indexOf(other) ? other : one
}
