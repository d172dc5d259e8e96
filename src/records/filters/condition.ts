/** A filter that was read: a plain tree, whose values stand in the slots of its reader. */
import type { ColumnCodec } from '../model/codec.js'
import type { Column, Relation, Table, TableSearch } from '../model/table.js'
import type { JsonPlace } from './json-place.js'
import type { Operator } from './operators.js'

export type Condition =
  | {
      readonly kind: 'compare'
      readonly codec: ColumnCodec
      readonly operator: Operator
      readonly slot: number
      /** Within the column's JSON. */
      readonly at?: JsonPlace | undefined
    }
  | {
      readonly kind: 'list'
      readonly codec: ColumnCodec
      readonly slots: readonly number[]
      readonly packed: boolean
      readonly orNull: boolean
    }
  | {
      readonly kind: 'null'
      readonly codec: ColumnCodec
      readonly isNull: boolean
      readonly at?: JsonPlace | undefined
    }
  | {
      readonly kind: 'search'
      readonly table: Table
      readonly search: TableSearch
      readonly slot: number
    }
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  | { readonly kind: 'related'; readonly relation: Relation; readonly part: Condition }

type Leaf = Exclude<Condition, { readonly kind: 'all' | 'any' | 'not' }>

/** The columns of its own table that a condition reads which is made of no others. */
export function columnsOfLeaf(leaf: Leaf): readonly Column[] {
  if (leaf.kind === 'related') return []
  return leaf.kind === 'search' ? leaf.search.columns : [leaf.codec.column]
}

/** The conditions of a tree that are made of no others of its own table. */
export function leavesOf(condition: Condition): Leaf[] {
  if ('parts' in condition) return condition.parts.flatMap(leavesOf)
  return condition.kind === 'not' ? leavesOf(condition.part) : [condition]
}
