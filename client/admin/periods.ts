/** Periods that end today or this month, for filters. The URL has their names, `due.period=month`, and the server gets their bounds. */
import { fieldOf, type FieldInfo, type RecordInfo } from './schema.js'
import { translate } from './translate.js'

interface Period {
  readonly label: string
  /** The first day, and the day after the last one. */
  readonly toDays: (today: Date) => readonly [first: Date, end: Date]
}

/** Midnight of another day, in the browser's time zone. */
const dayFrom = (date: Date, days: number): Date =>
  new Date(date.getFullYear(), date.getMonth(), date.getDate() + days)

const firstOfMonth = (date: Date, months: number): Date =>
  new Date(date.getFullYear(), date.getMonth() + months, 1)

export const periods: ReadonlyMap<string, Period> = new Map([
  ['today', { label: translate('today'), toDays: (now) => [dayFrom(now, 0), dayFrom(now, 1)] }],
  ['week', { label: translate('lastWeek'), toDays: (now) => [dayFrom(now, -6), dayFrom(now, 1)] }],
  [
    'month',
    {
      label: translate('thisMonth'),
      toDays: (now) => [firstOfMonth(now, 0), firstOfMonth(now, 1)],
    },
  ],
])

/** Whether values of the field lie in periods: dates, and dates with a time. */
export const hasPeriods = ({ kind, list }: FieldInfo): boolean =>
  kind.chart === 'periods' && kind.filter === 'range' && list !== true

/** @returns the conditions for the server: a period becomes its bounds, and others stay as they are */
export function toServerConditions(
  record: RecordInfo,
  [name, value]: readonly [string, string],
): readonly (readonly [string, string])[] {
  const [property = '', operator] = name.split('.')
  const field = operator === 'period' ? fieldOf(record, property) : undefined
  const period = field && hasPeriods(field) ? periods.get(value) : undefined
  if (field === undefined || period === undefined) return [[name, value]]
  const [first, end] = period.toDays(new Date())
  const last = new Date(end.getTime() - 1)
  const toText = field.kind.type === 'timestamp' ? (day: Date) => day.toISOString() : toDay
  return [
    [`${property}.gte`, toText(first)],
    [`${property}.lte`, toText(last)],
  ]
}

/** `2026-11-28`, in the browser's time zone. */
function toDay(date: Date): string {
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
  return parts.map((part) => String(part).padStart(2, '0')).join('-')
}
