/**
 * Decides whether an error may name the records that still refer to a row. Source: decisions, Second storey: rights,
 * Deleting.
 */
import type { Referrer } from '../statements/write-faults.js'
import { admitsAtOnce, type Caller } from '../rights/caller.js'
import { policyOf } from '../rights/record-policy.js'

/** A record is not named if the caller may not see its rows or its key. */
export function mayTell(caller: Caller): (referrer: Referrer) => boolean {
  return ({ table, column }) => {
    if (caller.trusted) return true
    const { read, columns, hasRows } = policyOf(table)
    const rules = [read, columns.get(column)].filter((rule) => rule !== undefined)
    return !hasRows && rules.every((rule) => admitsAtOnce(rule, caller))
  }
}
