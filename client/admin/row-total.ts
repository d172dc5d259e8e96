/** The number of rows of a list. The server counts them exactly up to a limit, because counting reads all of them. */
import { withCount } from './format.js'
import type { RecordInfo } from './schema.js'
import { toCount, translate } from './translate.js'

/** The server sends an estimate of larger numbers. */
const maxCountedRows = 10_000

export interface RowTotal {
  readonly count: number
  readonly isEstimate: boolean
}

/** @returns undefined if the response has no number of rows */
export function readTotal(headers: Headers): RowTotal | undefined {
  const exact = headers.get('X-Total-Count')
  const estimate = headers.get('X-Total-Count-Estimate')
  if (exact !== null) return { count: Number(exact), isEstimate: false }
  return estimate === null ? undefined : { count: Number(estimate), isEstimate: true }
}

/** `3,000`, `more than 10,000` */
export const toTotal = ({ count, isEstimate }: RowTotal): string =>
  isEstimate ? translate('moreThan', { count: maxCountedRows }) : toCount(count)

/** `3,000 tickets`, `More than 10,000 tickets` */
export function withTotal({ count, isEstimate }: RowTotal, record: RecordInfo): string {
  if (!isEstimate) return withCount(count, record)
  return translate('moreThanRows', { rows: withCount(maxCountedRows, record) })
}
