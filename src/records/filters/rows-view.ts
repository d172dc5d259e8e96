/** Limits queries of a repository to what a client may see. The policy of records implements it. */
import type { Column } from '../../engines/contract/table.js'
import type { Condition } from './condition.js'
import type { Derived } from '../../sql/derived.js'
import type { Order } from '../../sql/order.js'
import type { RelatedSelection } from '../../sql/tree.js'
import type { Relation, Table } from '../model/table.js'

/**
 * The values of a statement that is being written, and a key that is the same for statements that differ in values
 * only.
 */
export interface Slots {
  readonly values: unknown[]
  key: string
}

/** The view of a client; hidden fields do not exist in it. */
export interface RowsView {
  /** The condition for rows that the client may find, joined with its own; `undefined` for all. */
  bind(table: Table, condition: Condition | undefined, slots: Slots): Condition | undefined
  /**
   * The order with conditions for the related rows that it reads: a row that the client may not see counts as missing.
   *
   * @throws {HttpError} 401 or 403 for fields and relations that the client may not read
   */
  order(table: Table, order: Order, slots: Slots): Order
  /** Refuses a column that the client may not read. */
  demandColumn(table: Table, column: Column): void
  /** The same for a value from other tables. */
  derived(derived: Derived<Relation>, slots: Slots): Derived<Relation>
}

/** What is wanted of a relation. The values of its conditions are in the statement's slots. */
export type RelatedQuery = RelatedSelection<Relation>

/** Related rows to read with a list, for a client. */
export interface RelatedRows {
  /** Rows that may come along behind one relation, with those behind them; `undefined` where there cannot be many. */
  readonly maxRows?: number | undefined
  /** Reads the related rows of the query. Their values follow the values of the rows. */
  read(slots: Slots): readonly RelatedQuery[]
  /** Receives every related row. */
  found(table: Table, record: Record<string, unknown>): void
}
