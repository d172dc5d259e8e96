/**
 * The time zones that the runtime knows: when the distance of local time from UTC changes. SQLite knows no zones, and the
 * server's may be of another year, so a statement carries the changes itself, as a tree of comparisons: nine of them find
 * the distance at any moment. Source: decisions, Records: queries.
 */
import { BoundedCache } from '../../core/bounded-cache.js'

interface OffsetChange {
  /** Milliseconds since 1970. */
  readonly from: number
  /** `+05:45`; with seconds where local time is that of a meridian. */
  readonly offset: string
}

const day = 86_400_000

/**
 * How far apart the moments are at which a zone is asked, up to a moment: no zone is known to have changed its time and
 * changed it back in between. Behind the last one the last distance holds on.
 */
const steps: readonly { readonly until: number; readonly step: number }[] = [
  { until: Date.UTC(1915, 0, 1), step: 365 * day },
  { until: Date.UTC(2038, 0, 1), step: 7 * day },
  { until: Date.UTC(2101, 0, 1), step: 21 * day },
]
const first = Date.UTC(1800, 0, 1)
const secondDay = Date.parse('0001-01-02T00:00:00.000Z')
const lastDay = Date.parse('9999-12-31T00:00:00.000Z')

/** There are about 450 zones; finding a zone's changes takes some 30 milliseconds. */
const cachedOffsets = new BoundedCache<readonly OffsetChange[]>(1000)

/** @returns the name as the runtime writes it; `undefined` for a zone that it does not know */
export function readZone(name: string): string | undefined {
  // Newer runtimes take distances (`+02:00`) too.
  if (!/^[a-z][\w+/-]{0,60}$/i.test(name)) return undefined
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

/** All changes of a zone, in order; the first holds from the beginning of time. */
function zoneOffsets(zone: string): readonly OffsetChange[] {
  return cachedOffsets.get(zone, () => findChanges(zone))
}

/**
 * SQL of the distance at a moment.
 *
 * ```sql
 * case when t."at" < '2026-03-29T01:00:00.000Z' then '+01:00' else … end
 * ```
 *
 * @param isBefore SQL that compares the column with a moment
 */
export function writeOffset(zone: string, isBefore: (time: string) => string): string {
  const changes = zoneOffsets(zone)
  const write = (start: number, end: number): string => {
    if (end - start === 1) return `'${changes[start]?.offset ?? '+00:00'}'`
    const middle = (start + end) >> 1
    const time = new Date(changes[middle]?.from ?? 0).toISOString()
    const [before, after] = [write(start, middle), write(middle, end)]
    return `case when ${isBefore(time)} then ${before} else ${after} end`
  }
  return write(0, changes.length)
}

function findChanges(zone: string): OffsetChange[] {
  const offsetAt = createOffsetReader(zone)
  let offset = offsetAt(first)
  const changes: OffsetChange[] = [{ from: first, offset }]
  let time = first
  for (const { until, step } of steps) {
    for (; time < until; time += step) {
      const next = offsetAt(time + step)
      // There may be two changes, to a third distance, between two moments.
      for (let from = time; offset !== next;) {
        from = findChange(offsetAt, from, time + step, offset)
        offset = offsetAt(from)
        changes.push({ from, offset })
      }
    }
  }
  // The day before the year 1 and the one after 9999 have no name: there it is UTC's day that counts.
  if (changes[0]?.offset.startsWith('-') === true) {
    changes[0] = { ...changes[0], from: secondDay }
    changes.unshift({ from: -Infinity, offset: '+00:00' })
  }
  if (offset.startsWith('+') && offset !== '+00:00')
    changes.push({ from: lastDay, offset: '+00:00' })
  return changes
}

/** The first second at which the distance is another one. */
function findChange(
  offsetAt: (time: number) => string,
  start: number,
  end: number,
  offset: string,
): number {
  let [low, high] = [start, end]
  while (high - low > 1000) {
    const middle = low + Math.floor((high - low) / 2000) * 1000
    if (offsetAt(middle) === offset) low = middle
    else high = middle
  }
  return high
}

/** `1/1/2026, GMT+05:45` → `+05:45` */
function createOffsetReader(zone: string): (time: number) => string {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  return (time) => {
    const text = format.format(time)
    return text.slice(text.lastIndexOf('GMT') + 3) || '+00:00'
  }
}
