/**
 * Which statements run once more: reads whose connection was found dead, and any that was refused before it ran because of
 * what was prepared. A pooler may answer each attempt by another server connection: the last needs nothing there.
 */
import { EngineFault } from '../engine.js'
import type { Call } from './call.js'
import { tookTooLong } from './faults.js'
import { mostAttempts, type StatementNames } from './statement-names.js'

/** @param fault of the call's last attempt; what it says of prepared statements is taken note of */
export function mayRunAgain(call: Call, fault: unknown, names: StatementNames): boolean {
  if (!(fault instanceof EngineFault)) return false
  const { statement, attempts } = call
  const isStale = names.heed(statement.sql, fault.cause)
  if (attempts >= mostAttempts) return false
  const isLost = fault.kind === 'unavailable' && !statement.writes && !tookTooLong(fault)
  return isStale || (isLost && attempts === 1)
}
