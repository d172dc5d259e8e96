/** Finds which record's rows prevent a deletion, by the constraint's name or, if there is none, by queries. */
import { type Later, after, attempt } from '../../core/maybe-promise.js'
import { EngineFault } from '../../engines/contract/engine-error.js'
import { referencesTo } from '../model/references.js'
import { probing } from './guarded-runner.js'
import { keyValues } from './shard.js'
import type { Source } from './source.js'
import type { Table } from '../model/table.js'
import { toConstraintName } from '../model/column-names.js'
import type { Referrer } from './write-faults.js'

/**
 * @param key the row's key in the driver's form
 * @returns `undefined` for other faults, and if it cannot be known: another program has named the constraint
 */
export function findReferrer(
  table: Table,
  source: Source,
  error: unknown,
  key: unknown,
): Later<Referrer | undefined> {
  if (!(error instanceof EngineFault) || error.kind !== 'reference') return undefined
  const { constraint } = error
  if (constraint !== undefined) {
    // Any table: the database may also delete other rows along, which are still referred to.
    return listReferrers(source).find(
      ({ table: { name }, column }) => toConstraintName(name, column.name) === constraint,
    )
  }
  return attempt(
    () =>
      listReferrers(source, table).reduce<Later<Referrer | undefined>>(
        (found, referrer) =>
          after(found, (earlier): Later<Referrer | undefined> => {
            return earlier ?? holds(referrer, source, key)
          }),
        undefined,
      ),
    () => undefined,
  )
}

function listReferrers({ context }: Source, target?: Table): Referrer[] {
  return referencesTo(context.tables, target)
    .filter(({ onDelete }) => onDelete === 'restrict')
    .map(({ table, local }) => ({ table, column: local }))
}

function holds(referrer: Referrer, source: Source, key: unknown): Later<Referrer | undefined> {
  const { statement } = source.context.plansOf(referrer.table).refers(referrer.column)
  const { table, column } = referrer
  const values = column === table.shard ? [key] : keyValues(table, source.context, key)
  return after(probing(source.runner()).run(statement, values, 'first'), (row) =>
    row === undefined ? undefined : referrer,
  )
}
