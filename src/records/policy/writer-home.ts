/** Where rows are written for a client: on the database, or in an open transaction. */
import { both } from '../../sql/condition.js'
import type { Condition } from '../filters/condition.js'
import { FilterReader } from '../filters/filter.js'
import type { Table } from '../model/table.js'
import type { TreeRecords } from '../statements/tree-records.js'
import { holdRows } from '../statements/change-row.js'
import { demandShard, shardCondition } from '../statements/shard.js'
import type { Source } from '../statements/source.js'
import type { ClientView } from './client-view.js'
import type { Instance } from '../statements/write-tree.js'

export interface WriterHome {
  readonly source: Source
  records(table: Table): TreeRecords
}

/** The most keys that are looked up at once. */
export const mostAtOnce = 5000

/**
 * The undeleted rows of a filter that the caller can see, locked until the transaction ends. The filter comes from the
 * program, so it may use any field.
 */
export async function holdSeen(
  table: Table,
  where: object,
  view: ClientView,
  source: Source,
): Promise<Instance[]> {
  const values: unknown[] = []
  const reader = new FilterReader(source.context, false, values)
  const asked: Condition = reader.read(table, where)
  const seen = view.isBound(table) ? view.rows(table, reader) : undefined
  const condition = both(both(asked, seen), shardCondition(table, source.context, reader))
  demandShard(table, condition)
  const selection = { condition, key: reader.key, count: values.length, withDeleted: false }
  const rows = await holdRows(table, source, { selection, values }, mostAtOnce)
  const { readRow } = source.context.codecOf(table)
  return rows.map((row) => readRow(row) as Instance)
}
