/** Pages by cursor. Source: GraphQL Cursor Connections Specification. */
import { type Later, after } from '../../core/later.js'
import type { Order } from '../../records/filters/order.js'
import type { Arguments } from '../declarations.js'
import type { Caller } from '../../records/policy/caller.js'
import { asked } from '../../records/policy/late-verdict.js'
import { callerOf } from '../caller.js'
import { writeCursor } from '../../records/filters/cursor.js'
import type { RecordModel } from './model.js'
import { readPageQuestion } from './page-question.js'
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
  const { condition, order, reading, count, isBackward, isLater } = page
  const question = {
    condition,
    order: reading,
    limit: reader.values.push(count + 1) - 1,
    offset: reader.values.push(0) - 1,
  }
  return after(readList(model.table, question, reader, source), (found) => {
    const records = found.slice(0, count)
    const goesOn = found.length > count
    return {
      records: isBackward ? records.reverse() : records,
      order,
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
