/**
 * Reads multipart/form-data: text into `request.body`, files streamed to disk into `request.files`.
 * Source: decisions, Requests; RFC 7578.
 */

import { Readable, Stream } from 'node:stream'
import { isUtf8 } from 'node:buffer'
import type { Incoming } from '../node-messages.js'
import { HttpError } from '../../errors/http-error.js'
import { clientLeft, diskFull, isDiskFull, tooLarge } from '../refusals.js'
import { detectFileType } from '../file-types.js'
import type { Limits } from '../limits.js'
import type { UploadedFiles } from '../request.js'
import type { ServerRequest } from '../server-request.js'
import type { ReceivedBody } from './received-body.js'
import { Upload, type UploadedFile } from '../upload.js'
import { jsonMedia, type BodyField, type BodyPlan, bodyTypeOf } from './body-types.js'
import type { MediaType } from './media-type.js'
import { ChunkList } from './chunk-list.js'
import { readJson } from './json.js'
import {
  MultipartParser,
  type MultipartEvent,
  type PartHeaders,
  malformed,
  readPartHeader,
  type PartHeader,
  decodePart,
} from './multipart-parser.js'
import { UploadFolder } from './upload-folder.js'

/**
 * The body as a stream with back-pressure. If destroyed, it releases the request and leaves it paused. Fails with 413
 * or `CLIENT_GONE`.
 */
class MultipartInput extends Readable {
  readonly #incoming: Incoming
  readonly #limit: number
  #total = 0
  #ended = false

  /** @param limit the maximum size of the complete body in bytes. Larger bodies are 413 */
  constructor(incoming: Incoming, limit: number) {
    super()
    this.#incoming = incoming
    this.#limit = limit
    incoming.on('data', this.#onData).on('end', this.#onEnd)
    incoming.on('close', this.#onClose).on('error', this.#onError)
    incoming.pause()
    if (incoming.destroyed) this.destroy(clientLeft())
  }

  override _read(): void {
    this.#incoming.resume()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    const incoming = this.#incoming
    incoming.off('data', this.#onData).off('end', this.#onEnd)
    incoming.off('close', this.#onClose).off('error', this.#onError)
    // A connection that breaks after its request was rejected is not an error.
    incoming.on('error', () => undefined)
    if (!this.#ended) incoming.pause()
    callback(error)
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#total += chunk.length
    if (this.#total > this.#limit) this.destroy(tooLarge('The body', this.#limit))
    else if (!this.push(chunk)) this.#incoming.pause()
  }

  readonly #onEnd = (): void => {
    this.#ended = true
    this.push(null)
  }

  readonly #onClose = (): void => {
    if (!this.#ended) this.destroy(clientLeft())
  }

  readonly #onError = (cause: Error): void => {
    if (!this.#ended) this.destroy(clientLeft(cause))
  }
}

/**
 * @throws {HttpError} 400 if a multipart body has no boundary, or one with characters that RFC 2046 §5.1.1 does not
 * allow
 */
export function readBoundary({ parameters }: MediaType): string {
  const { boundary } = parameters
  if (boundary === undefined || !/^[0-9A-Za-z'()+_,\-./:=? ]{1,200}$/.test(boundary)) {
    throw noBoundary()
  }
  return boundary
}

export function noBoundary(): HttpError {
  return malformed('The Content-Type has no valid boundary.')
}

/** @throws {HttpError} 400, 413, 431, and errors of `plan.beforeFirstFile`; then no file remains */
export async function readMultipart(
  request: ServerRequest,
  received: ReceivedBody,
  plan: BodyPlan,
  boundary: string,
): Promise<void> {
  const input = new MultipartInput(request.incoming, plan.limits.multipart)
  await new MultipartReading(request, received, plan, input).read(boundary)
}

type ReceivedFile = { readonly header: PartHeader; readonly upload: UploadedFile } | undefined

/** The reading of one body. */
class MultipartReading {
  readonly #request: ServerRequest
  readonly #received: ReceivedBody
  readonly #plan: BodyPlan
  readonly #limits: Limits
  readonly #input: MultipartInput
  /** Texts, and values of parts in JSON. */
  readonly #fields = Object.create(null) as Record<string, unknown>
  readonly #writing: Promise<ReceivedFile>[] = []
  #fieldCount = 0
  #fieldBytes = 0
  #isAccessChecked = false
  #folder: Promise<UploadFolder> | undefined
  readonly #pace = new Pace()
  #part: Stream = beforeFirstPart
  #failed = false
  #failure: unknown

  constructor(
    request: ServerRequest,
    received: ReceivedBody,
    plan: BodyPlan,
    input: MultipartInput,
  ) {
    this.#request = request
    this.#received = received
    this.#plan = plan
    this.#limits = plan.limits
    this.#input = input
    input.on('error', this.#fail)
  }

  async read(boundary: string): Promise<void> {
    try {
      await this.#readParts(new MultipartParser(boundary, this.#limits.partHeader))
      const files = await Promise.all(this.#writing)
      await this.#checkAccess()
      this.#received.value = this.#fields
      this.#received.files = toFiles(files)
    } catch (cause) {
      this.#fail(cause)
      await this.#removeFolder()
      throw isDiskFull(this.#failure) ? diskFull(this.#failure) : this.#failure
    }
  }

  async #readParts(parser: MultipartParser): Promise<void> {
    for await (const chunk of this.#input as AsyncIterable<Buffer>) {
      for (const found of parser.take(chunk)) {
        const pending = this.#receive(found)
        if (pending !== undefined) await pending
        if (this.#failed) throw this.#failure
      }
      // Further bytes would accumulate in memory before the disk.
      if (this.#pace.waiting !== undefined) await this.#pace.waiting
    }
    parser.finish()
  }

  #receive(found: MultipartEvent): Promise<void> | undefined {
    if (found.kind === 'head') return this.#receiveHead(found.headers)
    if (found.kind === 'bytes') this.#part.emit('data', found.bytes)
    else this.#part.emit('end')
    return undefined
  }

  /** @returns undefined for a field, which needs no file */
  #receiveHead(headers: PartHeaders): Promise<void> | undefined {
    const header = readPartHeader(headers)
    this.#part = new Stream()
    const part = decodePart(this.#part, headers['content-transfer-encoding'])
    const field = this.#plan.fields?.get(header.name)
    if (header.fileName !== undefined && field === undefined) return this.#receiveFile(part, header)
    // Browsers send an empty file input as an empty file without a name.
    const isUnset = header.fileName === ''
    this.#receiveField(part, (bytes) => {
      if (isUnset && bytes.length === 0) return
      add(this.#fields, header.name, readField(bytes, header, field))
    })
    return undefined
  }

  #receiveField(part: Stream, receive: (bytes: Buffer) => void): void {
    if (++this.#fieldCount > this.#limits.fields) throw tooMany('fields', this.#limits.fields)
    const chunks = new ChunkList()
    part.on('data', (chunk: Buffer) => {
      this.#fieldBytes += chunk.length
      if (this.#fieldBytes > this.#limits.body) {
        this.#fail(tooLarge('The text in the form', this.#limits.body))
      } else chunks.add(chunk)
    })
    part.on('end', () => {
      try {
        receive(chunks.join())
      } catch (error) {
        this.#fail(error)
      }
    })
  }

  /** A file that no handler accepts. The check of the body's class reports the field with its other errors. */
  #receiveUnwantedFile(part: Stream, { name, fileName }: PartHeader): void {
    let isEmpty = true
    part.on('data', () => (isEmpty = false))
    part.on('end', () => {
      if ((fileName === '' && isEmpty) || this.#plan.files === 'dropped') return
      if (this.#plan.fields === undefined) this.#fail(unknownFile(name))
      else add(this.#fields, name, '')
    })
  }

  async #receiveFile(part: Stream, header: PartHeader): Promise<void> {
    if ((this.#plan.files ?? 'taken') !== 'taken') {
      this.#receiveUnwantedFile(part, header)
      return
    }
    if (this.#writing.length === this.#limits.files) throw tooMany('files', this.#limits.files)
    await this.#checkAccess()
    this.#folder ??= this.#createFolder()
    const folder = await this.#folder
    if (this.#failed) return
    const stored = folder.receive(part, { limit: this.#limits.file, input: this.#pace })
    const received = stored.then(({ path, size, start }): ReceivedFile => {
      const { fileName: name = '', type } = header
      // A browser sends this for an empty file input.
      if (name === '' && size === 0) return undefined
      const content = detectFileType(start, { type, name })
      return { header, upload: new Upload({ name, content, size, path }) }
    })
    received.catch(this.#fail)
    this.#writing.push(received)
  }

  async #checkAccess(): Promise<void> {
    if (this.#isAccessChecked) return
    this.#isAccessChecked = true
    const { beforeFirstFile } = this.#plan
    if (beforeFirstFile === undefined) return
    const { formToken } = this.#fields
    if (typeof formToken === 'string') this.#received.formToken = formToken
    await beforeFirstFile(this.#received.formToken)
  }

  #createFolder(): Promise<UploadFolder> {
    if (this.#request.outgoing.destroyed) throw clientLeft()
    this.#request.onFinished(() => void this.#removeFolder())
    return UploadFolder.create()
  }

  async #removeFolder(): Promise<void> {
    // If the folder could not be created, the request has failed already.
    const folder = await this.#folder?.catch(() => undefined)
    await folder?.remove()
  }

  readonly #fail = (failure: unknown): void => {
    if (this.#failed) return
    this.#failed = true
    this.#failure = failure
    this.#input.destroy()
    this.#pace.resume()
  }
}

function readField(bytes: Buffer, { type, fileName }: PartHeader, field?: BodyField): unknown {
  // The base64 of the other parts is checked with the field.
  if (fileName !== undefined && field?.isBytes === true) return bytes.toString('base64')
  if (field !== undefined && isJson(type)) return readJson(bytes)
  if (isUtf8(bytes)) return bytes.toString('utf8')
  throw new HttpError(400, 'A field is not valid UTF-8.', { code: 'INVALID_UTF8' })
}

function isJson(type: string): boolean {
  return type === jsonMedia || bodyTypeOf.get(jsonMedia)?.covers?.(type) === true
}

function unknownFile(name: string): HttpError {
  const message = `${name} is a file, and the route takes no files`
  const errors = [{ path: name, code: 'unknown', message }]
  return new HttpError(400, message, { code: 'VALIDATION', errors })
}

/** Pauses reading while the disk is slower. */
class Pace {
  waiting: Promise<void> | undefined
  #resume: (() => void) | undefined

  pause(): void {
    this.waiting ??= new Promise((resolve) => (this.#resume = resolve))
  }

  resume(): void {
    this.#resume?.()
    this.waiting = undefined
  }
}

/** Receives the bytes before the first part, which are ignored. */
const beforeFirstPart = new Stream()

function tooMany(label: string, limit: number): HttpError {
  return new HttpError(413, `The form has more than ${limit} ${label}.`)
}

function toFiles(received: readonly ReceivedFile[]): UploadedFiles {
  const files = Object.create(null) as UploadedFiles
  for (const file of received) if (file !== undefined) add(files, file.header.name, file.upload)
  return files
}

function add<T>(map: Record<string, T | T[]>, name: string, value: T): void {
  const before = map[name]
  if (before === undefined) map[name] = value
  else if (Array.isArray(before)) before.push(value)
  else map[name] = [before, value]
}
