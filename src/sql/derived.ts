/**
 * Values of a row that are stored in other tables: a field of a row that it belongs to, or the number of its related rows. A
 * subquery of the row reads each of them.
 *
 * ```sql
 * (select "t1"."name" from "org" as "t1" where "t1"."id" = "t0"."org_id")
 * (select count(*) from "review" as "t1" where "t1"."product_id" = "t0"."id")
 * ```
 */
import type { Column } from '../engines/contract/table.js'
import type { Condition } from './condition.js'
import type { Order } from './order.js'
import type { Tie } from './table.js'

export interface Derived<R extends Tie = Tie> {
  /** The relations that lead to the value, at least one. All but the last of a count are `belongsTo`. */
  readonly path: readonly Step<R>[]
  /** A column of the last relation's target. Undefined: the rows are counted. */
  readonly of: Column | undefined
}

export interface Step<R extends Tie = Tie> {
  readonly tie: R
  /** Only these rows; undefined for all. */
  readonly where: Condition | undefined
}

/** Stands in an order, a condition or a list of columns like a column of the table. */
export interface DerivedColumn<R extends Tie = Tie> extends Column {
  /** The names that lead to it, `org.name`. */
  readonly property: string
  /** An alias in the statement. No column of a table has such a name. */
  readonly name: string
  readonly derived: Derived<R>
}

export function isDerived(column: Column): column is DerivedColumn {
  return 'derived' in column
}

/** @param place among the terms of the order, for the name */
export function derivedColumn<R extends Tie>(
  of: Column,
  path: readonly R[],
  property: string,
  place: number,
): DerivedColumn<R> {
  const steps = path.map((tie) => ({ tie, where: undefined }))
  return {
    ...of,
    property,
    name: `filigree_by${place}`,
    // The row that it belongs to may be missing.
    nullable: true,
    derived: { path: steps, of },
  }
}

/** The terms' columns from other tables, in their order. */
export function derivedColumnsOf({ terms }: Order): DerivedColumn[] {
  return terms.map(({ column }) => column).filter(isDerived)
}
