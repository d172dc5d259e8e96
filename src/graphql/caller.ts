/**
 * Who runs an operation, read from the context that it was given. Source: decisions, small print GraphQL: the gate and
 * `rows` look at `context.user` when a context with `user` or `request` is given, else the caller is trusted.
 */
import { hasRoles, type AccessRule } from '../auth/access.js'
import type { Claims, HttpRequest, RequestAuth } from '../http/request.js'
import { isThenable, type Later } from '../core/later.js'

/** The context of operations that come through the endpoint. */
export interface RequestContext {
  readonly request: HttpRequest
  /** Claims of the verified token; null for anonymous callers and for the operator's static key. */
  readonly user: Claims | null
}

export interface Caller {
  /** The program itself: nothing is asked, no row filter applies. */
  readonly trusted: boolean
  /** Undefined for anonymous callers. `by: 'key'` passes every role. */
  readonly auth: RequestAuth | undefined
  readonly user: Claims | null
  /** For guards; undefined where the program gave a `user` without one. */
  readonly request: HttpRequest | undefined
}

const program: Caller = Object.freeze({
  trusted: true,
  auth: undefined,
  user: null,
  request: undefined,
})

/** Reads the caller from what was given to `execute`. */
export function callerOf(context: unknown): Caller {
  if (typeof context !== 'object' || context === null) return program
  const { user, request } = context as { user?: Claims | null; request?: HttpRequest }
  if (request === undefined && !('user' in context)) return program
  const claims = user ?? request?.user ?? null
  const auth = request?.auth ?? (claims === null ? undefined : { by: 'token', claims })
  return { trusted: false, auth, user: claims, request }
}

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
  const verdict: unknown = rule.guard(claims, caller.request)
  return isThenable(verdict) ? Promise.resolve(verdict).then(toAdmission) : toAdmission(verdict)
}

function toAdmission(verdict: unknown): Admission {
  return verdict === true ? 'admitted' : 'forbidden'
}
