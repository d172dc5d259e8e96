/** Binds what is asked of a repository on behalf of somebody. The policy of records has the one that does. */
import type { Condition } from '../filters/condition.js'
import type { Order } from '../filters/order.js'
import type { Table } from '../model/table.js'

/** The values of a statement in the making, and a key that is the same for statements that differ in values only. */
export interface Slots {
  readonly values: unknown[]
  key: string
}

/** Hidden fields do not exist for whoever asks through one. */
export interface RowsView {
  /** The condition of the rows that may be found, of those that are asked for; `undefined` for all. */
  bind(table: Table, asked: Condition | undefined, slots: Slots): Condition | undefined
  /** Refuses an order by what may not be read. */
  order(table: Table, order: Order): void
}
