/** The periods of partitions, which begin at whole hours, days, weeks, months and years of UTC. Weeks begin on Mondays. */

export const partitionUnits = ['hour', 'day', 'week', 'month', 'year'] as const

export type PartitionUnit = (typeof partitionUnits)[number]

/** A number of units: `24mo` is 24 months. */
export interface PartitionAge {
  readonly count: number
  readonly unit: PartitionUnit
}

const unitsOfAges: Readonly<Record<string, PartitionUnit>> = {
  h: 'hour',
  d: 'day',
  w: 'week',
  mo: 'month',
  y: 'year',
}

/** @returns `undefined` for a text that is no age, such as `24m` */
export function readPartitionAge(text: unknown): PartitionAge | undefined {
  const [, digits, unit = ''] = typeof text === 'string' ? (ageForm.exec(text) ?? []) : []
  return digits === undefined
    ? undefined
    : { count: Number(digits), unit: unitsOfAges[unit] as PartitionUnit }
}

const ageForm = /^([1-9]\d{0,3})(h|d|w|mo|y)$/

/** Up to so many partitions, executing a plan of all of them costs less than planning for the right ones each time. */
const fewPartitions = 100
const daysOf: Readonly<Record<PartitionUnit, number>> = {
  hour: 1 / 24,
  day: 1,
  week: 7,
  month: 30,
  year: 365,
}

/** @param keep undefined: forever */
export function areFewPartitions(every: PartitionUnit, keep: PartitionAge | undefined): boolean {
  if (keep === undefined) return every === 'month' || every === 'year'
  return (keep.count * daysOf[keep.unit]) / daysOf[every] <= fewPartitions
}

/**
 * The beginning of the period with a time.
 *
 * @param time milliseconds since 1970, as the result
 */
export function periodStart(unit: PartitionUnit, time: number): number {
  const date = new Date(time)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  switch (unit) {
    case 'hour':
      return Date.UTC(year, month, day, date.getUTCHours())
    case 'day':
      return Date.UTC(year, month, day)
    case 'week':
      return Date.UTC(year, month, day - ((date.getUTCDay() + 6) % 7))
    case 'month':
      return Date.UTC(year, month)
    case 'year':
      return Date.UTC(year, 0)
  }
}

/** A time some units later, or earlier. Months and years are those of the calendar. */
export function addUnits(unit: PartitionUnit, time: number, count: number): number {
  const date = new Date(time)
  switch (unit) {
    case 'hour':
      return time + count * hour
    case 'day':
      return time + count * 24 * hour
    case 'week':
      return time + count * 7 * 24 * hour
    case 'month':
      return date.setUTCMonth(date.getUTCMonth() + count)
    case 'year':
      return date.setUTCFullYear(date.getUTCFullYear() + count)
  }
}

const hour = 3_600_000

/** The end of a partition's name: `2026_11`, `2026_11_23` for days and weeks, `2026_11_23_07`, `2026`. */
export function periodName(unit: PartitionUnit, start: number): string {
  return new Date(start).toISOString().slice(0, nameLengths[unit]).replace(/\D/g, '_')
}

const nameLengths: Readonly<Record<PartitionUnit, number>> = {
  hour: 13,
  day: 10,
  week: 10,
  month: 7,
  year: 4,
}
