/** Conditions on rows as plain data, with values in slots. Filters, access rules, cursors and shards are conditions. */
import type { Column, KeyedTable, TableSearch } from '../engines/contract/table.js'
import type { Operator } from './operators.js'
import type { SqlRelation, SqlTable } from './table.js'

/** A path within a JSON value, and the type to compare with. A value of another type counts as missing. */
export interface JsonPath {
  readonly type: JsonType
  /** The slots of the path. Some engines need two paths for keys that look like list indexes. */
  readonly slots: readonly number[]
}

/** `any` only tests whether a value exists. */
export type JsonType =
  | 'number'
  /** A decimal or a whole number of 64 bits, which JSON has as text. */
  | 'exact'
  | 'text'
  | 'boolean'
  /** A list, for a test of its items. */
  | 'list'
  | 'any'

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

type LeafCondition<R extends SqlRelation> = Exclude<
  Condition<R>,
  { readonly kind: 'all' | 'any' | 'not' }
>

/** The columns of the condition's table that a leaf reads. */
export function columnsOfLeaf(leaf: LeafCondition<SqlRelation>): readonly Column[] {
  if (leaf.kind === 'related') return []
  return leaf.kind === 'search' ? leaf.search.columns : [leaf.column]
}

/** The conditions of a tree that contain no other conditions on the same table. */
export function leavesOf<R extends SqlRelation>(condition: Condition<R>): LeafCondition<R>[] {
  if ('parts' in condition) return condition.parts.flatMap((part) => leavesOf(part))
  return condition.kind === 'not' ? leavesOf(condition.part) : [condition]
}

/** The first search that all rows must match. */
export function searchIn(condition: Condition): SearchCondition | undefined {
  if (condition.kind === 'search') return condition
  if (condition.kind !== 'all') return undefined
  for (const part of condition.parts) {
    const found = searchIn(part)
    if (found !== undefined) return found
  }
  return undefined
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
