/** Which lists of a table may go together with others, and how many rows they look at, by what their plan says. */
import { boundOfKeys, isByKey } from '../filters/by-key.js'
import type { Condition } from '../filters/condition.js'
import type { Order } from '../filters/order.js'
import type { Table } from '../model/table.js'
import type { StatementFacts } from './builder.js'
import type { Selection } from './plans.js'

/**
 * A list by a key, and a page of a whole table in the order of its key: each looks at no more rows than it answers, by an
 * index that is surely there. Of all others nobody knows how many rows they look at: they are shared by those alone who ask the
 * same.
 *
 * @param isFirst a number of rows, none passed over
 */
export function factsOfList(
  table: Table,
  { condition, count }: Selection,
  order: Order,
  isFirst: boolean,
): Pick<StatementFacts, 'together' | 'bound'> {
  if (isByKey(condition, table)) return { together: 'calls', bound: boundOfKeys(condition, table) }
  const [first, ...more] = order.terms
  const isPage = isFirst && first?.column === table.key && more.length === 0 && !order.rank
  const isWhole = table.deletedAt === undefined && isBehind(condition, table)
  if (!isPage || !isWhole) return { together: 'same' }
  return { together: 'page', bound: (values) => Number(values[count]) }
}

/** How many rows a count up to a number looks at at most: as many as it counts where all rows count. */
export function boundOfCount(
  table: Table,
  { condition, count }: Selection,
): Pick<StatementFacts, 'bound'> {
  const isWhole = table.deletedAt === undefined && isBehind(condition, table)
  return isWhole ? { bound: (values) => Number(values[count]) } : {}
}

/** All rows, or those behind or before a key, as a cursor says. */
function isBehind(condition: Condition | undefined, table: Table): boolean {
  if (condition === undefined) return true
  if (condition.kind === 'all') return condition.parts.every((part) => isBehind(part, table))
  const { key } = table
  return (
    condition.kind === 'compare' &&
    condition.at === undefined &&
    condition.codec.column === key &&
    (condition.operator === 'gt' || condition.operator === 'lt')
  )
}
