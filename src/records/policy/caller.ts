/**
 * Who asks, and whether a rule lets them in. Every door makes a caller of what it knows; everything that is read or
 * written on behalf of a client is decided with it. Source: decisions, Second storey: rights.
 */
import { hasRoles, type AccessRule } from '../../auth/access.js'
import { isThenable, type Later } from '../../core/later.js'
import { HttpError } from '../../errors/http-error.js'
import type { Claims, HttpRequest, RequestAuth } from '../../http/request.js'
import { LateVerdict } from './late-verdict.js'

export interface Caller {
  /** The program itself: nothing is asked, no row filter applies. */
  readonly trusted: boolean
  /** Undefined for anonymous callers. `by: 'key'` passes every role. */
  readonly auth: RequestAuth | undefined
  readonly user: Claims | null
  /** For guards; undefined where the program gave a `user` without one. */
  readonly request: HttpRequest | undefined
  /** What guards that answer later have said, for as long as something is asked for this caller. */
  verdicts?: Map<AccessRule, Admission>
}

/** The client that sent a request. */
export function requestCaller(request: HttpRequest): Caller {
  return { trusted: false, auth: request.auth, user: request.user, request }
}

/** A client that nothing is known about: where no answer depends on who asks. */
export const anonymous: Caller = Object.freeze({
  trusted: false,
  auth: undefined,
  user: null,
  request: undefined,
})

/** `'unauthenticated'`: a token is needed and there is none; `'forbidden'`: the caller's does not do. */
export type Admission = 'admitted' | 'unauthenticated' | 'forbidden'

/** Asks a rule about a caller; at once unless the rule's guard answers a promise. */
export function admission(rule: AccessRule, caller: Caller): Later<Admission> {
  if (caller.trusted || rule.open) return 'admitted'
  if (caller.auth === undefined) return 'unauthenticated'
  const { claims } = caller.auth
  if (!hasRoles(rule, claims)) return 'forbidden'
  if (rule.guard === undefined) return 'admitted'
  // A guard wants a request; whoever calls without one cannot be judged by it.
  if (caller.request === undefined) return 'forbidden'
  const said = caller.verdicts?.get(rule)
  if (said !== undefined) return said
  const verdict: unknown = rule.guard(claims, caller.request)
  return isThenable(verdict) ? Promise.resolve(verdict).then(toAdmission) : toAdmission(verdict)
}

function toAdmission(verdict: unknown): Admission {
  return verdict === true ? 'admitted' : 'forbidden'
}

/**
 * Asks a rule at once.
 *
 * @throws {HttpError} 401 `UNAUTHENTICATED`, 403 `FORBIDDEN`; `LateVerdict` where its guard answers later
 */
export function demand(rule: AccessRule | undefined, caller: Caller): void {
  if (rule === undefined || rule.open) return
  const verdict = admission(rule, caller)
  if (isThenable(verdict)) throw new LateVerdict(rule, verdict)
  assertAdmitted(verdict)
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

/**
 * The same with nothing to go on to.
 *
 * @returns what is to be waited for, where a guard answers later
 */
export function demandAll(rules: readonly (AccessRule | undefined)[], caller: Caller): Later<void> {
  return admitted(rules, caller, () => undefined)
}

function assertAdmitted(verdict: Admission): void {
  if (verdict === 'unauthenticated') {
    throw new HttpError(401, 'Unauthorized', {
      code: 'UNAUTHENTICATED',
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  }
  if (verdict === 'forbidden') throw forbidden()
}

export function forbidden(): HttpError {
  return new HttpError(403, 'Forbidden')
}
