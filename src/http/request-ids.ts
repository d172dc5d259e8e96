/**
 * IDs of requests: UUIDs of version 4 (RFC 9562 §5.4), generated together, because a single one costs as much as the
 * head of its response.
 */
import { randomFillSync } from 'node:crypto'

/** The number of UUIDs that are generated together, and the length of one. */
const [batch, length] = [128, 36]

const random = Buffer.allocUnsafeSlow(16 * batch)
const letters = Buffer.allocUnsafeSlow(length * batch)
const digits = Buffer.from('0123456789abcdef', 'latin1')
const dash = 0x2d

let texts = ''
let next = batch

/** @returns a new UUID, unless the client sent a valid ID */
export function requestId(sent: unknown): string {
  return typeof sent === 'string' && /^[\w.:@-]{1,128}$/.test(sent) ? sent : newRequestId()
}

function newRequestId(): string {
  if (next === batch) {
    texts = writeBatch()
    next = 0
  }
  const at = length * next++
  return texts.slice(at, at + length)
}

function writeBatch(): string {
  randomFillSync(random)
  let at = 0
  for (let index = 0; index < random.length; index++) {
    const byteIndex = index % 16
    let byte = random[index] ?? 0
    if (byteIndex === 6) byte = (byte & 0x0f) | 0x40
    else if (byteIndex === 8) byte = (byte & 0x3f) | 0x80
    if (byteIndex === 4 || byteIndex === 6 || byteIndex === 8 || byteIndex === 10)
      letters[at++] = dash
    letters[at++] = digits[byte >> 4] ?? 0
    letters[at++] = digits[byte & 15] ?? 0
  }
  return letters.toString('latin1', 0, at)
}
