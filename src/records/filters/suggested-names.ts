/** The names that a filter may use for a record, and the error for unknown ones. */
import { didYouMean } from '../../errors/did-you-mean.js'
import type { HttpError } from '../../errors/http-error.js'
import { clip } from '../../core/text.js'
import type { Relation, Table } from '../model/table.js'
import { policyOf } from '../rights/record-policy.js'
import { invalid } from './invalid.js'

/** `@Field({ hidden: true })` on a relation: it does not exist for clients. */
export function isHidden({ table, name }: Relation): boolean {
  return table.shape.byName.get(name)?.hidden === true
}

/**
 * The fields that a suggestion may name. Clients are suggested no hidden and no secured fields, because the caller may
 * not be allowed to read them.
 */
export function suggestedFields(table: Table, isClient: boolean): string[] {
  const { columns } = policyOf(table)
  return table.columns
    .filter((column) => !isClient || !(column.field.hidden || columns.has(column)))
    .map(({ property }) => property)
}

/** The relations that a suggestion may name, likewise. */
export function suggestedRelations(table: Table, isClient: boolean): string[] {
  const { relations } = policyOf(table)
  return [...table.relations.values()]
    .filter((relation) => !isClient || !(isHidden(relation) || relations.has(relation)))
    .map(({ name }) => name)
}

/** @param isClient whether hidden and secured fields and relations are not suggested */
export function unknownName(
  table: Table,
  name: string,
  path: string,
  isClient: boolean,
): HttpError {
  const knownNames = [
    ...suggestedFields(table, isClient),
    ...suggestedRelations(table, isClient),
    ...(table.search === undefined ? [] : ['search']),
  ]
  return invalid(path, 'unknown', `is unknown. ${didYouMean(clip(name), knownNames)}`.trim())
}
