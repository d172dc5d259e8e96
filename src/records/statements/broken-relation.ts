/**
 * Finds out which of a row's keys refers to a missing row, if the database does not tell: SQLite names no constraint.
 */
import { type Later, after, attempt } from '../../core/maybe-promise.js'
import { EngineFault } from '../../engines/contract/engine-error.js'
import { probing } from './guarded-runner.js'
import { inShardOf, keyValues } from './shard.js'
import type { Source } from './source.js'
import type { Relation, Table } from '../model/table.js'

/** @returns `undefined` for other faults, and if the database names the constraint itself */
export function findBrokenRelation(
  table: Table,
  source: Source,
  error: unknown,
  record: Readonly<Record<string, unknown>>,
): Later<Relation | undefined> {
  if (!(error instanceof EngineFault) || error.kind !== 'reference') return undefined
  if (error.constraint !== undefined) return undefined
  let found = undefined as Later<Relation | undefined>
  for (const relation of table.relations.values()) {
    if (relation.kind !== 'belongsTo') continue
    const value = record[relation.local.property]
    if (value === undefined || value === null) continue
    const probe = (earlier: Relation | undefined): Later<Relation | undefined> =>
      earlier ?? inShardOf(table, record, () => missing(relation, value, source))
    found = after<Relation | undefined, Relation | undefined>(found, probe)
  }
  return attempt(
    () => found,
    () => undefined,
  )
}

function missing(relation: Relation, value: unknown, source: Source): Later<Relation | undefined> {
  const { context } = source
  const key = context.codecOf(relation.target).key.encode(value)
  const { statement } = context.plansOf(relation.target).find
  return after(
    probing(source.runner()).run(statement, keyValues(relation.target, context, key), 'first'),
    (row) => (row === undefined ? relation : undefined),
  )
}
