/** Refuses what would cost the database more than a client may ask of it. */
import { HttpError } from '../../errors/http-error.js'
import type { Table } from '../model/table.js'
import { costOf, ownNaming, type Question } from './query-cost.js'
import type { TableSizes } from './table-sizes.js'

/** What a client's question may cost where nothing is said: the same for `crud` and GraphQL. */
export const defaultCost = 5_000

/** A list as `crud` reads it from a query. */
export interface ListedQuestion extends Question {
  readonly where: object
  readonly orderBy: readonly object[]
  readonly limit: number
}

/** @throws {HttpError} 400 `TOO_COSTLY` */
export function checkCost(
  table: Table,
  question: ListedQuestion,
  sizes: TableSizes,
  most: number,
): void {
  const { where, orderBy } = question
  if (Object.keys(where).length > 0 || orderBy.length > 0) sizes.refresh()
  const { points } = costOf(ownNaming(table), question, (name) => sizes.rowsOf(name))
  if (points + question.limit > most) throw tooCostly(most)
}

/** The answer to a question that costs more than it may. */
export function tooCostly(most: number): HttpError {
  const message =
    `This query costs more than ${most}: a row is 1, filters, orders and offsets count by the rows that the database ` +
    'looks at for them. Ask for fewer rows, or by fields that have an index.'
  const errors = [{ path: '', code: 'TOO_COSTLY', message }]
  return new HttpError(400, message, { code: 'TOO_COSTLY', errors })
}
