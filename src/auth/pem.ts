/** Reads RSA keys from PEM text or from a file (RFC 7468). Synchronous, because bootstrap checks keys with it. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { defaultAlgorithms, type SignatureAlgorithm } from './token-header.js'

/** A key that tokens are checked with. */
export interface PublicKey {
  /** The name that a token's header gives (`kid`): the application's, else the key's thumbprint (RFC 7638). */
  readonly kid: string
  readonly key: KeyObject
  /** Algorithms of the tokens that this key may check. */
  readonly algorithms: readonly SignatureAlgorithm[]
  /** Whether the name is the key's thumbprint, so that an issuer may use another one. */
  readonly unnamed: boolean
}

/** A key that tokens are made with. */
export interface PrivateKey {
  readonly kid: string
  readonly key: KeyObject
}

/** The problem of a key, as the end of `APP_PUBLIC_KEY …`. It never contains a part of the key. */
export class KeyError extends Error {}

/** Shorter RSA keys are refused (RFC 7518 §3.3). */
const minBits = 2048

/**
 * @param source PEM text (line breaks may be written `\n`), or the path of a file with it
 * @throws {KeyError}
 */
export function readPrivateKey(source: string): PrivateKey {
  const pem = readPem(source)
  if (pem.includes('ENCRYPTED')) {
    throw new KeyError('is encrypted with a passphrase. Decrypt it: openssl pkey -in key.pem')
  }
  const key = parse(() => createPrivateKey(pem), 'is no private key in PEM form')
  checkStrength(key)
  return { key, kid: thumbprint(createPublicKey(key)) }
}

/**
 * @param source as for `readPrivateKey`; several keys may follow one another
 * @param name the keys' `kid`; without it each has its thumbprint
 * @throws {KeyError}
 */
export function readPublicKeys(source: string, name?: string): PublicKey[] {
  const blocks = readPem(source).match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g)
  if (blocks === null) throw new KeyError('is no public key in PEM form')
  return blocks.map((pem) => {
    if (pem.includes('PRIVATE'))
      throw new KeyError('holds a private key where a public one belongs')
    const key = parse(() => createPublicKey(pem), 'is no public key in PEM form')
    checkStrength(key)
    return {
      ...{ key, kid: name ?? thumbprint(key), unnamed: name === undefined },
      algorithms: defaultAlgorithms,
    }
  })
}

/** The public half of a private key. */
export function toPublicKey({ key, kid }: PrivateKey): PublicKey {
  return { key: createPublicKey(key), kid, unnamed: true, algorithms: defaultAlgorithms }
}

/** @throws {KeyError} when the key is not of the kind RS256 needs */
export function checkStrength(key: KeyObject): void {
  if (key.asymmetricKeyType !== 'rsa') throw new KeyError('is no RSA key, which RS256 needs')
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < minBits) {
    throw new KeyError(`has fewer than ${minBits} bits`)
  }
}

/** SHA-256 over the key's required members in order (RFC 7638 §3.2, RFC 8037 §2), in base64url. */
export function thumbprint(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = key.export({ format: 'jwk' })
  return createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url')
}

function readPem(source: string): string {
  if (source.includes('-----BEGIN')) return source.replaceAll('\\n', '\n')
  try {
    return readFileSync(source.trim(), 'utf8')
  } catch (cause) {
    // The message omits the text, which may be a key without its first line.
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unreadable'
    throw new KeyError(`is neither PEM text nor the path of a readable file (${reason})`, { cause })
  }
}

function parse(read: () => KeyObject, message: string): KeyObject {
  try {
    return read()
  } catch (cause) {
    throw new KeyError(message, { cause })
  }
}
