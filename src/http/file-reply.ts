/**
 * Sends files of a folder. Paths that could lead out of it are rejected, not normalized. Source: specification, "File
 * serving"; RFC 9110 §13 (conditions) and §14 (ranges).
 */
import { once } from 'node:events'
import { ReadStream, statSync, type Stats } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { acceptOtherCopies } from '../errors/shared-class.js'
import { HttpError } from '../errors/http-error.js'
import { checkCallOptions } from '../errors/unknown-options.js'
import { isExecuted } from './file-types.js'
import { contentTag, isTimeReliable } from './file-tags.js'
import { matchesEntityTag } from './entity-tag.js'
import { HeaderList } from './header-list.js'
import { Reply } from './reply.js'
import type { ServerRequest } from './server-request.js'

export interface FileOptions {
  /** The folder; relative to the working directory of the process. */
  root: string
  /**
   * `true` lets browsers execute the file: HTML, SVG, XML, JavaScript and PDF are sent without `Content-Disposition:
   * attachment` and `Content-Security-Policy: sandbox`. Use it only for files that no client uploaded. Default false.
   */
  inline?: boolean
  /** Makes browsers save the file under this name, in any characters. Default: they display it if they can. */
  download?: string
}

const optionNames: ReadonlySet<string> = new Set<keyof FileOptions>(['root', 'inline', 'download'])

/** The body of a `file` reply. */
export class FileBody {
  readonly path: string
  /** Absolute. */
  readonly root: string
  /** A browser may execute the file. */
  readonly inline: boolean
  /** `.well-known` at the top of the root may be read (RFC 8615). */
  readonly wellKnown: boolean

  constructor(path: string, { root, inline = false }: FileOptions, wellKnown = false) {
    this.path = path
    this.root = resolve(root)
    this.inline = inline
    this.wellKnown = wellKnown
  }
}

acceptOtherCopies(FileBody, 'FileBody')

const noHeaders = new HeaderList()
const againstExecution = HeaderList.from({
  'Content-Disposition': 'attachment',
  'Content-Security-Policy': "sandbox; default-src 'none'",
})

/** Headers that prevent browsers from executing a file of this type. */
export function headersAgainstExecution({ inline }: FileBody, mediaType: string): HeaderList {
  return inline || !isExecuted(mediaType) ? noHeaders : againstExecution
}

/**
 * Responds with a file: with its media type, ETag, Last-Modified, ranges and 304, and with `Cache-Control: no-cache`
 * unless `.header` sets another rule. A file whose time is before 1980 or in the future has an ETag of its content and
 * no Last-Modified. 404 `{ error }` for missing files, and for `..`, backslashes, NUL,
 * percent-encoded forms of these, names that begin with a dot, folders, and symlinks out of the root. Browsers save
 * files that they would execute, unless `inline` is true.
 *
 * @param path the decoded path below the root, with `/` between its parts
 * @throws {TypeError} if an option is unknown
 */
export function file(path: string, options: FileOptions): Reply<FileBody> {
  checkCallOptions('file', options, optionNames)
  const answer = new Reply(new FileBody(path, options))
  return options.download === undefined ? answer : answer.download(options.download)
}

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
  if (tag !== undefined && isRead(request) && matchesEntityTag(ifNoneMatch(request), tag))
    return unchanged(tag)
  const sent = await send(conditionsOf(request, found.size, tag), escaped, {
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

/** The tag of the content if the time of the file does not tell versions apart. */
async function tagByContent({
  root,
  path,
  modified,
  state,
}: FoundFile): Promise<string | undefined> {
  if (isTimeReliable(modified)) return undefined
  try {
    return await contentTag(join(root, path), state)
  } catch (cause) {
    throw toReadError(cause)
  }
}

function isRead({ method }: ServerRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

function ifNoneMatch({ incoming }: ServerRequest): string | undefined {
  return incoming.headers['if-none-match']
}

function unchanged(tag: string): OpenFile {
  const headers = HeaderList.from({ ETag: tag, 'Cache-Control': 'no-cache' })
  return { status: 304, headers, type: '', length: undefined, stream: Readable.from([]) }
}

/** Ranges and conditions apply to reads. Any other method gets the complete file. */
function conditionsOf(request: ServerRequest, size: number, tag: string | undefined): Readable {
  const { method } = request
  const headers = isRead(request) ? { ...request.incoming.headers } : {}
  // Dates do not tell versions of this file apart. Without them, a client downloads the complete file.
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
  if (ifMatch !== undefined && ifMatch.trim() !== '*') headers['if-match'] = '"none"'
  // "The last 99 bytes" of a file of 10 are all 10 (RFC 9110 §14.1.2); the package would refuse.
  const suffix = /^ *bytes=-(\d+)$/.exec(headers.range ?? '')?.[1]
  if (suffix !== undefined && Number(suffix) > size && size > 0) headers.range = 'bytes=0-'
  // The package only uses these two properties.
  return Object.assign(new Readable(), { method, headers })
}

interface FoundFile {
  /** The root, all links resolved. */
  readonly root: string
  /** The file's path below it, all links resolved. */
  readonly path: string
  /** Bytes. */
  readonly size: number
  /** When the content was written, in milliseconds of the Unix epoch. */
  readonly modified: number
  /** Changes whenever the file is written or replaced on this machine. */
  readonly state: string
}

/** Finds the file, with all links resolved; `undefined` if it does not exist or must not be visible. */
async function findFile({ path, root, wellKnown }: FileBody): Promise<FoundFile | undefined> {
  if (!isPlainPath(path, wellKnown)) return undefined
  try {
    const realRoot = await realpath(root)
    const real = await realpath(resolve(realRoot, path))
    const inside = real.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep)
    if (!inside) return undefined
    const found = await lstat(real)
    if (!found.isFile()) return undefined
    const below = relative(realRoot, real)
    if (!isPlainPath(below.replaceAll(sep, '/'), wellKnown)) return undefined
    const { size, mtimeMs, ctimeMs, ino } = found
    const state = `${ino} ${size} ${mtimeMs} ${ctimeMs}`
    return { root: realRoot, path: below, size, modified: mtimeMs, state }
  } catch (error) {
    if (isAbsence(error)) return undefined
    throw error
  }
}

/**
 * True if all parts have a name and are not hidden, and nothing in them is a separator for a file system or a decoder.
 *
 * @param wellKnown the first part may be `.well-known`
 */
export function isPlainPath(path: string, wellKnown = false): boolean {
  if (/[\\\0]|%(?:00|2e|2f|5c)/i.test(path)) return false
  return path
    .split('/')
    .every(
      (part, index) =>
        part !== '' &&
        (!part.startsWith('.') || (wellKnown && index === 0 && part === '.well-known')),
    )
}

/**
 * Errors of the file system that depend on the path alone: it names nothing, is too long or not text for the file
 * system, or names a file that this process may not read.
 */
const absenceCodes: ReadonlySet<unknown> = new Set([
  ...['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EILSEQ', 'EINVAL'],
  ...['EACCES', 'EPERM'],
])

function isAbsence(error: unknown): boolean {
  return absenceCodes.has((error as NodeJS.ErrnoException | null)?.code)
}

/** @returns undefined if a client gets 404 for the path. @throws errors of the file system itself */
export function statIfPresent(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (error) {
    if (isAbsence(error)) return undefined
    throw error
  }
}

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
