/** Makes a secret for one purpose of a private key. Source: RFC 5869 (HKDF). */
import { hkdfSync, type KeyObject } from 'node:crypto'

/** @returns 32 bytes, the same for the same key and purpose */
export function deriveSecret(key: KeyObject, purpose: string): Buffer {
  const from = key.export({ type: 'pkcs8', format: 'der' })
  return Buffer.from(hkdfSync('sha256', from, '', `filigree ${purpose}`, 32))
}
