/**
 * Parses a multipart body: heads, bytes and ends of parts. It skips most bytes, examines none more than six times
 * whatever the body contains, and returns the bytes of a part once for each chunk. Source: RFC 2046 §5.1.1; RFC 7578;
 * decisions, Requests.
 */

import { Stream } from 'node:stream'
import { isUtf8 } from 'node:buffer'
import { HttpError } from '../../errors/http-error.js'
import { clip } from '../../core/text.js'
import { prototypeKeys } from '../query-string.js'
import { readMediaType } from './media-type.js'

/** Headers of a part by lower-case name, one character a byte. */
export type PartHeaders = Readonly<Record<string, string>>

/** Each part has a head, any number of bytes, and an end. */
export type MultipartEvent =
  | { readonly kind: 'head'; readonly headers: PartHeaders }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'end' }

const lineEnd = Buffer.from('\r\n')
const headEnd = Buffer.from('\r\n\r\n')
const carriageReturn = 0x0d
const lineFeed = 0x0a
const hyphen = 0x2d
const end: MultipartEvent = Object.freeze({ kind: 'end' })

export class MultipartParser {
  readonly #delimiter: Buffer
  readonly #steps: Uint8Array
  readonly #maxHeaderBytes: number
  #state: 'before' | 'head' | 'bytes' | 'over' = 'before'
  /**
   * The bytes that cannot be interpreted without the next chunk. The line end of the delimiter may be missing before
   * the first part.
   */
  #rest: Buffer = lineEnd

  /**
   * @param boundary valid, at most 200 bytes
   *
   * @param maxHeaderBytes the maximum size of a part's head, over which it is 431
   */
  constructor(boundary: string, maxHeaderBytes: number) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
    this.#steps = toSteps(this.#delimiter)
    this.#maxHeaderBytes = maxHeaderBytes
  }

  /** Parses the next chunk. @throws {HttpError} 400 `MALFORMED_MULTIPART`, 431 */
  *take(chunk: Buffer): Generator<MultipartEvent, void> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    while (this.#state !== 'over') {
      if (this.#state === 'head') {
        const next = this.#endOfHead(bytes)
        if (next === undefined) break
        yield { kind: 'head', headers: readHeaders(bytes.toString('latin1', lineEnd.length, next)) }
        this.#state = 'bytes'
        bytes = bytes.subarray(next + headEnd.length)
      } else {
        const isInPart = this.#state === 'bytes'
        const next = this.#endOfBytes(bytes)
        if (isInPart && next > 0) yield { kind: 'bytes', bytes: bytes.subarray(0, next) }
        bytes = bytes.subarray(next)
        if (bytes.length < this.#delimiter.length + 2) break
        if (isInPart) yield end
        bytes = bytes.subarray(this.#delimiter.length)
        this.#state = bytes[0] === hyphen ? 'over' : 'head'
      }
    }
    this.#rest = bytes
  }

  /** @throws {HttpError} 400 `MALFORMED_MULTIPART` if the body ends too early */
  finish(): void {
    if (this.#state === 'over') return
    const isAfterDelimiter = startsWith(this.#rest, this.#delimiter)
    throw malformed(isAfterDelimiter ? 'The multipart body breaks off.' : unreadable)
  }

  /** A head begins with the line end of its delimiter, so that an empty head ends immediately. */
  #endOfHead(bytes: Buffer): number | undefined {
    const at = bytes.indexOf(headEnd)
    const length = (at === -1 ? bytes.length : at) - lineEnd.length
    if (length > this.#maxHeaderBytes) {
      throw new HttpError(431, `A part's header is larger than ${this.#maxHeaderBytes} bytes.`)
    }
    return at === -1 ? undefined : at
  }

  /**
   * Finds the end of a part's bytes: the next delimiter, or the last bytes that may begin one. Uses Horspool's
   * algorithm: it compares the last byte of the delimiter first, and skips as many bytes as the compared byte allows.
   */
  #endOfBytes(bytes: Buffer): number {
    const delimiter = this.#delimiter
    const steps = this.#steps
    const { length } = delimiter
    const final = delimiter[length - 1]
    let at = length - 1
    while (at < bytes.length) {
      const byte = bytes[at] ?? 0
      let step = steps[byte] ?? 1
      if (byte === final && (at + 2 >= bytes.length || endsDelimiter(bytes, at + 1))) {
        const start = at + 1 - length
        const matched = this.#countMatched(bytes, start)
        if (matched === length) return start
        // No delimiter can begin within the matched bytes, because it contains only one carriage return, its first
        // byte.
        step = Math.max(step, matched)
      }
      at += step
    }
    return this.#beginOfDelimiter(bytes, at + 1 - length)
  }

  /** @param from no delimiter begins before it */
  #beginOfDelimiter(bytes: Buffer, from: number): number {
    const { length } = bytes
    for (let at = length - 1; at >= from; at--) {
      if (bytes[at] === carriageReturn) {
        return at + this.#countMatched(bytes, at) === length ? at : length
      }
    }
    return length
  }

  #countMatched(bytes: Buffer, start: number): number {
    const delimiter = this.#delimiter
    const maxCount = Math.min(delimiter.length, bytes.length - start)
    let count = 0
    while (count < maxCount && bytes[start + count] === delimiter[count]) count++
    return count
  }
}

/** The number of bytes that the search skips, by the byte at the position of the delimiter's last one. */
function toSteps(delimiter: Buffer): Uint8Array {
  const last = delimiter.length - 1
  const steps = new Uint8Array(256).fill(delimiter.length)
  for (const [at, byte] of delimiter.subarray(0, last).entries()) steps[byte] = last - at
  return steps
}

function endsDelimiter(bytes: Buffer, at: number): boolean {
  if (bytes[at] === carriageReturn) return bytes[at + 1] === lineFeed
  return bytes[at] === hyphen && bytes[at + 1] === hyphen
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.length >= start.length && bytes.subarray(0, start.length).equals(start)
}

const unreadable = 'The multipart body is malformed.'
const headerLine = /^([A-Za-z-]+):[\t ]*([^\r\n]*)$/

/** @throws {HttpError} 400 for lines that are not headers, for folded headers, and for a name that occurs twice */
function readHeaders(head: string): PartHeaders {
  const headers = Object.create(null) as Record<string, string>
  if (head === '') return headers
  for (const line of head.split('\r\n')) {
    const [, name = '', value = ''] = headerLine.exec(line) ?? []
    const key = name.toLowerCase()
    if (/^[A-Za-z-]+$/.test(line)) throw malformed('A part of the body is not form-data.')
    if (key === '' || key in headers) throw malformed(unreadable)
    headers[key] = value
  }
  return headers
}

const plain: ReadonlySet<string> = new Set(['binary', '7bit', '8bit', 'utf-8'])

/**
 * Decodes the bytes of a part by its `Content-Transfer-Encoding`. Source: RFC 7578 §4.7; RFC 2045 §6.
 *
 * @param part a stream with the events `data` and `end`
 * @param encoding the encoding of the part, which few clients send
 * @throws {HttpError} 400 `MALFORMED_MULTIPART` for an encoding other than base64 or identity
 */
export function decodePart(part: Stream, encoding = 'binary'): Stream {
  const name = encoding.trim().toLowerCase()
  if (plain.has(name)) return part
  if (name !== 'base64') throw malformed('The multipart body is malformed.')
  return fromBase64(part)
}

function fromBase64(part: Stream): Stream {
  const bytes = new Stream()
  let rest = ''
  part.on('data', (chunk: Buffer) => {
    const text = rest + chunk.toString('latin1').replace(/[\t\r\n ]/g, '')
    // Four characters are three bytes.
    const complete = text.length - (text.length % 4)
    rest = text.slice(complete)
    bytes.emit('data', Buffer.from(text.slice(0, complete), 'base64'))
  })
  part.on('end', () => {
    if (rest !== '') bytes.emit('data', Buffer.from(rest, 'base64'))
    bytes.emit('end')
  })
  return bytes
}

export interface PartHeader {
  /** The field's name. */
  readonly name: string
  /** As the client sent it. A part with a file name is a file. */
  readonly fileName: string | undefined
  /** The media type without parameters, `application/octet-stream` if it is missing or malformed. */
  readonly type: string
}

const longestName = 200

/**
 * Reads the head of one part. Source: RFC 7578 §4.2; HTML, multipart/form-data encoding.
 *
 * @param headers by lower-case name, one character a byte
 * @throws {HttpError} 400 `MALFORMED_MULTIPART` or `PROTOTYPE_KEY`
 */
export function readPartHeader(headers: Readonly<Record<string, string>>): PartHeader {
  const parameters = readDisposition(headers['content-disposition'] ?? '')
  const name = parameters.get('name')
  if (name === undefined) throw malformed('A part of the body has no name.')
  if (name.length > longestName) {
    throw malformed(`A field's name is longer than ${longestName} characters.`)
  }
  if (prototypeKeys.has(name)) {
    throw new HttpError(400, `"${clip(name)}" is not a field name.`, { code: 'PROTOTYPE_KEY' })
  }
  const type = readMediaType(headers['content-type'] ?? '')
  return {
    name,
    fileName: parameters.get('filename'),
    type: type?.essence ?? 'application/octet-stream',
  }
}

export function malformed(message: string, cause?: unknown): HttpError {
  return new HttpError(400, message, { code: 'MALFORMED_MULTIPART', cause })
}

const formData = /^[\t ]*form-data[\t ]*(?=;|$)/i
const parameterStart = /;[\t ]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=/y
const bareValue = /[^;"\t ]*/y
const space = /[\t ]*/y

function readDisposition(header: string): Map<string, string> {
  const start = formData.exec(header)
  if (start === null) throw malformed('A part of the body is not form-data.')
  const parameters = new Map<string, string>()
  let position = start[0].length
  while (position < header.length) {
    parameterStart.lastIndex = position
    const name = parameterStart.exec(header)?.[1]?.toLowerCase()
    if (name === undefined || parameters.has(name)) throw malformed(malformedDisposition)
    const { value, end } = readValue(header, parameterStart.lastIndex)
    parameters.set(name, toText(value))
    space.lastIndex = end
    space.test(header)
    position = space.lastIndex
  }
  return parameters
}

const malformedDisposition = 'A part of the body has a malformed Content-Disposition.'

function readValue(header: string, start: number): { value: string; end: number } {
  if (header[start] !== '"') {
    bareValue.lastIndex = start
    const value = bareValue.exec(header)?.[0] ?? ''
    return { value, end: start + value.length }
  }
  let close = header.indexOf('"', start + 1)
  while (close !== -1 && isEscaped(header, close)) close = header.indexOf('"', close + 1)
  if (close === -1) throw malformed(malformedDisposition)
  return { value: header.slice(start + 1, close), end: close + 1 }
}

/**
 * Browsers write a quote as `%22` and a backslash as it is, so `\"` ends the value of `"C:\"`. Old clients write `\"`
 * for a quote; then something follows that cannot follow a value.
 */
function isEscaped(header: string, close: number): boolean {
  return header[close - 1] === '\\' && close + 1 < header.length && header[close + 1] !== ';'
}

const escapes: Readonly<Record<string, string>> = {
  '%22': '"',
  '%0a': '\n',
  '%0d': '\r',
  '\\"': '"',
}

function toText(value: string): string {
  const bytes = Buffer.from(value, 'latin1')
  if (!isUtf8(bytes)) throw malformed('A name in the body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  return text.replace(/%22|%0a|%0d|\\"/gi, (escape) => escapes[escape.toLowerCase()] ?? escape)
}
