/**
 * Reads multipart/form-data: text into `request.body`, files streamed to disk into `request.files`. formidable only
 * takes the body apart; counting, names, files and their removal are done here, where it was found wanting.
 * Source: decisions on Requests, multipart; RFC 7578.
 */
import { isUtf8 } from 'node:buffer'
import type { Stream, Transform } from 'node:stream'
import { HttpError } from '../../errors/http-error.js'
import { diskFull, isDiskFull } from '../disk-full.js'
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
import { malformed, readPartHeader, type PartHeader } from './part-header.js'
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
  const input = new MultipartInput(request.incoming, { limit: plan.limits.multipart, boundary })
  await new MultipartReading(request, plan, input).read()
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
  #parser: Transform | undefined
  #failed = false
  #reject: ((failure: unknown) => void) | undefined

  constructor(request: ServerRequest, plan: BodyPlan, input: MultipartInput) {
    this.#request = request
    this.#plan = plan
    this.#limits = plan.limits
    this.#input = input
    input.on('error', this.#fail)
  }

  async read(): Promise<void> {
    try {
      const formidable = await loadFormidable()
      await this.#parse(formidable)
      const received = await Promise.all(this.#writing)
      await this.#ask()
      this.#request.body = this.#fields
      this.#request.files = toFiles(received)
    } catch (failure) {
      this.#fail(failure)
      await this.#removeFolder()
      throw toClientError(failure)
    }
  }

  #parse({ formidable, multipart, MultipartParser }: Formidable): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#reject = reject
      if (this.#input.destroyed) throw this.#input.errored ?? clientGone()
      const guard = ({ _parser: parser }: Form): void => {
        this.#parser = parser
        parser.prependListener('data', countHeaders(this.#limits.partHeader, this.#fail))
        parser.once('end', () => {
          // It takes a body that breaks off right after a boundary for a whole one.
          if (parser.state === MultipartParser.STATES.END) resolve()
          else reject(malformed('The multipart body breaks off.'))
        })
      }
      // Binary keeps the bytes of names that two chunks share; they become text when they are whole.
      const form = formidable({ encoding: 'binary', enabledPlugins: [multipart, guard] })
      form.onPart = this.#receive
      form
        .parse(this.#input, (failure) => {
          if (failure) this.#fail(failure)
        })
        .catch(this.#fail)
    })
  }

  /** formidable waits for it before it goes on to the part's data, and never looks whether it failed. */
  readonly #receive = async (part: Part): Promise<void> => {
    try {
      const header = readPartHeader(part.headers)
      if (header.fileName === undefined) {
        this.#receiveField(part, header.name)
        return
      }
      // What comes meanwhile would pile up in the parser.
      this.#input.pause()
      await this.#receiveFile(part, header)
      this.#input.resume()
    } catch (failure) {
      this.#fail(failure)
    }
  }

  #receiveField(part: Part, name: string): void {
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

  async #receiveFile(part: Part, header: PartHeader): Promise<void> {
    if (this.#writing.length === this.#limits.files) throw tooMany('files', this.#limits.files)
    await this.#ask()
    this.#folder ??= this.#createFolder()
    const folder = await this.#folder
    if (this.#failed) return
    const stored = folder.receive(part, { limit: this.#limits.file, input: this.#input })
    const received = stored.then(({ path, size }): Received => {
      const { fileName: name = '', type } = header
      // What a browser sends for a file input that was left alone.
      if (name === '' && size === 0) return undefined
      return { header, upload: new Upload({ name, type, size, path }) }
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
    this.#reject?.(failure)
    this.#input.destroy()
    // With an error, or it would hand out what it has parsed already.
    this.#parser?.destroy(malformed('Refused.'))
  }
}

function tooMany(what: string, limit: number): HttpError {
  return new HttpError(413, `The form has more than ${limit} ${what}.`)
}

/** formidable's own errors are about the body, with statuses that blame the server (501); ours and the system's stay. */
function toClientError(failure: unknown): unknown {
  if (isDiskFull(failure)) return diskFull(failure)
  const isFormidable = failure instanceof Error && 'httpCode' in failure
  return isFormidable ? malformed('The multipart body is malformed.', failure) : failure
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

/** Runs before formidable's own listener, whose patterns take seconds for a long header. Names and line ends count. */
function countHeaders(limit: number, fail: (failure: HttpError) => void): (event: Token) => void {
  let bytes = 0
  return ({ name, start = 0, end = 0 }) => {
    if (name === 'partBegin') bytes = 0
    else if (name === 'headerEnd') bytes += ': \r\n'.length
    else if (name === 'headerField' || name === 'headerValue') bytes += end - start
    if (bytes > limit) fail(new HttpError(431, `A part's header is larger than ${limit} bytes.`))
  }
}

/** What the parser says it found. */
interface Token {
  readonly name: string
  readonly start?: number
  readonly end?: number
}

interface Part extends Stream {
  /** By lower-case name, one character a byte. */
  readonly headers: Readonly<Record<string, string>>
}

interface Form {
  onPart: (part: Part) => Promise<void>
  readonly _parser: Transform & { readonly state: number }
  parse(input: MultipartInput, done: (failure?: unknown) => void): Promise<unknown>
}

type Plugin = (form: Form) => void

interface FormOptions {
  readonly encoding: 'binary'
  readonly enabledPlugins: readonly Plugin[]
}

/** The parts of formidable that are used; its published types describe an older module format. */
interface Formidable {
  readonly formidable: (options: FormOptions) => Form
  readonly multipart: Plugin
  readonly MultipartParser: { readonly STATES: { readonly END: number } }
}

let loading: Promise<Formidable> | undefined

function loadFormidable(): Promise<Formidable> {
  loading ??= import('formidable') as unknown as Promise<Formidable>
  return loading
}
