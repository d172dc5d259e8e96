/** Decides whether a route needs a token, and whose. Source: specification, Authentication 1, 2 and 5; decisions, Access to routes. */
import type { Claims, HttpRequest } from '../http/request.js'
import { timestampOf } from '../http/server-request.js'
import { clockTolerance } from './jose.js'
import { signInTime } from './rotation.js'

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
  /** Seconds since the caller has signed in (`auth_time`), at most; undefined if any time will do. */
  readonly fresh: number | undefined
  /** Ways of signing in, one of which the token's claim `amr` has (RFC 8176); empty if any will do. */
  readonly amr: readonly string[]
  /** Another rule that has to admit as well: a record's, beside what its controller says. */
  readonly also?: AccessRule
}

/** For the log: what a caller lacks. */
export function describeDenial(
  rule: AccessRule,
  claims: Claims | null,
  request?: HttpRequest,
): string {
  const { also } = rule
  if (also !== undefined && !satisfies(also, claims, request))
    return describeDenial(also, claims, request)
  if (!hasRoles(rule, claims)) {
    const needed = rule.roles.join(rule.all ? ' and ' : ' or ')
    return `the role ${needed} is needed, and the token has ${listed(claims?.roles)}`
  }
  if (!isFresh(rule, claims, request)) return `the sign-in is older than ${rule.fresh ?? 0} s`
  return `amr ${rule.amr.join(' or ')} is needed, and the token has ${listed(claims?.amr)}`
}

function listed(value: unknown): string {
  return Array.isArray(value) && value.length > 0 ? value.map(String).join(', ') : 'none'
}

/** What a decorator declared; it is the whole rule, because only the nearest decorator counts. */
export type DeclaredAccess = AccessRule

/** Reads by default. */
export const openAccess: AccessRule = Object.freeze({
  open: true,
  roles: Object.freeze([]),
  all: false,
  guard: undefined,
  fresh: undefined,
  amr: Object.freeze([]),
})

/** `@NoAuth`: the same, recognised by this object, because the cookie is ignored there. */
export const noAuthAccess: AccessRule = Object.freeze({ ...openAccess })

/** `@Secured` without roles, and writes by default: any valid token. */
export const tokenAccess: AccessRule = Object.freeze({ ...openAccess, open: false })

/** What is known about a route's access before one rule is made of it. */
export interface AccessInput {
  /** Upper case; all but `GET` and `HEAD` need a token where nothing else is said. */
  readonly method: string
  readonly onMethod?: DeclaredAccess | undefined
  readonly onClass?: DeclaredAccess | undefined
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
  const declared =
    input.onMethod ?? input.onClass ?? (input.docSecure === true ? tokenAccess : undefined)
  if (declared !== undefined)
    return ofRecord === undefined ? declared : requireBoth(declared, ofRecord)
  if (ofRecord !== undefined) return ofRecord
  if (input.closed === true) return tokenAccess
  return method === 'GET' || method === 'HEAD' ? openAccess : tokenAccess
}

/** Admits those whom both rules admit. */
export function requireBoth(one: AccessRule, other: AccessRule): AccessRule {
  if (one.open) return other
  if (other.open || isAnyToken(other)) return one
  if (isAnyToken(one)) return other
  return Object.freeze({
    ...one,
    also: one.also === undefined ? other : requireBoth(one.also, other),
  })
}

function isAnyToken(rule: AccessRule): boolean {
  return !rule.open && !hasConditions(rule) && rule.also === undefined
}

/** True if not every valid token will do. */
export function hasConditions({ roles, guard, fresh, amr }: AccessRule): boolean {
  return roles.length > 0 || guard !== undefined || fresh !== undefined || amr.length > 0
}

/** What its callers need besides roles, for documents: `fresh:600`, `amr:mfa`. */
function demandsOf({ fresh, amr }: AccessRule): string[] {
  return [
    ...(fresh === undefined ? [] : [`fresh:${fresh}`]),
    ...(amr.length === 0 ? [] : [`amr:${amr.join('|')}`]),
  ]
}

/** The same in a sentence; undefined where nothing but roles or a guard is asked. */
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

/** A description with the sentence behind it, where there is one. */
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

/**
 * The sets of roles that let in, with what else is needed: one of them, in full.
 *
 * @returns `[[]]` where any token will do
 */
export function waysIn(rule: AccessRule): readonly (readonly string[])[] {
  const { roles, all, also } = rule
  const ways = all || roles.length === 0 ? [roles] : roles.map((role) => [role])
  const alternatives = ways.map((way) => [...way, ...demandsOf(rule)])
  if (also === undefined) return alternatives
  return alternatives.flatMap((way) => waysIn(also).map((more) => [...new Set([...way, ...more])]))
}

/** True if a guard is asked, its own or one of a rule beside it. */
export function hasGuard({ guard, also }: AccessRule): boolean {
  return guard !== undefined || (also !== undefined && hasGuard(also))
}

/** All roles that the rule names. */
export function rolesOf({ roles, also }: AccessRule): readonly string[] {
  return also === undefined ? roles : [...new Set([...roles, ...rolesOf(also)])]
}

/**
 * Answers whether the claims have what the rule asks for: roles, a recent sign-in, ways of signing in.
 *
 * @param claims null is the static key, which passes
 * @param request says what time it is where tests move it
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
 * Answers whether the claims have the roles of this rule alone.
 *
 * @param claims their `roles` are a list of names, or one name; null is the static key, which passes every role
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
 * Until when a rule that admits these claims goes on admitting them: for streams, which outlive the moment in which it was
 * asked.
 *
 * @returns milliseconds since 1970; `Infinity` for the static key
 */
export function endOfAccess(rule: AccessRule, claims: Claims | null): number {
  if (claims === null) return Infinity
  const { also } = rule
  const end = also === undefined ? endOfToken(claims) : endOfAccess(also, claims)
  return Math.min(end, endOfFreshness(rule, claims))
}

function endOfToken({ exp }: Claims): number {
  return typeof exp === 'number' ? (exp + clockTolerance) * 1000 : Infinity
}
