/**
 * Checks the form of a token before any key is looked up: most forgeries are refused here, cheaply.
 * Source: RFC 7515 §3 and §4.1, RFC 8725 §3.1; decisions, Tokens.
 */
import { isMap } from '../core/json.js'

/** Longer tokens are refused unread. */
export const maxTokenBytes = 8192

/** Three parts of base64url; ASCII, so that its length is its bytes. */
const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Algorithms by which a key pair signs (RFC 7518 §3.1, RFC 9864). Symmetric ones and `none` are not among them. */
export const signatureAlgorithms = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
]

export type SignatureAlgorithm = (typeof signatureAlgorithms)[number]

/** Of the keys that the application is given, and of the tokens that it makes. */
export const defaultAlgorithms: readonly SignatureAlgorithm[] = ['RS256']

/** Values of `typ` that an access token may have (RFC 7519 §5.1, RFC 9068 §2.1). Other kinds of tokens have others. */
const tokenTypes: ReadonlySet<string> = new Set(['jwt', 'at+jwt'])

/** What of the header counts; `jwk`, `jku`, `x5u` and `x5c` are not even read. */
export interface TokenHeader {
  readonly kid: string | undefined
  readonly algorithm: SignatureAlgorithm
}

/**
 * Reads the header of a compact token.
 *
 * @returns the header, or why this is none: for the log, never for the client
 */
export function readTokenHeader(token: string): TokenHeader | string {
  if (token.length > maxTokenBytes) return 'longer than 8 KiB'
  if (!compactForm.test(token)) return 'not three parts of base64url'
  const signature = token.slice(token.lastIndexOf('.') + 1)
  // Otherwise the last letter could be changed without changing the signature: one token would have several texts.
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) {
    return 'signature is not canonical base64url'
  }
  const header = parseObject(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url'))
  if (header === undefined) return 'header is not a JSON object'
  const algorithm = signatureAlgorithms.find((name) => name === header.alg)
  if (algorithm === undefined) return 'alg is not an algorithm of key pairs'
  if ('crit' in header) return 'crit is not supported'
  if (header.typ !== undefined && !isTokenType(header.typ)) return 'typ is of another kind of token'
  if (header.kid !== undefined && typeof header.kid !== 'string') return 'kid is not text'
  return { kid: header.kid, algorithm }
}

/** Without regard to case; `application/` may be left out (RFC 7515 §4.1.9). */
function isTokenType(type: unknown): boolean {
  return (
    typeof type === 'string' && tokenTypes.has(type.toLowerCase().replace(/^application\//, ''))
  )
}

function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isMap(value) ? value : undefined
  } catch {
    return undefined
  }
}
