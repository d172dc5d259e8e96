/** Reads the head of one part of a multipart body. Source: RFC 7578 §4.2; HTML, multipart/form-data encoding. */

import { Stream } from 'node:stream'
import { isUtf8 } from 'node:buffer'
import { clip } from '../../core/text.js'
import { HttpError } from '../../errors/http-error.js'
import { prototypeKeys } from '../query.js'
import { readMediaType } from './media-type.js'

const plain: ReadonlySet<string> = new Set(['binary', '7bit', '8bit', 'utf-8'])

/**
 * Decodes the bytes of a part by its `Content-Transfer-Encoding`. Source: RFC 7578 §4.7; RFC 2045 §6.
 *
 * @param part a stream with the events `data` and `end`
 * @param encoding the encoding of the part, which few clients send
 * @throws {HttpError} 400 `MALFORMED_MULTIPART` for an encoding other than base64 or identity
 */
export function decoded(part: Stream, encoding = 'binary'): Stream {
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
    if (name === undefined || parameters.has(name)) throw malformed(unreadable)
    const { value, end } = readValue(header, parameterStart.lastIndex)
    parameters.set(name, toText(value))
    space.lastIndex = end
    space.test(header)
    position = space.lastIndex
  }
  return parameters
}

const unreadable = 'A part of the body has a malformed Content-Disposition.'

function readValue(header: string, start: number): { value: string; end: number } {
  if (header[start] !== '"') {
    bareValue.lastIndex = start
    const value = bareValue.exec(header)?.[0] ?? ''
    return { value, end: start + value.length }
  }
  let close = header.indexOf('"', start + 1)
  while (close !== -1 && isEscaped(header, close)) close = header.indexOf('"', close + 1)
  if (close === -1) throw malformed(unreadable)
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
