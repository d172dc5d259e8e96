/**
 * ETags of packed answers. They are weak and name the encoding, so that no strong one stands for two sets of bytes:
 * `"v7"` becomes `W/"v7+br"`. In conditions of later requests they are read as what they were, so that `If-None-Match` and
 * `If-Match` work for who takes packed answers. `If-Range` is left alone: a range of packed bytes nobody has. Source:
 * RFC 9110 §8.8.3.3 and §13.1.
 */
import type { HttpRequest } from '../../index.js'

/** @param tag as the answer has it */
export function toPackedTag(tag: string, encoding: string): string {
  const [, weak = '', name] = /^\s*(W\/)?"([^"]*)"\s*$/.exec(tag) ?? []
  if (name === undefined) return tag
  return `W/"${name}${weak === '' ? '+' : '~'}${encoding}"`
}

/**
 * Gives the request its conditions as if nothing had been packed.
 *
 * @returns the encoding of what the client has, where it has something packed
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
    headers[name] = read
    request.headers[name] = read
  }
  return found
}
