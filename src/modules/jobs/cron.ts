/** Finds the next time that a cron pattern matches, with rules for the days on which clocks change. croner reads the patterns. */
import { Cron as Pattern } from 'croner'

/** Returns the next match after a timestamp, both in milliseconds since 1970. */
export type NextTime = (after: number) => number

const keywordPattern = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/

/**
 * Patterns that match every hour run by elapsed time. All other patterns name hours of a wall clock: a time that is skipped in spring
 * runs once, right after the gap, and a time that occurs twice in autumn runs the first time only.
 *
 * @param zone an IANA zone: `Europe/Berlin`
 * @throws {Error} the pattern does not have five fields, the zone is unknown, or the date never comes
 */
export function readCron(pattern: string, zone: string): NextTime {
  const text = pattern.trim()
  const fields = text.split(/\s+/)
  if (!keywordPattern.test(text) && fields.length !== 5)
    throw new Error(
      "it needs five fields (minute, hour, day, month, weekday) or a keyword such as '@daily'",
    )
  const wall = new WallClock(zone)
  const next = matchesEveryHour(text, fields)
    ? byElapsedTime(new Pattern(text, { timezone: zone, paused: true }))
    : byWallClock(new Pattern(text, { timezone: 'UTC', paused: true }), wall)
  next(Date.UTC(2026, 0, 1))
  return next
}

function matchesEveryHour(text: string, [, hours = '']: readonly string[]): boolean {
  return text === '@hourly' || /^(?:\*|\?|0-23)(?:\/1)?$/.test(hours)
}

function byElapsedTime(pattern: Pattern): NextTime {
  return (after) => checkDate(pattern.nextRun(new Date(after)))
}

function byWallClock(pattern: Pattern, wall: WallClock): NextTime {
  return (after) => {
    let wallTime = wall.wallTimeAt(after)
    for (;;) {
      wallTime = checkDate(pattern.nextRun(new Date(wallTime)))
      const timestamp = wall.firstTimestampOf(wallTime)
      // Skip the second occurrence in autumn.
      if (timestamp > after) return timestamp
    }
  }
}

function checkDate(next: Date | null): number {
  if (next === null) throw new Error('it never matches')
  return next.getTime()
}

const dayMs = 86_400_000

/**
 * Converts between timestamps and the wall time of a zone. A wall time is the UTC timestamp that would show the same time.
 */
class WallClock {
  readonly #format: Intl.DateTimeFormat

  /** @throws {Error} an unknown zone */
  constructor(zone: string) {
    try {
      this.#format = new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        calendar: 'iso8601',
        numberingSystem: 'latn',
        hourCycle: 'h23',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      })
    } catch {
      throw new Error(`"${zone}" is not an IANA zone such as Europe/Berlin`)
    }
  }

  wallTimeAt(timestamp: number): number {
    return timestamp + this.#offsetAt(timestamp)
  }

  /** The first timestamp at which the clock shows this wall time. For a time that is skipped: the end of the gap. */
  firstTimestampOf(wallTime: number): number {
    const offsetBefore = this.#offsetAt(wallTime - dayMs)
    const offsetAfter = this.#offsetAt(wallTime + dayMs)
    const candidates = [wallTime - offsetBefore, wallTime - offsetAfter].sort(
      (one, other) => one - other,
    )
    const match = candidates.find((timestamp) => this.wallTimeAt(timestamp) === wallTime)
    return match ?? this.#endOfGap(wallTime - dayMs, wallTime + dayMs)
  }

  /** The timestamp at which the offset changes. */
  #endOfGap(from: number, to: number): number {
    const offsetBefore = this.#offsetAt(from)
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2)
      if (this.#offsetAt(middle) === offsetBefore) from = middle
      else to = middle
    }
    return to
  }

  #offsetAt(timestamp: number): number {
    const parts: Record<string, number> = {}
    for (const { type, value } of this.#format.formatToParts(timestamp)) parts[type] = Number(value)
    const { year = 0, month = 1, day: date = 1, hour = 0, minute = 0, second = 0 } = parts
    const wallTime = Date.UTC(year, month - 1, date, hour, minute, second)
    return wallTime - Math.floor(timestamp / 1000) * 1000
  }
}
