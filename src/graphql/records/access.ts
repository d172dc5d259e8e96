/** Who may see a record or a field of it. Source: decisions, Small print: GraphQL. */
import type { AccessRule } from '../../auth/access.js'
import { HttpError } from '../../errors/http-error.js'
import { isThenable, type Later } from '../../core/later.js'
import { admission, type Admission, type Caller } from '../caller.js'
import { graphqlCodes } from '../error-codes.js'

/**
 * Asks a rule at once. A guard that answers later cannot be asked here, and lets nobody in.
 *
 * @throws {HttpError} 401 `UNAUTHENTICATED`, 403 `FORBIDDEN`
 */
export function demand(rule: AccessRule | undefined, caller: Caller): void {
  if (rule === undefined || rule.open) return
  const verdict = admission(rule, caller)
  assertAdmitted(isThenable(verdict) ? 'forbidden' : verdict)
}

/** True where the rule lets in without a guard being waited for. */
export function admitsAtOnce(rule: AccessRule, caller: Caller): boolean {
  if (rule.open || caller.trusted) return true
  return rule.guard === undefined && admission(rule, caller) === 'admitted'
}

/**
 * Goes on where all rules let in.
 *
 * @throws {HttpError} 401 `UNAUTHENTICATED`, 403 `FORBIDDEN`, at once or later
 */
export function admitted<T>(
  rules: readonly (AccessRule | undefined)[],
  caller: Caller,
  next: () => Later<T>,
): Later<T> {
  for (let index = 0; index < rules.length; index++) {
    const rule = rules[index]
    if (rule === undefined || rule.open) continue
    const verdict = admission(rule, caller)
    if (isThenable(verdict)) {
      return verdict.then((later) => {
        assertAdmitted(later)
        return admitted(rules.slice(index + 1), caller, next)
      })
    }
    assertAdmitted(verdict)
  }
  return next()
}

function assertAdmitted(verdict: Admission): void {
  if (verdict === 'unauthenticated')
    throw new HttpError(401, 'Unauthorized', { code: graphqlCodes.unauthenticated })
  if (verdict === 'forbidden') throw forbidden()
}

export function forbidden(): HttpError {
  return new HttpError(403, 'Forbidden', { code: graphqlCodes.forbidden })
}
