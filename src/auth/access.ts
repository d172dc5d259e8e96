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
  /** Another rule that has to admit as well: a record's, beside what its controller says. */
  readonly also?: AccessRule
}

/** For the log: what a caller lacks. */
export function lacksRoles({ roles, all }: AccessRule, claims: Claims | null): string {
  const given: unknown = claims?.roles
  const own = Array.isArray(given) ? given.map(String).join(', ') : ''
  const needed = roles.join(all ? ' and ' : ' or ')
  return `the role ${needed} is needed, and the token has ${own === '' ? 'none' : own}`
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
  /** For `crud`: the rule of the record, to which the decorators can only add. */
  readonly ofRecord?: AccessRule | undefined
  /** `@Doc({ secure: true })`; `false` says nothing. */
  readonly docSecure?: boolean | undefined
  /** Reads need a token too. */
  readonly closed?: boolean | undefined
}

/**
 * The rule of a route: its method's decorator, else its class's, else `@Doc({ secure: true })`, else its verb's default.
 * A record's rule holds beside the decorators, and takes the place of the default.
 */
export function accessRule(input: AccessInput): AccessRule {
  const { ofRecord, method } = input
  const noted =
    input.onMethod ?? input.onClass ?? (input.docSecure === true ? tokenAccess : undefined)
  if (noted !== undefined) return ofRecord === undefined ? noted : bothOf(noted, ofRecord)
  if (ofRecord !== undefined) return ofRecord
  if (input.closed === true) return tokenAccess
  return method === 'GET' || method === 'HEAD' ? openAccess : tokenAccess
}

/** Admits those whom both rules admit. */
export function bothOf(one: AccessRule, other: AccessRule): AccessRule {
  if (one.open) return other
  if (other.open || isAnyToken(other)) return one
  if (isAnyToken(one)) return other
  return Object.freeze({ ...one, also: one.also === undefined ? other : bothOf(one.also, other) })
}

function isAnyToken({ open, roles, guard, also }: AccessRule): boolean {
  return !open && roles.length === 0 && guard === undefined && also === undefined
}

/**
 * The sets of roles that let in: one of them is needed, in full.
 *
 * @returns `[[]]` where any token will do
 */
export function waysIn({ roles, all, also }: AccessRule): readonly (readonly string[])[] {
  const own = all || roles.length === 0 ? [roles] : roles.map((role) => [role])
  if (also === undefined) return own
  return own.flatMap((way) => waysIn(also).map((more) => [...new Set([...way, ...more])]))
}

/** True if a guard is asked, its own or one of a rule beside it. */
export function asksGuard({ guard, also }: AccessRule): boolean {
  return guard !== undefined || (also !== undefined && asksGuard(also))
}

/** All roles that the rule names. */
export function rolesOf({ roles, also }: AccessRule): readonly string[] {
  return also === undefined ? roles : [...new Set([...roles, ...rolesOf(also)])]
}

/**
 * Answers whether the claims have the rule's roles.
 *
 * @param claims their `roles` are a list of names, or one name; null is the static key, which passes every role
 */
export function hasRoles(rule: AccessRule, claims: Claims | null): boolean {
  if (claims === null) return true
  if (rule.also !== undefined && !hasRoles(rule.also, claims)) return false
  if (rule.roles.length === 0) return true
  const held: unknown = claims.roles
  const holds = (role: string): boolean =>
    Array.isArray(held) ? held.includes(role) : held === role
  return rule.all ? rule.roles.every(holds) : rule.roles.some(holds)
}
