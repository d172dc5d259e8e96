/** Decides whether a route needs a token, and whose. Source: specification, Authentication 1, 2 and 5; decisions, Gate. */
import type { Claims, HttpRequest } from '../http/request.js'

/**
 * Decides by itself who may come in: `@Secured((claims, request) => …)`. It runs after a token was accepted.
 *
 * @param claims of the verified token; null for the operator's static key
 * @returns anything but `true` is answered with 403
 */
export type Guard = (claims: Claims | null, request: HttpRequest) => boolean | Promise<boolean>

/** What is enforced on a route. */
export interface AccessRule {
  /** Nobody is asked for a token. */
  readonly open: boolean
  /** Roles that are allowed; empty if any valid token is. */
  readonly roles: readonly string[]
  /** Every role of `roles` is needed, not one of them. */
  readonly all: boolean
  readonly guard: Guard | undefined
}

/** What a decorator declared; it is the whole rule, because only the nearest decorator counts. */
export type AccessNote = AccessRule

/** Reads by default. */
export const openAccess: AccessRule = Object.freeze({
  open: true,
  roles: Object.freeze([]),
  all: false,
  guard: undefined,
})

/** `@NoAuth`: the same, recognised by this object, because the cookie is ignored there. */
export const noAuthAccess: AccessRule = Object.freeze({ ...openAccess })

/** `@Secured` without roles, and writes by default: any valid token. */
export const tokenAccess: AccessRule = Object.freeze({ ...openAccess, open: false })

/** What is known about a route's access before one rule is made of it. */
export interface AccessInput {
  /** Upper case; all but `GET` and `HEAD` need a token where nothing else is said. */
  readonly method: string
  readonly onMethod?: AccessNote | undefined
  readonly onClass?: AccessNote | undefined
  /** `@Doc({ secure: true })`; `false` says nothing. */
  readonly docSecure?: boolean | undefined
  /** Reads need a token too. */
  readonly closed?: boolean | undefined
}

/** The rule of a route: its method's decorator, else its class's, else `@Doc({ secure: true })`, else its verb's default. */
export function accessRule(input: AccessInput): AccessRule {
  const noted = input.onMethod ?? input.onClass
  if (noted !== undefined) return noted
  if (input.docSecure === true || input.closed === true) return tokenAccess
  return input.method === 'GET' || input.method === 'HEAD' ? openAccess : tokenAccess
}

/**
 * Answers whether the claims have the rule's roles.
 *
 * @param claims their `roles` are a list of names, or one name; null is the static key, which passes every role
 */
export function hasRoles(rule: AccessRule, claims: Claims | null): boolean {
  if (claims === null || rule.roles.length === 0) return true
  const held: unknown = claims.roles
  const holds = (role: string): boolean =>
    Array.isArray(held) ? held.includes(role) : held === role
  return rule.all ? rule.roles.every(holds) : rule.roles.some(holds)
}
