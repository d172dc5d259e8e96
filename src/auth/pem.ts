/** Reads RSA keys from PEM text or from the file that holds it (RFC 7468). Synchronous: bootstrap checks keys with it. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ownAlgorithms, type SignatureAlgorithm } from './token-header.js'

/** A key that tokens are checked with. */
export interface PublicKey {
  /** The name that a token's header gives (`kid`): the application's, else the key's thumbprint (RFC 7638). */
  readonly kid: string
  readonly key: KeyObject
  /** Algorithms of the tokens that this key may check. */
  readonly algorithms: readonly SignatureAlgorithm[]
  /** The name is the key's thumbprint, so that an issuer who does not know it may have given it another. */
  readonly unnamed: boolean
}

/** A key that tokens are made with. */
export interface PrivateKey {
  readonly kid: string
  readonly key: KeyObject
}

/** What is wrong with a key, completing `APP_PUBLIC_KEY …`. It never holds a part of the key. */
export class KeyFault extends Error {}

/** Shorter RSA keys are refused (RFC 7518 §3.3). */
const fewestBits = 2048

/**
 * @param given PEM text (line breaks may be written `\n`), or the path of a file with it
 * @throws {KeyFault}
 */
export function readPrivateKey(given: string): PrivateKey {
  const pem = readPem(given)
  if (pem.includes('ENCRYPTED')) {
    throw new KeyFault('is encrypted with a passphrase. Decrypt it: openssl pkey -in key.pem')
  }
  const key = parse(() => createPrivateKey(pem), 'is no private key in PEM form')
  checkStrength(key)
  return { key, kid: thumbprint(createPublicKey(key)) }
}

/**
 * @param given as for `readPrivateKey`; several keys may follow one another
 * @param name the keys' `kid`; without it each has its thumbprint
 * @throws {KeyFault}
 */
export function readPublicKeys(given: string, name?: string): PublicKey[] {
  const blocks = readPem(given).match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g)
  if (blocks === null) throw new KeyFault('is no public key in PEM form')
  return blocks.map((pem) => {
    if (pem.includes('PRIVATE'))
      throw new KeyFault('holds a private key where a public one belongs')
    const key = parse(() => createPublicKey(pem), 'is no public key in PEM form')
    checkStrength(key)
    return {
      ...{ key, kid: name ?? thumbprint(key), unnamed: name === undefined },
      algorithms: ownAlgorithms,
    }
  })
}

/** The public half of a private key. */
export function toPublicKey({ key, kid }: PrivateKey): PublicKey {
  return { key: createPublicKey(key), kid, unnamed: true, algorithms: ownAlgorithms }
}

/** @throws {KeyFault} when the key is not of the kind RS256 needs */
export function checkStrength(key: KeyObject): void {
  if (key.asymmetricKeyType !== 'rsa') throw new KeyFault('is no RSA key, which RS256 needs')
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < fewestBits) {
    throw new KeyFault(`has fewer than ${fewestBits} bits`)
  }
}

/** SHA-256 over the key's required members in order (RFC 7638 §3.2, RFC 8037 §2), in base64url. */
export function thumbprint(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = key.export({ format: 'jwk' })
  return createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url')
}

function readPem(given: string): string {
  if (given.includes('-----BEGIN')) return given.replaceAll('\\n', '\n')
  try {
    return readFileSync(given.trim(), 'utf8')
  } catch (cause) {
    // The text itself stays out of the message: it may be a key that lost its first line.
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unreadable'
    throw new KeyFault(`is neither PEM text nor the path of a readable file (${reason})`, { cause })
  }
}

function parse(read: () => KeyObject, fault: string): KeyObject {
  try {
    return read()
  } catch (cause) {
    throw new KeyFault(fault, { cause })
  }
}
