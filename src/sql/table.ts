/**
 * What statements are about, as plain data: the table of a record and its relations, as far as statements need them
 * (`records/model` creates both), values that are derived through relations, and conditions on rows.
 */

import type { Column, KeyedTable, TableSearch, TableIndex } from '../engines/contract/table.js'
import type { Operator } from './operators.js'
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

type IndexedTable = Pick<SqlTable, 'key' | 'shard' | 'indexes'>

/** Whether the database finds and sorts rows by the column with a key or an index. A shard before the column is always known. */
export function isIndexed(column: Column, { key, shard, indexes }: IndexedTable): boolean {
  if (column === key || column === shard) return true
  return indexes.some(
    (index) => coversAllRows(index) && columnsAfterShard(index, shard)[0] === column,
  )
}

/** Whether the column alone identifies a row. In a sharded table: within its shard. */
export function isUnique(column: Column, table: IndexedTable): boolean {
  if (column === table.key) return true
  return uniqueIndexesOf(table).some((index) => {
    const [first, ...others] = columnsAfterShard(index, table.shard)
    return first === column && others.length === 0
  })
}

/** Unique indexes that apply to all rows, or to all rows that are not soft-deleted. */
export function uniqueIndexesOf({ indexes }: Pick<SqlTable, 'indexes'>): readonly TableIndex[] {
  return indexes.filter(({ unique, form }) => unique && form?.where === undefined)
}

function columnsAfterShard({ columns }: TableIndex, shard: Column | undefined): readonly Column[] {
  return shard !== undefined && columns[0] === shard && columns.length > 1
    ? columns.slice(1)
    : columns
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

/** Conditions on rows as plain data, with values in slots. Filters, access rules, cursors and shards are conditions. */

/** A path within a JSON value, and the type to compare with. A value of another type counts as missing. */
export interface JsonPath {
  readonly type: JsonType
  /** The slots of the path. Some engines need two paths for keys that look like list indexes. */
  readonly slots: readonly number[]
}

/** `any` only tests whether a value exists. */
export type JsonType = 'number' | 'text' | 'boolean' | 'any'

export interface SearchCondition {
  readonly kind: 'search'
  readonly table: KeyedTable
  readonly search: TableSearch
  readonly slot: number
}

/** @typeParam R the type of relations */
export type Condition<R extends SqlRelation = SqlRelation> =
  | {
      readonly kind: 'compare'
      readonly column: Column
      readonly operator: Operator
      readonly slot: number
      /** The path within the column's JSON. */
      readonly path?: JsonPath | undefined
      /** Compares the UUID as text: with a pattern, or with a text that is not a UUID. */
      readonly isText?: boolean
    }
  | {
      readonly kind: 'list'
      readonly column: Column
      readonly slots: readonly number[]
      /** The only slot contains the complete list. */
      readonly isPacked: boolean
      readonly orNull: boolean
    }
  | {
      readonly kind: 'null'
      readonly column: Column
      readonly isNull: boolean
      readonly path?: JsonPath | undefined
    }
  | SearchCondition
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Condition<R>[] }
  | { readonly kind: 'not'; readonly part: Condition<R> }
  | { readonly kind: 'related'; readonly relation: R; readonly part: Condition<R> }

type Leaf<R extends SqlRelation> = Exclude<Condition<R>, { readonly kind: 'all' | 'any' | 'not' }>

/** The columns of the condition's table that a leaf reads. */
export function columnsOfLeaf(leaf: Leaf<SqlRelation>): readonly Column[] {
  if (leaf.kind === 'related') return []
  return leaf.kind === 'search' ? leaf.search.columns : [leaf.column]
}

/** The conditions of a tree that contain no other conditions on the same table. */
export function leavesOf<R extends SqlRelation>(condition: Condition<R>): Leaf<R>[] {
  if ('parts' in condition) return condition.parts.flatMap((part) => leavesOf(part))
  return condition.kind === 'not' ? leavesOf(condition.part) : [condition]
}

/** Matches no row. */
export const noRows: Condition<never> = Object.freeze({ kind: 'any', parts: [] })

/** Joins conditions with `and`. @returns `undefined` if there are none */
export function allOf<R extends SqlRelation>(
  first: Condition<R> | undefined,
  second: Condition<R> | undefined,
): Condition<R> | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return { kind: 'all', parts: [first, second] }
}

export function equals(column: Column, slot: number): Condition<never> {
  return { kind: 'compare', column, operator: 'eq', slot }
}

/** Matches the row with a key. The next slot contains its shard, if the table has shards. */
export function keyIs(
  { key, shard }: Pick<SqlTable, 'key' | 'shard'>,
  slot: number,
): Condition<never> {
  const keyCondition = equals(key, slot)
  return shard === undefined
    ? keyCondition
    : { kind: 'all', parts: [keyCondition, equals(shard, slot + 1)] }
}

/** Matches the values of a list, which is in one slot. */
export function isOneOf(column: Column, slot: number): Condition<never> {
  return { kind: 'list', column, slots: [slot], isPacked: true, orNull: false }
}
