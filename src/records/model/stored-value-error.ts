/**
 * The error of a stored value that is not of its column's form, because SQL by hand or another program has written it.
 * Source: decisions, Records: queries.
 */
import { acceptOtherCopies } from '../../errors/shared-class.js'
import type { Column } from '../../engines/contract/table.js'

export interface StoredValuePlace {
  /** The name of the record's class. */
  readonly record: string
  /** The field's name. */
  readonly field: string
  /** The key of the row; `undefined` if the value is not read with its row. */
  readonly key: unknown
}

/** Clients get a masked 500. The log and programs get the place. */
export class StoredValueError extends Error {
  readonly code = 'STORED_VALUE'
  readonly record: string
  readonly field: string
  readonly key: unknown

  /** @param cause the error of the conversion, which contains the value. Leave it out for hidden fields */
  constructor({ record, field, key }: StoredValuePlace, cause?: unknown) {
    const hasKey = typeof key === 'string' || typeof key === 'number'
    const row = hasKey ? `${record} ${key}` : record
    super(
      `${row}: the stored value of ${field} is not in the form of its column${causeOf(cause)}. Correct it by SQL.`,
      cause === undefined ? {} : { cause },
    )
    this.name = 'StoredValueError'
    this.record = record
    this.field = field
    this.key = key
  }
}

acceptOtherCopies(StoredValueError, 'StoredValueError')

function causeOf(cause: unknown): string {
  return cause instanceof Error ? ` (${cause.message})` : ''
}

/** @param error the error of the column's decoder */
export function storedValueError(
  record: string,
  { property, field }: Column,
  key: unknown,
  error: unknown,
): StoredValueError {
  return new StoredValueError({ record, field: property, key }, field.hidden ? undefined : error)
}
