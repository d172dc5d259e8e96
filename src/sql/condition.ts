/** Which rows are meant: a plain tree, whose values are in slots. Filters, rights, cursors and shards all are such. */
import type { Column, KeyedTable, TableSearch } from '../engines/contract/table.js'
import type { Operator } from './operators.js'
import type { SqlTable, SqlRelation } from './table.js'

/** A place within a JSON value: its path, and the type to compare with. A value of another type counts as missing. */
export interface JsonPath {
  readonly type: JsonType
  /** The slots of the path: an engine may need more than one for keys that look like list indexes. */
  readonly slots: readonly number[]
}

/** `any` only asks whether a value exists. */
export type JsonType = 'number' | 'text' | 'boolean' | 'any'

export interface SearchCondition {
  readonly kind: 'search'
  readonly table: KeyedTable
  readonly search: TableSearch
  readonly slot: number
}

/** @typeParam R the relations, as they are known where conditions are read */
export type Condition<R extends SqlRelation = SqlRelation> =
  | {
      readonly kind: 'compare'
      readonly column: Column
      readonly operator: Operator
      readonly slot: number
      /** The place within the column's JSON. */
      readonly path?: JsonPath | undefined
      /** The text of a UUID is compared: with a pattern, or with what is none. */
      readonly isText?: boolean
    }
  | {
      readonly kind: 'list'
      readonly column: Column
      readonly slots: readonly number[]
      /** The one value stands for a list. */
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

/** The columns of its own table that a leaf reads. */
export function columnsOfLeaf(leaf: Leaf<SqlRelation>): readonly Column[] {
  if (leaf.kind === 'related') return []
  return leaf.kind === 'search' ? leaf.search.columns : [leaf.column]
}

/** The leaves of a tree: conditions on its own table that contain no other conditions. */
export function leavesOf<R extends SqlRelation>(condition: Condition<R>): Leaf<R>[] {
  if ('parts' in condition) return condition.parts.flatMap((part) => leavesOf(part))
  return condition.kind === 'not' ? leavesOf(condition.part) : [condition]
}

/** No row. */
export const noRows: Condition<never> = Object.freeze({ kind: 'any', parts: [] })

/** Joins conditions with "and"; `undefined` if there are none. */
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

/** The row of a key: its value is in a slot, that of the shard, where there is one, in the next. */
export function keyIs(
  { key, shard }: Pick<SqlTable, 'key' | 'shard'>,
  slot: number,
): Condition<never> {
  const keyCondition = equals(key, slot)
  return shard === undefined
    ? keyCondition
    : { kind: 'all', parts: [keyCondition, equals(shard, slot + 1)] }
}

/** One of the values that a slot holds as one list. */
export function isOneOf(column: Column, slot: number): Condition<never> {
  return { kind: 'list', column, slots: [slot], isPacked: true, orNull: false }
}
