/** Removes the names of hidden fields from errors, because clients must not learn them. */
import { admitsImmediately, type Caller } from './caller.js'
import { policyOf } from './record-policy.js'
import { HttpError } from '../../errors/http-error.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'

/** A reference of a record's rows to another record, by one column. */
interface Reference {
  readonly table: Table
  readonly column: Column
}

/** Returns whether errors may name a record: only if the caller may see its rows and its key. */
export function canNameReferrers(caller: Caller): (reference: Reference) => boolean {
  return ({ table, column }) => {
    if (caller.trusted) return true
    const { read, columns, hasRows } = policyOf(table)
    const rules = [read, columns.get(column)].filter((rule) => rule !== undefined)
    return !hasRows && rules.every((rule) => admitsImmediately(rule, caller))
  }
}

const somewhere = 'A value does not fit the record.'
const another = 'Another record is in its way.'

/**
 * @param caller fields that its rules conceal are removed too; undefined: only hidden fields
 * @returns the error without the violations of these fields, with a general message if none is left; other errors
 * unchanged
 */
export function concealErrors(error: unknown, table: Table, caller?: Caller): unknown {
  if (!(error instanceof HttpError) || error.errors === undefined) return error
  const visibleErrors = error.errors.filter(
    ({ path }) => !isHidden(table, path) && (caller === undefined || mayRead(table, path, caller)),
  )
  if (visibleErrors.length === error.errors.length) return error
  const sentence = visibleErrors.map(({ message }) => message).join('; ')
  const general = error.status === 409 ? another : somewhere
  return new HttpError(error.status, sentence === '' ? general : sentence, {
    code: error.code,
    ...(error.reason !== undefined && { reason: error.reason }),
    ...(visibleErrors.length > 0 && { errors: visibleErrors }),
    cause: error,
  })
}

function mayRead(table: Table, path: string, caller: Caller): boolean {
  const column = table.byProperty.get(path.split('.', 1)[0] ?? '')
  const rule = column && policyOf(table).columns.get(column)
  return rule === undefined || admitsImmediately(rule, caller)
}

function isHidden({ byProperty }: Table, path: string): boolean {
  const [property = ''] = path.split('.', 1)
  return byProperty.get(property)?.field.hidden === true
}
