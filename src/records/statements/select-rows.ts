/** Selects rows by a filter, a client's view and the position where a page begins, and counts them. */
import type { Table, Condition } from '../model/table.js'
import type { PreparedFilter } from './plans.js'
import { type ListOptions, type Slots, checkRowCountOptions } from '../filters/list-options.js'
import type { RecordsContext, Source } from './source.js'
import { hasKey } from '../../engines/contract/table.js'
import { rankedOrder, readOffsetCursor, searchLimitOf } from '../filters/search.js'
import { afterCursor } from '../filters/cursors.js'
import { allOf } from '../../sql/condition.js'
import { readingOf } from '../../sql/few-matches.js'
import type { Reading } from '../../sql/tree.js'
import { readNumber } from './read-records.js'
import { FilterReader, readProgramFilter } from '../filters/filter.js'
import type { Order } from '../../sql/order.js'
import { boundToShard } from './shard.js'

/** The number of rows at each end of a table that are counted for an estimate. */
const sampleSize = 500

type CountedRows<T> = Pick<ListOptions<T>, 'where' | 'withDeleted' | 'view'>

export class RowCounts<T extends object> {
  readonly #table: Table<T>
  readonly #source: Source

  constructor(table: Table<T>, source: Source) {
    this.#table = table
    this.#source = source
  }

  /** @returns `undefined` if there are more than `max` */
  async upTo(max: number, options: CountedRows<T>): Promise<number | undefined> {
    checkRowCountOptions(options)
    const { context } = this.#source
    const { filter, values } = selectRows(this.#table, context, options)
    const plan = context.plansOf(this.#table).countUpTo(filter)
    const count = await readNumber(this.#table, this.#source, plan, [...values, max + 1])
    return count > max ? undefined : count
  }

  /** Estimates the count from a thousand rows and the database's own estimate of the table's size. */
  async roughly(options: CountedRows<T>): Promise<number> {
    checkRowCountOptions(options)
    const { context } = this.#source
    const { name, deletedAt } = this.#table
    const rows = (await context.engine.schema.sizes([name])).get(name)?.rows ?? 0
    const { filter, values } = selectRows(this.#table, context, options)
    // The first and the last rows of a sharded table belong to only one or two shards.
    if (rows <= 2 * sampleSize || this.#table.shard !== undefined) {
      return readNumber(
        this.#table,
        this.#source,
        context.plansOf(this.#table).count(filter),
        values,
      )
    }
    if (filter.condition === undefined && deletedAt === undefined) return rows
    const plan = context.plansOf(this.#table).sample(filter)
    const found = await readNumber(this.#table, this.#source, plan, [...values, sampleSize])
    return Math.round((found / (2 * sampleSize)) * rows)
  }
}

export interface SelectedRows {
  readonly filter: PreparedFilter
  readonly values: unknown[]
}

export interface OrderedRows extends SelectedRows {
  /** By rank if there is a search and no other order. */
  readonly order: Order
  /** The number of rows before the page, if its cursor counts them. */
  readonly skippedRows: number
  /** The filter without the position where the page begins. Its key is the beginning of the filter's key. */
  readonly allPages: Pick<PreparedFilter, 'condition' | 'key'>
  /** How a list with a limit reads its matches. */
  readonly reading: Reading | undefined
}

const all: PreparedFilter = { condition: undefined, key: '', count: 0, withDeleted: false }
const allWithDeleted: PreparedFilter = { ...all, withDeleted: true }

type RequestedRows<T> = Pick<ListOptions<T>, 'where' | 'search' | 'withDeleted' | 'view'>

export function selectRows<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  { where, search, withDeleted = false, view }: RequestedRows<T>,
): SelectedRows {
  const isAll = where === undefined && view === undefined && search === undefined
  if (isAll && table.shard === undefined) {
    return { filter: withDeleted ? allWithDeleted : all, values: [] }
  }
  const reader = new FilterReader(context, view !== undefined)
  const condition = readCondition(table, context, { where, search, view }, reader)
  return toSelected(condition, reader, withDeleted)
}

/** @param requestedOrder the requested order, or the one by the key */
export function selectOrdered<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  options: ListOptions<T>,
  requestedOrder: Order,
): OrderedRows {
  const { where, search, withDeleted = false, view, after, orderBy, distinct } = options
  const selectsAll = after === undefined && where === undefined && search === undefined
  if (selectsAll && view === undefined) {
    const { filter, values } = selectRows(table, context, options)
    return {
      filter,
      values,
      order: requestedOrder,
      skippedRows: 0,
      allPages: filter,
      reading: undefined,
    }
  }
  const reader = new FilterReader(context, view !== undefined)
  const bound = view === undefined ? requestedOrder : view.order(table, requestedOrder, reader)
  const visibleCondition = readCondition(table, context, { where, search, view }, reader)
  const order = rankedOrder(
    bound,
    visibleCondition,
    orderBy !== undefined || selectsAll,
    // Searches of the program rank all matches.
    view === undefined || distinct !== undefined ? undefined : searchLimitOf(table, context),
  )
  const allPages = { condition: visibleCondition, key: reader.key }
  const isCounted = (order.rank ?? distinct) !== undefined || !hasKey(table)
  const hasOffsetCursor = isCounted && after !== undefined
  const cursorCondition =
    after === undefined || hasOffsetCursor
      ? undefined
      : afterCursor(after, table, order, (one) => context.codecOf(one), reader)
  const condition = allOf(visibleCondition, cursorCondition)
  const skippedRows = hasOffsetCursor ? readOffsetCursor(after) : 0
  const { filter, values } = toSelected(condition, reader, withDeleted)
  const selected = { table, where: visibleCondition, order, withDeleted }
  return {
    ...{ filter, values, order, skippedRows, allPages },
    reading: listReadingOf(selected, context),
  }
}

/** How a list with a limit reads its matches. */
export function listReadingOf(
  selected: { readonly table: Table } & Parameters<typeof readingOf>[0],
  { dialect, statistics }: RecordsContext,
): Reading | undefined {
  const { table } = selected
  if (!statistics.isLarge(table)) return undefined
  return readingOf(selected, {
    counts: dialect.statements.countsMatches,
    valuesOf: (column) => statistics.valuesOf(table, column),
  })
}

function readCondition<T extends object>(
  table: Table<T>,
  context: RecordsContext,
  { where, search, view }: Pick<ListOptions<T>, 'where' | 'search' | 'view'>,
  reader: FilterReader,
): Condition | undefined {
  const searched = search === undefined ? undefined : reader.read(table, { search })
  const found =
    where === undefined
      ? undefined
      : view === undefined
        ? readProgramFilter(reader, table, where)
        : reader.read(table, where)
  const requestedCondition = allOf(searched, found)
  const bound =
    view === undefined ? requestedCondition : view.bind(table, requestedCondition, reader)
  return table.shard === undefined ? bound : boundToShard(table, context, reader, bound)
}

/** @param slots what the condition has read. Its last value was added before the call */
export function toSelected(
  condition: Condition | undefined,
  { key, values }: Slots,
  withDeleted = false,
): SelectedRows {
  return { filter: { condition, key, count: values.length, withDeleted }, values }
}
