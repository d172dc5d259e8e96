/** UUIDs of version 7, which sort by the time at which they were made. Source: RFC 9562, 5.7 and 6.2. */
import { randomUUID } from 'node:crypto'

/** The last time, in milliseconds since 1970, and the number of keys made in it after the first. */
interface LastKey {
  time: number
  count: number
}

const last: LastKey = { time: 0, count: 0 }
const lastOfTime: LastKey = { time: 0, count: 0 }

const maxCount = 0xfff

/**
 * Keys of one process sort in the order in which they were made, also within a millisecond and after the clock was set
 * back.
 *
 * @returns `01932c07-9e40-7000-…`: 48 bits of time, 12 bits that count, 62 random bits
 */
export function orderedUuid(): string {
  const now = Date.now()
  if (now > last.time) {
    last.time = now
    last.count = 0
  } else if (last.count < maxCount) last.count++
  else {
    last.time++
    last.count = 0
  }
  return writeUuid(last)
}

/**
 * A key whose time is that of its row, which may be in the past. The first 4,096 keys of a millisecond in succession sort in
 * the order in which they were made.
 *
 * @param time milliseconds since 1970, not negative
 */
export function orderedUuidAt(time: number): string {
  if (time !== lastOfTime.time) {
    lastOfTime.time = time
    lastOfTime.count = 0
  } else if (lastOfTime.count < maxCount) lastOfTime.count++
  return writeUuid(lastOfTime)
}

function writeUuid({ time, count }: LastKey): string {
  const counted = count.toString(16).padStart(3, '0')
  // The rest of a random UUID has the variant in its place.
  return `${timeOf(time)}-7${counted}${randomUUID().slice(18)}`
}

function timeOf(time: number): string {
  const digits = time.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}

/** The smallest UUID of a time. All UUIDs of version 7 that were made later are larger. */
export function firstUuidAt(time: number): string {
  return `${timeOf(time)}-0000-0000-000000000000`
}

/** The time of a UUID of version 7, in milliseconds since 1970. */
export function timeOfUuid(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
}
