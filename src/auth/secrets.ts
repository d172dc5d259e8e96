/**
 * Text that only the holder of a token can decrypt: AES-256-GCM with a key derived from the token (HKDF, RFC 5869), so
 * that the server can store tokens for clients that have lost a response.
 */

import {
  hkdfSync,
  type KeyObject,
  createCipheriv,
  createDecipheriv,
  randomBytes,
} from 'node:crypto'

/**
 * Derives a secret for one purpose from a private key. Source: RFC 5869 (HKDF).
 *
 * @returns 32 bytes, equal for the same key and purpose
 */
export function deriveSecret(key: KeyObject, purpose: string): Buffer {
  const from = key.export({ type: 'pkcs8', format: 'der' })
  return Buffer.from(hkdfSync('sha256', from, '', `filigree ${purpose}`, 32))
}

const startBytes = 12
const tagBytes = 16

export function seal(text: string, token: string): string {
  const start = randomBytes(startBytes)
  const cipher = createCipheriv('aes-256-gcm', keyOf(token), start)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([start, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** @throws {Error} if it was sealed with another token, or is invalid */
export function unseal(sealed: string, token: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', keyOf(token), bytes.subarray(0, startBytes))
  decipher.setAuthTag(bytes.subarray(startBytes, startBytes + tagBytes))
  const text = decipher.update(bytes.subarray(startBytes + tagBytes))
  return Buffer.concat([text, decipher.final()]).toString('utf8')
}

function keyOf(token: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', token, '', 'filigree exchange', 32))
}
