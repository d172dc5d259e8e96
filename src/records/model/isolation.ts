/**
 * Decides the isolation of transactions that run the application's code. Statements without it need none: each is a
 * transaction of its own, or locks the rows that it reads. Source: decisions, Second storey: rulings, Transactions.
 */
import { higherIsolation, type Isolation } from '../../core/transaction.js'
import type { Table } from './table.js'

export const defaultIsolation: Isolation = 'serializable'

/** @returns the level of a transaction that runs the hooks of these records; undefined if they have none that run in it */
export function isolationOf(tables: Iterable<Table>): Isolation | undefined {
  let isolation: Isolation | undefined
  for (const { hooks, options } of tables) {
    if (hooks.beforeWrite.length + hooks.afterWrite.length + hooks.beforeDelete.length === 0)
      continue
    isolation = higherIsolation(isolation, options.isolation ?? defaultIsolation)
  }
  return isolation
}
