/**
 * Guards that return promises, where a question is read synchronously: the question is abandoned, the guard awaited,
 * and the question read again with its result. Source: decisions, Second storey: rights.
 */
import type { AccessRule } from '../../auth/access.js'
import { type Later, attempt } from '../../core/maybe-promise.js'
import { HttpError } from '../../errors/http-error.js'
import type { Table } from '../model/table.js'
import type { Admission, Caller } from './caller.js'
import { policyOf } from './record-policy.js'

/** Thrown when a guard returns a promise. If nobody awaits it, it denies access. */
export class LateVerdict extends HttpError {
  readonly rule: AccessRule
  readonly verdict: Promise<Admission>

  constructor(rule: AccessRule, verdict: Promise<Admission>) {
    super(403, 'Forbidden')
    this.rule = rule
    this.verdict = verdict
    // Its failure is reported to whoever awaits it; otherwise it must not end the process.
    verdict.catch(() => undefined)
  }
}

/** Runs a question on a record; awaits guards only if one of its rules may have an asynchronous one. */
export function asked<T>(
  table: Table,
  caller: Caller,
  ask: (caller: Caller) => Later<T>,
): Later<T> {
  return policyOf(table).mayWait ? settled(caller, () => ask(caller)) : ask(caller)
}

/**
 * Runs a question, and again after each guard that was awaited.
 *
 * @param ask must only read, and start from the beginning each time
 */
export function settled<T>(caller: Caller, ask: () => Later<T>): Later<T> {
  return attempt(ask, (error) => {
    if (!(error instanceof LateVerdict)) throw error
    return error.verdict.then((verdict) => {
      caller.verdicts ??= new Map()
      caller.verdicts.set(error.rule, verdict)
      return settled(caller, ask)
    })
  })
}
