/** Tells which answers are worth compressing: all kinds of text, but no compressed formats and no event streams. */
import type { RouteResponse } from '../../index.js'

const packable =
  /^(?:text\/(?!event-stream)|application\/(?:json|javascript|xml|wasm|graphql|manifest|rtf|sql|toml|x-ndjson|x-www-form-urlencoded|yaml)\b|font\/(?:otf|ttf)|image\/(?:bmp|svg|x-icon|vnd\.microsoft\.icon)|[\w.-]+\/[\w.+-]+\+(?:json|xml|yaml|text)\b)/i

/** True if some client would get it compressed: then all clients get `Vary: Accept-Encoding`. */
export function mayPack(answer: RouteResponse): boolean {
  const { status, headers } = answer
  if (namesIn(answer, 'Cache-Control').includes('no-transform')) return false
  // A 304 has no content type, so the original answer may have been compressed.
  if (status === 304) return true
  if (headers.get('Content-Encoding') !== undefined) return false
  // The digest is one of these exact bytes.
  if (headers.get('Content-Digest') !== undefined) return false
  return packable.test(headers.get('Content-Type')?.trim() ?? '')
}

/** The entries of a header that is a list, in lower case. */
export function namesIn({ headers }: RouteResponse, name: string): string[] {
  return (headers.get(name) ?? '').split(',').map((word) => word.trim().toLowerCase())
}
