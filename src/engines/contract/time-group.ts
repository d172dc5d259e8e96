/** Groups of moments by their local time, in each engine's form. */

export type TimeUnit = 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year'

export const timeUnits: readonly TimeUnit[] = ['hour', 'day', 'week', 'month', 'quarter', 'year']

export interface TimeGroup {
  readonly unit: TimeUnit
  /** SQL of the column. */
  readonly column: string
  /** The column holds days, not moments. */
  readonly isDate: boolean
  /** SQL of the distance of local time from UTC at the moment of a row, as text: `'+05:45'`, `'-00:30:20'`. */
  readonly offset: string
}
