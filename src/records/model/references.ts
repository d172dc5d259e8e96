/** Finds the records that hold keys of others: what a deletion affects, and what prevents it. */
import type { Relation, Table } from './table.js'

/**
 * The relations through which rows hold keys of others.
 *
 * @param target only relations with keys of this table. Default: all
 */
export function referencesTo(tables: Iterable<Table>, target?: Table): Relation[] {
  const relations = [...tables].flatMap((table) => [...table.relations.values()])
  return relations.filter(
    (relation) =>
      relation.kind === 'belongsTo' && (target === undefined || relation.target === target),
  )
}
