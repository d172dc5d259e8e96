/**
 * The caller of a request, and whether an access rule admits it. REST, GraphQL and all other interfaces create a
 * caller, with which all reads and writes for clients are checked. Source: decisions, Records: access rules.
 */

import { type AccessRule, satisfies, type Guard } from '../../auth/access.js'
import { type MaybePromise, attempt, after, isThenable } from '../../core/maybe-promise.js'
import { HttpError } from '../../errors/http-error.js'
import type { Table } from '../model/table.js'
import { policyOf } from './record-policy.js'
import type { Claims, HttpRequest, RequestAuth } from '../../http/request.js'

/**
 * Thrown when a guard returns a promise while a query is read synchronously. The query is abandoned, the guard awaited,
 * and the query read again with the result. A promise that is not awaited denies access.
 */
class PendingAccess extends HttpError {
  readonly rule: AccessRule
  readonly result: Promise<AccessResult>

  constructor(rule: AccessRule, result: Promise<AccessResult>) {
    super(403, 'Forbidden')
    this.rule = rule
    this.result = result
    // The code that awaits the promise gets its rejection. An unawaited rejection must not end the process.
    result.catch(() => undefined)
  }
}

/** Whether a query was abandoned because a guard must be awaited. */
export function isPendingAccess(error: unknown): boolean {
  return error instanceof PendingAccess
}

/** Runs a query on a record. It awaits guards only if a rule of the record may have an asynchronous one. */
export function withGuards<T>(
  table: Table,
  caller: Caller,
  query: (caller: Caller) => MaybePromise<T>,
): MaybePromise<T> {
  return policyOf(table).mayAwaitGuards
    ? retryAfterGuards(caller, () => query(caller))
    : query(caller)
}

/**
 * Runs a query, and runs it again after each guard that was awaited.
 *
 * @param query must only read, and start from the beginning each time
 */
export function retryAfterGuards<T>(caller: Caller, query: () => MaybePromise<T>): MaybePromise<T> {
  return attempt(query, (error) => {
    if (!(error instanceof PendingAccess)) throw error
    return error.result.then((result) => {
      caller.guardResults ??= new Map()
      caller.guardResults.set(error.rule, result)
      return retryAfterGuards(caller, query)
    })
  })
}

export interface Caller {
  /** True for the program itself: no rules and no row filters apply. */
  readonly trusted: boolean
  /** Undefined for anonymous callers. A caller with `by: 'key'` has every role. */
  readonly auth: RequestAuth | undefined
  readonly user: Claims | null
  /** The request for guards; undefined if the program gave a `user` without one. */
  readonly request: HttpRequest | undefined
  /** Results of guards that return promises, cached while a query of this caller runs. */
  guardResults?: Map<AccessRule, AccessResult>
}

/**
 * The caller of a request. Its identity is read only if a rule depends on it, because reading it makes the response
 * personal.
 */
export function requestCaller(request: HttpRequest): Caller {
  return new RequestCaller(request)
}

class RequestCaller implements Caller {
  readonly trusted = false
  readonly request: HttpRequest
  guardResults?: Map<AccessRule, AccessResult>

  constructor(request: HttpRequest) {
    this.request = request
  }

  get auth(): RequestAuth | undefined {
    return this.request.auth
  }

  get user(): Claims | null {
    return this.request.user
  }
}

/** A caller without identity, for responses that do not depend on it. */
export const anonymous: Caller = Object.freeze({
  trusted: false,
  auth: undefined,
  user: null,
  request: undefined,
})

/**
 * `'unauthenticated'`: the rule needs a token and there is none; `'forbidden'`: the caller's token does not suffice.
 */
export type AccessResult = 'admitted' | 'unauthenticated' | 'forbidden'

/** Applies a rule to a caller, synchronously unless the rule's guard returns a promise. */
export function checkAccess(rule: AccessRule, caller: Caller): MaybePromise<AccessResult> {
  if (caller.trusted || rule.open) return 'admitted'
  if (caller.auth === undefined) return 'unauthenticated'
  if (!satisfies(rule, caller.auth.claims, caller.request)) return 'forbidden'
  const result = rule.guard === undefined ? 'admitted' : callGuard(rule, rule.guard, caller)
  const { also } = rule
  if (also === undefined) return result
  return after(result, (first) => (first === 'admitted' ? checkAccess(also, caller) : first))
}

function callGuard(rule: AccessRule, guard: Guard, caller: Caller): MaybePromise<AccessResult> {
  // A guard needs a request. Without one, access is denied.
  if (caller.request === undefined) return 'forbidden'
  const cachedResult = caller.guardResults?.get(rule)
  if (cachedResult !== undefined) return cachedResult
  const result: unknown = guard(caller.auth?.claims ?? null, caller.request)
  return isThenable(result) ? Promise.resolve(result).then(toAccessResult) : toAccessResult(result)
}

function toAccessResult(result: unknown): AccessResult {
  return result === true ? 'admitted' : 'forbidden'
}

/**
 * Applies a rule synchronously.
 *
 * @throws {HttpError} 401 `UNAUTHENTICATED`, 403 `FORBIDDEN`; `PendingAccess` if its guard returns a promise
 */
export function demand(rule: AccessRule | undefined, caller: Caller): void {
  if (rule === undefined || rule.open) return
  const result = checkAccess(rule, caller)
  if (isThenable(result)) throw new PendingAccess(rule, result)
  checkAdmitted(result)
}

/** True if the rule admits the caller without waiting for a guard. */
export function admitsImmediately(rule: AccessRule, caller: Caller): boolean {
  if (rule.open || caller.trusted) return true
  return rule.guard === undefined && checkAccess(rule, caller) === 'admitted'
}

/**
 * Calls the function if all rules admit the caller.
 *
 * @throws {HttpError} 401 `UNAUTHENTICATED`, 403 `FORBIDDEN`, synchronously or as a rejection
 */
export function admitted<T>(
  rules: readonly (AccessRule | undefined)[],
  caller: Caller,
  next: () => MaybePromise<T>,
): MaybePromise<T> {
  for (let index = 0; index < rules.length; index++) {
    const rule = rules[index]
    if (rule === undefined || rule.open) continue
    const result = checkAccess(rule, caller)
    if (isThenable(result)) {
      return result.then((awaited) => {
        checkAdmitted(awaited)
        return admitted(rules.slice(index + 1), caller, next)
      })
    }
    checkAdmitted(result)
  }
  return next()
}

/**
 * As `admitted`, without a function.
 *
 * @returns a promise if a guard returns one
 */
export function checkRules(
  rules: readonly (AccessRule | undefined)[],
  caller: Caller,
): MaybePromise<void> {
  return admitted(rules, caller, () => undefined)
}

function checkAdmitted(result: AccessResult): void {
  if (result === 'unauthenticated') {
    throw new HttpError(401, 'Unauthorized', {
      headers: { 'WWW-Authenticate': 'Bearer' },
      reason: 'a rule of the record needs a token, and the caller has none',
    })
  }
  if (result === 'forbidden') throw forbidden()
}

/** @param reason for the log */
export function forbidden(reason = 'a rule of the record does not admit the caller'): HttpError {
  return new HttpError(403, 'Forbidden', { reason })
}
