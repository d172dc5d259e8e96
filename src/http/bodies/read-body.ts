/** Reads a request's body by its media type. Source: decisions, Requests; specification, Request body parsing. */

import { promise } from '../../core/maybe-promise.js'
import { HttpError } from '../../errors/http-error.js'
import type { ServerRequest } from '../server-request.js'
import {
  formMedia,
  jsonMedia,
  otherMedia,
  uploadMedia,
  type BodyPlan,
  allMedia,
  bodyTypeOf,
  bodyTypes,
  type BodyReader,
  readRaw,
} from './body-types.js'
import { readMediaType, type MediaType } from './media-type.js'
import { readJson } from './json.js'
import { noBoundary, readBoundary, readMultipart } from './multipart.js'
import type { Incoming } from '../node-messages.js'
import { ChunkList } from './chunk-list.js'
import { clientLeft, tooLarge } from '../refusals.js'
import { ReceivedBody } from './received-body.js'

const charsets: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

/** Milliseconds within which a body must arrive. */
export interface BodyTimes {
  readonly request: number
  /** For multipart bodies. */
  readonly upload: number
}

/** @returns a step that reads the body within its time limit, once */
export function readWithin(
  plan: BodyPlan,
  times: BodyTimes,
): (request: ServerRequest) => Promise<void> | undefined {
  return (request) =>
    request.receivedBody?.isRead === true ? undefined : readBody(request, plan, times)
}

/** Sets the body of an internal request, which is parsed already. */
export function setParsedBody(request: ServerRequest, value: unknown, keepsBytes: boolean): void {
  const received = beginBody(request)
  received.value = value
  if (value !== undefined && keepsBytes) received.bytes = Buffer.from(JSON.stringify(value))
}

function beginBody(request: ServerRequest, timeLimit?: number): ReceivedBody {
  const received = new ReceivedBody(timeLimit)
  received.isRead = true
  request.receivedBody = received
  return received
}

/**
 * Reads the body into `request.receivedBody`.
 *
 * A request without `Content-Length` and `Transfer-Encoding` has no body (RFC 9112 §6.3). If the promise rejects, the
 * rest of the body is left unread in the paused stream, and no uploaded file remains.
 *
 * @returns `undefined` if there is no body to wait for
 * @throws {HttpError} as a rejection only: 400, 413, 415 or 431, or with the code `CLIENT_GONE` if the connection broke
 */
export function readBody(
  request: ServerRequest,
  plan: BodyPlan,
  times?: BodyTimes,
): Promise<void> | undefined {
  const { headers } = request.incoming
  const length = headers['content-length']
  if (length === undefined ? headers['transfer-encoding'] === undefined : Number(length) === 0) {
    return plan.isRequired ? Promise.reject(bodyRequired()) : undefined
  }
  const received = beginBody(request, times?.request)
  // The fast path for the most common type in its usual spelling: one promise and no parsing of the head.
  if (
    headers['content-type'] === jsonMedia &&
    headers['content-encoding'] === undefined &&
    isAccepted(plan, jsonMedia)
  ) {
    return readComplete(request, received, plan, readJson)
  }
  return readByType(request, received, plan, times?.upload)
}

// Async, so that errors are rejections.
async function readByType(
  request: ServerRequest,
  received: ReceivedBody,
  plan: BodyPlan,
  uploadTime: number | undefined,
): Promise<void> {
  const { headers } = request.incoming
  checkEncoding(headers['content-encoding'])
  const named = headers['content-type'] ?? ''
  const type = readMediaType(named)
  // An empty `boundary=` makes the media type invalid, but the body must not be returned as bytes.
  if (type === undefined && /^[\t ]*multipart\/form-data\b/i.test(named)) throw noBoundary()
  const media = mediaOf(type)
  if (!isAccepted(plan, media)) throw unreadType(plan)
  if (type !== undefined && media !== otherMedia) checkCharset(type)
  if (type !== undefined && media === uploadMedia) {
    received.form = 'upload'
    received.timeLimit = uploadTime
    const boundary = readBoundary(type)
    announcedLength(request.incoming, plan.limits.multipart)
    requestBody(request)
    await readMultipart(request, received, plan, boundary)
    received.timeLimit = undefined
    takeFormToken(received)
    return
  }
  if (media === formMedia) received.form = 'form'
  await readComplete(request, received, plan, bodyTypeOf.get(media)?.read ?? readRaw)
}

function mediaOf(type: MediaType | undefined): string {
  if (type === undefined) return otherMedia
  const { essence } = type
  if (bodyTypeOf.has(essence)) return essence
  return bodyTypes.find(({ covers }) => covers?.(essence) === true)?.media ?? otherMedia
}

const parsedMedia = allMedia.filter((one) => one !== otherMedia)

function acceptedMedia({ media, isRequired }: BodyPlan): readonly string[] {
  return media ?? (isRequired ? parsedMedia : allMedia)
}

function isAccepted(plan: BodyPlan, media: string): boolean {
  const accepted = acceptedMedia(plan)
  if (accepted.includes(media)) return true
  // The bytes of a multipart body are not stored.
  return accepted.includes(otherMedia) && !(plan.keepsBytes === true && media === uploadMedia)
}

function readComplete(
  request: ServerRequest,
  received: ReceivedBody,
  plan: BodyPlan,
  reader: BodyReader,
): Promise<void> {
  const { incoming } = request
  const limit = plan.limits.body
  const take = (bytes: Buffer): void => {
    if (bytes.length > limit) throw tooLarge('The body', limit)
    received.timeLimit = undefined
    accept(received, plan, reader, bytes)
  }
  return promise(() => {
    const expected = announcedLength(incoming, limit)
    requestBody(request)
    return incoming.readWhole?.(take) ?? readEvents(incoming, { limit, expected }, take)
  })
}

function readEvents(
  incoming: Incoming,
  options: CollectOptions,
  take: (bytes: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    collect(incoming, options, (failure, bytes) => {
      if (failure !== undefined) {
        reject(failure)
        return
      }
      try {
        take(bytes)
        resolve()
      } catch (error) {
        const refusal = error as Error
        reject(refusal)
      }
    })
  })
}

function accept(received: ReceivedBody, plan: BodyPlan, reader: BodyReader, bytes: Buffer): void {
  if (bytes.length === 0) {
    if (plan.isRequired) throw bodyRequired()
    return
  }
  if (plan.keepsBytes === true) received.bytes = bytes
  received.value = reader(bytes)
  takeFormToken(received)
}

/** A client that waits for `100 Continue` gets it here, because the body is needed. */
function requestBody({ incoming, outgoing }: ServerRequest): void {
  if (incoming.headers.expect?.toLowerCase() === '100-continue') outgoing.writeContinue?.()
}

function unreadType(plan: BodyPlan): HttpError {
  const named = acceptedMedia(plan).filter((one) => one !== otherMedia)
  if (named.length === 0) return new HttpError(415, 'Send another type.')
  const accept = named.join(', ')
  return new HttpError(415, `Send ${accept}.`, { headers: { accept } })
}

function bodyRequired(): HttpError {
  return new HttpError(400, 'A body is required.', { code: 'BODY_REQUIRED' })
}

function checkEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return
  throw new HttpError(415, 'Compressed bodies are not read. Send the body as it is.', {
    code: 'UNSUPPORTED_ENCODING',
    headers: { 'accept-encoding': 'identity' },
  })
}

function checkCharset({ parameters }: MediaType): void {
  const { charset } = parameters
  if (charset === undefined || charsets.has(charset.toLowerCase())) return
  throw new HttpError(415, 'Only UTF-8 bodies are read.', {
    code: 'UNSUPPORTED_CHARSET',
    headers: { 'accept-charset': 'utf-8' },
  })
}

/**
 * Removes the browser client's `formToken` from a body, before validation and the handler see it. A token that is not a
 * text is removed and ignored. Source: specification, Browser fetch client.
 */
function takeFormToken(received: ReceivedBody): void {
  const { value } = received
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return
  if (!Object.hasOwn(value, 'formToken')) return
  const holder = value as { formToken?: unknown }
  if (typeof holder.formToken === 'string') received.formToken = holder.formToken
  delete holder.formToken
}

interface CollectOptions {
  /** The maximum size in bytes. Larger bodies are 413. */
  readonly limit: number
  /** The announced length in bytes, within the limit; `undefined` if there is none. */
  readonly expected: number | undefined
}

/**
 * The length in bytes that the client announced; `undefined` if the body comes in chunks.
 *
 * @throws {HttpError} 413 if it is over the limit. No byte is read then
 */
export function announcedLength(incoming: Incoming, limit: number): number | undefined {
  const length = incoming.headers['content-length']
  if (length === undefined) return undefined
  const bytes = Number(length)
  if (bytes > limit) throw tooLarge('The body', limit)
  return bytes
}

/**
 * Reads a body's bytes into memory, and calls `done` once. After an error the stream is paused with its rest unread,
 * for the responder to drain or to drop.
 *
 * Uses a callback instead of a promise, because the caller has one already and each costs a turn of the microtask
 * queue.
 */
export function collect(
  incoming: Incoming,
  { limit, expected }: CollectOptions,
  done: (error: HttpError | undefined, bytes: Buffer) => void,
): void {
  if (incoming.destroyed) {
    done(clientLeft(), empty)
    return
  }
  let first: Buffer | undefined
  let rest: ChunkList | undefined
  let large: LargeBody | undefined
  let total = 0
  let open = true

  const finish = (error: HttpError | undefined): void => {
    if (!open) return
    open = false
    if (error === undefined) {
      if (large !== undefined) done(undefined, large.bytes)
      else done(undefined, rest === undefined ? (first ?? empty) : rest.join())
      return
    }
    incoming.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onError)
    // A connection that breaks after its request was rejected is not an error.
    incoming.on('error', () => undefined)
    incoming.pause()
    done(error, empty)
  }
  const onData = (chunk: Buffer): void => {
    total += chunk.length
    if (total > limit) {
      finish(tooLarge('The body', limit))
      return
    }
    if (large !== undefined) large.append(chunk)
    else if (first === undefined) first = chunk
    else if (rest === undefined) {
      rest = new ChunkList()
      rest.add(first)
      rest.add(chunk)
    } else if (total <= minLargeBytes) rest.add(chunk)
    else {
      large = new LargeBody(expected)
      large.append(rest.join())
      large.append(chunk)
      rest = undefined
    }
    // All announced bytes have arrived. Waiting for the end would only cost another turn of the event loop.
    if (total === expected) finish(undefined)
  }
  const onEnd = (): void => {
    finish(undefined)
  }
  const onClose = (): void => {
    // Every request is closed at some time. An error, which costs a stack trace, is created only for a broken one.
    if (open) finish(clientLeft())
  }
  const onError = (cause: Error): void => {
    finish(clientLeft(cause))
  }
  // The listeners stay after success: they are released with the request, and removing them costs more.
  incoming.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onError)
}

const empty = Buffer.alloc(0)

/** A body over 1 MiB is a `LargeBody`. Until that much has arrived, no memory is reserved for what a client announces. */
const minLargeBytes = 1_048_576

/** The bytes of a large body, copied chunk by chunk: to join 16 MB at once would hold up all other requests. */
class LargeBody {
  #buffer: Buffer
  #length = 0

  /** @param expected the announced length in bytes. Without one the buffer doubles as it fills */
  constructor(expected: number | undefined) {
    this.#buffer = Buffer.allocUnsafeSlow(expected ?? 2 * minLargeBytes)
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  append(chunk: Buffer): void {
    const length = this.#length + chunk.length
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#buffer.length))
      this.bytes.copy(larger)
      this.#buffer = larger
    }
    chunk.copy(this.#buffer, this.#length)
    this.#length = length
  }
}
