/** UUIDs of version 7, which sort by the time at which they were made. Source: RFC 9562, 5.7 and 6.2. */
import { randomUUID } from 'node:crypto'

/** The last time, in milliseconds since 1970, and the number of keys made in it after the first. */
let last = 0
let count = 0

const maxCount = 0xfff

/**
 * Keys of one process sort in the order in which they were made, also within a millisecond and after the clock was set
 * back.
 *
 * @returns `01932c07-9e40-7000-…`: 48 bits of time, 12 bits that count, 62 random bits
 */
export function orderedUuid(): string {
  const now = Date.now()
  if (now > last) {
    last = now
    count = 0
  } else if (count < maxCount) count++
  else {
    last++
    count = 0
  }
  const time = last.toString(16).padStart(12, '0')
  const counted = count.toString(16).padStart(3, '0')
  // The rest of a random UUID has the variant in its place.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counted}${randomUUID().slice(18)}`
}
