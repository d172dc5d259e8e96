/** Reads the fields in which the rows of a list must differ. Source: decisions, Second storey: records, Aggregates. */
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { readOwn } from '../model/hidden-names.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import type { RowsView } from './rows-view.js'
import { suggestedFields } from './suggested-names.js'
import { refuseUnnamed } from '../model/skip.js'
import { invalid } from './invalid.js'

const mostFields = 50

/**
 * @param view the client's view; fields that it may not read are refused
 * @throws {HttpError} 400 `VALIDATION`
 * @throws {DeclarationError} for `undefined` in it
 */
export function readDistinct(
  table: Table,
  given: unknown,
  view: RowsView | undefined,
): readonly Column[] {
  if (view === undefined)
    return readOwn(table, () => readColumns(given, table.columns, suggestedFields(table, false)))
  const shown = table.columns.filter(({ field }) => !field.hidden)
  const distinct = readColumns(given, shown, suggestedFields(table, true))
  for (const column of distinct) view.demandColumn(table, column)
  return distinct
}

function readColumns(
  given: unknown,
  shown: readonly Column[],
  suggested: readonly string[],
): readonly Column[] {
  if (!Array.isArray(given) || given.length === 0)
    throw invalid('distinct', 'type', 'must be a list of fields')
  if (given.length > mostFields)
    throw invalid('distinct', 'maxItems', `has more than ${mostFields} fields`)
  refuseUnnamed('distinct', given)
  const columns = given.map((name: unknown, index) => {
    const path = `distinct.${index}`
    const column = shown.find(({ property }) => property === name)
    if (column === undefined) {
      const meant = didYouMean(clip(String(name)), suggested)
      throw invalid(path, 'unknown', `is not a field. ${meant}`.trim())
    }
    if (column.compares !== 'list' && column.compares !== 'json') return column
    const kind = column.field.list ? 'list' : column.field.kind
    throw invalid(path, 'type', `cannot tell rows apart: it is of kind "${kind}"`)
  })
  return [...new Set(columns)]
}
