/** RSA keys for tests that sign tokens. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'

export interface Pair {
  readonly privateKey: KeyObject
  readonly privatePem: string
  readonly publicPem: string
}

/** Created once for all suites (`test/start.mjs`), because each takes a tenth of a second. */
const storedKeys = JSON.parse(process.env.TEST_RSA_KEYS ?? '[]') as string[]

/** A pair that no other call in the same suite returns. */
export function makePair(bits = 2048): Pair {
  const pem = bits === 2048 ? storedKeys.shift() : undefined
  const privateKey =
    pem === undefined
      ? generateKeyPairSync('rsa', { modulusLength: bits }).privateKey
      : createPrivateKey(pem)
  return {
    privateKey,
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicPem: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }) as string,
  }
}
