/**
 * ETags of compressed answers. They are weak and contain the encoding, so that no strong tag stands for two sets of
 * bytes: `"v7"` becomes `W/"v7+br"`. In conditions of later requests they are converted back, so that `If-None-Match`
 * and `If-Match` work for clients with compressed answers. `If-Range` is not converted, because there are no ranges of
 * compressed bytes. Source: RFC 9110 §8.8.3.3 and §13.1.
 */
import type { HttpRequest } from '../../index.js'

/** What the server's own requests can do besides. */
interface RequestOfServer extends HttpRequest {
  replaceHeader(name: 'if-match' | 'if-none-match', value: string): void
}

/** @param tag the tag of the uncompressed answer */
export function toPackedTag(tag: string, encoding: string): string {
  const [, weak = '', name] = /^\s*(W\/)?"([^"]*)"\s*$/.exec(tag) ?? []
  if (name === undefined) return tag
  return `W/"${name}${weak === '' ? '+' : '~'}${encoding}"`
}

/**
 * Converts the tags in the request's conditions back to those of uncompressed answers.
 *
 * @returns the encoding of the client's answer, if it is a compressed one
 */
export function readPackedTags(request: HttpRequest): string | undefined {
  let found: string | undefined
  const { headers } = request.incoming
  for (const name of ['if-none-match', 'if-match'] as const) {
    const given = headers[name]
    if (typeof given !== 'string' || !/[+~](?:br|zstd|gzip)"/.test(given)) continue
    const read = given.replace(
      /W\/"([^"]*)([+~])(br|zstd|gzip)"/g,
      (_, tag: string, sign: string, encoding: string) => {
        found = encoding
        return `${sign === '~' ? 'W/' : ''}"${tag}"`
      },
    )
    ;(request as RequestOfServer).replaceHeader(name, read)
  }
  return found
}
