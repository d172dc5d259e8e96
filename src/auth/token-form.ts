/**
 * Checks the form of a token before any key is looked up: most forgeries are refused here, cheaply.
 * Source: RFC 7515 §3 and §4.1, RFC 8725 §3.1; decisions, Authentication, "JWT".
 */
import { isMap } from '../core/is-map.js'

/** Longer tokens are refused unread. */
export const mostTokenBytes = 8192

/** Three parts of base64url; ASCII, so that its length is its bytes. */
const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** What of the header counts; `jwk`, `jku`, `x5u` and `x5c` are not even read. */
export interface TokenHeader {
  readonly kid: string | undefined
}

/**
 * Reads the header of a compact RS256 token.
 *
 * @returns the header, or why this is none: for the log, never for the client
 */
export function readTokenHeader(token: string): TokenHeader | string {
  if (token.length > mostTokenBytes) return 'longer than 8 KiB'
  if (!compactForm.test(token)) return 'not three parts of base64url'
  const signature = token.slice(token.lastIndexOf('.') + 1)
  // Otherwise the last letter could be changed without changing the signature: one token would have several texts.
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) {
    return 'signature is not canonical base64url'
  }
  const header = parseObject(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url'))
  if (header === undefined) return 'header is no JSON object'
  if (header.alg !== 'RS256') return 'alg is not RS256'
  if ('crit' in header) return 'crit is not supported'
  if (header.kid !== undefined && typeof header.kid !== 'string') return 'kid is no text'
  return { kid: header.kid }
}

function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isMap(value) ? value : undefined
  } catch {
    return undefined
  }
}
