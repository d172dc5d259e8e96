/** Reads which related rows are counted with a list: `['reviews']` gives each row `reviewsCount`. */
import { clip } from '../../core/text.js'
import { relationCountName } from '../../fields/shape.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Derived } from '../../sql/derived.js'
import type { Relation, Table } from '../model/table.js'
import { invalid } from './invalid.js'
import { isHidden, suggestedRelations } from './suggested-names.js'

const maxCounts = 20

export interface RelationCount {
  readonly relation: Relation
  /** The property of a row that has the number, `reviewsCount`. */
  readonly name: string
}

/**
 * The relations to many rows whose number has a name that is free.
 *
 * @param isClient whether hidden relations are left out
 */
export function countsOf(table: Table, isClient: boolean): RelationCount[] {
  const { shape } = table
  return [...table.relations.values()].flatMap((relation) => {
    const field = shape.byName.get(relation.name)
    const name = field && relationCountName(shape, field)
    return name === undefined || (isClient && isHidden(relation)) ? [] : [{ relation, name }]
  })
}

/** @throws {HttpError} 400 `VALIDATION` */
export function readCounts(
  table: Table,
  names: readonly unknown[],
  isClient: boolean,
): RelationCount[] {
  if (!Array.isArray(names)) throw invalid('counts', 'type', 'must be a list of relations')
  const all = countsOf(table, isClient)
  const counts = new Set<RelationCount>()
  for (const name of names as readonly unknown[]) {
    const count = all.find(({ relation }) => relation.name === name)
    if (count === undefined) throw invalidCount(table, String(name), isClient)
    counts.add(count)
  }
  if (counts.size > maxCounts)
    throw invalid('counts', 'maxItems', `names more than ${maxCounts} relations`)
  return [...counts]
}

/** The number of related rows of each row, before it is bound to what a client may see. */
export function countOf(relation: Relation): Derived<Relation> {
  return { path: [{ relation: relation, where: undefined }], column: undefined }
}

function invalidCount(table: Table, name: string, isClient: boolean): Error {
  const relation = table.relations.get(name)
  if (relation === undefined || (isClient && isHidden(relation))) {
    const suggestion = didYouMean(clip(name), suggestedRelations(table, isClient))
    const text = `names "${clip(name)}", which is not a relation of ${table.type.name}. ${suggestion}`
    return invalid('counts', 'unknown', text.trim())
  }
  const why =
    relation.kind === 'belongsTo'
      ? 'leads to one row'
      : `cannot be counted: ${table.type.name} has its own "${name}Count"`
  return invalid('counts', 'type', `names "${clip(name)}", which ${why}`)
}
