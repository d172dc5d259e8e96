/** Keys that live as long as the process: a test writes none to the disk. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'

let pem: string | undefined

/** A private key as PEM text; one for all applications of the process, because each takes a tenth of a second to make. */
export function testKey(): string {
  pem ??= generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string
  return pem
}

/** A static key for `desk.operator`. */
export function randomKey(): string {
  return randomBytes(24).toString('base64url')
}
