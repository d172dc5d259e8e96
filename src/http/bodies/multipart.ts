/**
 * Reads multipart/form-data: text into `request.body`, files streamed to disk into `request.files`.
 * Source: decisions on Requests, multipart; RFC 7578.
 */
import { isUtf8 } from 'node:buffer'
import { Stream } from 'node:stream'
import { HttpError } from '../../errors/http-error.js'
import { diskFull, isDiskFull } from '../disk-full.js'
import { detectFileType } from '../file-types.js'
import type { Limits } from '../limits.js'
import type { UploadedFiles } from '../request.js'
import type { ServerRequest } from '../server-request.js'
import { Upload } from '../upload.js'
import type { UploadedFile } from '../uploaded-file.js'
import type { BodyPlan } from './body-plan.js'
import { clientGone, tooLarge } from './collect.js'
import { takeFormToken } from './form-token.js'
import type { MediaType } from './media-type.js'
import { MultipartInput } from './multipart-input.js'
import { MultipartParser, type Found, type PartHeaders } from './multipart-parser.js'
import { malformed, readPartHeader, type PartHeader } from './part-header.js'
import { decoded } from './transfer-encoding.js'
import { UploadFolder } from './upload-folder.js'

/** @throws {HttpError} 400 where a multipart body has none, or one with other characters than RFC 2046 §5.1.1 allows */
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

/** @throws {HttpError} 400, 413, 431, whatever `plan.beforeFirstFile` throws; no file is left then */
export async function readMultipart(
  request: ServerRequest,
  plan: BodyPlan,
  boundary: string,
): Promise<void> {
  const input = new MultipartInput(request.incoming, plan.limits.multipart)
  await new MultipartReading(request, plan, input).read(boundary)
  takeFormToken(request)
}

type Received = { readonly header: PartHeader; readonly upload: UploadedFile } | undefined

/** One body on its way in. */
class MultipartReading {
  readonly #request: ServerRequest
  readonly #plan: BodyPlan
  readonly #limits: Limits
  readonly #input: MultipartInput
  readonly #fields = Object.create(null) as Record<string, string | string[]>
  readonly #writing: Promise<Received>[] = []
  #fieldCount = 0
  #fieldBytes = 0
  #asked = false
  #folder: Promise<UploadFolder> | undefined
  readonly #pace = new Pace()
  #part: Stream = nobody
  #failed = false
  #failure: unknown

  constructor(request: ServerRequest, plan: BodyPlan, input: MultipartInput) {
    this.#request = request
    this.#plan = plan
    this.#limits = plan.limits
    this.#input = input
    input.on('error', this.#fail)
  }

  async read(boundary: string): Promise<void> {
    try {
      await this.#takeApart(new MultipartParser(boundary, this.#limits.partHeader))
      const received = await Promise.all(this.#writing)
      await this.#ask()
      this.#request.body = this.#fields
      this.#request.files = toFiles(received)
    } catch (cause) {
      this.#fail(cause)
      await this.#removeFolder()
      throw isDiskFull(this.#failure) ? diskFull(this.#failure) : this.#failure
    }
  }

  async #takeApart(parser: MultipartParser): Promise<void> {
    for await (const chunk of this.#input as AsyncIterable<Buffer>) {
      for (const found of parser.take(chunk)) {
        const pending = this.#receive(found)
        if (pending !== undefined) await pending
        if (this.#failed) throw this.#failure
      }
      // What comes meanwhile would pile up in front of the disk.
      if (this.#pace.waiting !== undefined) await this.#pace.waiting
    }
    parser.finish()
  }

  #receive(found: Found): Promise<void> | undefined {
    if (found.kind === 'head') return this.#receiveHead(found.headers)
    if (found.kind === 'bytes') this.#part.emit('data', found.bytes)
    else this.#part.emit('end')
    return undefined
  }

  /** @returns undefined for a field: its bytes need no place on the disk */
  #receiveHead(headers: PartHeaders): Promise<void> | undefined {
    const header = readPartHeader(headers)
    this.#part = new Stream()
    const part = decoded(this.#part, headers['content-transfer-encoding'])
    if (header.fileName !== undefined) return this.#receiveFile(part, header)
    this.#receiveField(part, header.name)
    return undefined
  }

  #receiveField(part: Stream, name: string): void {
    if (++this.#fieldCount > this.#limits.fields) throw tooMany('fields', this.#limits.fields)
    const chunks: Buffer[] = []
    part.on('data', (chunk: Buffer) => {
      this.#fieldBytes += chunk.length
      if (this.#fieldBytes > this.#limits.body) {
        this.#fail(tooLarge('The text in the form', this.#limits.body))
      } else chunks.push(chunk)
    })
    part.on('end', () => {
      const bytes = Buffer.concat(chunks)
      if (isUtf8(bytes)) add(this.#fields, name, bytes.toString('utf8'))
      else this.#fail(new HttpError(400, 'A field is not valid UTF-8.', { code: 'INVALID_UTF8' }))
    })
  }

  async #receiveFile(part: Stream, header: PartHeader): Promise<void> {
    if (this.#writing.length === this.#limits.files) throw tooMany('files', this.#limits.files)
    await this.#ask()
    this.#folder ??= this.#createFolder()
    const folder = await this.#folder
    if (this.#failed) return
    const stored = folder.receive(part, { limit: this.#limits.file, input: this.#pace })
    const received = stored.then(({ path, size, start }): Received => {
      const { fileName: name = '', type } = header
      // What a browser sends for a file input that was left alone.
      if (name === '' && size === 0) return undefined
      const content = detectFileType(start, { type, name })
      return { header, upload: new Upload({ name, content, size, path }) }
    })
    received.catch(this.#fail)
    this.#writing.push(received)
  }

  async #ask(): Promise<void> {
    if (this.#asked) return
    this.#asked = true
    const { formToken } = this.#fields
    await this.#plan.beforeFirstFile?.(typeof formToken === 'string' ? formToken : undefined)
  }

  #createFolder(): Promise<UploadFolder> {
    if (this.#request.outgoing.destroyed) throw clientGone()
    this.#request.onFinished(() => void this.#removeFolder())
    return UploadFolder.create()
  }

  async #removeFolder(): Promise<void> {
    // A folder that could not be made has failed the request already.
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

/** Holds the reading up while the disk is behind. */
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

/** Where bytes go before the first part. */
const nobody = new Stream()

function tooMany(what: string, limit: number): HttpError {
  return new HttpError(413, `The form has more than ${limit} ${what}.`)
}

function toFiles(received: readonly Received[]): UploadedFiles {
  const files = Object.create(null) as UploadedFiles
  for (const file of received) if (file !== undefined) add(files, file.header.name, file.upload)
  return files
}

function add<T extends object | string>(
  map: Record<string, T | T[]>,
  name: string,
  value: T,
): void {
  const before = map[name]
  if (before === undefined) map[name] = value
  else if (Array.isArray(before)) before.push(value)
  else map[name] = [before, value]
}
