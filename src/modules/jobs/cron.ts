/**
 * When a cron pattern matches next. croner reads patterns and finds matches; this file says what happens on the days on
 * which the clocks change. Source: decisions, "Third storey: jobs", Cron.
 */
import { Cron as Pattern } from 'croner'

/** Gives the next moment after one, in milliseconds since 1970. */
export type NextMoment = (after: number) => number

const words = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/

/**
 * Patterns that match every hour go on by elapsed time. All others name hours of a wall clock: an hour that spring leaves
 * out is made up for once, right after the gap; of an hour that autumn has twice the first counts.
 *
 * @param zone an IANA zone: `Europe/Berlin`
 * @throws {Error} no pattern of five fields, an unknown zone, or a day that never comes
 */
export function readCron(pattern: string, zone: string): NextMoment {
  const text = pattern.trim()
  const fields = text.split(/\s+/)
  if (!words.test(text) && fields.length !== 5)
    throw new Error("it has not five fields: minute, hour, day, month, weekday, or is '@daily'")
  const wall = new WallClock(zone)
  const next = fitsEveryHour(text, fields)
    ? byElapsedTime(new Pattern(text, { timezone: zone, paused: true }))
    : byWallClock(new Pattern(text, { timezone: 'UTC', paused: true }), wall)
  next(Date.UTC(2026, 0, 1))
  return next
}

function fitsEveryHour(text: string, [, hours = '']: readonly string[]): boolean {
  return text === '@hourly' || /^(?:\*|\?|0-23)(?:\/1)?$/.test(hours)
}

function byElapsedTime(pattern: Pattern): NextMoment {
  return (after) => demand(pattern.nextRun(new Date(after)))
}

function byWallClock(pattern: Pattern, wall: WallClock): NextMoment {
  return (after) => {
    let shown = wall.shownAt(after)
    for (;;) {
      shown = demand(pattern.nextRun(new Date(shown)))
      const moment = wall.firstMomentOf(shown)
      // The second time around in autumn.
      if (moment > after) return moment
    }
  }
}

function demand(next: Date | null): number {
  if (next === null) throw new Error('it never matches')
  return next.getTime()
}

const day = 86_400_000

/** What the clocks of a zone show, as the UTC moment that would show the same. */
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
      throw new Error(`"${zone}" is no IANA zone such as Europe/Berlin`)
    }
  }

  shownAt(moment: number): number {
    return moment + this.#offsetAt(moment)
  }

  /** The first moment at which the clocks show this; within a gap, its end. */
  firstMomentOf(shown: number): number {
    const before = this.#offsetAt(shown - day)
    const behind = this.#offsetAt(shown + day)
    const moments = [shown - before, shown - behind].sort((one, other) => one - other)
    const fitting = moments.find((moment) => this.shownAt(moment) === shown)
    return fitting ?? this.#endOfGap(shown - day, shown + day)
  }

  /** The moment between two at which the offset changes. */
  #endOfGap(from: number, to: number): number {
    const before = this.#offsetAt(from)
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2)
      if (this.#offsetAt(middle) === before) from = middle
      else to = middle
    }
    return to
  }

  #offsetAt(moment: number): number {
    const parts: Record<string, number> = {}
    for (const { type, value } of this.#format.formatToParts(moment)) parts[type] = Number(value)
    const { year = 0, month = 1, day: date = 1, hour = 0, minute = 0, second = 0 } = parts
    const shown = Date.UTC(year, month - 1, date, hour, minute, second)
    return shown - Math.floor(moment / 1000) * 1000
  }
}
