/**
 * Versions of rows as ETags, and the conditions of requests: `If-Match` before a write, `If-None-Match` before a read.
 * Source: RFC 9110 §8.8.3 and §13.1; decisions, Records: REST.
 */
import { HttpError } from '../../errors/http-error.js'
import { entityTag, matchesEntityTag } from '../../http/entity-tags.js'
import type { HttpRequest } from '../../http/request.js'
import { reply, type Reply } from '../../http/reply.js'
import { type MaybePromise, attempt } from '../../core/maybe-promise.js'
import type { Table } from '../model/table.js'
import { policyOf } from '../rights/record-policy.js'

/** A response with a row, and with its ETag if the table has a version column. */
export function tagged<T extends object>(table: Table, row: T, status?: number): T | Reply<T> {
  const answer = status === undefined ? undefined : reply(row, status)
  const tag = rowTag(table, row)
  return tag === undefined ? (answer ?? row) : (answer ?? reply(row)).header('ETag', tag)
}

/** The response to a read: 304 if the client already has this version. */
export function taggedOrKnown(
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
    if ((row as Values)[property] === undefined) without += `${property} `
  return without === '' ? `"${version}"` : tagOf(version, without)
}

/** The tag for a part of a row, or for a row with related rows: its version, and a hash of the whole body. */
export function shapedTag(version: number | undefined, body: object): string | undefined {
  return version === undefined ? undefined : tagOf(version, JSON.stringify(body))
}

/** @returns undefined if the table has no version column, or the caller may not read it */
export function versionOf({ version }: Table, row: object): number | undefined {
  return version === undefined ? undefined : ((row as Values)[version.property] as number)
}

type Values = Readonly<Record<string, unknown>>

function tagOf(version: number, content: string): string {
  return `"${version}-${entityTag(content).slice(1, -1)}"`
}

/**
 * Writes if `If-Match` allows it: it lists the row's version, or is `*`, or is missing.
 *
 * @throws {HttpError} 400 for anything except a list of tags, 412 for a row at another version
 */
export function whereMatching<T>(
  table: Table,
  request: HttpRequest | undefined,
  write: (expected: readonly number[] | undefined) => MaybePromise<T>,
): MaybePromise<T> {
  const condition = request?.incoming.headers['if-match']
  if (table.version === undefined || condition === undefined) return write(undefined)
  if (condition.trim() === '*') return write(undefined)
  const tags = readTags(condition)
  if (tags === undefined)
    throw new HttpError(400, 'If-Match must be *, or a list of ETags, separated by commas.')
  return attempt<T>(
    () => write(tags.flatMap(toVersion)),
    (error) => {
      throw isOld(error) ? new HttpError(412, error.message, { cause: error }) : error
    },
  )
}

/**
 * Only strong tags match, because a weak tag allows no write. Only the version counts, whichever fields the client
 * has seen.
 */
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
