/** The names that a filter may use for a record, and the error for unknown ones. */
import { didYouMean } from '../../errors/did-you-mean.js'
import type { HttpError } from '../../errors/http-error.js'
import { clip } from '../../fields/faults.js'
import type { Relation, Table } from '../model/table.js'
import { invalid } from './invalid.js'

/** `@Field({ hidden: true })` on a relation: it does not exist for clients. */
export function isHidden({ table, name }: Relation): boolean {
  return table.shape.byName.get(name)?.hidden === true
}

/** @param isClient whether to leave hidden fields and relations out */
export function unknownName(
  table: Table,
  name: string,
  path: string,
  isClient: boolean,
): HttpError {
  const fields = table.columns.filter(({ field }) => !(isClient && field.hidden))
  const relations = [...table.relations.values()].filter((one) => !(isClient && isHidden(one)))
  const known = [
    ...fields.map(({ property }) => property),
    ...relations.map((relation) => relation.name),
    ...(table.search === undefined ? [] : ['search']),
  ]
  return invalid(path, 'unknown', `is unknown. ${didYouMean(clip(name), known)}`.trim())
}
