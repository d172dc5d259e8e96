/**
 * Saves and deletes rows of records without a version, changes many rows, and runs actions. A save locks the row and compares the
 * fields with the values that the client has read. Changes of many rows succeed or fail together.
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
  type Database,
} from '../../index.js'
import { readAdmin, type ActionContext } from './declare.js'
import { addEntry } from './change-history.js'
import {
  yieldToEventLoop,
  notFound,
  type Row,
  type PageRecord,
  type PageRecords,
  toJson,
  requireAny,
} from './page-records.js'

/** Maximum number of rows in one request. */
export const maxRows = 5000

/** @returns the stored row as the caller may read it, or a 409 response with the current row */
export function saveRow(
  pageRecord: PageRecord,
  id: string,
  before: Row,
  values: Row,
): Promise<object | Reply> {
  return changeUnlessConflict(pageRecord, id, before, async () => {
    const saved = await pageRecord.records.update(id, values)
    if (saved === null) throw notFound()
    const rights = await pageRecord.records.rights()
    // For a caller who may not read the record, the row has only its key.
    return rights.may.read ? toJson(saved, rights) : saved
  })
}

/** @returns null, or a 409 response with the current row */
export function removeRow(pageRecord: PageRecord, id: string, before: Row): Promise<Reply | null> {
  return changeUnlessConflict(pageRecord, id, before, async () => {
    if (!(await pageRecord.records.delete(id))) throw notFound()
    return null
  })
}

/**
 * Locks a row, and changes it if its values are still those that the client has read. A caller who may not read the
 * record has no values to compare.
 */
async function changeUnlessConflict<Result>(
  pageRecord: PageRecord,
  id: string,
  before: Row,
  change: () => Promise<Result>,
): Promise<Result | Reply> {
  const rights = await pageRecord.records.rights()
  rejectUnknownNames(rights, before)
  if (!rights.may.read) return await change()
  const stored = await lockRow(pageRecord, rights, id, before)
  const conflicts = findConflicts(stored, before)
  return conflicts.length > 0 ? conflictReply(pageRecord, stored, conflicts) : await change()
}

/** Other requests run after this many rows. */
const rowsPerSlice = 20

/** Options of a change of many rows. */
export interface ManyOptions {
  /** Collects what changes. */
  readonly summary?: ChangeSummary | undefined
  /** Skips rows that do not exist for the caller, instead of failing. */
  readonly skipsMissing: boolean
}

/**
 * @param values undefined to delete the rows
 * @returns the number of changed rows
 * @throws {HttpError} 404 if a row does not exist for the caller. Other errors name the key of the row.
 */
export async function changeMany(
  { records }: PageRecord,
  ids: readonly string[],
  values: Row | undefined,
  { summary, skipsMissing }: ManyOptions,
): Promise<number> {
  const rights = await records.rights()
  requireAny(rights, values === undefined ? 'delete' : 'update')
  const rows = rights.may.read
    ? await findRows(records, ids, skipsMissing)
    : ids.map((id): FoundRow => [id, {}])
  let count = 0
  for (const [index, [id, before]] of rows.entries()) {
    if (index % rowsPerSlice === 0) await yieldToEventLoop()
    try {
      const after = values === undefined ? null : await records.update(id, { ...values })
      const isMissing = values === undefined ? !(await records.delete(id)) : after === null
      if (isMissing && skipsMissing) continue
      if (isMissing) throw notFound()
      summary?.add(before, after)
      count++
    } catch (error) {
      throw withRowKey(error, id)
    }
  }
  return count
}

type FoundRow = readonly [id: string, row: object]

async function findRows(
  records: PageRecord['records'],
  ids: readonly string[],
  skipsMissing: boolean,
): Promise<FoundRow[]> {
  const rows: FoundRow[] = []
  for (const id of ids) {
    const row = await records.find(id)
    if (row !== null) rows.push([id, row])
    else if (!skipsMissing) throw notFound()
    if (rows.length % rowsPerSlice === 0) await yieldToEventLoop()
  }
  return rows
}

/** A method with `@AdminAction`. */
type Method = (this: object, context: ActionContext) => unknown

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
  }: ManyOptions & {
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
    const row = (await database.records(type).find(id)) as Row | null
    if (row === null) throw notFound()
    const before = { ...row }
    try {
      await (row[name] as Method).call(row, context)
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

/** Adds the key of the row to an error. */
export function withRowKey(error: unknown, id: string): unknown {
  if (!(error instanceof HttpError) || error.status === 404 || error.status >= 500) return error
  if (error.errors === undefined) return error.with({ message: `${id}: ${error.message}` })
  return error.mapFields(({ path, code, message }) => ({
    path: path === '' ? id : `${id}.${path}`,
    code,
    message: `${id}: ${message}`,
  }))
}

/** Locks a row. @returns the fields that the caller may read, with the keys of the relations in `before` */
async function lockRow(
  { records }: PageRecord,
  rights: RecordRights,
  id: string,
  before: Row,
): Promise<Row> {
  const linkRelations = rights.relations.filter(
    ({ ids }) => ids !== undefined && Object.hasOwn(before, ids),
  )

  const row = await records.find(id, { lock: true, with: linkRelations.map(({ name }) => name) })
  if (row === null) throw notFound()
  const stored = toJson(row, rights)
  for (const { name, ids, target } of linkRelations) {
    const key = describeRecord(target)?.key.name ?? 'id'
    const linkedRows = stored[name] as Row[]
    Reflect.deleteProperty(stored, name)
    stored[ids ?? ''] = linkedRows.map((linkedRow) => linkedRow[key]).sort(byText)
  }
  return stored
}

/** @throws {HttpError} 400 for fields that the caller may not read, because a comparison would reveal their values */
function rejectUnknownNames({ fields, relations }: RecordRights, before: Row): void {
  const knownNames = new Set([
    ...fields.map(({ name }) => name),
    ...relations.map(({ ids }) => ids),
  ])
  for (const name of Object.keys(before)) {
    if (knownNames.has(name)) continue
    const path = `was.${clip(name)}`
    const message = `${path} is unknown.`
    throw new HttpError(400, message, {
      code: 'VALIDATION',
      errors: [{ path, code: 'unknown', message }],
    })
  }
}

/** The names of the fields whose stored values differ from `before`. */
function findConflicts(stored: Row, before: Row): string[] {
  return Object.keys(before).filter((name) => {
    const isKeyList =
      Array.isArray(before[name]) && Array.isArray(stored[name]) && /Ids$/.test(name)
    const one = isKeyList ? [...(before[name] as unknown[])].sort(byText) : (before[name] ?? null)
    return !isDeepStrictEqual(one, stored[name] ?? null)
  })
}

function byText(a: unknown, b: unknown): number {
  const [one, other] = [String(a), String(b)]
  return one < other ? -1 : one > other ? 1 : 0
}

function conflictReply({ type, log }: PageRecord, stored: Row, names: readonly string[]): Reply {
  const reason = `changed since it was read: ${names.join(', ')}`
  log.debug({ status: 409, code: 'CHANGED', reason }, 'request refused')
  const error = `This ${type.name} was changed meanwhile.`
  return reply({ error, code: 'CHANGED', theirs: stored }, 409)
}

/** The same change of a field in several rows. Without `from` and `to`, the values differ from row to row. */
interface ChangeGroup {
  readonly field: string
  readonly from?: unknown
  readonly to?: unknown
  readonly count: number
}

/** A field with more groups than this is summarised by its number of rows. */
const maxGroups = 8

interface ValueGroup {
  readonly from: unknown
  readonly to: unknown
  count: number
}

export class ChangeSummary {
  /** The fields that the caller may read, except the ones that every write changes. */
  readonly #fields: RecordRights['fields']
  /** For each field, the groups by their values as JSON. */
  readonly #groups = new Map<string, Map<string, ValueGroup>>()
  #deleted = 0

  constructor({ type, fields }: RecordRights, database: Database) {
    const { key, version, updatedAt, deletedAt } = database.records(type).table
    const automatic = new Set([key, version, updatedAt, deletedAt].map((one) => one?.property))
    this.#fields = fields.filter(({ name }) => !automatic.has(name))
  }

  /** @param after null if the row was deleted */
  add(before: object, after: object | null): void {
    if (after === null) {
      this.#deleted++
      return
    }
    const shown = { fields: this.#fields, relations: [] }
    const [from, to] = [toJson(before, shown), toJson(after, shown)]
    for (const { name } of this.#fields) this.#addValue(name, from[name], to[name])
  }

  #addValue(field: string, before: unknown, after: unknown): void {
    const [from, to] = [toShort(before), toShort(after)]
    if (isDeepStrictEqual(before ?? null, after ?? null)) return
    const groups = this.#groups.get(field) ?? new Map<string, ValueGroup>()
    this.#groups.set(field, groups)
    const key = JSON.stringify([from, to])
    const group = groups.get(key)
    if (group !== undefined) group.count++
    else groups.set(key, { from, to, count: 1 })
  }

  /** `deleted` is the number of rows that the change deletes. */
  toJSON(): Row {
    const changes = [...this.#groups].flatMap(([field, byValues]): ChangeGroup[] => {
      const groups = [...byValues.values()]
      return groups.length > maxGroups
        ? [{ field, count: groups.reduce((sum, { count }) => sum + count, 0) }]
        : groups.map((group) => ({ field, ...group }))
    })
    return { changes, deleted: this.#deleted }
  }
}

function toShort(value: unknown): unknown {
  return typeof value === 'string' ? clip(value) : (value ?? null)
}
