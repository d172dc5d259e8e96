/**
 * Versions of rows as ETags, and what a client may ask by them: `If-Match` before a write, `If-None-Match` before a read.
 * Source: RFC 9110 §8.8.3 and §13.1; decisions, Second storey: records, Versions.
 */
import { HttpError } from '../../errors/http-error.js'
import { entityTag, isKnownTag } from '../../http/entity-tags.js'
import type { HttpRequest } from '../../http/request.js'
import { reply, type Reply } from '../../http/reply.js'
import { type Later, attempt } from '../../core/later.js'
import type { Table } from '../model/table.js'
import { policyOf } from '../policy/record-policy.js'

/** The row as it is answered: with its ETag where the table counts versions. */
export function tagged<T extends object>(table: Table, row: T, status?: number): T | Reply<T> {
  const answer = status === undefined ? undefined : reply(row, status)
  const tag = rowTag(table, row)
  return tag === undefined ? (answer ?? row) : withTag(answer ?? reply(row), tag)
}

/** The same of a read: 304 where the client has this version. */
export function taggedOrKnown(
  table: Table,
  row: object | null,
  request: HttpRequest,
  tag = row === null ? undefined : rowTag(table, row),
): unknown {
  if (tag === undefined) return row
  const isKnown = isKnownTag(request.incoming.headers['if-none-match'], tag)
  return withTag(reply(isKnown ? null : row, isKnown ? 304 : 200), tag)
}

/** Pages of other origins may read it, and send it back. */
function withTag<T>(answer: Reply<T>, tag: string): Reply<T> {
  answer.header('ETag', tag).headers.push('Access-Control-Expose-Headers', 'ETag')
  return answer
}

/**
 * The tag of a row: its version, and where the caller may not read all of it a word for what is left out, since a strong
 * tag stands for one body alone.
 *
 * @returns undefined where the table counts no versions, or the caller may not read them
 */
function rowTag(table: Table, row: object): string | undefined {
  const version = versionOf(table, row)
  if (version === undefined) return undefined
  let without = ''
  for (const { property } of policyOf(table).columns.keys())
    if ((row as Values)[property] === undefined) without += `${property} `
  return without === '' ? `"${version}"` : tagOf(version, without)
}

/** The tag of a row of which a client sees a part or more besides: its version, and a word for all that is sent. */
export function shapedTag(version: number | undefined, shown: object): string | undefined {
  return version === undefined ? undefined : tagOf(version, JSON.stringify(shown))
}

/** @returns undefined where the table counts no versions, or the caller may not read them */
export function versionOf({ version }: Table, row: object): number | undefined {
  return version === undefined ? undefined : ((row as Values)[version.property] as number)
}

type Values = Readonly<Record<string, unknown>>

function tagOf(version: number, content: string): string {
  return `"${version}-${entityTag(content).slice(1, -1)}"`
}

/**
 * Writes where `If-Match` lets it: one of these versions, or any where it is `*` or does not come.
 *
 * @throws {HttpError} 400 for what is no list of tags, 412 for a row of another version
 */
export function whereMatching<T>(
  table: Table,
  request: HttpRequest | undefined,
  write: (expected: readonly number[] | undefined) => Later<T>,
): Later<T> {
  const condition = request?.incoming.headers['if-match']
  if (table.version === undefined || condition === undefined) return write(undefined)
  if (condition.trim() === '*') return write(undefined)
  const tags = readTags(condition)
  if (tags === undefined)
    throw new HttpError(400, 'If-Match must be *, or ETags with commas between them.')
  return attempt<T>(
    () => write(tags.flatMap(toVersion)),
    (error) => {
      throw isOld(error) ? new HttpError(412, error.message, { cause: error }) : error
    },
  )
}

/** Strong ones only: by a weak one nothing is changed. The version alone counts, whatever of the row was seen. */
function toVersion(tag: string): number[] {
  const [, digits] = /^"(\d{1,15})(?:-[^"]*)?"$/.exec(tag) ?? []
  return digits === undefined ? [] : [Number(digits)]
}

const oneTag = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`
const list = new RegExp(String.raw`^[ \t]*${oneTag}(?:[ \t]*,[ \t]*${oneTag})*[ \t]*$`)

function readTags(text: string): string[] | undefined {
  if (text.length > 2000 || !list.test(text)) return undefined
  return text.match(new RegExp(oneTag, 'g')) ?? []
}

function isOld(error: unknown): error is HttpError {
  return error instanceof HttpError && error.status === 409 && error.errors?.[0]?.code === 'version'
}
