/** Password hashes that take no time, for tests that sign in often: the parameters are part of the hash. */
import { scryptSync } from 'node:crypto'

export function cheapHash(password: string, { ln = 4, r = 1, p = 1, bytes = 32 } = {}): string {
  const salt = Buffer.alloc(16, 7)
  const text = (value: Buffer): string => value.toString('base64').replaceAll('=', '')
  const hash = scryptSync(password, salt, bytes, { N: 2 ** ln, r, p })
  return `$scrypt$ln=${ln},r=${r},p=${p}$${text(salt)}$${text(hash)}`
}
