/** Decides whether a route needs a token, and whose. Source: specification, Authentication 1, 2 and 5; decisions, Access to routes. */
import type { Claims, HttpRequest } from '../http/request.js'
import { CallerIdentity } from '../http/caller-identity.js'
import { timestampOf, type ServerRequest } from '../http/server-request.js'
import { clockTolerance, signInTime } from './tokens.js'

/**
 * A custom access check: `@Secured((claims, request) => …)`. It runs after a token was accepted.
 *
 * @param claims of the verified token; null for the static key of the operator
 * @returns `true` to admit the caller; any other result is a 403
 */
export type Guard = (claims: Claims | null, request: HttpRequest) => boolean | Promise<boolean>

/** The access rule of a route. */
export interface AccessRule {
  /** Whether no token is required. */
  readonly open: boolean
  /** Roles that are allowed; empty if any valid token is. */
  readonly roles: readonly string[]
  /** Whether all roles of `roles` are required instead of one. */
  readonly all: boolean
  readonly guard: Guard | undefined
  /** The maximum number of seconds since the sign-in (`auth_time`); undefined for no limit. */
  readonly fresh: number | undefined
  /** Sign-in methods, one of which must be in the token's claim `amr` (RFC 8176); empty for any. */
  readonly amr: readonly string[]
  /** Another rule that must admit the caller too: the rule of a record, in addition to the rule of its controller. */
  readonly also?: AccessRule
}

/** Describes for the log why a caller is rejected. */
export function describeDenial(
  rule: AccessRule,
  claims: Claims | null,
  request?: HttpRequest,
): string {
  const { also } = rule
  if (also !== undefined && !satisfies(also, claims, request))
    return describeDenial(also, claims, request)
  if (!hasRoles(rule, claims)) {
    const requiredRoles = rule.roles.join(rule.all ? ' and ' : ' or ')
    return `the role ${requiredRoles} is needed, and the token has ${listed(claims?.roles)}`
  }
  if (!isFresh(rule, claims, request)) return `the sign-in is older than ${rule.fresh ?? 0} s`
  return `amr ${rule.amr.join(' or ')} is needed, and the token has ${listed(claims?.amr)}`
}

function listed(value: unknown): string {
  return Array.isArray(value) && value.length > 0 ? value.map(String).join(', ') : 'none'
}

/** The default rule of reads. */
export const openAccess: AccessRule = Object.freeze({
  open: true,
  roles: Object.freeze([]),
  all: false,
  guard: undefined,
  fresh: undefined,
  amr: Object.freeze([]),
})

/** The rule of `@NoAuth`, recognized by this object, because the cookie is ignored there. */
export const noAuthAccess: AccessRule = Object.freeze({ ...openAccess })

/** The rule of `@Secured` without roles, and the default rule of writes: any valid token. */
export const tokenAccess: AccessRule = Object.freeze({ ...openAccess, open: false })

/** The declarations from which the access rule of a route is determined. */
interface AccessInput {
  /** Upper case. By default, all methods except `GET` and `HEAD` require a token. */
  readonly method: string
  readonly onMethod?: AccessRule | undefined
  readonly onClass?: AccessRule | undefined
  /** For `crud`: the rule of the record, to which the decorators can only add. */
  readonly ofRecord?: AccessRule | undefined
  /** `@Doc({ secure: true })`; `false` has no effect. */
  readonly docSecure?: boolean | undefined
  /** Whether reads require a token too. */
  readonly closed?: boolean | undefined
}

/**
 * The access rule of a route: the decorator of its method, otherwise of its class, otherwise `@Doc({ secure: true })`,
 * otherwise the default of its verb. The rule of a record applies in addition to decorators, and replaces the default.
 */
export function accessRule(input: AccessInput): AccessRule {
  const { ofRecord, method } = input
  const declared =
    input.onMethod ?? input.onClass ?? (input.docSecure === true ? tokenAccess : undefined)
  if (declared !== undefined)
    return ofRecord === undefined ? declared : combineRules(declared, ofRecord)
  if (ofRecord !== undefined) return ofRecord
  if (input.closed === true) return tokenAccess
  return method === 'GET' || method === 'HEAD' ? openAccess : tokenAccess
}

/** A rule that admits callers whom both rules admit. */
export function combineRules(one: AccessRule, other: AccessRule): AccessRule {
  if (one.open) return other
  if (other.open || isAnyToken(other)) return one
  if (isAnyToken(one)) return other
  return Object.freeze({
    ...one,
    also: one.also === undefined ? other : combineRules(one.also, other),
  })
}

function isAnyToken(rule: AccessRule): boolean {
  return !rule.open && !hasConditions(rule) && rule.also === undefined
}

/** Whether the rule requires more than a valid token. */
export function hasConditions({ roles, guard, fresh, amr }: AccessRule): boolean {
  return roles.length > 0 || guard !== undefined || fresh !== undefined || amr.length > 0
}

/** The requirements in addition to roles, for documents: `fresh:600`, `amr:mfa`. */
function demandsOf({ fresh, amr }: AccessRule): string[] {
  return [
    ...(fresh === undefined ? [] : [`fresh:${fresh}`]),
    ...(amr.length === 0 ? [] : [`amr:${amr.join('|')}`]),
  ]
}

/** The same as a sentence; undefined if only roles or a guard are required. */
export function describeDemands(rule: AccessRule | undefined): string | undefined {
  if (rule === undefined || rule.open) return undefined
  const { fresh, amr, also } = rule
  const demands = [
    ...(fresh === undefined ? [] : [`a sign-in that is at most ${formatDuration(fresh)} old`]),
    ...(amr.length === 0 ? [] : [`a sign-in by ${amr.join(' or ')}`]),
  ]
  const more = describeDemands(also)
  if (demands.length === 0) return more
  return `Needs ${demands.join(' and ')}.${more === undefined ? '' : ` ${more}`}`
}

/** Appends the sentence to a description, if there is one. */
export function withDemands(description: string, rule: AccessRule | undefined): string {
  const demands = describeDemands(rule)
  return demands === undefined ? description : `${description} ${demands}`.trimStart()
}

/** 600 is `10 minutes`. */
function formatDuration(seconds: number): string {
  for (const [unit, length] of [
    ['hour', 3600],
    ['minute', 60],
  ] as const) {
    if (seconds % length === 0) return formatCount(seconds / length, unit)
  }
  return formatCount(seconds, 'second')
}

function formatCount(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** The alternative sets of requirements that admit a caller. @returns `[[]]` if any token is sufficient */
export function waysIn(rule: AccessRule): readonly (readonly string[])[] {
  const { roles, all, also } = rule
  const ways = all || roles.length === 0 ? [roles] : roles.map((role) => [role])
  const alternatives = ways.map((way) => [...way, ...demandsOf(rule)])
  if (also === undefined) return alternatives
  return alternatives.flatMap((way) => waysIn(also).map((more) => [...new Set([...way, ...more])]))
}

/** Whether the rule, or a rule in `also`, has a guard. */
export function hasGuard({ guard, also }: AccessRule): boolean {
  return guard !== undefined || (also !== undefined && hasGuard(also))
}

/** All roles of the rule. */
export function rolesOf({ roles, also }: AccessRule): readonly string[] {
  return also === undefined ? roles : [...new Set([...roles, ...rolesOf(also)])]
}

/**
 * Checks whether the claims satisfy the rule: roles, a recent sign-in, sign-in methods.
 *
 * @param claims null for the static key, which always satisfies it
 * @param request provides the time, which tests can change
 */
export function satisfies(
  rule: AccessRule,
  claims: Claims | null,
  request: HttpRequest | undefined,
): boolean {
  if (claims === null) return true
  if (rule.also !== undefined && !satisfies(rule.also, claims, request)) return false
  return hasRoles(rule, claims) && hasAmr(rule, claims) && isFresh(rule, claims, request)
}

/**
 * Checks whether the claims have the roles of this rule alone.
 *
 * @param claims their `roles` are a list of names, or one name; null for the static key, which has every role
 */
export function hasRoles({ roles, all }: AccessRule, claims: Claims | null): boolean {
  if (claims === null || roles.length === 0) return true
  const claim: unknown = claims.roles
  const hasRole = (role: string): boolean =>
    Array.isArray(claim) ? claim.includes(role) : claim === role
  return all ? roles.every(hasRole) : roles.some(hasRole)
}

function hasAmr({ amr }: AccessRule, claims: Claims): boolean {
  if (amr.length === 0) return true
  const claim: unknown = claims.amr
  return Array.isArray(claim) && amr.some((way) => claim.includes(way))
}

function isFresh(
  rule: AccessRule,
  claims: Claims | null,
  request: HttpRequest | undefined,
): boolean {
  const end = endOfFreshness(rule, claims)
  return end === Infinity || timestampOf(request) < end
}

/** @returns milliseconds since 1970 from which a sign-in is too old for this rule alone */
function endOfFreshness({ fresh }: AccessRule, claims: Claims | null): number {
  if (fresh === undefined || claims === null) return Infinity
  const signedIn = signInTime(claims)
  return signedIn === undefined ? -Infinity : (signedIn + fresh + 1) * 1000
}

/**
 * The time until which a rule that admits these claims still admits them, for streams.
 *
 * @returns milliseconds since 1970; `Infinity` for the static key
 */
export function endOfAccess(rule: AccessRule, claims: Claims | null): number {
  if (claims === null) return Infinity
  const { also } = rule
  const end = also === undefined ? endOfToken(claims) : endOfAccess(also, claims)
  return Math.min(end, endOfFreshness(rule, claims))
}

/** Ends the caller's access to the stream of a request when another rule does so earlier. */
export function endAccess(request: ServerRequest, rule: AccessRule, claims: Claims | null): void {
  const { auth, until, isByCookie, rotation } = request.caller
  const end = Math.min(until, endOfAccess(rule, claims))
  request.caller = new CallerIdentity(auth, end, isByCookie, rotation)
}

function endOfToken({ exp }: Claims): number {
  return typeof exp === 'number' ? (exp + clockTolerance) * 1000 : Infinity
}
