/** Reads which rows a repository is asked for: a filter, what a view shows of them, and the place where a page begins. */
import { behindCursor } from '../filters/cursor.js'
import { FilterReader } from '../filters/filter.js'
import type { Condition } from '../filters/condition.js'
import type { ListOptions } from '../filters/list-options.js'
import type { Order } from '../filters/order.js'
import type { Table } from '../model/table.js'
import type { Selection } from './plans.js'
import type { RecordsContext } from './source.js'

export interface SelectedRows {
  readonly selection: Selection
  readonly values: unknown[]
}

const all: Selection = { condition: undefined, key: '', count: 0, withDeleted: false }
const deletedToo: Selection = { ...all, withDeleted: true }

/** @param order of the list, where it may begin behind a cursor */
export function selectRows<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  { where, withDeleted = false, view, after }: ListOptions<T>,
  order?: Order,
): SelectedRows {
  if (where === undefined && view === undefined && after === undefined) {
    return { selection: withDeleted ? deletedToo : all, values: [] }
  }
  const values: unknown[] = []
  const reader = new FilterReader(context, view !== undefined, values)
  const asked = where === undefined ? undefined : reader.read(table, where)
  const shown = view === undefined ? asked : view.bind(table, asked, reader)
  const behind =
    after === undefined || order === undefined
      ? undefined
      : behindCursor(after, order, context.codecOf(table), reader)
  const parts = [shown, behind].filter((part): part is Condition => part !== undefined)
  const condition: Condition | undefined = parts.length > 1 ? { kind: 'all', parts } : parts[0]
  return { selection: { condition, key: reader.key, count: values.length, withDeleted }, values }
}
