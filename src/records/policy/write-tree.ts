/** What somebody wants written: a row, with rows nested in it and ties, as a door has read it. */
import { invalid } from '../filters/invalid.js'
import type { Id } from '../filters/list-options.js'
import { idsName } from '../model/english.js'
import type { Relation, Table } from '../model/table.js'
import { textOf } from './key-forms.js'

export type Instance = Record<string, unknown>

export interface WriteTree {
  readonly table: Table
  /** Where it stands in what the client sent: `input.products.0`; empty where it is all of it. */
  readonly path: string
  /** By property, unchecked. Keys that come with the nesting are put in. */
  readonly values: Instance
  /** Those of `values` that the nesting gave, and no client. */
  readonly given: Set<string>
  /** What is done with the rows whose keys it holds. */
  readonly ones: readonly ToOne[]
  /** What is done with the rows that hold its key, or are tied to it. */
  readonly manys: readonly ToMany[]
  /** Many-to-many: all that shall be tied. */
  readonly ties: readonly Tie[]
  /** Where a row stands that is nested without saying what is done with it: with a new row only. */
  readonly bare: string | undefined
  /** Makes of a fault of this row what the client is told. */
  readonly told: (error: unknown) => unknown
}

/** `category: { connect: 7 }`: one operation. */
export type ToOne = { readonly relation: Relation; readonly path: string } & (
  | { readonly does: 'create' | 'update'; readonly tree: WriteTree }
  | { readonly does: 'connect'; readonly id: Id }
  | { readonly does: 'disconnect' | 'delete' }
)

/** `products: { create: [...], update: [{ id, … }], connect: [ids], disconnect: [ids], delete: [ids] }` */
export interface ToMany {
  readonly relation: Relation
  readonly path: string
  readonly create: readonly WriteTree[]
  readonly update: readonly KeyedTree[]
  readonly connect: readonly Id[]
  readonly disconnect: readonly Id[]
  readonly delete: readonly Id[]
}

/** What changes of a row. */
export interface KeyedTree {
  readonly id: Id
  readonly tree: WriteTree
}

export interface Tie {
  readonly relation: Relation
  readonly ids: readonly Id[]
  /** Makes of a fault of the relation what the client is told. */
  readonly told: (error: unknown) => unknown
}

const knownTies = new WeakMap<Table, ReadonlyMap<string, Relation>>()

/** What inputs call the keys of many-to-many relations. A field of that name is itself. */
export function tieNames(table: Table): ReadonlyMap<string, Relation> {
  const known = knownTies.get(table)
  if (known !== undefined) return known
  const { relations, byProperty, shape } = table
  const names = new Map<string, Relation>()
  knownTies.set(table, names)
  for (const relation of relations.values()) {
    const name = idsName(relation.name)
    const isHidden = shape.byName.get(relation.name)?.hidden === true
    if (relation.kind === 'manyToMany' && !isHidden && !byProperty.has(name))
      names.set(name, relation)
  }
  return names
}

/**
 * Puts in a key that comes with the nesting, and which nobody may name otherwise.
 *
 * @throws {HttpError} 400 `VALIDATION` for a key of another row
 */
export function giveKey(
  { values, given, path }: WriteTree,
  property: string,
  value: unknown,
): void {
  const named = values[property]
  // A transaction that runs again gives it again.
  if (named !== undefined && !given.has(property) && textOf(named) !== textOf(value))
    throw invalid(pathOf(path, property), 'readOnly', 'is given by the record that it is nested in')
  values[property] = value
  given.add(property)
}

/** A row that is nested in another does nothing with that one. @throws {HttpError} 400 `VALIDATION` */
export function refuseOwner({ ones, path }: WriteTree, foreign: string): void {
  if (ones.some(({ relation }) => relation.local.property === foreign))
    throw invalid(path, 'readOnly', 'is the record that it is nested in')
}

/** Rows that are nested without an operation are made with their parent. @throws {HttpError} 400 `VALIDATION` */
export function refuseBare({ bare }: WriteTree): void {
  if (bare !== undefined)
    throw invalid(
      bare,
      'readOnly',
      'can only be given when its parent is created: write { create: … }',
    )
}

/** True where more than the row itself is written. */
export function hasMore({ ones, manys, ties }: WriteTree): boolean {
  return ones.length + manys.length + ties.length > 0
}

/** Rows and keys that are nested in it, at any depth. */
export function countNested({ ones, manys }: WriteTree): number {
  let count = ones.length
  for (const one of ones) if ('tree' in one) count += countNested(one.tree)
  for (const many of manys) {
    count += many.connect.length + many.disconnect.length + many.delete.length
    for (const tree of many.create) count += 1 + countNested(tree)
    for (const { tree } of many.update) count += 1 + countNested(tree)
  }
  return count
}

export function pathOf(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`
}
