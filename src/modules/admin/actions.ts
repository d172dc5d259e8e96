/** Runs `@AdminAction` methods: once a row, all in one transaction, all or none. Source: specification, Admin page 10. */
import { checkOf, HttpError, type HttpRequest } from '../../index.js'
import { atRow } from './changes.js'
import { readAdmin, type ActionContext } from './declare.js'
import { keep } from './keep-history.js'
import { notFound, type Row, type ShownRecord, type ShownRecords } from './shown-records.js'

type Method = (this: object, context: ActionContext) => unknown

/** @throws {HttpError} 404 for actions and rows that are not there for the caller; what the action throws */
export async function runAction(
  all: ShownRecords,
  shown: ShownRecord,
  {
    name,
    ids,
    body,
    request,
  }: {
    readonly name: string
    readonly ids: readonly string[]
    readonly body: unknown
    readonly request: HttpRequest
  },
): Promise<number> {
  const { records, type } = shown
  const rights = await records.rights()
  const action = (await all.actionsFor(rights, records)).get(name)
  if (action === undefined)
    throw new HttpError(404, undefined, {
      reason: `${type.name} has no action ${name} for the caller`,
    })
  if (ids.length > 1 && action.bulk !== true)
    throw new HttpError(400, `"${action.label}" runs for one row at a time.`)
  const given =
    action.body === undefined
      ? undefined
      : await checkOf(action.body as never, { name: 'the form' })(body ?? {})
  const { database } = all
  const context: ActionContext = {
    records: (other) => database.records(other),
    caller: request.user,
    by: request.auth?.by ?? 'token',
    body: given,
    get: (token) => records.get(token),
  }
  for (const id of ids) {
    if ((await records.find(id, { lock: true })) === null) throw notFound()
    // The whole row: the action is the program's.
    const row = (await database.records(type).find(id)) as Row | null
    if (row === null) throw notFound()
    const before = { ...row }
    try {
      await (row[name] as Method).call(row, context)
      const changes = Object.entries(row).filter(([field, value]) => value !== before[field])
      if (changes.length > 0) await database.records(type).update(id, Object.fromEntries(changes))
    } catch (error) {
      throw ids.length > 1 ? atRow(error, id) : error
    }
    if (readAdmin(type).history === true)
      await keep(row, context, { kind: 'action', action: action.label, changes: [] })
  }
  return ids.length
}
