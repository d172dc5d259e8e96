/** Runs an action of a record for rows. All runs succeed or fail together. */
import { checkOf, HttpError, type HttpRequest } from '../../index.js'
import { addEntry } from './change-history.js'
import { rowsPerSlice, withRowKey, type ChangeManyOptions } from './change-many.js'
import { readAdmin, type ActionContext } from './declare.js'
import {
  notFound,
  yieldToEventLoop,
  type PageRecord,
  type PageRecords,
  type JsonRow,
} from './page-records.js'

/** A method with `@AdminAction`. */
type ActionMethod = (this: object, context: ActionContext) => unknown

/** Runs an action for each row. @throws {HttpError} 404 if the action or a row does not exist for the caller */
export async function runAction(
  pageRecords: PageRecords,
  pageRecord: PageRecord,
  {
    name,
    ids,
    body,
    request,
    summary,
    skipsMissing,
  }: ChangeManyOptions & {
    readonly name: string
    readonly ids: readonly string[]
    readonly body: unknown
    readonly request: HttpRequest
  },
): Promise<number> {
  const { records, type } = pageRecord
  const rights = await records.rights()
  const action = (await pageRecords.actionsFor(rights, records)).get(name)
  if (action === undefined)
    throw new HttpError(404, undefined, {
      reason: `${type.name} has no action ${name} for the caller`,
    })
  if (ids.length > 1 && action.bulk !== true)
    throw new HttpError(400, `"${action.label}" runs for one row at a time.`)
  const input =
    action.body === undefined
      ? undefined
      : await checkOf(action.body as never, { name: 'the form' })(body ?? {})
  const { database } = pageRecords
  const context: ActionContext = {
    records: (other) => database.records(other),
    caller: request.user,
    by: request.auth?.by ?? 'token',
    body: input,
    get: (token) => records.get(token),
  }
  let count = 0
  for (const id of ids) {
    if (count % rowsPerSlice === 0) await yieldToEventLoop()
    const visible = await records.find(id, { lock: true })
    if (visible === null && skipsMissing) continue
    if (visible === null) throw notFound()
    // Actions run with the program's rights, so they get all fields of the row.
    const row = (await database.records(type).find(id)) as JsonRow | null
    if (row === null) throw notFound()
    const before = { ...row }
    try {
      await (row[name] as ActionMethod).call(row, context)
      const changes = Object.entries(row).filter(([field, value]) => value !== before[field])
      if (changes.length > 0) await database.records(type).update(id, Object.fromEntries(changes))
    } catch (error) {
      throw ids.length > 1 ? withRowKey(error, id) : error
    }
    if (readAdmin(type).history === true)
      await addEntry(row, context, { kind: 'action', action: action.label, changes: [] })
    summary?.add(visible, await records.find(id))
    count++
  }
  return count
}
