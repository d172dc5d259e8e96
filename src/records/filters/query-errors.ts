/**
 * Errors for queries that cannot be read. They suggest only names that the caller may use, and errors about hidden
 * fields are marked, so that no interface reports them to a client.
 */
import { didYouMean } from '../../errors/did-you-mean.js'
import { HttpError } from '../../errors/http-error.js'
import { clip } from '../../core/text.js'
import type { Relation, Table } from '../model/table.js'
import { policyOf } from '../rights/record-policy.js'
import { markHidden } from '../../errors/field-errors.js'

/** A 400 with one violation, named by its path. */
export function invalid(path: string, code: string, text: string): HttpError {
  const at = clip(path)
  return invalidField(at, code, `${at === '' ? 'the filter' : at} ${text}`)
}

/** A 400 with one violation. @param message the complete one */
export function invalidField(path: string, code: string, message: string): HttpError {
  return new HttpError(400, message, { code: 'VALIDATION', errors: [{ path, code, message }] })
}

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

/** The relations that a suggestion may name. As with fields, clients get no hidden or secured ones. */
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

/** Marks the errors of hidden fields in the error of a write. @returns the error */
export function hideErrorsOfValues(table: Table, error: unknown): unknown {
  return markHidden(error, ({ path }) => namesHidden(table, path))
}

/** As `hideErrorsOfValues`, for a query. Its message may name hidden fields too: `Did you mean "passwordHash"?` */
function hideErrorsOfQuery(table: Table, error: unknown): unknown {
  const names = hiddenNames(table)
  return markHidden(error, ({ path, message }) => {
    if (namesHidden(table, path)) return true
    return (message.match(/\w+/g) ?? []).some((word) => names.has(word))
  })
}

/** Reads a query of the program, which may use hidden fields. */
export function readProgramQuery<T>(table: Table, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw hideErrorsOfQuery(table, error)
  }
}

/** Whether a path such as `where.author.passwordHash.eq` leads through a hidden field or relation. */
function namesHidden(table: Table, path: string): boolean {
  let current = table
  for (const name of path.split('.')) {
    if (current.shape.byName.get(name)?.hidden === true) return true
    // Names after a field are within its value.
    if (current.byProperty.has(name)) return false
    current = current.relations.get(name)?.target ?? current
  }
  return false
}

/** The hidden names of the record and of the records that its relations lead to. */
function hiddenNames(table: Table): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { shape } of [table, ...[...table.relations.values()].map(({ target }) => target)])
    for (const { name, hidden } of shape.fields) if (hidden) names.add(name)
  return names
}
