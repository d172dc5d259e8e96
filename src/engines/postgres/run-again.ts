/**
 * Decides which statements run again: reads whose connection was lost, and statements that were refused because of their
 * preparation. What a server that goes on has refused (its time, a full disk, too little memory) is reported as it is. A pooler may use another server connection for each attempt: the last one needs nothing prepared.
 */
import { EngineFault } from '../contract/engine-fault.js'
import { changes } from '../contract/statement.js'
import type { Call } from './call.js'
import { isLostConnection } from './faults.js'
import { mostAttempts, type StatementNames } from './statement-names.js'

/** @param fault the fault of the last attempt; what it says about prepared statements is remembered */
export function mayRunAgain(call: Call, fault: unknown, names: StatementNames): boolean {
  if (!(fault instanceof EngineFault)) return false
  const { statement, attempts } = call
  const isStale = names.heed(statement.sql, fault.cause)
  if (attempts >= mostAttempts) return false
  const isLost = isLostConnection(fault) && !changes(statement)
  return isStale || (isLost && attempts === 1)
}

/** With the waits below, this is a second and a half of conflicts. */
const mostConflicts = 16
/** The longest first wait in milliseconds; each next one may be twice as long, up to the longest. */
const [firstWait, longestWait] = [4, 120]

/**
 * Runs a statement again after a conflict (40001) and a delay: it was a transaction by itself, which was rolled back.
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
