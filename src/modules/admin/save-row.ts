/**
 * Saves and deletes rows of records without a version. A save locks the row and compares the fields with the values that the
 * client has read.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  clip,
  describeRecord,
  HttpError,
  reply,
  toClientRow,
  type RecordRights,
  type Reply,
} from '../../index.js'
import { notFound, type PageRecord, type JsonRow } from './page-records.js'

/** @returns the stored row as the caller may read it, or a 409 response with the current row */
export function saveRow(
  pageRecord: PageRecord,
  id: string,
  before: JsonRow,
  values: JsonRow,
): Promise<object | Reply> {
  return changeUnlessConflict(pageRecord, id, before, async () => {
    const saved = await pageRecord.records.update(id, values)
    if (saved === null) throw notFound()
    const rights = await pageRecord.records.rights()
    // For a caller who may not read the record, the row has only its key.
    return rights.may.read ? toClientRow(saved, rights) : saved
  })
}

/** @returns null, or a 409 response with the current row */
export function removeRow(
  pageRecord: PageRecord,
  id: string,
  before: JsonRow,
): Promise<Reply | null> {
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
  before: JsonRow,
  change: () => Promise<Result>,
): Promise<Result | Reply> {
  const rights = await pageRecord.records.rights()
  checkNames(rights, before)
  if (!rights.may.read) return await change()
  const stored = await lockRow(pageRecord, rights, id, before)
  const conflicts = findConflicts(stored, before)
  return conflicts.length > 0 ? conflictReply(pageRecord, stored, conflicts) : await change()
}

/** Locks a row. @returns the fields that the caller may read, with the keys of the relations in `before` */
async function lockRow(
  { records }: PageRecord,
  rights: RecordRights,
  id: string,
  before: JsonRow,
): Promise<JsonRow> {
  const linkRelations = rights.relations.filter(
    ({ ids }) => ids !== undefined && Object.hasOwn(before, ids),
  )

  const row = await records.find(id, { lock: true, with: linkRelations.map(({ name }) => name) })
  if (row === null) throw notFound()
  const stored = toClientRow(row, rights)
  for (const { name, ids, target } of linkRelations) {
    const key = describeRecord(target)?.key
    const linkedRows = stored[name] as JsonRow[]
    Reflect.deleteProperty(stored, name)
    stored[ids ?? ''] = linkedRows.map((linkedRow) => key?.of(linkedRow)).sort(byText)
  }
  return stored
}

/** @throws {HttpError} 400 for fields that the caller may not read, because a comparison would reveal their values */
function checkNames({ fields, relations }: RecordRights, before: JsonRow): void {
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
function findConflicts(stored: JsonRow, before: JsonRow): string[] {
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

function conflictReply(
  { type, log }: PageRecord,
  stored: JsonRow,
  names: readonly string[],
): Reply {
  const reason = `changed since it was read: ${names.join(', ')}`
  log.debug({ status: 409, code: 'CHANGED', reason }, 'request refused')
  const error = `This ${type.name} was changed meanwhile.`
  return reply({ error, code: 'CHANGED', theirs: stored }, 409)
}
