/** Which clients of an application may read its jobs: nobody, until `jobs({ roles })` names roles. */
import type { Claims } from '../../index.js'

export class Readers {
  readonly #roles: ReadonlySet<string>

  /** @param roles empty: nobody */
  constructor(roles: readonly string[]) {
    this.#roles = new Set(roles)
  }

  /** The operator's key has every role. */
  admits(user: Claims | null, by: 'key' | 'token' | undefined): boolean {
    if (this.#roles.size === 0) return false
    if (by === 'key') return true
    const roles: unknown = user?.roles
    return Array.isArray(roles) && roles.some((role) => this.#roles.has(role as string))
  }
}
