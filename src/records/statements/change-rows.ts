/**
 * Changes all rows that match a filter: all of them or none. Source: decisions, Second storey: records, Changes.
 */
import { attempt } from '../../core/later.js'
import { FilterReader } from '../filters/filter.js'
import type { Condition } from '../filters/condition.js'
import { readOwnFilter } from '../filters/own-filter.js'
import { invalid } from '../filters/invalid.js'
import { refuseUndefined } from '../filters/list-options.js'
import { isolationOf } from '../model/isolation.js'
import type { Table } from '../model/table.js'
import { hasWriteHooks } from '../model/write-hooks.js'
import { hasAddition } from './additions.js'
import { arrange, type Plan } from '../../sql/write.js'
import { changeHeld, holdRows } from './change-row.js'
import type { Selection } from './plans.js'
import { boundToShard, inShardOf } from './shard.js'
import type { Source } from './source.js'
import { toClientError, type Doing } from './write-faults.js'
import { markingWrite } from './write-check.js'
import { valuesToUpdate } from './write-values.js'

/** The number of rows that are in memory at once. */
const pageSize = 500

/** @returns how many rows were changed */
export function updateWhere(
  table: Table,
  source: Source,
  where: unknown,
  changes: object,
): Promise<number> {
  refuseUndefined({ where })
  void markingWrite(table, () => {
    refuseOwn(table, changes)
  })
  return source.atomically(
    async (here) => {
      const checks = here.context.checksOf(table)
      const isPlain =
        !hasWriteHooks(table) && checks.row === undefined && !hasAddition(table, changes)
      if (
        isPlain &&
        (!(await here.feed.follows(table, here.runner())) || (await areMany(table, here, where)))
      )
        return updateAtOnce(table, here, where, await checks.update(changes))
      return eachRow(table, here, where, async (key, row) => {
        await changeHeld(table, here, { key, row, change: { values: changes } })
      })
    },
    isolationOf([table]),
  )
}

/** More rows than these are not told one by one, but as a table in which something has changed. */
const mostTold = 1000

async function areMany(table: Table, here: Source, where: unknown): Promise<boolean> {
  if (here.feed.hasListeners) return false
  const { selection, values } = selectAll(table, here, where)
  const plan = here.context.plansOf(table).countUpTo(selection)
  const [count] =
    (await here.runner().run(plan.statement, arrange(plan, [...values, mostTold + 1]), 'first')) ??
    []
  return Number(count) > mostTold
}

function refuseOwn({ key, version, shard }: Table, changes: object): void {
  for (const column of [key, version, shard]) {
    if (column === undefined || !(column.property in changes)) continue
    throw invalid(column.property, 'readOnly', 'cannot be changed')
  }
}

async function updateAtOnce(
  table: Table,
  here: Source,
  where: unknown,
  record: Record<string, unknown>,
): Promise<number> {
  const { context } = here
  const written = valuesToUpdate(table, context.codecOf(table), record, context)
  if (written.columns.length === 0) return 0
  const { selection, values } = selectAll(table, here, where)
  const plan = context.plansOf(table).updateAll(selection, written.columns)
  return changeAll(table, here, { plan, values: [...values, ...written.values], doing: 'write' })
}

/** Changes or deletes them with one statement. */
export async function changeAll(
  table: Table,
  here: Source,
  { plan, values, doing }: { plan: Plan; values: readonly unknown[]; doing: Doing },
): Promise<number> {
  const count = await attempt<number>(
    () => here.runner().run(plan.statement, arrange(plan, values), 'count'),
    (error) => {
      throw toClientError(error, table, doing)
    },
  )
  // A listener may begin to follow before the commit; this event tells it that there are more changes than can be
  // named.
  if (count > 0) here.changed({ event: 'lost', table, ids: [] })
  return count
}

/** Visits each row once, in the order of the keys, even if it is deleted or changed. */
export async function eachRow(
  table: Table,
  here: Source,
  where: unknown,
  work: (key: unknown, row: readonly unknown[]) => Promise<void>,
): Promise<number> {
  const codec = here.context.codecOf(table)
  let count = 0
  let last: unknown = undefined
  for (;;) {
    const rows = await holdRows(table, here, selectAll(table, here, where, last), pageSize)
    for (const row of rows) {
      const record = codec.readRow(row) as Record<string, unknown>
      last = codec.key.encode(record[table.key.property])
      await (table.shard === undefined
        ? work(last, row)
        : inShardOf(table, record, () => work(last, row)))
    }
    count += rows.length
    if (rows.length < pageSize) return count
  }
}

/** @param last the key after which the rows begin, in the driver's form */
export function selectAll(
  table: Table,
  { context }: Source,
  where: unknown,
  last?: unknown,
): { selection: Selection; values: unknown[] } {
  const reader = new FilterReader(context, false)
  const given = readOwnFilter(reader, table, where)
  const asked = boundToShard(table, context, reader, given) ?? given
  const { values } = reader
  const isFirst = last === undefined
  const parts: Condition[] = [asked]
  if (!isFirst) {
    const slot = values.push(last) - 1
    parts.push({ kind: 'compare', column: table.key, operator: 'gt', slot })
  }
  const condition: Condition = { kind: 'all', parts }
  const key = `${reader.key}${isFirst ? '' : '>'}`
  return { selection: { condition, key, count: values.length, withDeleted: false }, values }
}
