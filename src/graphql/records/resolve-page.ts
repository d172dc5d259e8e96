/** Pages by cursor. Source: GraphQL Cursor Connections Specification. */
import { type Later, after } from '../../core/later.js'
import type { Order } from '../../records/filters/order.js'
import type { Arguments } from '../declarations.js'
import { joined } from '../../records/policy/client-view.js'
import { callerOf } from '../caller.js'
import { behindCursor, writeCursor } from '../../records/filters/cursor.js'
import type { RecordModel } from './model.js'
import { QuestionReader } from './question.js'
import { readList, type Instance } from './read-rows.js'
import { resolveCount, type RecordServices } from './resolve-records.js'

/** What a page's parts are resolved from. */
export interface Page {
  readonly records: readonly Instance[]
  readonly order: Order
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
  const caller = callerOf(context)
  const database = services.database()
  const source = database.forClient(caller.request)
  const { context: records } = source
  const { listMax } = services
  const reader = new QuestionReader({ database, caller, listMax })
  const first = reader.first(args.first)
  const filter = reader.condition(model, args.where)
  const order = reader.order(model, args.orderBy)
  const cursor = args.after as string | null | undefined
  const behind =
    cursor === undefined || cursor === null
      ? undefined
      : behindCursor(cursor, order, records.codecOf(model.table), reader)
  const question = {
    condition: joined(filter, behind),
    order,
    limit: reader.values.push(first + 1) - 1,
    offset: reader.values.push(0) - 1,
  }
  return after(readList(model.table, question, reader, source), (found) => ({
    records: found.slice(0, first),
    order,
    hasNext: found.length > first,
    hasPrevious: behind !== undefined,
    total: () => resolveCount(model, services, args.where, context),
  }))
}

/** A record in a page. */
export interface Edge {
  readonly node: Instance
  readonly cursor: string
}

export function edgesOf({ records, order }: Page): Edge[] {
  return records.map((node) => ({ node, cursor: writeCursor(order, node) }))
}

export function startCursor({ records, order }: Page): string | null {
  const [first] = records
  return first === undefined ? null : writeCursor(order, first)
}

export function endCursor({ records, order }: Page): string | null {
  const last = records.at(-1)
  return last === undefined ? null : writeCursor(order, last)
}
