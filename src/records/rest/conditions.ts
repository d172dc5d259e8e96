/**
 * Versions of rows as ETags, and what a client may ask by them: `If-Match` before a write, `If-None-Match` before a read.
 * Source: RFC 9110 §8.8.3 and §13.1; decisions, Second storey: records, Versions.
 */
import { HttpError } from '../../errors/http-error.js'
import type { HttpRequest } from '../../http/request.js'
import { reply, type Reply } from '../../http/reply.js'
import { type Later, attempt } from '../../core/later.js'
import type { Table } from '../model/table.js'

/** The row as it is answered: with its ETag where the table counts versions. */
export function tagged<T extends object>(
  { version }: Table,
  row: T,
  status?: number,
): T | Reply<T> {
  const answer = status === undefined ? undefined : reply(row, status)
  if (version === undefined) return answer ?? row
  const number = (row as Record<string, number | undefined>)[version.property]
  // Who may not read the version has no tag of it.
  if (number === undefined) return answer ?? row
  return (answer ?? reply(row)).header('ETag', `"${number}"`)
}

/** The same of a read: 304 where the client has this version. */
export function taggedOrKnown(table: Table, row: object | null, request: HttpRequest): unknown {
  if (row === null || table.version === undefined) return row
  const answer = tagged(table, row)
  const known = request.incoming.headers['if-none-match']
  if (known === undefined || !('header' in answer)) return answer
  const number = (row as Record<string, unknown>)[table.version.property]
  const tag = `"${String(number)}"`
  // The weak comparison.
  const isKnown =
    known.trim() === '*' || readTags(known)?.some((one) => one.replace(/^W\//, '') === tag) === true
  return isKnown ? reply(null, 304).header('ETag', tag) : answer
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

/** Strong ones only: by a weak one nothing is changed. */
function toVersion(tag: string): number[] {
  const [, digits] = /^"(\d{1,15})"$/.exec(tag) ?? []
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
