/**
 * Reads which related records a client wants; of each relation it gets the rows that it may see. Source: decisions,
 * Second storey: rights, and records, `crud`.
 */
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { isHidden, suggestedRelations } from '../filters/known-names.js'
import { invalid } from '../filters/invalid.js'
import type { Relation, Table } from '../model/table.js'
import type { RelatedQuestion, Slots } from '../filters/rows-view.js'
import type { ClientView } from './client-view.js'

/** Each relation, with the relations to load behind it. */
export type RelationTree = ReadonlyMap<Relation, RelationTree>

const deepest = 4
/** The most relations in one question. */
const mostRelations = 20

/**
 * @param paths `['products.tags', 'category']`
 * @throws {HttpError} 400 for a path that does not exist for clients
 */
export function readRelationTree(table: Table, paths: readonly string[]): RelationTree {
  const tree = new Map<Relation, Map<Relation, never>>()
  let count = 0
  for (const path of paths) {
    const names = path.split('.')
    if (names.length > deepest) throw invalid('with', 'depth', `is deeper than ${deepest} levels`)
    let current = table
    let node = tree as Map<Relation, RelationTree>
    for (const name of names) {
      const relation = readRelation(current, name)
      let next = node.get(relation) as Map<Relation, RelationTree> | undefined
      if (next === undefined) {
        if (++count > mostRelations)
          throw invalid('with', 'maxItems', `names more than ${mostRelations} relations`)
        node.set(relation, (next = new Map()))
      }
      node = next
      current = relation.target
    }
  }
  return tree
}

function readRelation(table: Table, name: string): Relation {
  const relation = table.relations.get(name)
  if (relation !== undefined && !isHidden(relation)) return relation
  const meant = didYouMean(clip(name), suggestedRelations(table, true))
  const text = `names "${clip(name)}", which is not a relation of ${table.type.name}. ${meant}`
  throw invalid('with', 'unknown', text.trim())
}

/**
 * The related rows that a client wants, for the statement of its own rows.
 *
 * @throws {HttpError} 401 or 403 for a relation that the client may not follow
 */
export function readWanted(
  tree: RelationTree,
  view: ClientView,
  slots: Slots,
): readonly RelatedQuestion[] {
  return [...tree].map(([relation, below]) => {
    view.demandRelation(relation)
    slots.key += ';'
    const where = view.rows(relation.target, slots)
    return { tie: relation, where, below: readWanted(below, view, slots) }
  })
}
