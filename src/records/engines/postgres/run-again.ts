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

/** With the waits below, a second and a half of nothing but conflicts. */
const mostConflicts = 16
/** Milliseconds that the first wait may be long; each next one may be twice as long, up to the longest. */
const [firstWait, longestWait] = [4, 120]

/**
 * Runs a statement that others were in the way of (40001) once more, after a while: it was a transaction by itself, of which
 * nothing was kept.
 *
 * @returns whether it will run
 */
export function runsAfterConflict(call: Call, fault: unknown, run: (call: Call) => void): boolean {
  if (!(fault instanceof EngineFault) || fault.kind !== 'conflict') return false
  if (call.attempts >= mostConflicts) return false
  const most = Math.min(longestWait, firstWait * 2 ** (call.attempts - 1))
  setTimeout(run, Math.random() * most, call)
  return true
}
