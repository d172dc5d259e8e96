/**
 * Opens a file for its response, with conditions and ranges of the request. Source: RFC 9110 §13 (conditions) and §14
 * (ranges).
 */
import { once } from 'node:events'
import { ReadStream } from 'node:fs'
import { join, sep } from 'node:path'
import { Readable } from 'node:stream'
import { HttpError } from '../errors/http-error.js'
import { matchesEntityTag } from './entity-tag.js'
import type { FileBody } from './file-reply.js'
import { contentTag, isTimeReliable } from './file-tags.js'
import { findFile, isAbsence, type FoundFile } from './find-file.js'
import { HeaderList } from './header-list.js'
import type { ServerRequest } from './server-request.js'

/** An open file with the head of its response. */
export interface OpenFile {
  /** 200, 206 or 304. */
  readonly status: number
  /** Without `Content-Type` and `Content-Length`. */
  readonly headers: HeaderList
  readonly type: string
  /** The length of the response in bytes; undefined for 304. */
  readonly length: number | undefined
  readonly stream: Readable
}

/** @throws {HttpError} 404, or 412 and 416 when the request's conditions or ranges cannot be met */
export async function openFile(request: ServerRequest, body: FileBody): Promise<OpenFile> {
  const found = await findFile(body)
  if (found === undefined) throw new HttpError(404)
  // Loaded lazily, because most applications serve no files.
  const { default: send } = await import('@fastify/send')
  const escaped = found.path.split(sep).map(encodeURIComponent).join('/')
  const tag = await tagByContent(found)
  if (tag !== undefined && isGetOrHead(request) && matchesEntityTag(ifNoneMatch(request), tag))
    return notModified(tag)
  const sent = await send(requestForSend(request, found.size, tag), escaped, {
    root: found.root,
    cacheControl: false,
    index: false,
    ...(tag === undefined ? {} : { etag: false, lastModified: false }),
    ...(body.wellKnown ? { dotfiles: 'allow' as const } : {}),
  })
  if (sent.type === 'file') {
    await waitUntilOpen(sent.stream)
    return toOpenFile(sent, tag)
  }
  sent.stream.destroy()
  throw toHttpError(sent.statusCode, sent.headers)
}

/**
 * Waits until the system has opened the file, so that a file that cannot be read is an error and not a broken response.
 *
 * @throws {HttpError} 404
 */
async function waitUntilOpen(stream: Readable): Promise<void> {
  if (!(stream instanceof ReadStream)) return
  try {
    await once(stream, 'open')
  } catch (cause) {
    throw toReadError(cause)
  }
}

/** @returns 404 for a file that cannot be read; any other error as it is */
function toReadError(cause: unknown): unknown {
  if (!isAbsence(cause)) return cause
  return new HttpError(404, undefined, { cause, reason: 'the file cannot be read' })
}

/** The tag of the content if the time of the file does not distinguish its versions. */
async function tagByContent({
  root,
  path,
  modifiedAt,
  fingerprint,
}: FoundFile): Promise<string | undefined> {
  if (isTimeReliable(modifiedAt)) return undefined
  try {
    return await contentTag(join(root, path), fingerprint)
  } catch (cause) {
    throw toReadError(cause)
  }
}

function isGetOrHead({ method }: ServerRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

function ifNoneMatch({ incoming }: ServerRequest): string | undefined {
  return incoming.headers['if-none-match']
}

function notModified(tag: string): OpenFile {
  const headers = HeaderList.from({ ETag: tag, 'Cache-Control': 'no-cache' })
  return { status: 304, headers, type: '', length: undefined, stream: Readable.from([]) }
}

/** An entity tag that the package gives to no file. */
const matchesNoFile = '"none"'

/**
 * The request that the package reads, without conditions and ranges that it would apply wrongly. Methods except GET and
 * HEAD have neither.
 */
function requestForSend(request: ServerRequest, size: number, tag: string | undefined): Readable {
  const { method } = request
  const headers = isGetOrHead(request) ? { ...request.incoming.headers } : {}
  // Dates do not distinguish versions of this file. Without them, a client downloads the complete file.
  if (tag !== undefined) {
    if (headers['if-range'] !== undefined) delete headers.range
    delete headers['if-modified-since']
    delete headers['if-unmodified-since']
    delete headers['if-none-match']
  }
  // Ranges are only defined for GET (RFC 9110 §14.2). The ETags are weak, which is not sufficient for `If-Range`
  // (§13.1.5).
  if (method === 'HEAD' || headers['if-range']?.toString().includes('"') === true)
    delete headers.range
  // Weak ETags do not match If-Match either (§13.1.1), although the package accepts them.
  const { 'if-match': ifMatch } = headers
  if (ifMatch !== undefined && ifMatch.trim() !== '*') headers['if-match'] = matchesNoFile
  // "The last 99 bytes" of a file of 10 are all 10 (RFC 9110 §14.1.2); the package would refuse.
  const suffix = /^ *bytes=-(\d+)$/.exec(headers.range ?? '')?.[1]
  if (suffix !== undefined && Number(suffix) > size && size > 0) headers.range = 'bytes=0-'
  // The package uses no other properties.
  return Object.assign(new Readable(), { method, headers })
}

/** The result of the package. */
interface SentFile {
  readonly statusCode: number
  readonly headers: Record<string, string | number>
  readonly stream: Readable
}

function toOpenFile({ statusCode, headers, stream }: SentFile, tag: string | undefined): OpenFile {
  const rest = new HeaderList()
  if (tag !== undefined) rest.add('ETag', tag)
  for (const [name, value] of Object.entries(headers)) {
    if (name !== 'Content-Type' && name !== 'Content-Length') rest.add(name, String(value))
  }
  rest.add('Cache-Control', 'no-cache')
  const { 'Content-Type': type, 'Content-Length': length } = headers
  return {
    status: statusCode,
    headers: rest,
    type: String(type ?? 'application/octet-stream'),
    length: length === undefined ? undefined : Number(length),
    stream,
  }
}

function toHttpError(status: number, headers: Record<string, string>): HttpError {
  if (status === 412) return new HttpError(412)
  if (status !== 416) return new HttpError(404)
  const range = headers['Content-Range'] ?? 'bytes */*'
  return new HttpError(416, undefined, { headers: { 'Content-Range': range } })
}
