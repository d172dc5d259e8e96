/** The rule of `writes`, on records and on fields. */

/** Who may write: a role, several roles of which any suffices, or `false` for no client. */
export type WriteRule = false | string | readonly string[]

/** `Only callers with the role desk may write it.` */
export function describeWriteRule(rule: string | readonly string[]): string {
  return `Only callers with the role ${[rule].flat().join(' or ')} may write it.`
}

export function isWriteRule(value: unknown): value is WriteRule {
  if (value === false) return true
  const roles: readonly unknown[] = [value].flat()
  return roles.length > 0 && roles.every((role) => typeof role === 'string' && role.trim() !== '')
}
