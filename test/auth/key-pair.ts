/** RSA keys for tests that sign tokens. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'

export interface Pair {
  readonly privateKey: KeyObject
  readonly privatePem: string
  readonly publicPem: string
}

export function makePair(bits = 2048): Pair {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  return {
    privateKey,
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
  }
}
