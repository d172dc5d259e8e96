/**
 * Guards that answer later, asked where a question is read at once: the question is left, the guard waited for, and the
 * question asked again with its verdict. Source: decisions, Second storey: rights.
 */
import type { AccessRule } from '../../auth/access.js'
import { type Later, attempt } from '../../core/later.js'
import { HttpError } from '../../errors/http-error.js'
import type { Table } from '../model/table.js'
import type { Admission, Caller } from './caller.js'
import { policyOf } from './record-policy.js'

/** Where nobody waits for the guard, it lets nobody in. */
export class LateVerdict extends HttpError {
  readonly rule: AccessRule
  readonly verdict: Promise<Admission>

  constructor(rule: AccessRule, verdict: Promise<Admission>) {
    super(403, 'Forbidden')
    this.rule = rule
    this.verdict = verdict
    // Its failure is told to who waits for it, and is nobody's where nobody does.
    verdict.catch(() => undefined)
  }
}

/** Asks of a record; waits for guards only where one of its rules may have such. */
export function asked<T>(
  table: Table,
  caller: Caller,
  ask: (caller: Caller) => Later<T>,
): Later<T> {
  return policyOf(table).mayWait ? settled(caller, () => ask(caller)) : ask(caller)
}

/**
 * Asks a question, and again behind each guard that is waited for.
 *
 * @param ask must do nothing but read, and begin anew each time
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
