/** The number of rows of a list. For large tables, the server sends an estimate. */
import { withCount } from './format.js'
import type { RecordInfo } from './schema.js'
import { toCount, translate } from './translate.js'

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

/** `about 3,000` */
export const toTotal = ({ count, isEstimate }: RowTotal): string =>
  isEstimate ? translate('about', { count }) : toCount(count)

/** `About 3,000 tickets` */
export function withTotal({ count, isEstimate }: RowTotal, record: RecordInfo): string {
  const rows = withCount(count, record)
  return isEstimate ? translate('aboutRows', { rows }) : rows
}
