/**
 * Changes that compare inside the write, for records without a version, and changes of many rows, all or none. Source:
 * specification, Admin page 5 and 8.
 */

import { isDeepStrictEqual } from 'node:util'
import {
  checkOf,
  HttpError,
  type HttpRequest,
  clip,
  describeRecord,
  reply,
  type RecordRights,
  type Reply,
} from '../../index.js'
import { readAdmin, type ActionContext } from './declare.js'
import { keep } from './change-history.js'
import {
  notFound,
  type Row,
  type ShownRecord,
  type ShownRecords,
  asJson,
  demandAny,
} from './page-records.js'

/** Rows of one change. */
export const mostRows = 5000

/** @returns the row as stored, or 409 with theirs */
export async function saveRow(
  shown: ShownRecord,
  id: string,
  was: Row,
  values: Row,
): Promise<object | Reply> {
  const theirs = await holdRow(shown, id, was)
  const others = differ(theirs, was)
  if (others.length > 0) return changed(shown, theirs, others)
  const saved = await shown.records.update(id, values)
  if (saved === null) throw notFound()
  return saved
}

/** @returns nothing, or 409 with theirs */
export async function removeRow(shown: ShownRecord, id: string, was: Row): Promise<Reply | null> {
  const theirs = await holdRow(shown, id, was)
  const others = differ(theirs, was)
  if (others.length > 0) return changed(shown, theirs, others)
  if (!(await shown.records.delete(id))) throw notFound()
  return null
}

/** @throws {HttpError} 404 where one of the rows is not there for the caller, and as single changes, with the row's key */
export async function changeMany(
  { records }: ShownRecord,
  ids: readonly string[],
  values: Row | undefined,
): Promise<number> {
  demandAny(await records.rights(), values === undefined ? 'delete' : 'update')
  for (const id of ids) if ((await records.find(id)) === null) throw notFound()
  for (const id of ids) {
    try {
      const isDone =
        values === undefined
          ? await records.delete(id)
          : (await records.update(id, { ...values })) !== null
      if (!isDone) throw notFound()
    } catch (error) {
      throw atRow(error, id)
    }
  }
  return ids.length
}

/** Runs `@AdminAction` methods: once a row, all in one transaction, all or none. Source: specification, Admin page 10. */

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

/** Says in which row a fault is. */
export function atRow(error: unknown, id: string): unknown {
  if (!(error instanceof HttpError) || error.status === 404 || error.status >= 500) return error
  const errors = error.errors?.map(({ path, code, message }) => ({
    path: path === '' ? id : `${id}.${path}`,
    code,
    message: `${id}: ${message}`,
  }))
  return new HttpError(error.status, `${id}: ${error.message}`, {
    code: error.code,
    cause: error,
    ...(errors === undefined ? {} : { errors }),
  })
}

/** The row as its caller sees it, locked, with the keys of the relations that `was` names. */
async function holdRow({ records }: ShownRecord, id: string, was: Row): Promise<Row> {
  const rights = await records.rights()
  refuseUnknown(rights, was)
  const ties = rights.relations.filter(({ ids }) => ids !== undefined && Object.hasOwn(was, ids))
  // First without relations: what locks the row says whether it is there.
  const row = await records.find(id, { lock: true, with: ties.map(({ name }) => name) })
  if (row === null) throw notFound()
  const theirs = asJson(row)
  for (const { name, ids, target } of ties) {
    const key = describeRecord(target)?.key.name ?? 'id'
    const others = theirs[name] as Row[]
    Reflect.deleteProperty(theirs, name)
    theirs[ids ?? ''] = others.map((other) => other[key]).sort(byText)
  }
  return theirs
}

/** @throws {HttpError} 400 for what the caller may not read: a comparison would tell its value */
function refuseUnknown({ fields, relations }: RecordRights, was: Row): void {
  const known = new Set([...fields.map(({ name }) => name), ...relations.map(({ ids }) => ids)])
  for (const name of Object.keys(was)) {
    if (known.has(name)) continue
    const path = `was.${clip(name)}`
    const message = `${path} is unknown.`
    throw new HttpError(400, message, {
      code: 'VALIDATION',
      errors: [{ path, code: 'unknown', message }],
    })
  }
}

/** The names in `was` whose values are others now. */
function differ(theirs: Row, was: Row): string[] {
  return Object.keys(was).filter((name) => {
    const before = Array.isArray(was[name]) && Array.isArray(theirs[name]) && /Ids$/.test(name)
    const one = before ? [...(was[name] as unknown[])].sort(byText) : (was[name] ?? null)
    return !isDeepStrictEqual(one, theirs[name] ?? null)
  })
}

function byText(a: unknown, b: unknown): number {
  const [one, other] = [String(a), String(b)]
  return one < other ? -1 : one > other ? 1 : 0
}

function changed({ type, log }: ShownRecord, theirs: Row, names: readonly string[]): Reply {
  const reason = `changed since it was read: ${names.join(', ')}`
  log.debug({ status: 409, code: 'CHANGED', reason }, 'request refused')
  const error = `This ${type.name} was changed meanwhile.`
  return reply({ error, code: 'CHANGED', theirs }, 409)
}
