/** Removes the names of hidden fields from errors, because they are unknown to clients. */
import { HttpError } from '../../errors/http-error.js'
import type { Table } from '../model/table.js'

const somewhere = 'A value does not fit the record.'

/**
 * @returns the error without the faults of hidden fields, with a general message if none is left; other errors
 * unchanged
 */
export function concealFaults(error: unknown, table: Table): unknown {
  if (!(error instanceof HttpError) || error.errors === undefined) return error
  const shown = error.errors.filter(({ path }) => !isHidden(table, path))
  if (shown.length === error.errors.length) return error
  const sentence = shown.map(({ message }) => message).join('; ')
  return new HttpError(error.status, sentence === '' ? somewhere : sentence, {
    code: error.code,
    ...(shown.length > 0 && { errors: shown }),
    cause: error,
  })
}

function isHidden({ byProperty }: Table, path: string): boolean {
  const [property = ''] = path.split('.', 1)
  return byProperty.get(property)?.field.hidden === true
}
