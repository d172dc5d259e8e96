/**
 * The responses of `crud`: pages with the total and the link to the next page, versions of rows as ETags,
 * and the conditions `If-Match` and `If-None-Match`. Source: decisions, Records: REST; RFC 8288; RFC 9110 §8.8.3 and §13.1.
 */

import { acceptsEventStream } from '../../http/accept.js'
import type { Table } from '../model/table.js'
import type { ClientRecords } from '../clients/client-records.js'
import type { CrudQuery, SelectedFields } from './crud-query.js'
import type { HttpRequest } from '../../http/request.js'
import { reply, type Reply } from '../../http/reply.js'
import { hasKey } from '../../engines/contract/table.js'
import { hasSearch, readOffsetCursor, writeOffsetCursor } from '../filters/search.js'
import type { ListOptions, ListTotal, RelationCount } from '../filters/list-options.js'
import { HttpError } from '../../errors/http-error.js'
import { entityTag, matchesEntityTag } from '../../http/entity-tag.js'
import { type MaybePromise, after, attempt } from '../../core/maybe-promise.js'
import { policyOf } from '../rights/record-policy.js'

/** Up to this many rows the total is exact by default. Above, it is an estimate. */
const countedRows = 10_000

/**
 * Responds with a page of rows, its total, and the link to the next page.
 *
 * @param cost the maximum number of related rows
 */
export async function listRows(
  records: ClientRecords<object>,
  query: CrudQuery,
  request: HttpRequest,
  cost: number,
): Promise<Reply> {
  const { options, limit, shape } = query
  const { where, offset, after, distinct } = options
  const isLive = acceptsEventStream(request)
  const orderBy = options.orderBy.length === 0 ? undefined : options.orderBy
  const listOptions = {
    ...options,
    orderBy,
    offset: offset === 0 ? undefined : offset,
    // One extra row shows whether there is a next page.
    limit: limit === 0 ? 0 : limit + 1,
    ...countsOption(query.counts),
  }
  const read = (more: object): Promise<object[]> =>
    records.list({ ...listOptions, ...more } as ListOptions<object>, shape?.relations, cost)
  // A live query has no headers for a total.
  const [found, total] = isLive ? [await read({})] : await readPage(records, query, read)
  const hasNext = found.length > limit
  const rows = hasNext ? found.slice(0, limit) : found
  const last = rows.at(-1)
  const isOffset =
    distinct !== undefined ||
    !hasKey(records.table) ||
    (orderBy === undefined && hasSearch(records.table, where))
  const cursor =
    hasNext && last !== undefined
      ? isOffset
        ? writeOffsetCursor(
            offset + rows.length + (after === undefined ? 0 : readOffsetCursor(after)),
          )
        : records.cursorOf(last, orderBy)
      : undefined
  showRows(rows, shape)
  const response = reply(rows)
  if (total !== undefined) response.header(...total)
  if (cursor !== undefined) {
    const next = nextPage(request, cursor)
    response.header('Link', `<${next}>; rel="next"`)
  }
  return response
}

/** The option that counts these relations for each row of a list. */
export function countsOption(counts: readonly RelationCount[]): { counts?: readonly never[] } {
  return counts.length === 0 ? {} : { counts: counts.map(({ relation }) => relation.name as never) }
}

/** Removes fields that the client did not select, from the rows and their related rows. */
export function showRows(rows: readonly object[], shape: SelectedFields | undefined): void {
  if (shape === undefined) return
  const { omitted: without, related: relatedFields } = shape
  for (const row of rows as Record<string, unknown>[]) {
    // JSON leaves undefined values out.
    for (const name of without) row[name] = undefined
    for (const [name, nested] of relatedFields) {
      const related = row[name] as object | readonly object[] | null | undefined
      if (related !== undefined && related !== null) showRows([related].flat(), nested)
    }
  }
}

type TotalHeader = [name: string, value: number]

/** @param read reads the rows of the page, with more options */
async function readPage(
  records: ClientRecords<object>,
  query: CrudQuery,
  read: (more: object) => Promise<object[]>,
): Promise<[rows: object[], total?: TotalHeader | undefined]> {
  const { count, limit } = query
  const counts = count === undefined || count === 'exact'
  const { shard } = records.table
  if (shard === undefined || !counts || limit === 0 || query.options.distinct !== undefined)
    // In parallel, which saves a round trip over a network.
    return Promise.all([read({}), totalOf(records, query)])
  // In one statement, because each statement of a shard passes two servers.
  const max = count === 'exact' ? undefined : countedRows
  let all: number | undefined
  const total: ListTotal = { max, found: (number) => (all = number) }
  const rows = await read({ total })
  if (all === undefined) return [rows, await totalOf(records, query)]
  if (max !== undefined && all > max) return [rows, await estimateBeyond(max, records, query)]
  return [rows, ['X-Total-Count', all]]
}

async function totalOf(
  records: ClientRecords<object>,
  query: CrudQuery,
): Promise<TotalHeader | undefined> {
  const {
    options: { where, distinct },
    count,
  } = query
  if (count === 'none') return undefined
  // The database reads every row for `distinct` anyway.
  if (distinct !== undefined)
    return ['X-Total-Count', await records.count(where, distinct as readonly never[])]
  if (count === 'exact') return ['X-Total-Count', await records.count(where)]
  if (count === 'estimate') return ['X-Total-Count-Estimate', await records.estimate(where)]
  const total = await records.countUpTo(countedRows, where)
  if (total !== undefined) return ['X-Total-Count', total]
  return estimateBeyond(countedRows, records, query)
}

/** The estimated total of a list that has more than `max` rows. */
async function estimateBeyond(
  max: number,
  records: ClientRecords<object>,
  { options: { where } }: CrudQuery,
): Promise<TotalHeader> {
  return ['X-Total-Count-Estimate', Math.max(await records.estimate(where), max + 1)]
}

/** The URL of the same query for the page after this one. */
function nextPage({ url }: HttpRequest, cursor: string): string {
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  const parameters = new URLSearchParams(query)
  parameters.delete('offset')
  parameters.set('after', cursor)
  return `${path}?${parameters.toString()}`
}

/** A response with a row, and with its ETag if the table has a version column. */
export function tagged<T extends object>(table: Table, row: T, status?: number): T | Reply<T> {
  const response = status === undefined ? undefined : reply(row, status)
  const tag = rowTag(table, row)
  return tag === undefined ? (response ?? row) : (response ?? reply(row)).header('ETag', tag)
}

/** The response to a read: 304 if the client already has this version. */
export function taggedOrNotModified(
  table: Table,
  row: object | null,
  request: HttpRequest,
  tag = row === null ? undefined : rowTag(table, row),
): unknown {
  if (tag === undefined) return row
  const isKnown = matchesEntityTag(request.incoming.headers['if-none-match'], tag)
  return reply(isKnown ? null : row, isKnown ? 304 : 200).header('ETag', tag)
}

/**
 * The tag of a row: its version. If the caller may not read all fields, a hash of the concealed fields is added,
 * because a strong tag stands for exactly one body.
 *
 * @returns undefined if the table has no version column, or the caller may not read it
 */
function rowTag(table: Table, row: object): string | undefined {
  const version = versionOf(table, row)
  if (version === undefined) return undefined
  let without = ''
  for (const { property } of policyOf(table).columns.keys())
    if ((row as PropertyValues)[property] === undefined) without += `${property} `
  return without === '' ? `"${version}"` : tagOf(version, without)
}

/** The tag for a part of a row, or for a row with related rows: its version, and a hash of the body. */
export function shapedTag(version: number | undefined, body: object): string | undefined {
  return version === undefined ? undefined : tagOf(version, JSON.stringify(body))
}

/** @returns undefined if the table has no version column, or the caller may not read it */
export function versionOf({ version }: Table, row: object): number | undefined {
  return version === undefined ? undefined : ((row as PropertyValues)[version.property] as number)
}

type PropertyValues = Readonly<Record<string, unknown>>

function tagOf(version: number, content: string): string {
  return `"${version}-${entityTag(content).slice(1, -1)}"`
}

/** A write of one row under the conditions of a request. */
export interface ConditionalWrite<T> {
  readonly table: Table
  readonly request: HttpRequest
  /** Reads the row for `If-None-Match`; null if the caller can see no such row. */
  readonly find: () => MaybePromise<object | null>
  /** @param expected the row must be at one of these versions; undefined: at any */
  readonly write: (expected: readonly number[] | undefined) => MaybePromise<T>
}

/**
 * Writes if `If-Match` and `If-None-Match` allow it. `If-Match` lists the row's version, or is `*`, or is missing.
 * `If-None-Match` does neither list the row's version nor is `*`, or is missing. A record without versions fails each
 * condition that lists tags, because its tags identify only the content that a response has shown.
 *
 * @throws {HttpError} 400 for anything except `*` and a list of tags, 412 for a row that does not meet a condition
 */
export function writeIfAllowed<T>(conditional: ConditionalWrite<T>): MaybePromise<T> {
  const { table, request, find, write } = conditional
  const ifMatch = readCondition('If-Match', table, request.incoming.headers['if-match'])
  const ifNoneMatch = readCondition(
    'If-None-Match',
    table,
    request.incoming.headers['if-none-match'],
  )
  // Only strong tags match `If-Match`, because a weak tag allows no write (RFC 9110 §13.1.1).
  const expected = ifMatch === undefined || ifMatch === '*' ? undefined : ifMatch.flatMap(toVersion)
  if (ifNoneMatch === undefined) return writeAt(write, expected)
  return after(find(), (row) => {
    if (row === null) return writeAt(write, expected)
    const version = versionOf(table, row)
    if (ifNoneMatch === '*' || version === undefined) throw notAllowed(table)
    if (ifNoneMatch.some((tag) => toVersion(tag.replace(/^W\//, ''))[0] === version))
      throw notAllowed(table)
    // The version that was read, so that a simultaneous change cannot lead to a version that the condition excludes.
    return writeAt(write, expected?.filter((one) => one === version) ?? [version])
  })
}

function notAllowed({ type }: Table): HttpError {
  return new HttpError(
    412,
    `This ${type.name} exists already, at a version that If-None-Match excludes.`,
  )
}

/** @returns the tags as written */
function readCondition(
  header: 'If-Match' | 'If-None-Match',
  table: Table,
  condition: string | undefined,
): '*' | readonly string[] | undefined {
  if (condition === undefined) return undefined
  if (condition.trim() === '*') return '*'
  const tags = readTags(condition)
  if (tags === undefined)
    throw new HttpError(400, `${header} must be *, or a list of ETags, separated by commas.`)
  if (table.version !== undefined) return tags
  const { name } = table.type
  throw new HttpError(412, `${header} cannot be checked, because ${name} has no version.`, {
    reason: `declare @Record({ version: true }) for ${name}`,
  })
}

function writeAt<T>(
  write: ConditionalWrite<T>['write'],
  expected: readonly number[] | undefined,
): MaybePromise<T> {
  if (expected === undefined) return write(undefined)
  return attempt<T>(
    () => write(expected),
    (error) => {
      if (!isOld(error)) throw error
      throw error.with({ status: 412, code: 'PRECONDITION_FAILED' })
    },
  )
}

/** The version of a strong tag, whichever fields the client has seen. Empty for any other tag. */
function toVersion(tag: string): number[] {
  const [, digits] = /^"(\d{1,15})(?:-[^"]*)?"$/.exec(tag) ?? []
  return digits === undefined ? [] : [Number(digits)]
}

const oneTag = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`
const tagList = new RegExp(String.raw`^[ \t]*${oneTag}(?:[ \t]*,[ \t]*${oneTag})*[ \t]*$`)

function readTags(text: string): string[] | undefined {
  if (text.length > 2000 || !tagList.test(text)) return undefined
  return text.match(new RegExp(oneTag, 'g')) ?? []
}

function isOld(error: unknown): error is HttpError {
  return error instanceof HttpError && error.status === 409 && error.errors?.[0]?.code === 'version'
}
