/** What one client sees among the rows that `softDelete` has marked as deleted: the rows that it could see before. */
import { readOrder } from '../filters/order.js'
import type { RowsView } from '../filters/list-options.js'
import type { Table } from '../model/table.js'
import { allOf } from '../../sql/condition.js'
import type { OrderBy } from '../model/record-types.js'

/** The rows that were deleted last come first. */
export function deletionOrder({ deletedAt, key }: Table): OrderBy<object> {
  const property = deletedAt?.property ?? key.property
  return { [property]: 'desc' }
}

/** A view of the deleted rows of a record with `softDelete`, in the order of `deletionOrder`. */
export const deletedRowsView = (view: RowsView): RowsView => ({
  bind: (table, condition, slots) => {
    const { deletedAt } = table
    if (deletedAt === undefined) return view.bind(table, condition, slots)
    const visible = view.bind(table, condition, slots)
    slots.key += '!deleted'
    return allOf(visible, { kind: 'null', column: deletedAt, isNull: false })
  },
  order: (table) => readOrder(table, deletionOrder(table), false),
  checkColumn: (table, column) => {
    view.checkColumn(table, column)
  },
  derived: (derived, slots) => view.derived(derived, slots),
})
