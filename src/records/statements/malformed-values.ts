/**
 * Finds the row behind an error about a stored value, where the error does not name it: in sums, groups and JSON. It runs
 * only after the error, so that reading values costs nothing more.
 */
import { after, attempt, type MaybePromise } from '../../core/maybe-promise.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { frameworkQuery } from '../../engines/contract/statement.js'
import type { Column } from '../../engines/contract/table.js'
import { storedValueError } from '../model/stored-value-error.js'
import type { Table } from '../model/table.js'
import type { Source } from './source.js'
import { probing } from './transaction-runners.js'

/** @returns a `StoredValueError` for a value that is not in the form of its column; the same error for others */
export function findStoredValue(
  table: Table,
  source: Source,
  error: unknown,
): MaybePromise<unknown> {
  if (!isMalformed(error)) return error
  let found: MaybePromise<unknown> = undefined
  for (const column of table.columns)
    found = after(found, (earlier): unknown => earlier ?? errorOf(table, source, column, error))
  return after(found, (one) => one ?? error)
}

function isMalformed(error: unknown): boolean {
  return error instanceof EngineError ? error.kind === 'malformed' : error instanceof RangeError
}

function errorOf(
  table: Table,
  source: Source,
  column: Column,
  error: unknown,
): MaybePromise<unknown> {
  const { context } = source
  const query = context.dialect.values.malformedRow(table.name, table.key, column)
  if (query === undefined) return undefined
  return attempt<unknown>(
    () =>
      after(probing(source.runner()).run(frameworkQuery(query), [], 'first'), (row) =>
        row === undefined
          ? undefined
          : storedValueError(
              table.type.name,
              column,
              context.codecOf(table).key.decode(row[0]),
              error,
            ),
      ),
    () => undefined,
  )
}
