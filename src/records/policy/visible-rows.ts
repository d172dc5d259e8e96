/** Asks `@Record({ rows })` which rows somebody may see and write. Closed where its answer is in doubt. */
import type { Claims } from '../../http/request.js'
import { isPlainObject } from '../filters/filter.js'
import type { Table } from '../model/table.js'

/**
 * @param user the claims of the token; null for a visitor and for the operator's key
 * @returns a filter; true for all rows, which only a record without `rows` and its own `true` mean; false for none
 */
export function visibleRows({ options }: Table, user: Claims | null): object | boolean {
  const { rows } = options
  if (rows === undefined) return true
  const answer: unknown = rows(user)
  if (answer === true) return true
  return isPlainObject(answer) && !hasUnknown(answer) ? answer : false
}

/** `{ owner: user.sub }` of a token without `sub`: other filters pass over what is undefined, and would find every row. */
function hasUnknown(value: unknown): boolean {
  if (value === undefined) return true
  if (Array.isArray(value)) return value.some(hasUnknown)
  return isPlainObject(value) && Object.values(value).some(hasUnknown)
}
