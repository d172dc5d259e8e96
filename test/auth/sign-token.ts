/** Signs and verifies tokens with Node's own cryptography, without the packages that Filigree uses. */
import {
  constants,
  createPrivateKey,
  sign,
  verify,
  type KeyObject,
  type SignKeyObjectInput,
} from 'node:crypto'

export interface SignOptions {
  /** Default `RS256`. */
  readonly algorithm?: 'RS256' | 'RS384' | 'RS512' | 'PS256' | 'ES256'
  /** Further members of the header, such as `kid`. */
  readonly header?: object
}

type Algorithm = NonNullable<SignOptions['algorithm']>

const toPart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const fromPart = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString())

/** @param key a private key, or its PEM */
export function signToken(
  claims: object,
  key: KeyObject | string,
  { algorithm = 'RS256', header }: SignOptions = {},
): string {
  const text = `${toPart({ alg: algorithm, typ: 'JWT', ...header })}.${toPart(claims)}`
  const signature = sign(hashOf(algorithm), Buffer.from(text), toInput(key, algorithm))
  return `${text}.${signature.toString('base64url')}`
}

/**
 * @returns the claims of a token that was signed with RS256
 * @throws {Error} the signature is not the one of this key
 */
export function verifyToken(token: string, publicPem: string): Record<string, unknown> {
  const [header = '', payload = '', signature = ''] = token.split('.')
  const text = Buffer.from(`${header}.${payload}`)
  if (!verify('sha256', text, publicPem, Buffer.from(signature, 'base64url')))
    throw new Error('The token was signed with another key.')
  return fromPart(payload) as Record<string, unknown>
}

const hashOf = (algorithm: Algorithm): string => `sha${algorithm.slice(2)}`

function toInput(privateKey: KeyObject | string, algorithm: Algorithm): SignKeyObjectInput {
  const key = typeof privateKey === 'string' ? createPrivateKey(privateKey) : privateKey
  if (algorithm !== 'PS256') return { key, dsaEncoding: 'ieee-p1363' }
  const padding = constants.RSA_PKCS1_PSS_PADDING
  return { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
}
