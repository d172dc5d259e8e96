/** Which records hold the keys of others: what follows from a row's end, and what keeps it from ending. */
import type { Relation, Table } from './table.js'

/**
 * The relations by which rows hold keys of others.
 *
 * @param target only of this table's keys. Default: of all
 */
export function referencesTo(tables: Iterable<Table>, target?: Table): Relation[] {
  const relations = [...tables].flatMap((table) => [...table.relations.values()])
  return relations.filter(
    (relation) =>
      relation.kind === 'belongsTo' && (target === undefined || relation.target === target),
  )
}
