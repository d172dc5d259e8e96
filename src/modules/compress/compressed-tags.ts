/**
 * ETags of compressed responses are weak and contain the encoding, because a strong tag must not identify two different byte sequences: `"v7"` becomes
 * `W/"v7+br"`. In conditions of later requests they are converted back, so that `If-None-Match` and `If-Match` work. `If-Range` is not converted, because
 * compressed responses have no ranges. Source: RFC 9110 §8.8.3.3 and §13.1.
 */
import type { HttpRequest } from '../../index.js'

/** Requests of the built-in server can replace headers. */
interface ReplaceableHeaders extends HttpRequest {
  replaceHeader(name: 'if-match' | 'if-none-match', value: string): void
}

/** @param tag of the uncompressed response */
export function toCompressedTag(tag: string, encoding: string): string {
  const [, weak = '', name] = /^\s*(W\/)?"([^"]*)"\s*$/.exec(tag) ?? []
  if (name === undefined) return tag
  return `W/"${name}${weak === '' ? '+' : '~'}${encoding}"`
}

/**
 * Converts the tags in the conditions of a request back to tags of uncompressed responses.
 *
 * @returns the encoding of the response that the client has, if it is compressed
 */
export function restoreTags(request: HttpRequest): string | undefined {
  let clientEncoding: string | undefined
  const { headers } = request.incoming
  for (const name of ['if-none-match', 'if-match'] as const) {
    const header = headers[name]
    if (typeof header !== 'string' || !/[+~](?:br|zstd|gzip)"/.test(header)) continue
    const restored = header.replace(
      /W\/"([^"]*)([+~])(br|zstd|gzip)"/g,
      (_, tag: string, sign: string, encoding: string) => {
        clientEncoding = encoding
        return `${sign === '~' ? 'W/' : ''}"${tag}"`
      },
    )
    ;(request as ReplaceableHeaders).replaceHeader(name, restored)
  }
  return clientEncoding
}
