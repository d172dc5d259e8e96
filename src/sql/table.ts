/**
 * The table of a record and its relations, as far as statements need them (`records/model` creates both), and values that
 * are derived through relations.
 */
import type { Column, KeyedTable, TableIndex } from '../engines/contract/table.js'
import type { Condition } from './condition.js'
import type { Order } from './order.js'

export interface SqlTable extends KeyedTable {
  /** In the order of the fields. */
  readonly columns: readonly Column[]
  readonly indexes: readonly TableIndex[]
  /** `deleted_at`, if the table soft-deletes. */
  readonly deletedAt: Column | undefined
  /** `version`, if the table counts writes. */
  readonly version: Column | undefined
  /** By property name. */
  readonly relations: ReadonlyMap<string, SqlRelation>
}

/** A relation between two tables. Related rows have the same value in `local` and `foreign`. */
export interface SqlRelation {
  readonly name: string
  readonly kind: 'belongsTo' | 'hasMany' | 'manyToMany'
  readonly table: SqlTable
  /** The related table. */
  readonly target: SqlTable
  /** Column of this table: the foreign key for `belongsTo`, otherwise the key. */
  readonly local: Column
  /** Column of the target: its key, or for `hasMany` its foreign key. */
  readonly foreign: Column
  /** For `manyToMany`: the join table between the two. */
  readonly join: JoinTable | undefined
  /** If both tables are sharded by the same field: the columns of that field. Related rows have the same value in both. */
  readonly shards: { readonly local: Column; readonly foreign: Column } | undefined
}

/** A join table. It contains each pair of keys once. */
export interface JoinTable {
  readonly name: string
  /** The column with the key of the relation's `table`. */
  readonly from: string
  /** The column with the key of the relation's `target`. */
  readonly to: string
}

/** Whether the index contains every row and can find it by the value of the first column. */
export function coversAllRows({ form }: TableIndex): boolean {
  return form === undefined || (form.where === undefined && !form.like)
}

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
