/**
 * The offset changes of the runtime's time zones. SQLite has no zones, and a server's zones may be outdated, so a
 * statement contains the changes itself. A tree of comparisons finds the offset of any timestamp in nine steps. Source:
 * decisions, Records: queries.
 */
import { setImmediate } from 'node:timers/promises'
import type { MaybePromise } from '../../core/maybe-promise.js'

interface OffsetChange {
  /** Milliseconds since 1970. */
  readonly from: number
  /** `+05:45`; with seconds if local time is the solar time of a meridian. */
  readonly offset: string
}

const day = 86_400_000

/**
 * The intervals in which a zone's offset is sampled, up to a timestamp. No known zone changes its offset and
 * changes it back within one interval. After the last sample the last offset applies.
 */
const steps: readonly { readonly until: number; readonly step: number }[] = [
  { until: Date.UTC(1915, 0, 1), step: 365 * day },
  { until: Date.UTC(2038, 0, 1), step: 7 * day },
  { until: Date.UTC(2101, 0, 1), step: 21 * day },
]
const first = Date.UTC(1800, 0, 1)
const secondDay = Date.parse('0001-01-02T00:00:00.000Z')
const lastDay = Date.parse('9999-12-31T00:00:00.000Z')

/** By the zone's name. There are about 450 zones; finding a zone's changes takes some 30 milliseconds. */
const cachedOffsets = new Map<string, readonly OffsetChange[]>()

/** The zone's name by each name of it that a query has used, in lower case. Unknown names are not stored. */
const cachedNames = new Map<string, string>()

/** @returns the name as the runtime writes it; `undefined` for a zone that it does not know */
export function readZone(name: string): string | undefined {
  // Newer runtimes accept offsets (`+02:00`) too.
  if (!/^[a-z][\w+/-]{0,60}$/i.test(name)) return undefined
  const key = name.toLowerCase()
  const cachedName = cachedNames.get(key)
  if (cachedName !== undefined) return cachedName
  try {
    // This takes a tenth of a millisecond, and a query may name thousands of zones.
    const zone = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone
    cachedNames.set(key, zone)
    return zone
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

let lastPreparation: Promise<void> = Promise.resolve()

const ignore = (): void => undefined

/**
 * Finds the changes of zones for `writeOffset`. Each zone that is not cached gets its own turn of the event loop, because a
 * query may name many. Of all queries, one zone is prepared at a time.
 *
 * @param zones names as `readZone` returns them
 */
export function prepareZones(zones: Iterable<string>): MaybePromise<void> {
  const missing = [...new Set(zones)].filter((zone) => !cachedOffsets.has(zone))
  if (missing.length === 0) return undefined
  for (const zone of missing) {
    lastPreparation = lastPreparation
      .then(() => setImmediate())
      .then(() => zoneOffsets(zone))
      // An error occurs again where the changes are used, and must not fail the preparations of other queries.
      .then(ignore, ignore)
  }
  return lastPreparation
}

/** All changes of a zone, in order. The first one applies to all earlier times too. */
function zoneOffsets(zone: string): readonly OffsetChange[] {
  const cached = cachedOffsets.get(zone)
  if (cached !== undefined) return cached
  const changes = findChanges(zone)
  cachedOffsets.set(zone, changes)
  return changes
}

/**
 * SQL of the offset at a timestamp.
 *
 * ```sql
 * case when t."at" < '2026-03-29T01:00:00.000Z' then '+01:00' else … end
 * ```
 *
 * @param isBefore SQL that compares the column with a timestamp
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
      // There may be two changes, to a third offset, between two samples.
      for (let from = time; offset !== next;) {
        from = findChange(offsetAt, from, time + step, offset)
        offset = offsetAt(from)
        changes.push({ from, offset })
      }
    }
  }
  // Days before the year 1 and after 9999 cannot be written, so there the day of UTC is used.
  if (changes[0]?.offset.startsWith('-') === true) {
    changes[0] = { ...changes[0], from: secondDay }
    changes.unshift({ from: -Infinity, offset: '+00:00' })
  }
  if (offset.startsWith('+') && offset !== '+00:00')
    changes.push({ from: lastDay, offset: '+00:00' })
  return changes
}

/** The first second at which the offset differs. */
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
