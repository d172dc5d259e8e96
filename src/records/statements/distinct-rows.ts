/** Statements for lists with `distinct`: of rows that are equal in some fields, the first one in the order. */
import { Kept } from '../../core/kept.js'
import { FilterWriter } from '../filters/filter-sql.js'
import { writeOrder, type Order } from '../filters/order.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { Slot, type Plan, type RawBuilder } from './builder.js'
import { namesOf, selectionKey } from './plan-parts.js'
import type { Selection } from './plans.js'
import type { ListParts } from './related-json.js'
import { selected } from './selected.js'
import type { RecordsContext } from './source.js'

type Fragment = RawBuilder<unknown>

export interface DistinctList extends ListParts {
  readonly table: Table
  readonly selection: Selection
  readonly columns: readonly Column[]
  readonly order: Order
}

/**
 * Values: the selection's, then limit, then offset.
 *
 * ```sql
 * select … from (select t.*, row_number() over (partition by color order by id) as filigree_place,
 *   row_number() over (order by id) as filigree_order from product as t where …) as t
 * where filigree_place = 1 order by filigree_order limit 10
 * ```
 */
export function planDistinct(
  { table, selection, columns, order, hasLimit = false, hasOffset = false, related }: DistinctList,
  context: RecordsContext,
): Plan {
  const form = `${namesOf(columns)}o${order.key}${hasLimit ? 'L' : ''}${hasOffset ? 'O' : ''}${related?.key ?? ''}`
  return plansOf(context, table).get(`${selectionKey(selection)}|${form}`, () => {
    const { builder, dialect } = context
    const { sql } = builder
    const writer = new FilterWriter(sql, dialect)
    const ranking = order.rank && writer.rank(order.rank, 't')
    const by = writeOrder(order.terms, writer, 't', ranking)
    const alike = sql.join(columns.map((column) => writer.ref('t', column)))
    const places = sql`row_number() over (partition by ${alike} order by ${by}) as filigree_place, row_number() over (order by ${by}) as filigree_order`
    const rows = sql`select t.*, ${places} from ${ranking?.from ?? sql``}${writeRows(table, selection, writer)}`
    const answered = sql.join(
      table.columns.map((column) => selected(column, { sql, dialect }, 't')),
    )
    const limit = hasLimit
      ? writer.limit(selection.count)
      : hasOffset
        ? sql.raw(dialect.limit.none)
        : sql``
    const offset = hasOffset
      ? sql` offset ${new Slot(selection.count + (hasLimit ? 1 : 0))}`
      : sql``
    const read = related === undefined ? answered : sql`t.*`
    const listed = sql`select ${read} from (${rows}) as t where filigree_place = 1 order by filigree_order${limit}${offset}`
    return builder.compile(related?.around(listed, answered) ?? listed, { table: table.name })
  })
}

/** Counts such rows. Values: the selection's. */
export function planDistinctCount(
  table: Table,
  selection: Selection,
  columns: readonly Column[],
  context: RecordsContext,
): Plan {
  const key = `${selectionKey(selection)}|${namesOf(columns)}c`
  return plansOf(context, table).get(key, () => {
    const { builder, dialect } = context
    const { sql } = builder
    const writer = new FilterWriter(sql, dialect)
    const alike = sql.join(columns.map((column) => writer.ref('t', column)))
    const rows = sql`select distinct ${alike} from ${writeRows(table, selection, writer)}`
    return builder.compile(sql`select count(*) from (${rows}) as t`, { table: table.name })
  })
}

function writeRows(table: Table, selection: Selection, writer: FilterWriter): Fragment {
  const { sql } = writer
  const { condition, withDeleted } = selection
  const tests = [
    ...(condition === undefined ? [] : [writer.write(condition, 't')]),
    ...(table.deletedAt === undefined || withDeleted
      ? []
      : [sql`${writer.ref('t', table.deletedAt)} is null`]),
  ]
  const where = tests.length === 0 ? sql`` : sql` where ${sql.join(tests, sql` and `)}`
  return sql`${sql.table(table.name)} as t${where}`
}

const plans = new WeakMap<RecordsContext, WeakMap<Table, Kept<Plan>>>()

function plansOf(context: RecordsContext, table: Table): Kept<Plan> {
  let ofContext = plans.get(context)
  if (ofContext === undefined) plans.set(context, (ofContext = new WeakMap()))
  let kept = ofContext.get(table)
  if (kept === undefined) ofContext.set(table, (kept = new Kept(100)))
  return kept
}
