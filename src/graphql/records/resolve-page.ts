/** Pages by cursor. Source: GraphQL Cursor Connections Specification. */
import { type Later, after } from '../../core/maybe-promise.js'
import type { Order } from '../../sql/order.js'
import type { Arguments } from '../declarations.js'
import { type Caller, asked } from '../../records/rights/caller.js'
import { callerOf } from '../caller.js'
import { writeCursor } from '../../records/filters/cursor.js'
import { writePlace } from '../../records/filters/search.js'
import type { RecordModel } from './model.js'
import { readPageQuestion } from './page-question.js'
import { QuestionReader } from './question.js'
import { readList, type Instance } from './read-rows.js'
import { resolveCount, type RecordServices } from './resolve-records.js'

/** What a page's parts are resolved from. */
export interface Page {
  readonly records: readonly Instance[]
  readonly order: Order
  /** In the order of a search, which has no places of rows' own: how many rows stand before the page. */
  readonly place: number | undefined
  readonly hasNext: boolean
  readonly hasPrevious: boolean
  /** Counts the rows of all pages. */
  readonly total: () => Later<number>
}

export function resolvePage(
  model: RecordModel,
  services: RecordServices,
  args: Arguments,
  context: unknown,
): Later<Page> {
  return asked(model.table, callerOf(context), (caller) =>
    readPage(model, services, args, { context, caller }),
  )
}

function readPage(
  model: RecordModel,
  services: RecordServices,
  args: Arguments,
  { context, caller }: { readonly context: unknown; readonly caller: Caller },
): Later<Page> {
  const database = services.database()
  const source = database.forClient(caller.request)
  const { listMax } = services
  const reader = new QuestionReader({ database, caller, listMax })
  const page = readPageQuestion(model, args, reader, source.context)
  const { condition, order, reading, count, isBackward, isLater, place } = page
  const question = {
    where: condition,
    order: reading,
    limit: reader.values.push(count + 1) - 1,
    offset: reader.values.push(place ?? 0) - 1,
  }
  return after(readList(model.table, question, reader, source), (found) => {
    const records = found.slice(0, count)
    const goesOn = found.length > count
    return {
      records: isBackward ? records.reverse() : records,
      order,
      place,
      hasNext: isBackward ? isLater : goesOn,
      hasPrevious: isBackward ? goesOn : isLater,
      total: () => resolveCount(model, services, args.where, context),
    }
  })
}

/** A record in a page. */
export interface Edge {
  readonly node: Instance
  readonly cursor: string
}

export function edgesOf(page: Page): Edge[] {
  return page.records.map((node, index) => ({ node, cursor: cursorAt(page, index) }))
}

export function startCursor(page: Page): string | null {
  return page.records.length === 0 ? null : cursorAt(page, 0)
}

export function endCursor(page: Page): string | null {
  const { length } = page.records
  return length === 0 ? null : cursorAt(page, length - 1)
}

function cursorAt({ records, order, place }: Page, index: number): string {
  return place === undefined
    ? writeCursor(order, records[index] as Instance)
    : writePlace(place + index + 1)
}
