/** The bytes of a part as they were before its `Content-Transfer-Encoding`. Source: RFC 7578 §4.7; RFC 2045 §6. */
import { Stream } from 'node:stream'
import { malformed } from './part-header.js'

const plain: ReadonlySet<string> = new Set(['binary', '7bit', '8bit', 'utf-8'])

/**
 * @param part with events `data` and `end`
 * @param encoding what the part says; few programs send one
 * @throws {HttpError} 400 `MALFORMED_MULTIPART` for another one than base64 or none
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
    // Four signs are three bytes.
    const whole = text.length - (text.length % 4)
    rest = text.slice(whole)
    bytes.emit('data', Buffer.from(text.slice(0, whole), 'base64'))
  })
  part.on('end', () => {
    if (rest !== '') bytes.emit('data', Buffer.from(rest, 'base64'))
    bytes.emit('end')
  })
  return bytes
}
