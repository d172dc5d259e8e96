/** Finds the name of a unique index whose columns a database names instead: SQLite. */
import { EngineFault } from '../../engines/contract/engine-error.js'
import { ownQuestion } from '../../engines/contract/statement.js'
import { after, attempt, type Later } from '../../core/maybe-promise.js'
import type { Table } from '../model/table.js'
import { probing } from './guarded-runner.js'
import type { Source } from './source.js'

/** @returns the fault with the name, if the record declares constraints; otherwise, and if there is none, the fault itself */
export function nameConstraint(table: Table, source: Source, error: unknown): Later<unknown> {
  if (table.constraints.size === 0 || !(error instanceof EngineFault)) return error
  const { uniqueIndexes } = source.context.dialect
  const { kind, columns, constraint } = error
  if (uniqueIndexes === undefined || kind !== 'unique' || constraint !== undefined) return error
  if (columns === undefined) return error
  const question = ownQuestion(uniqueIndexes(table.name), { isFresh: true })
  const named = (rows: readonly (readonly unknown[])[]): unknown => {
    const found = rows.find(([, names]) => names === columns.join())
    if (found === undefined) return error
    const { message, cause } = error
    return new EngineFault(kind, message, cause, { columns, constraint: String(found[0]) })
  }
  return attempt<unknown>(
    () => after(probing(source.runner()).run(question, [], 'rows'), named),
    () => error,
  )
}
