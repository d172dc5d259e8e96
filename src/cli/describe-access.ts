/** Who may ask, in words, and what somebody would get. */
import { hasRoles, lacks, sayDemands, suffices, type AccessRule } from '../auth/access.js'
import type { Claims } from '../http/request.js'

export interface DescribedAccess {
  readonly access: 'everybody' | 'token' | 'roles' | 'guard'
  readonly roles: readonly string[]
  /** `everybody`, `any token`, `role admin`, `role admin or editor, and a guard decides`. */
  readonly words: string
}

/** The rules that must all consent, the route's first. */
function rulesOf(rule: AccessRule): AccessRule[] {
  return rule.also === undefined
    ? [rule]
    : [...rulesOf({ ...rule, also: undefined }), ...rulesOf(rule.also)]
}

export function describeAccess(rule: AccessRule): DescribedAccess {
  if (rule.open) return { access: 'everybody', roles: [], words: 'everybody' }
  const rules = rulesOf(rule)
  const roles = [...new Set(rules.flatMap((one) => one.roles))]
  const isGuarded = rules.some(({ guard }) => guard !== undefined)
  const words = rules
    .filter((one) => one.roles.length > 0)
    .map((one) => `role ${one.roles.join(one.all ? ' and ' : ' or ')}`)
  if (words.length === 0) words.push('any token')
  const demands = sayDemands(rule)
  if (demands !== undefined)
    words.push(demands.replace(/^Needs |\.$/g, '').replaceAll('. Needs ', ', and '))
  if (isGuarded) words.push('a guard decides')
  const access = isGuarded ? 'guard' : roles.length > 0 ? 'roles' : 'token'
  return { access, roles, words: [...new Set(words)].join(', and ') }
}

/**
 * What a caller with these claims would get of the gate; a guard is not asked, since it may look at the request.
 *
 * @param readsToken the route is open and reads a token where there is one
 */
export function judge(rule: AccessRule, claims: Claims | undefined, readsToken = false): string {
  if (rule.open && readsToken) return 'let in: a token is optional, and a bad or expired one is 401'
  if (rule.open) return 'let in: nobody is asked for a token'
  if (claims === undefined) return '401: there is no token'
  const refused = rulesOf(rule).find((one) => !suffices(one, claims, undefined))
  if (refused !== undefined) {
    if (hasRoles(refused, claims)) return `403: ${lacks(refused, claims)}`
    const held = Array.isArray(claims.roles) ? claims.roles.join(', ') : String(claims.roles ?? '')
    return `403: needs role ${refused.roles.join(refused.all ? ' and ' : ' or ')}, has ${held === '' ? 'none' : held}`
  }
  const isGuarded = rulesOf(rule).some(({ guard }) => guard !== undefined)
  return isGuarded ? 'let in, if the guard consents' : 'let in'
}
