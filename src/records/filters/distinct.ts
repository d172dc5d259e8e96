/** Reads the fields in which the rows of a list must differ. Source: decisions, Records: queries. */
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { readProgramQuery } from '../model/hidden-names.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import type { RowsView } from './rows-view.js'
import { suggestedFields } from './suggested-names.js'
import { rejectUnnamed } from '../model/skip.js'
import { invalid } from './invalid.js'

const maxFields = 50

/**
 * @param view the client's view; fields that it may not read are refused
 * @throws {HttpError} 400 `VALIDATION`
 * @throws {DeclarationError} for `undefined` in it
 */
export function readDistinct(
  table: Table,
  fieldNames: unknown,
  view: RowsView | undefined,
): readonly Column[] {
  if (view === undefined)
    return readProgramQuery(table, () =>
      readColumns(fieldNames, table.columns, suggestedFields(table, false)),
    )
  const visibleColumns = table.columns.filter(({ field }) => !field.hidden)
  const distinct = readColumns(fieldNames, visibleColumns, suggestedFields(table, true))
  for (const column of distinct) view.demandColumn(table, column)
  return distinct
}

function readColumns(
  fieldNames: unknown,
  visibleColumns: readonly Column[],
  suggested: readonly string[],
): readonly Column[] {
  if (!Array.isArray(fieldNames) || fieldNames.length === 0)
    throw invalid('distinct', 'type', 'must be a list of fields')
  if (fieldNames.length > maxFields)
    throw invalid('distinct', 'maxItems', `has more than ${maxFields} fields`)
  rejectUnnamed('distinct', fieldNames)
  const columns = fieldNames.map((name: unknown, index) => {
    const path = `distinct.${index}`
    const column = visibleColumns.find(({ property }) => property === name)
    if (column === undefined) {
      const suggestion = didYouMean(clip(String(name)), suggested)
      throw invalid(path, 'unknown', `is not a field. ${suggestion}`.trim())
    }
    if (column.compares !== 'list' && column.compares !== 'json') return column
    const kind = column.field.list ? 'list' : column.field.kind
    throw invalid(path, 'type', `cannot tell rows apart: it is of kind "${kind}"`)
  })
  return [...new Set(columns)]
}
