/** Which clients may read jobs: nobody, until `jobs({ roles })` names roles. */
import type { Claims, RowsCaller } from '../../index.js'

/** Of the applications of this process; a record knows no other. */
let admitted: ReadonlySet<string> = new Set()

/** @param roles empty: nobody */
export function admitReaders(roles: readonly string[]): void {
  admitted = new Set(roles)
}

/** The operator's key has every role. */
export function mayRead(user: Claims | null, { by }: RowsCaller): boolean {
  if (admitted.size === 0) return false
  if (by === 'key') return true
  const roles: unknown = user?.roles
  return Array.isArray(roles) && roles.some((role) => admitted.has(role as string))
}
