/** Marks errors that name hidden fields, so that no interface reports them to a client. */
import { markHidden } from '../../errors/field-errors.js'
import type { Table } from './table.js'

/** @returns the error of a write, with the errors of hidden fields marked */
export function hideErrorsOfValues(table: Table, error: unknown): unknown {
  return markHidden(error, ({ path }) => namesHidden(table, path))
}

/** The same for a query, whose message may name them too: `Did you mean "passwordHash"?` */
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
