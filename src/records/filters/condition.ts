/** A parsed filter: a plain tree, whose values are in the reader's slots. */
import type { ColumnCodec } from '../model/codec.js'
import type { Column, TableSearch } from '../../engines/contract/table.js'
import type { Relation, Table } from '../model/table.js'
import type { JsonPlace } from './json-place.js'
import type { Operator } from './operators.js'

export type Condition =
  | {
      readonly kind: 'compare'
      readonly codec: ColumnCodec
      readonly operator: Operator
      readonly slot: number
      /** The place within the column's JSON. */
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

/** The columns of its own table that a leaf reads. */
export function columnsOfLeaf(leaf: Leaf): readonly Column[] {
  if (leaf.kind === 'related') return []
  return leaf.kind === 'search' ? leaf.search.columns : [leaf.codec.column]
}

/** The leaves of a tree: conditions on its own table that contain no other conditions. */
export function leavesOf(condition: Condition): Leaf[] {
  if ('parts' in condition) return condition.parts.flatMap(leavesOf)
  return condition.kind === 'not' ? leavesOf(condition.part) : [condition]
}
