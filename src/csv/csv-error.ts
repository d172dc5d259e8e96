/** The errors of a CSV file. They are the client's: the file came from it. Source: decisions, Admin page and CSV. */
import type { FieldError } from '../errors/field-error.js'
import { HttpError } from '../errors/http-error.js'

/** An error in a row of a CSV file. */
export interface RowError extends FieldError {
  /** The row in the file. The names of the columns are row 1. Empty lines count, line breaks in quotes do not. */
  readonly row: number
  /** The column. Empty if the error concerns the complete row. */
  readonly path: string
  /** The name of a column that was perhaps meant, for `unknownColumn`. */
  readonly suggestion?: string
}

/** What is wrong with a row that cannot be read. */
export type SyntaxErrorCode =
  'encoding' | 'rowTooLong' | 'textAfterQuote' | 'tooManyCells' | 'tooManyRows' | 'unclosedQuote'

const malformed = 'MALFORMED_CSV'

/** The error of a file that cannot be read. @param message a sentence about the row */
export function malformedCsv(row: number, code: SyntaxErrorCode, message: string): HttpError {
  const error: RowError = { row, path: '', code, message }
  return new HttpError(400, `Row ${row}: ${message}`, { code: malformed, errors: [error] })
}

/** @returns the errors of `malformedCsv`; undefined for any other error */
export function syntaxErrorsOf(error: unknown): readonly RowError[] | undefined {
  if (!(error instanceof HttpError) || error.code !== malformed) return undefined
  return error.errors as readonly RowError[] | undefined
}
