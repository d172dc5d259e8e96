/** The number of rows of a list. For large tables, the server sends an estimate. */
import { toCount, withCount } from './format.js'
import type { RecordInfo } from './schema.js'

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
  `${isEstimate ? 'about ' : ''}${toCount(count)}`

/** `About 3,000 tickets` */
export const withTotal = ({ count, isEstimate }: RowTotal, record: RecordInfo): string =>
  `${isEstimate ? 'About ' : ''}${withCount(count, record)}`
