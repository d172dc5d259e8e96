/** What a client wants written: a row, with rows to be made with it and ties, as a door has read it. */
import type { AccessRule } from '../../auth/access.js'
import { invalid } from '../filters/invalid.js'
import type { Id } from '../filters/list-options.js'
import { idsName } from '../model/english.js'
import type { Relation, Table } from '../model/table.js'
import { policyOf } from './record-policy.js'

export type Instance = Record<string, unknown>

export interface WriteTree {
  readonly table: Table
  /** Where it stands in what the client sent: `input.products.0`; empty where it is all of it. */
  readonly path: string
  /** By property, unchecked. Keys that come with the nesting are put in. */
  readonly values: Instance
  /** Those of `values` that the nesting gave, and no client. */
  readonly given: Set<string>
  /** Rows to be made before it, whose keys it holds. */
  readonly owners: readonly { readonly relation: Relation; readonly tree: WriteTree }[]
  /** Rows to be made after it, which hold its key. */
  readonly children: readonly {
    readonly relation: Relation
    readonly trees: readonly WriteTree[]
    readonly path: string
  }[]
  /** Many-to-many. */
  readonly ties: readonly Tie[]
  /** Makes of a fault of this row what the client is told. */
  readonly told: (error: unknown) => unknown
}

export interface Tie {
  readonly relation: Relation
  readonly ids: readonly Id[]
  /** Makes of a fault of the relation what the client is told. */
  readonly told: (error: unknown) => unknown
}

/** A row alone. */
export function plainTree(table: Table, values: Instance): WriteTree {
  const told = (error: unknown): unknown => error
  return { table, path: '', values, given: new Set(), owners: [], children: [], ties: [], told }
}

/** A row with the keys that it is tied to, under `tagIds` of the relation `tags`. */
export function tiedTree(table: Table, given: Instance): WriteTree {
  const tree = plainTree(table, given)
  const ties: Tie[] = []
  const names = new Set<string>()
  for (const [name, relation] of tieNames(table)) {
    const ids = given[name]
    if (ids === undefined) continue
    ties.push({ relation, ids: ids as Id[], told: (error) => error })
    names.add(name)
  }
  if (ties.length === 0) return tree
  const values = Object.fromEntries(Object.entries(given).filter(([name]) => !names.has(name)))
  return { ...tree, values, ties }
}

/** What inputs call the keys of many-to-many relations. A field of that name is itself. */
export function tieNames({ relations, byProperty, shape }: Table): Map<string, Relation> {
  const names = new Map<string, Relation>()
  for (const relation of relations.values()) {
    const name = idsName(relation.name)
    const isHidden = shape.byName.get(relation.name)?.hidden === true
    if (relation.kind === 'manyToMany' && !isHidden && !byProperty.has(name))
      names.set(name, relation)
  }
  return names
}

/** Puts in a key that comes with the nesting, and which the client therefore may not name. */
export function giveKey(tree: WriteTree, property: string, value: unknown, path: string): void {
  if (tree.values[property] !== undefined)
    throw invalid(`${path}.${property}`, 'readOnly', 'is given by the record that it is nested in')
  tree.values[property] = value
  tree.given.add(property)
}

/** A row that is nested in another names no other in that one's place. */
export function refuseOwner({ owners }: WriteTree, foreign: string): void {
  for (const { relation, tree } of owners) {
    if (relation.local.property !== foreign) continue
    throw invalid(tree.path, 'readOnly', 'is the record that it is nested in')
  }
}

/** True where more than the row itself is written. */
export function hasMore({ owners, children, ties }: WriteTree): boolean {
  return owners.length + children.length + ties.length > 0
}

/** What must let in who writes the fields and ties of a row itself; undefined where nothing is said. */
export function rulesOf({ table, values, ties }: WriteTree): readonly AccessRule[] | undefined {
  const { columns, relations } = policyOf(table)
  if (columns.size + relations.size === 0) return undefined
  const rules: AccessRule[] = []
  for (const { relation } of ties) rules.push(...(relations.get(relation) ?? []))
  for (const [{ property }, rule] of columns) if (values[property] !== undefined) rules.push(rule)
  return rules
}
