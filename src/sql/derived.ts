/** Values that are derived through relations and used like columns. */
import type { Column } from '../engines/contract/table.js'
import type { Condition } from './condition.js'
import type { Order } from './order.js'
import type { SqlRelation } from './table.js'

/**
 * A derived value of a row: a field of a row that it belongs to, or the number of its related rows. It is read by a
 * subquery.
 *
 * ```sql
 * (select "t1"."name" from "org" as "t1" where "t1"."id" = "t0"."org_id")
 * (select count(*) from "review" as "t1" where "t1"."product_id" = "t0"."id")
 * ```
 */
export interface Derived<R extends SqlRelation = SqlRelation> {
  /** The relations that lead to the value, at least one. All but the last of a count are `belongsTo`. */
  readonly path: readonly RelationStep<R>[]
  /** A column of the last relation's target. Undefined: the rows are counted. */
  readonly column: Column | undefined
}

export interface RelationStep<R extends SqlRelation = SqlRelation> {
  readonly relation: R
  /** Only these rows. `undefined`: all. */
  readonly where: Condition | undefined
}

/** A derived value that is used like a column of the table in an order, a condition or a list of columns. */
export interface DerivedColumn<R extends SqlRelation = SqlRelation> extends Column {
  /** The path as text: `org.name`. */
  readonly property: string
  /** An alias that no column of a table has. */
  readonly name: string
  readonly derived: Derived<R>
}

export function isDerived(column: Column): column is DerivedColumn {
  return 'derived' in column
}

/** @param index among the terms of the order, for the name */
export function derivedColumn<R extends SqlRelation>(
  column: Column,
  path: readonly R[],
  property: string,
  index: number,
): DerivedColumn<R> {
  const steps = path.map((relation) => ({ relation, where: undefined }))
  return {
    ...column,
    property,
    name: `filigree_by${index}`,
    // A row on the path may be missing.
    nullable: true,
    derived: { path: steps, column },
  }
}

/** The derived columns of an order. */
export function derivedColumnsOf({ terms }: Order): DerivedColumn[] {
  return terms.map(({ column }) => column).filter(isDerived)
}
