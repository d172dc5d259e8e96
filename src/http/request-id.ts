/** Random UUIDs for requests, many at a time: one alone is made of twenty pieces, which costs as much as its answer's head. */
import { randomFillSync } from 'node:crypto'

/** UUIDs that are made together, and letters of one. */
const [batch, length] = [128, 36]

const random = Buffer.allocUnsafeSlow(16 * batch)
const letters = Buffer.allocUnsafeSlow(length * batch)
const digits = Buffer.from('0123456789abcdef', 'latin1')
const dash = 0x2d

let texts = ''
let next = batch

/** @returns a UUID of version 4 (RFC 9562 §5.4) */
export function newRequestId(): string {
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
